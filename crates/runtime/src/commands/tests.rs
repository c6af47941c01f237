//! Each command on a temporary ledger: what it records, and what it refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use agentry_agentfile::event_hook::HookManifest;
use agentry_protocol::access::{GrantConditions, PrincipalQuery, Resource};
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::event::Mode;
use agentry_protocol::event_hook::{Author, HookMode, Triggers};
use agentry_protocol::intake::Entity;
use agentry_protocol::token::{TokenKind, TokenScope};
use agentry_protocol::trust::{TrustedAddresses, TrustedPrograms};
use agentry_protocol::{
    ApprovalId, CallId, ContentHash, EventHookId, GrantId, RunId, SessionId, TokenId, TurnId,
};
use agentry_store::{Error as StoreError, EventHookStatus};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::approvals::AnswerRequest;
use super::entities::{EntityRequest, TagChange};
use super::event_hooks::HookRequest;
use super::grants::{GrantRequest, GrantRevocation};
use super::keys::{KeyEnd, KeyIssuer, KeyNumbers, KeyRevocation, KeySpec};
use super::runs::ModeChange;
use super::trust::ProgramReview;
use super::*;
use crate::host::enforcer::Enforcer;

const NOW: u64 = 1_700_000_000_000;
const SECRET: &str = "correct-horse-battery";

struct Scene {
    ledger: Ledger,
    redactor: Redactor,
    _directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let ledger = Ledger::open(directory.path(), Arc::new(|| NOW)).expect("a new ledger");
        let redactor = Redactor::new([("pass".to_owned(), SECRET.into())]);
        Self { ledger, redactor, _directory: directory }
    }

    fn context(&self) -> CommandContext<'_> {
        fn new_number() -> u128 {
            use std::sync::atomic::{AtomicU64, Ordering};
            static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
            u128::from(NEXT.fetch_add(1, Ordering::SeqCst))
        }
        CommandContext { ledger: &self.ledger, redactor: &self.redactor, new_number }
    }

    fn add(&self, event: Value) {
        let event = serde_json::from_value(event).expect("the test writes an event");
        self.ledger.append(vec![Draft { cause: None, about: about(), event }]).unwrap();
    }

    /// A run whose turn waits for answers: about a call, and about a permission.
    fn waiting(&self) {
        self.add(json!({"type": "session_opened", "key": "a", "agent": "helper"}));
        self.add(json!({
            "type": "run_created", "agent": "helper", "prompt": "go", "model": "scripted:x",
            "mode": "structured", "workspace": "/w", "project": "/p", "files": {},
            "limits": {"steps_max": 9, "calls_max": 9, "iterations_max": 9},
            "steps": [{"id": "s1", "uses": "prompt", "agent": "helper"}],
        }));
        for number in [1, 2] {
            let mut asked = json!({
                "type": "approval_asked", "id": ApprovalId::from_number(number),
                "call": {"id": CallId::from_number(number), "tool": "bash",
                    "input": {"command": "ls"}},
                "ruling": {"verdict": "ask", "findings": []}, "digest": ContentHash::of(b"ls"),
            });
            if number == 2 {
                asked["kind"] = json!({"permission": {
                    "requester": {"kind": "known", "entity_id": "mom", "name": "Mom"},
                    "requester_channel": "tg", "resources": ["tool:bash"], "reason": "no policy",
                    "original_message": "please", "created_at": 1, "expires_at": NOW + 1,
                }});
            }
            self.add(asked);
        }
    }

    fn last(&self) -> Value {
        let last = self.ledger.last_seq().unwrap();
        serde_json::to_value(self.ledger.entry(last).unwrap().unwrap().event).unwrap()
    }

    /// Fails if the command recorded anything or was not refused for this reason.
    #[track_caller]
    fn refused<T>(&self, why: &str, command: impl FnOnce() -> Result<T, CommandError>) {
        let before = self.ledger.last_seq().unwrap();
        let Err(error) = command() else { panic!("it is not refused: {why}") };
        assert_eq!(error.to_string(), why);
        assert_eq!(self.ledger.last_seq().unwrap(), before, "nothing is recorded: {why}");
    }
}

