//! The decisions behind entries of a real ledger.

use std::sync::Arc;

use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::confinement::Confinement;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::{AccessId, ApprovalId, CallId, ContentHash, SessionId};
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A ledger with a message, and a call that was asked about, allowed and made.
struct Scene {
    // Removed when the test ends.
    _directory: TempDir,
    ledger: Ledger,
}

/// A link, without title and detail.
type Told = (Option<u64>, ProvenanceStage, Option<Verdict>, Option<String>);

fn event(value: Value) -> Event {
    serde_json::from_value(value).unwrap()
}

impl Scene {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let ledger = Ledger::open(directory.path(), Arc::new(|| 1_700_000_000_000)).unwrap();
        Self { _directory: directory, ledger }
    }

    fn add(&self, about: &EntrySubject, value: Value) -> u64 {
        let draft = Draft { cause: None, about: about.clone(), event: event(value) };
        self.ledger.append(vec![draft]).unwrap()[0].seq
    }

    fn links(&self, seq: u64) -> Vec<Told> {
        let policy = |name: &str| {
            let place = DefinitionLocation { file: "access/people.yml".to_owned(), line: 3 };
            (name == "friends").then_some(place)
        };
        let line =
            |place: &DefinitionLocation| Some(format!("line {} of {}", place.line, place.file));
        let lookup = DefinitionLookup { policy: &policy, agent: &|_| None, line: &line };
        let links = provenance_of(&self.ledger, &lookup, seq).unwrap().unwrap();
        links.into_iter().map(|link| (link.seq, link.stage, link.verdict, link.text)).collect()
    }
}

fn about() -> EntrySubject {
    EntrySubject {
        session: Some(SessionId::from_number(1)),
        run: Some(RunId::from_number(1)),
        turn: Some(TurnId::from_number(1)),
    }
}

fn decided_event(effect: &str, part: &str) -> Value {
    json!({
        "type": "intake", "stage": "decided", "record": {
            "id": AccessId::from_number(1), "timestamp": 1, "event_id": "tg:1", "channel": "tg",
            "sender_identifier": "ann", "principal": {"kind": "known", "name": "Ann"},
            "policies_evaluated": ["friends"], "effect": effect, "tools": {},
            "credentials": {"named": []}, "data": {"level": "none", "from": "default"},
            "matched": [{"policy": "friends", "part": part}], "processing_time_ms": 0.1,
        }
    })
}

/// Appends the message up to its route; returns the entries.
fn came_in(scene: &Scene) -> [u64; 3] {
    let session = EntrySubject { session: about().session, ..EntrySubject::default() };
    scene.add(&session, json!({"type": "session_opened", "key": "ann", "agent": "helper"}));
    let received = json!({
        "type": "intake", "stage": "received", "inbound": {
            "event_id": "tg:1", "timestamp": 1, "content": "list the files", "channel": "tg",
            "sender_id": "ann",
        }
    });
    let received = scene.add(&EntrySubject::default(), received);
    let decided = scene.add(&session, decided_event("allow", "allowed"));
    let routed = scene.add(
        &session,
        json!({
            "type": "intake", "stage": "routed", "event": "tg:1",
            "access": AccessId::from_number(1), "agent": "helper", "source": "person",
            "authority": ContentHash::of(b"ann"),
            "settings": {"mode": "steer", "debounce_ms": 1, "cap": 2, "drop": "old"},
        }),
    );
    [received, decided, routed]
}

/// Appends the run and its turn; returns the entries.
fn taken_up(scene: &Scene) -> [u64; 2] {
    let run = json!({
        "type": "run_created", "agent": "helper", "prompt": "list the files",
        "inbounds": ["tg:1"], "model": "scripted:x", "mode": "structured",
        "limits": {"steps_max": 9, "calls_max": 9, "iterations_max": 9},
        "workspace": "/w", "project": "/p", "files": {},
        "steps": [{"id": "s1", "uses": "prompt", "agent": "helper"}],
    });
    let run = scene.add(&EntrySubject { turn: None, ..about() }, run);
    let turn = json!({"type": "turn_started", "prompt": "list the files", "charter": {
        "tools": [{"name": "bash"}], "authority": {"confinement": {"level": "ns"}},
    }});
    [run, scene.add(&about(), turn)]
}

