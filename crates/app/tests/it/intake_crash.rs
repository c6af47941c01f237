//! Many events from many people in many sessions, while the server is killed again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{
    ChannelAddress, EventId, Inbound, InboundContent, PeerKind, Sender,
};
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::{ContentHash, RunId, SessionId};
use agentry_store::{DeliveryStatus, EntryFilter, InboundStatus, Ledger};

use crate::story::{Story, Talk};

const EVENTS: usize = 2_000;
const PEOPLE: usize = 50;
const ROOMS: usize = 200;
const BURST: usize = 5;
/// How often the server is killed at least.
const KILLS: usize = 25;

const ROOMS_FOR_ALL: &str = "
    --- .agentry/agents/host/AGENT.md
    ---
    name: Host
    ---
    You answer.
    --- .agentry/access/rooms.yml
    policies:
      - name: rooms
        match: {principal: {unknown: true}}
        effect: allow
        session: {key: 'room:{peer_id}'}
        permissions: {tools: []}
        priority: 50
    ";

#[test]
fn each_event_is_answered_once_in_order_however_often_the_server_is_killed() {
    let story = Story::new(ROOMS_FOR_ALL);
    // Each message that is told to a running turn leads to another request.
    let heard = "{\"text\": \"Heard.\", \"delay_ms\": 20}\n";
    story.file("s.jsonl", heard.repeat(EVENTS).as_bytes());
    let home = story.home("state");
    let story = story.with("AGENTRY_HOME", &home.to_string_lossy());
    let ledger = Ledger::open(&home, Arc::new(now)).expect("the ledger opens");
    let mut chance = Chance(0x5eed);
    let mut accepted = Vec::new();
    for life in 0.. {
        let server = served(&story);
        let part = if life < KILLS { EVENTS / KILLS } else { EVENTS - accepted.len() };
        for _ in 0..part {
            accepted.push(hand_in(&ledger, accepted.len(), &mut chance));
        }
        if life < KILLS {
            // The chance is how far the server gets, so this cannot be waited for otherwise.
            std::thread::sleep(Duration::from_millis(chance.below(400)));
            server.kill();
        } else {
            wait_for_all(&ledger, &accepted);
            server.interrupt();
            assert_eq!(server.end().code, Some(0));
            break;
        }
    }
    check(&ledger, &accepted);
}

fn served(story: &Story) -> Talk {
    let mut server = story.talk("serve --model scripted:s.jsonl");
    server.hear_line("ready");
    server
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    u64::try_from(since.as_millis()).expect("it is not that late")
}

/// The same choices each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Hands in one event; some say how they want to wait.
#[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
fn hand_in(ledger: &Ledger, number: usize, chance: &mut Chance) -> EventId {
    let ways = ["/queue followup ", "/queue collect debounce:1ms ", "/steer ", ""];
    let way = ways[usize::try_from(chance.below(4)).expect("it is small")];
    // They come in bursts of two people in one room, so that messages meet.
    let burst = number / BURST;
    let (room, person) = (burst * 7 % ROOMS, (burst * 2 + number % 2) % PEOPLE);
    let place = ChannelAddress {
        channel: "tg".to_owned(),
        account_id: None,
        peer_id: Some(format!("r{room}")),
        peer_kind: Some(PeerKind::Dm),
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: format!("p{person}"), sender_name: None };
    let mut inbound =
        Inbound::new(&number.to_string(), now(), place, sender).expect("it has no odd parts");
    inbound.body =
        InboundContent { content: format!("{way}number {number}"), ..InboundContent::default() };
    let id = inbound.event_id.clone();
    let event = Event::Intake(IntakeStage::Received { inbound: Box::new(inbound) });
    let draft = Draft { cause: None, about: EntrySubject::default(), event };
    ledger.append(vec![draft]).expect("the event is accepted");
    id
}

fn wait_for_all(ledger: &Ledger, accepted: &[EventId]) {
    let mut tail = ledger.tail(ledger.last_seq().expect("it can be read"), EntryFilter::default());
    let tail = tail.as_mut().expect("it can be followed");
    let mut open: Vec<&EventId> = accepted.iter().collect();
    loop {
        open.retain(|event| {
            let row = ledger.inbound(event).expect("it can be read").expect("it was accepted");
            let waits = row.delivery.is_some_and(|one| one.status == DeliveryStatus::Pending);
            !row.status.is_settled() || waits
        });
        if open.is_empty() {
            return;
        }
        let came = tail.next(Duration::from_secs(60)).expect("it can be followed");
        assert!(!came.is_empty(), "nothing happens, and {} wait: {:?}", open.len(), open[0]);
    }
}