fn about() -> EntrySubject {
    EntrySubject {
        session: Some(SessionId::from_number(1)),
        run: Some(RunId::from_number(1)),
        turn: Some(TurnId::from_number(1)),
    }
}

#[test]
fn a_run_is_cancelled_steered_and_changed_until_it_ends() {
    let scene = Scene::new();
    let Scene { ledger, .. } = &scene;
    let run = RunId::from_number(1);
    scene.refused(&format!("there is no run `{run}`"), || runs::cancel(ledger, &about()));
    scene.waiting();
    let recorded = runs::steer(scene.context(), &about(), &format!("use {SECRET}")).unwrap();
    assert_eq!(recorded.about, about());
    assert_eq!(scene.last(), json!({"type": "steer_received", "content": "use [secret pass]"}));
    let change = ModeChange { mode: Mode::Autonomous, max_iterations: Some(3) };
    let missing = Enforcer::Missing("no namespaces".to_owned());
    runs::set_mode(ledger, &missing, &about(), change).unwrap();
    let changed = json!({"type": "mode_received", "mode": "wiggum", "max_iterations": 3});
    assert_eq!(scene.last(), changed);
    let off = "wiggum mode needs the sandbox, which is off: calls would run without approval and \
               without confinement";
    scene.refused(off, || runs::set_mode(ledger, &Enforcer::Off, &about(), change));
    let supervised = ModeChange { mode: Mode::Supervised, max_iterations: None };
    runs::set_mode(ledger, &Enforcer::Off, &about(), supervised).unwrap();
    let seq = runs::cancel(ledger, &about()).unwrap().seq;
    assert_eq!(
        (seq, scene.last()),
        (ledger.last_seq().unwrap(), json!({"type": "cancel_received"}))
    );
    scene.add(json!({"type": "run_ended", "ending": "done"}));
    let ended = format!("run {run} has already ended");
    scene.refused(&ended, || runs::cancel(ledger, &about()));
    scene.refused(&ended, || runs::steer(scene.context(), &about(), "more"));
    scene.refused(&ended, || runs::set_mode(ledger, &Enforcer::Off, &about(), supervised));
}

fn answered<'a>(approval: &'a ApprovalId, answer: ApprovalAnswer) -> AnswerRequest<'a> {
    AnswerRequest { approval, answer, by: "terminal", digest: None, run: None }
}