#[test]
fn a_call_is_told_from_who_wrote_to_what_came_of_it() {
    let scene = Scene::new();
    let [received, decided, routed] = came_in(&scene);
    let [run, turn] = taken_up(&scene);
    let call = json!({"id": CallId::from_number(1), "tool": "bash", "input": {"command": "ls"}});
    let ruling = json!({"verdict": "ask", "findings": [
        {"stage": "registered", "verdict": "allow", "why": "there is such a tool"},
        {"stage": "rules", "verdict": "ask", "why": "a rule", "rule": "agents/helper/agent.yml:7"},
    ]});
    let proposed =
        scene.add(&about(), json!({"type": "call_proposed", "call": call, "ruling": ruling}));
    let other = json!({"id": CallId::from_number(2), "tool": "bash", "input": {}});
    scene.add(&about(), json!({"type": "call_proposed", "call": other, "ruling": ruling}));
    let approval = ApprovalId::from_number(1);
    let asked = scene.add(
        &about(),
        json!({
            "type": "approval_asked", "id": approval, "call": call, "ruling": ruling,
            "digest": ContentHash::of(b"ls"),
        }),
    );
    let answer = ApprovalAnswer::approved(ApprovalScope::Once);
    let answered = scene.add(
        &about(),
        json!({"type": "approval_answered", "approval": approval, "answer": answer}),
    );
    let started = scene.add(
        &about(),
        json!({
            "type": "call_started", "call": CallId::from_number(1),
            "by": {"kind": "approval", "approval": approval},
            "under": {"level": "ns", "hash": Confinement::most_restricted().hash()},
        }),
    );
    let finished = scene.add(
        &about(),
        json!({
            "type": "call_finished", "call": CallId::from_number(1),
            "outcome": {"status": "done", "text": "a.txt"},
        }),
    );
    let (allow, ask) = (Some(Verdict::Allow), Some(Verdict::Ask));
    let rule = Some("line 7 of agents/helper/agent.yml".to_owned());
    let expected = [
        (Some(received), ProvenanceStage::Received, None, None),
        (Some(decided), ProvenanceStage::Access, allow, None),
        (
            Some(decided),
            ProvenanceStage::Access,
            allow,
            Some("line 3 of access/people.yml".to_owned()),
        ),
        (Some(routed), ProvenanceStage::Route, None, None),
        (Some(run), ProvenanceStage::Agent, None, None),
        (Some(turn), ProvenanceStage::Agent, None, None),
        (Some(proposed), ProvenanceStage::Agent, None, None),
        (Some(proposed), ProvenanceStage::Rule, allow, None),
        (Some(proposed), ProvenanceStage::Rule, ask, rule.clone()),
        (Some(asked), ProvenanceStage::Approval, ask, rule),
        (Some(answered), ProvenanceStage::Approval, allow, None),
        (Some(started), ProvenanceStage::Approval, allow, None),
        (Some(started), ProvenanceStage::Confinement, None, None),
        (Some(finished), ProvenanceStage::Result, None, None),
    ];
    for seq in [proposed, asked, answered, started, finished] {
        assert_eq!(scene.links(seq), expected, "{seq}");
    }
    // Later entries did not lead to earlier ones.
    assert_eq!(scene.links(routed), expected[..4]);
    assert_eq!(scene.links(turn), expected[..6]);
}

#[test]
fn a_denial_ends_with_the_policy_that_denies() {
    let scene = Scene::new();
    let received = json!({
        "type": "intake", "stage": "received", "inbound": {
            "event_id": "tg:1", "timestamp": 1, "channel": "tg", "sender_id": "ann",
        }
    });
    let received = scene.add(&EntrySubject::default(), received);
    let decided = scene.add(&EntrySubject::default(), decided_event("deny", "denied"));
    let deny = Some(Verdict::Deny);
    assert_eq!(
        scene.links(decided),
        [
            (Some(received), ProvenanceStage::Received, None, None),
            (Some(decided), ProvenanceStage::Access, deny, None),
            (
                Some(decided),
                ProvenanceStage::Access,
                deny,
                Some("line 3 of access/people.yml".to_owned())
            ),
        ]
    );
}

#[test]
fn an_entry_without_decisions_has_its_causes() {
    let scene = Scene::new();
    let session = EntrySubject { session: about().session, ..EntrySubject::default() };
    let opened =
        scene.add(&session, json!({"type": "session_opened", "key": "a", "agent": "helper"}));
    let draft = Draft {
        cause: Some(opened),
        about: session,
        event: event(json!({"type": "prompt_received", "content": "hello"})),
    };
    let prompt = scene.ledger.append(vec![draft]).unwrap()[0].seq;
    let links = scene.links(prompt);
    let seqs: Vec<Option<u64>> = links.iter().map(|(seq, ..)| *seq).collect();
    assert_eq!(seqs, [Some(opened), Some(prompt)]);
    assert_eq!(name(&scene.ledger.entry(prompt).unwrap().unwrap().event), "prompt received");
}