/// What the ledger says of one event.
#[derive(Default)]
struct Told {
    decided: usize,
    runs: BTreeSet<RunId>,
    delivered: usize,
    authority: Option<ContentHash>,
    received: u64,
}

fn check(ledger: &Ledger, accepted: &[EventId]) {
    let all =
        ledger.read_from(0, &EntryFilter::default(), usize::MAX >> 1).expect("it can be read");
    let mut told: BTreeMap<EventId, Told> = BTreeMap::new();
    let mut steers: BTreeMap<u64, EventId> = BTreeMap::new();
    let mut begun: BTreeMap<SessionId, Vec<u64>> = BTreeMap::new();
    for entry in all.iter().filter(|entry| !is_of_the_clock(entry)) {
        take(entry, &mut told, &mut steers, &mut begun);
    }
    assert_eq!(told.len(), EVENTS);
    for event in accepted {
        let (one, row) = (&told[event], ledger.inbound(event).expect("it can be read"));
        let row = row.expect("it was accepted");
        assert_eq!(one.decided, 1, "{event}: one decision is recorded");
        assert_eq!(row.status, InboundStatus::Answered, "{event}");
        assert_eq!(one.runs.len(), 1, "{event} is answered by one run: {:?}", one.runs);
        let is_last = row.delivery.is_some();
        assert_eq!(one.delivered, usize::from(is_last), "{event}: one answer is recorded");
    }
    // Nobody's words are in a run of somebody else.
    let mut authorities: BTreeMap<&RunId, &ContentHash> = BTreeMap::new();
    for one in told.values() {
        let (run, authority) = (one.runs.first().expect("a run"), one.authority.as_ref());
        let authority = authority.expect("it was routed");
        assert_eq!(*authorities.entry(run).or_insert(authority), authority, "{run}");
    }
    for (session, order) in &begun {
        assert!(order.is_sorted(), "the turns of {session} keep the order of what came in");
    }
    println!("{} runs for {EVENTS} events in {} sessions", authorities.len(), begun.len());
}

/// The server's clock ticks meanwhile.
fn is_of_the_clock(entry: &Envelope) -> bool {
    match &entry.event {
        Event::Intake(IntakeStage::Received { inbound }) => inbound.place.channel == "timer",
        Event::Intake(IntakeStage::Decided { record }) => record.channel == "timer",
        _ => false,
    }
}

fn take(
    entry: &Envelope,
    told: &mut BTreeMap<EventId, Told>,
    steers: &mut BTreeMap<u64, EventId>,
    begun: &mut BTreeMap<SessionId, Vec<u64>>,
) {
    match &entry.event {
        Event::Intake(IntakeStage::Received { inbound }) => {
            let one = Told { received: entry.seq, ..Told::default() };
            assert!(told.insert(inbound.event_id.clone(), one).is_none());
        }
        Event::Intake(IntakeStage::Decided { record }) => {
            let event = record.event_id.as_ref().expect("it is about an event");
            told.get_mut(event).expect("it came in").decided += 1;
        }
        Event::Intake(IntakeStage::Routed(routed)) => {
            let one = told.get_mut(&routed.event).expect("it came in");
            one.authority = Some(routed.authority.clone());
        }
        Event::Intake(IntakeStage::Delivered(delivered)) => {
            told.get_mut(&delivered.event).expect("it came in").delivered += 1;
        }
        Event::RunCreated(plan) => {
            let run = entry.about.run.clone().expect("it is about a run");
            let session = entry.about.session.clone().expect("it is about a session");
            for event in &plan.given.inbounds {
                let one = told.get_mut(event).expect("it came in");
                one.runs.insert(run.clone());
                begun.entry(session.clone()).or_default().push(one.received);
            }
        }
        Event::SteerReceived { event: Some(event), .. } => {
            steers.insert(entry.seq, event.clone());
        }
        Event::InputTaken { input } => {
            if let Some(event) = steers.get(input) {
                let run = entry.about.run.clone().expect("it is about a run");
                told.get_mut(event).expect("it came in").runs.insert(run);
            }
        }
        _ => {}
    }
}