#[test]
fn an_answer_suits_its_approval_and_what_was_shown_of_it() {
    let scene = Scene::new();
    scene.waiting();
    let (call, request) = (ApprovalId::from_number(1), ApprovalId::from_number(2));
    let answer = |request| approvals::answer(scene.context(), request);
    let yes = || ApprovalAnswer::approved(ApprovalScope::Once);
    let edited = |edit: Value| ApprovalAnswer { edit: Some(edit), ..yes() };
    let other = AnswerRequest { digest: Some("blake3:00"), ..answered(&call, yes()) };
    scene.refused(&format!("the digest of the answer does not match the call of `{call}`"), || {
        answer(other)
    });
    let run = RunId::from_number(7);
    let other = AnswerRequest { run: Some(&run), ..answered(&call, yes()) };
    scene.refused(&format!("there is no approval `{call}`"), || answer(other));
    let no = ApprovalAnswer { reach: ApprovalScope::Session, ..ApprovalAnswer::declined(None) };
    scene.refused("`reach` needs `allow`: a no holds for this call only", || {
        answer(answered(&call, no))
    });
    scene.refused("the changed arguments are not a JSON object", || {
        answer(answered(&call, edited(json!([1]))))
    });
    let text = CommandError::SecretInArguments.to_string();
    scene.refused(&text, || answer(answered(&call, edited(json!({ "command": SECRET })))));
    let always = ApprovalAnswer::approved(ApprovalScope::Always);
    let error = answer(answered(&call, always.clone())).unwrap_err();
    assert!(matches!(error, CommandError::WrongAnswer(_)), "{error}");
    let nobody = ApprovalId::from_number(9);
    let error = answer(answered(&nobody, yes())).unwrap_err();
    assert!(matches!(error, CommandError::Ledger(StoreError::NotWaiting { .. })), "{error}");

    let digest = ContentHash::of(b"ls");
    let no = ApprovalAnswer::declined(Some(format!("not {SECRET}")));
    let run = RunId::from_number(1);
    let given = answer(AnswerRequest {
        digest: Some(digest.as_str()),
        run: Some(&run),
        ..answered(&call, no)
    });
    assert_eq!(given.unwrap().grant, None);
    let recorded = &scene.last()["answer"];
    assert_eq!((&recorded["allow"], &recorded["by"]), (&json!(false), &json!("terminal")));
    assert_eq!(recorded["reason"], "not [secret pass]");
    let error = answer(answered(&call, yes())).unwrap_err();
    assert!(matches!(error, CommandError::Ledger(StoreError::NotWaiting { .. })), "{error}");
    let given = answer(answered(&request, always)).unwrap();
    let grant = given.grant.expect("a lasting yes gives a grant");
    assert_eq!((grant.expires_at, given.recorded.len()), (None, 2));
    assert_eq!(grant.request_context, Some(request.to_string()));
    assert_eq!(scene.ledger.grants(true).unwrap(), vec![grant]);
}

fn grant(receiver: PrincipalQuery, resources: &[&str]) -> GrantRequest {
    GrantRequest {
        receiver,
        resources: resources.iter().map(|one| one.parse::<Resource>().unwrap()).collect(),
        conditions: GrantConditions::default(),
        lasts_ms: Some(1_000),
        reason: Some(format!("she knows {SECRET}")),
        by: "owner".to_owned(),
    }
}

#[test]
fn a_grant_is_given_and_revoked_once() {
    let scene = Scene::new();
    let mom = || PrincipalQuery { person_id: Some("mom".to_owned()), ..PrincipalQuery::default() };
    let give = |request| grants::give(scene.context(), request);
    scene.refused("a grant needs a receiver", || {
        give(grant(PrincipalQuery::default(), &["tool:bash"]))
    });
    scene.refused("a grant needs at least one resource", || give(grant(mom(), &[])));
    let short = GrantRequest { lasts_ms: Some(0), ..grant(mom(), &["tool:bash"]) };
    scene.refused("a grant lasts at least a millisecond", || give(short));
    let given = give(grant(mom(), &["tool:bash", "data:full"])).unwrap();
    assert_eq!((given.created_at, given.expires_at), (NOW, Some(NOW + 1_000)));
    assert_eq!(given.reason.as_deref(), Some("she knows [secret pass]"));
    assert_eq!(scene.ledger.grant(&given.id).unwrap().as_ref(), Some(&given));
    let revoke = |grant: &GrantId| {
        let reason = Some(SECRET.to_owned());
        let request = GrantRevocation { grant: grant.clone(), reason, by: "owner".to_owned() };
        grants::revoke(scene.context(), request)
    };
    let nobody = GrantId::from_number(9);
    scene.refused(&format!("there is no grant `{nobody}`"), || revoke(&nobody));
    assert_eq!(revoke(&given.id).unwrap().revoked_at, Some(NOW));
    assert_eq!(scene.last()["reason"], "[secret pass]");
    scene.refused(&format!("grant {} is already revoked", given.id), || revoke(&given.id));
}

fn person(name: &str) -> EntityRequest {
    EntityRequest {
        name: name.to_owned(),
        id: None,
        relationship: None,
        is_owner: false,
        tags: Vec::new(),
        identities: Vec::new(),
    }
}

