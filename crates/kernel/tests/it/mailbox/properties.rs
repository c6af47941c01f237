//! What always holds, whatever happens in whatever order.

use std::collections::BTreeMap;

use agentry_kernel::mailbox::{
    AuthorityFilter, Mailbox, MailboxAction, MailboxInput, MailboxItem, MailboxSender,
    MailboxStartReason,
};
use agentry_protocol::TurnId;
use agentry_protocol::access::Delivery;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{OverflowPolicy, QueueSettings, SenderKind};
use proptest::prelude::*;

use super::dialogue::{bare, event, sender};

#[derive(Clone, Debug)]
enum Step {
    Arrive { who: u8, place: u8, settings: QueueSettings, source: SenderKind },
    Again(prop::sample::Index),
    Begin { works: bool },
    End,
    Answer { which: prop::sample::Index, taken: bool },
    Compact(bool),
    Abort(Option<u8>),
    Wait(u64),
    WriteDown,
}

fn settings() -> impl Strategy<Value = QueueSettings> {
    let mode = prop_oneof![
        2 => Just(Delivery::Steer),
        2 => Just(Delivery::Followup),
        3 => Just(Delivery::Collect),
        1 => Just(Delivery::Interrupt),
    ];
    let drop = prop_oneof![
        Just(OverflowPolicy::Old),
        Just(OverflowPolicy::New),
        Just(OverflowPolicy::Summarize)
    ];
    (mode, 0..50_u64, 1..4_usize, drop).prop_map(|(mode, debounce_ms, cap, drop)| QueueSettings {
        mode,
        debounce_ms,
        cap,
        drop,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let source = prop_oneof![6 => Just(SenderKind::Person), 1 => Just(SenderKind::Heartbeat)];
    prop_oneof![
        8 => (0..2_u8, 0..2_u8, settings(), source).prop_map(|(who, place, settings, source)| {
            Step::Arrive { who, place, settings, source }
        }),
        1 => any::<prop::sample::Index>().prop_map(Step::Again),
        3 => prop::bool::weighted(0.8).prop_map(|works| Step::Begin { works }),
        3 => Just(Step::End),
        3 => (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(which, taken)| Step::Answer { which, taken }),
        1 => any::<bool>().prop_map(Step::Compact),
        1 => prop::option::of(0..2_u8).prop_map(Step::Abort),
        3 => (0..40_u64).prop_map(Step::Wait),
        1 => Just(Step::WriteDown),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Waiting,
    Steering,
    Started,
    Steered,
    Rejected,
    Dropped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Ordered(MailboxSender),
    Turn(TurnId, MailboxSender),
}

/// Whoever owns the mailbox, and remembers everything.
struct Owner {
    mailbox: Mailbox,
    now_ms: u64,
    items: Vec<MailboxItem>,
    ways: BTreeMap<EventId, Way>,
    doing: Doing,
    turns: u128,
    /// The number of the newest item that had a turn.
    started: Option<usize>,
}

impl Owner {
    fn new() -> Self {
        Self {
            mailbox: Mailbox::default(),
            now_ms: 0,
            items: Vec::new(),
            ways: BTreeMap::new(),
            doing: Doing::Nothing,
            turns: 0,
            started: None,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Arrive { who, place, settings, source } => {
                let id = event(&format!("i{}", self.items.len()));
                let sender = sender(&format!("p{who}@c{place}"));
                let text = format!("<{id}>");
                let item =
                    MailboxItem { id, sender, source, text, settings, received_ms: self.now_ms };
                self.items.push(item.clone());
                self.ways.insert(item.id.clone(), Way::Waiting);
                self.tell(MailboxInput::Arrived(item));
            }
            Step::Again(which) if !self.items.is_empty() => {
                let item = which.get(&self.items).clone();
                // One that was turned away may come again, and one that is long gone is the ledger's.
                if self.ways[&item.id] != Way::Rejected && self.items.len() < 60 {
                    assert_eq!(
                        self.acts(MailboxInput::Arrived(item.clone()))[0],
                        MailboxAction::Repeated { id: item.id }
                    );
                }
            }
            Step::Again(_) => {}
            Step::Begin { works } => self.begin(works),
            Step::End => {
                if let Doing::Turn(turn, _) = self.doing.clone() {
                    self.doing = Doing::Nothing;
                    self.back_to_waiting();
                    self.tell(MailboxInput::TurnEnded(turn));
                }
            }
            Step::Answer { which, taken } => self.answer(which, taken),
            Step::Compact(starts) => {
                self.tell(if starts {
                    MailboxInput::CompactionStarted
                } else {
                    MailboxInput::CompactionEnded
                });
            }
            Step::Abort(whose) => {
                let of = |who: u8| AuthorityFilter::Of(sender(&format!("p{who}@c0")).authority);
                self.tell(MailboxInput::Aborted(whose.map_or(AuthorityFilter::Everyone, of)));
            }
            Step::Wait(time) => {
                self.now_ms += time;
                self.tell(MailboxInput::Ticked);
            }
            Step::WriteDown => {
                let written = serde_json::to_string(&self.mailbox).expect("it can be written");
                assert_eq!(
                    serde_json::from_str::<Mailbox>(&written).expect("it can be read"),
                    self.mailbox
                );
            }
        }
        self.agrees();
    }

    fn begin(&mut self, works: bool) {
        let Doing::Ordered(sender) = self.doing.clone() else { return };
        if works {
            self.turns += 1;
            let turn = TurnId::from_number(self.turns);
            self.doing = Doing::Turn(turn.clone(), sender.clone());
            self.tell(MailboxInput::TurnStarted { turn, sender });
        } else {
            self.doing = Doing::Nothing;
            self.tell(MailboxInput::StartFailed);
        }
    }

    fn answer(&mut self, which: prop::sample::Index, taken: bool) {
        let open: Vec<EventId> = self.mailbox.steering().map(|item| item.id.clone()).collect();
        if open.is_empty() {
            return;
        }
        let id = which.get(&open).clone();
        let way = if taken { Way::Steered } else { Way::Waiting };
        self.ways.insert(id.clone(), way);
        self.tell(if taken { MailboxInput::SteerTaken(id) } else { MailboxInput::SteerFailed(id) });
    }

    fn back_to_waiting(&mut self) {
        for way in self.ways.values_mut().filter(|way| **way == Way::Steering) {
            *way = Way::Waiting;
        }
    }

    fn acts(&mut self, input: MailboxInput) -> Vec<MailboxAction> {
        let mut other = self.mailbox.clone();
        let acts = self.mailbox.tell(input.clone(), self.now_ms);
        assert_eq!(
            other.tell(input, self.now_ms),
            acts,
            "the same told twice is answered the same"
        );
        acts
    }

    fn tell(&mut self, input: MailboxInput) {
        for act in self.acts(input) {
            match act {
                MailboxAction::Start { items, prompt, why } => self.start(&items, &prompt, why),
                MailboxAction::Steer { item } => {
                    assert!(
                        matches!(&self.doing, Doing::Turn(_, sender) if *sender == item.sender),
                        "nobody steers a turn of somebody else"
                    );
                    self.move_on(&item.id, Way::Steering);
                }
                MailboxAction::Rejected { item, .. } => self.move_on(&item.id, Way::Rejected),
                MailboxAction::Dropped { item, .. } => self.move_on(&item.id, Way::Dropped),
                MailboxAction::Repeated { id } => panic!("{id} came once"),
                MailboxAction::WakeAt(at) => assert!(at > self.now_ms, "a time to wake is ahead"),
                MailboxAction::Cancel { .. } => {}
            }
        }
    }

    fn start(&mut self, items: &[MailboxItem], prompt: &str, why: MailboxStartReason) {
        assert_eq!(self.doing, Doing::Nothing, "one turn at a time");
        let sender = &items[0].sender;
        assert!(items.iter().all(|item| item.sender == *sender), "one sender in a prompt");
        assert!(items.len() == 1 || why == MailboxStartReason::Collected);
        for item in &self.items {
            let within = items.contains(item);
            assert_eq!(
                prompt.matches(&item.text).count(),
                usize::from(within || self.noted(item, prompt))
            );
            if !within && prompt.contains(&item.text) {
                assert_eq!(item.sender, *sender, "one sender in a note");
            }
        }
        for item in items {
            let number = self.items.iter().position(|one| one == item);
            assert!(number > self.started, "{} was said before what ran already", item.id);
            self.started = number;
            self.move_on(&item.id, Way::Started);
        }
        self.doing = Doing::Ordered(sender.clone());
    }

    /// Whether a dropped item has its line in the prompt's note.
    fn noted(&self, item: &MailboxItem, prompt: &str) -> bool {
        self.ways[&item.id] == Way::Dropped && prompt.contains(&format!("\n- {}", item.text))
    }

    fn move_on(&mut self, id: &EventId, way: Way) {
        let before = self.ways.insert(id.clone(), way).expect("it arrived");
        let open = before == Way::Waiting || before == Way::Steering && way == Way::Dropped;
        assert!(open, "{id} was {before:?} and is {way:?}");
    }

    fn agrees(&self) {
        let with = |way: Way| {
            self.items.iter().filter(move |item| self.ways[&item.id] == way).collect::<Vec<_>>()
        };
        assert_eq!(
            self.mailbox.waiting().collect::<Vec<_>>(),
            with(Way::Waiting),
            "nothing is lost"
        );
        assert_eq!(self.mailbox.steering().collect::<Vec<_>>(), with(Way::Steering));
    }

    /// Lets everything come to its end.
    fn rest(&mut self) {
        self.tell(MailboxInput::CompactionEnded);
        for _ in 0..=self.items.len() {
            self.begin(true);
            self.step(Step::End);
            self.step(Step::Wait(100));
        }
        assert_eq!(self.mailbox.waiting().len(), 0, "what waits comes to its turn");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn each_item_ends_in_one_way_in_order_and_with_its_own_kind(
        steps in prop::collection::vec(step(), 0..80)
    ) {
        let mut owner = Owner::new();
        for step in steps {
            owner.step(step);
        }
        owner.rest();
    }

    #[test]
    fn without_limits_and_stops_every_item_has_its_turn_in_order(
        deliveries in prop::collection::vec((0..2_u8, 0..2_u8, any::<bool>()), 0..20)
    ) {
        // The obvious way: cut the list wherever the sender changes or an item wants to be alone.
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (number, one) in deliveries.iter().enumerate() {
            let joins = number > 1 && one.2 && deliveries[number - 1] == *one;
            match groups.last_mut() {
                Some(last) if joins => last.push(number),
                Some(_) | None => groups.push(vec![number]),
            }
        }
        let mut mailbox = Mailbox::default();
        let mut seen: Vec<Vec<usize>> = Vec::new();
        let mut acts = Vec::new();
        for (number, (who, place, collect)) in deliveries.iter().enumerate() {
            let mode = if *collect { Delivery::Collect } else { Delivery::Followup };
            let settings = QueueSettings { mode, debounce_ms: 10, cap: 200, drop: OverflowPolicy::New };
            let sender = sender(&format!("p{who}@c{place}"));
            let id = event(&number.to_string());
            let item = MailboxItem {
                id, sender, source: SenderKind::Person, text: String::new(), settings, received_ms: 0,
            };
            acts.extend(mailbox.tell(MailboxInput::Arrived(item), 0));
        }
        let mut turn = 0;
        while let Some(MailboxAction::Start { items, .. }) = acts.pop() {
            seen.push(items.iter().map(|item| bare(&item.id).parse().expect("a number")).collect());
            turn += 1;
            let id = TurnId::from_number(turn);
            mailbox.tell(MailboxInput::TurnStarted { turn: id.clone(), sender: items[0].sender.clone() }, 0);
            acts = mailbox.tell(MailboxInput::TurnEnded(id), 1_000);
        }
        prop_assert_eq!(seen, groups);
    }
}