#[test]
fn an_entity_is_added_changed_and_removed() {
    let scene = Scene::new();
    let Scene { ledger, .. } = &scene;
    let add = |request| entities::add(ledger, request);
    let tg = || entities::parse_identity("tg:1").unwrap();
    let ann = EntityRequest {
        relationship: Some("friend".to_owned()),
        tags: vec!["chess".to_owned(), "chess".to_owned()],
        identities: vec![tg(), tg()],
        is_owner: true,
        ..person("Ann")
    };
    let ann: Entity = add(ann).unwrap();
    assert_eq!((ann.id.as_str(), ann.tags.len(), ann.identities.len()), ("ann", 1, 1));
    let long = "x".repeat(65);
    let refusals = [
        (person("\u{200b}"), "the name is empty, too long, or has invisible characters".to_owned()),
        (person("山田"), "cannot derive an id from `山田`".to_owned()),
        (person("ann"), "the id `ann` is taken by Ann".to_owned()),
        (
            EntityRequest { is_owner: true, ..person("Bo") },
            "the owner already exists as `ann`".to_owned(),
        ),
        (
            EntityRequest { id: Some("b o".to_owned()), ..person("Bo") },
            "`b o` is not a valid id".to_owned(),
        ),
        (
            EntityRequest { relationship: Some(long.clone()), ..person("Bo") },
            format!("`{long}` is not a valid relationship"),
        ),
        (
            EntityRequest { tags: (0..65).map(|one| format!("t{one}")).collect(), ..person("Bo") },
            "an entity has at most 64 tags".to_owned(),
        ),
        (
            EntityRequest { identities: vec![tg()], ..person("Bo") },
            "tg:1 is ann already; unlink it there first".to_owned(),
        ),
    ];
    for (request, why) in refusals {
        scene.refused(&why, || add(request));
    }
    scene.refused("no entity is known as `bo`", || entities::link(ledger, "bo", tg()));
    let mut odd = tg();
    odd.account_id = Some("a b".to_owned());
    scene.refused("`a b` is not a valid account", || entities::link(ledger, "ann", odd));
    let mut owned = tg();
    owned.is_owned = true;
    let linked = entities::link(ledger, "ann", owned).unwrap();
    assert_eq!(linked.identities.iter().map(|one| one.is_owned).collect::<Vec<_>>(), [true]);
    let mail = entities::parse_identity("email:a@b.example").unwrap();
    scene.refused("`ann` has no identity email:a@b.example", || {
        entities::unlink(ledger, "ann", &mail)
    });
    assert!(entities::unlink(ledger, "ann", &tg()).unwrap().identities.is_empty());
    let (new, old) = (TagChange::Add("work".to_owned()), TagChange::Remove("chess".to_owned()));
    assert_eq!(entities::change_tags(ledger, "ann", &[new.clone(), old]).unwrap().tags, ["work"]);
    let before = ledger.last_seq().unwrap();
    entities::change_tags(ledger, "ann", &[new]).unwrap();
    assert_eq!(ledger.last_seq().unwrap(), before, "without a difference nothing is recorded");
    scene.refused("`a b` is not a valid tag", || {
        entities::change_tags(ledger, "ann", &[TagChange::Add("a b".to_owned())])
    });
    assert_eq!(entities::remove(ledger, "ann").unwrap().name, "Ann");
    assert_eq!(ledger.entities().unwrap(), Vec::new());
    scene.refused("no entity is known as `ann`", || entities::remove(ledger, "ann"));
}

fn key(scopes: &[TokenScope]) -> KeySpec {
    KeySpec {
        name: "phone".to_owned(),
        kind: TokenKind::Bearer,
        scopes: scopes.to_vec(),
        entity: None,
        expires_at: None,
    }
}

#[test]
fn a_key_opens_no_more_than_its_issuer_and_its_entity_may() {
    let scene = Scene::new();
    let Scene { ledger, .. } = &scene;
    entities::add(ledger, person("Mom")).unwrap();
    let numbers = || KeyNumbers { id: 5, secret: [7; 32] };
    let issue = |spec, issuer| keys::issue(ledger, spec, issuer, numbers());
    let (read, admin) = (TokenScope::Read, TokenScope::Admin);
    let reader = KeyIssuer::Key(&[TokenScope::Read]);
    let named = |name: &str| KeySpec { name: name.to_owned(), ..key(&[read]) };
    for spec in [named(" "), named(&"x".repeat(101))] {
        scene.refused("the name of a key must have 1 to 100 characters", || {
            issue(spec, KeyIssuer::Owner)
        });
    }
    scene.refused("a key needs at least one scope", || issue(key(&[]), KeyIssuer::Owner));
    scene.refused("a key without the scope `admin` cannot create a key with it", || {
        issue(key(&[read, admin]), reader)
    });
    let of = |entity: &str, scopes: &[TokenScope]| KeySpec {
        entity: Some(entity.to_owned()),
        ..key(scopes)
    };
    scene.refused("no entity is known as `dad`", || issue(of("dad", &[read]), KeyIssuer::Owner));
    scene.refused("only the owner can have a key with the scope `admin`", || {
        issue(of("mom", &[admin]), KeyIssuer::Owner)
    });
    let made = issue(of("mom", &[read]), reader).unwrap();
    let secret = made.text.rsplit('_').next().expect("it has parts");
    assert!(made.text.starts_with("agt_"), "{}", made.text);
    assert_eq!(made.token.hash, ContentHash::of(secret.as_bytes()));
    assert!(!scene.last().to_string().contains(secret), "the secret is not recorded");
    let row = ledger.token(&made.token.id).unwrap().expect("it is recorded");
    assert_eq!((row.token, row.revoked), (made.token.clone(), None));

    let revoke = |token: &TokenId| {
        let reason = Some(SECRET.to_owned());
        let request = KeyRevocation { token: token.clone(), reason, by: "owner".to_owned() };
        keys::revoke(scene.context(), request)
    };
    let nobody = TokenId::from_number(9);
    scene.refused(&format!("there is no key `{nobody}`"), || revoke(&nobody));
    revoke(&made.token.id).unwrap();
    assert_eq!(scene.last()["reason"], "[secret pass]");
    let gone = StoreError::TokenGone { token: made.token.id.clone() }.to_string();
    scene.refused(&gone, || revoke(&made.token.id));
    scene.refused(&gone, || keys::end(ledger, &made.token.id, "console", KeyEnd::Used));
}

fn hook(script: &[u8]) -> HookRequest {
    let manifest = HookManifest {
        name: "urgent".to_owned(),
        description: None,
        mode: HookMode::default(),
        triggers: Triggers::default(),
        config: Map::new(),
        timeout_ms: 1_000,
        model: false,
    };
    HookRequest {
        manifest,
        manifest_from: "here".to_owned(),
        script_path: "hooks/urgent.sh".to_owned(),
        script: script.to_vec(),
        by: Author { person: Some("ada".to_owned()), ..Author::default() },
    }
}

#[test]
fn a_hook_is_registered_with_its_script_and_switched() {
    let scene = Scene::new();
    let Scene { ledger, .. } = &scene;
    let register = |request| event_hooks::register(scene.context(), request);
    scene.refused("hooks/urgent.sh is empty", || register(hook(b"")));
    scene.refused("hooks/urgent.sh is too large", || register(hook(&vec![b'x'; (1 << 20) + 1])));
    let mut odd = hook(b"#!/bin/sh");
    odd.manifest.name = "A b".to_owned();
    let error = register(odd).unwrap_err();
    assert!(matches!(error, CommandError::WrongHook { .. }), "{error}");
    let by = || hook(b"").by;
    let nobody = EventHookId::from_number(9);
    let unknown = format!("there is no hook `{nobody}`");
    scene.refused(&unknown, || event_hooks::enable(ledger, &nobody, by()));
    scene.refused(&unknown, || event_hooks::update(ledger, &nobody, hook(b"#!")));

    let made = register(hook(b"#!/bin/sh")).unwrap();
    assert_eq!(ledger.kept_file(&made.program.hash).unwrap(), b"#!/bin/sh");
    let taken = register(hook(b"#!/bin/sh")).unwrap_err();
    assert!(matches!(taken, CommandError::Ledger(StoreError::HookNameTaken { .. })), "{taken}");
    let row = || ledger.event_hook(&made.id).unwrap().expect("it is registered");
    event_hooks::disable(scene.context(), &made.id, by(), Some(SECRET.to_owned())).unwrap();
    assert_eq!(row().disabled_reason.as_deref(), Some("[secret pass]"));
    let next = event_hooks::update(ledger, &made.id, hook(b"#!/bin/bash")).unwrap();
    assert_eq!((next.hook.version, next.is_disabled), (2, true));
    assert_eq!(row().status, EventHookStatus::Disabled);
    assert_eq!(row().disabled_reason.as_deref(), Some("[secret pass]"));
    event_hooks::enable(ledger, &made.id, by()).unwrap();
    assert_eq!(row().status, EventHookStatus::Active);
    assert_eq!(event_hooks::delete(ledger, &made.id, by()).unwrap().name, "urgent");
    let deleted = "the hook `urgent` was deleted";
    scene.refused(deleted, || event_hooks::enable(ledger, &made.id, by()));
    scene.refused(deleted, || event_hooks::disable(scene.context(), &made.id, by(), None));
    scene.refused(deleted, || event_hooks::update(ledger, &made.id, hook(b"#!")));
    scene.refused(deleted, || event_hooks::delete(ledger, &made.id, by()));
}

#[test]
fn trust_covers_the_reviewed_files_and_is_withdrawn_below_a_directory() {
    let scene = Scene::new();
    let Scene { ledger, .. } = &scene;
    let review = |path: &str, texts: &[&str]| ProgramReview {
        programs: TrustedPrograms {
            path: path.to_owned(),
            hash: ContentHash::of(b"all"),
            files: BTreeMap::from([("run.sh".to_owned(), ContentHash::of(b"ls"))]),
            by: "ada".to_owned(),
        },
        texts: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
    };
    let other = ContentHash::of(b"rm");
    scene.refused(&format!("a file with the hash {other} was not reviewed"), || {
        trust::programs(ledger, review("/p/a", &["ls", "rm"]))
    });
    assert!(!ledger.keeps(&ContentHash::of(b"ls")), "no file is stored by halves");
    trust::programs(ledger, review("/p/a", &["ls"])).unwrap();
    assert_eq!(ledger.kept_file(&ContentHash::of(b"ls")).unwrap(), b"ls");
    trust::programs(ledger, review("/pp", &["ls"])).unwrap();
    let addresses = BTreeSet::from(["https://a.example".to_owned()]);
    let project = TrustedAddresses { path: "/p".to_owned(), addresses, by: "ada".to_owned() };
    trust::addresses(ledger, project.clone()).unwrap();
    assert_eq!(ledger.trusted_addresses("/p").unwrap(), Some(project));
    let gone = trust::withdraw(ledger, Path::new("/p"), "ada").unwrap();
    assert_eq!(gone, BTreeSet::from(["/p".to_owned(), "/p/a".to_owned()]));
    assert_eq!(ledger.trusted("/p/a").unwrap(), None);
    assert!(ledger.trusted("/pp").unwrap().is_some(), "another directory keeps its trust");
    assert_eq!(trust::withdraw(ledger, Path::new("/p"), "ada").unwrap(), BTreeSet::new());
}
