//! What access decided about a sender binds every call, and what it lacks becomes a request to the owner.

use std::sync::Arc;

use agentry_kernel::authority::{allows_credential, is_unbounded};
use agentry_kernel::moves::Move;
use agentry_kernel::permission_request::{
    self, LIMITS, RequestLimitError, WrongAnswer, check_answer, check_room,
};
use agentry_kernel::turn::Turn;
use agentry_protocol::access::{
    AttributedDisclosureLevel, AttributedName, Bounds, Credentials, DisclosureLevel, NameList,
    PermissionSource, RequestQuota, Resource, ToolBounds,
};
use agentry_protocol::approval::{Approval, ApprovalAnswer, ApprovalScope};
use agentry_protocol::event::{Event, Mode, Permit, TurnPlan};
use agentry_protocol::message::{Message, ModelReply};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome, ToolSpec};
use agentry_protocol::verdict::{Stage, Verdict};
use agentry_protocol::{AccessId, CallId};
use serde_json::{Value, json};

use crate::turn_prefix::charter;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;

fn list(from: &str, names: &[&str]) -> Arc<NameList> {
    let names = names.iter().map(|name| (*name).into()).collect();
    Arc::new(NameList { from: PermissionSource::Policy(from.into()), names })
}

fn mom() -> Principal {
    Principal {
        entity_id: Some("mom".to_owned()),
        name: Some("Mom".to_owned()),
        relationship: Some("family".to_owned()),
        ..Principal::of(PrincipalKind::Known)
    }
}

fn room() -> RequestQuota {
    RequestQuota {
        limits: LIMITS,
        now_ms: NOW,
        pending: 0,
        last_asked_ms: None,
        denials_ms: Vec::new(),
    }
}

/// What somebody has whom a policy lets search only.
fn bounds(principal: Principal, tools: ToolBounds) -> Bounds {
    let from = PermissionSource::Policy("family".into());
    Bounds {
        access: AccessId::from_number(1),
        principal,
        channel: "chat".to_owned(),
        tools,
        credentials: Credentials::Named(Vec::new()),
        data: AttributedDisclosureLevel { level: DisclosureLevel::None, from },
        exec: Vec::new(),
        requests: Some(room()),
    }
}

fn searches() -> ToolBounds {
    ToolBounds { allow: vec![list("family", &["web_search"])], ..ToolBounds::default() }
}

fn bash_call(number: u128, command: &str) -> ToolCall {
    let input = json!({ "command": command });
    ToolCall { id: CallId::from_number(number), tool: ToolName::canonical("bash"), input }
}

/// What access says about a shell command: the verdict, the words and whether the shell is shown.
#[track_caller]
fn check(bounds: Bounds, command: &str, verdict: Verdict, why: &str, offered: bool) {
    let mut authority = charter(Mode::Supervised).authority;
    authority.bounds = Some(bounds);
    let call = bash_call(1, command);
    let ruling = authority.rule(&call, &[]);
    let found = ruling.findings.iter().find(|one| one.stage == Stage::Access);
    let found = found.expect("access has its say");
    assert_eq!((found.verdict, found.why.as_str()), (verdict, why));
    assert_eq!(authority.is_offered(&call.tool), offered);
}

#[test]
fn access_stands_between_the_input_and_the_scope_and_is_silent_for_the_one_at_the_machine() {
    let mut authority = charter(Mode::Supervised).authority;
    let call = bash_call(1, "echo hi");
    let stages = |chain: Vec<agentry_protocol::verdict::Finding>| {
        chain.iter().map(|one| one.stage.to_string()).collect::<Vec<_>>().join(", ")
    };
    let silent = "registered, input, scope, tool access, rules, danger";
    assert_eq!(stages(authority.chain(&call, &[])), silent);
    let all = ToolBounds { allow: vec![list("owner", &["*"])], ..ToolBounds::default() };
    authority.bounds = Some(bounds(mom(), all));
    let told = "registered, input, access, scope, tool access, rules, danger";
    assert_eq!(stages(authority.chain(&call, &[])), told);
    let denied = ToolBounds { deny: vec![list("family", &["bash"])], ..searches() };
    authority.bounds = Some(bounds(mom(), denied));
    assert_eq!(stages(authority.chain(&call, &[])), "registered, input, access");
}

#[test]
fn what_is_denied_by_name_is_neither_offered_nor_asked_for() {
    let denied = ToolBounds { deny: vec![list("family", &["ba*"])], ..searches() };
    let why = "Mom (family) has no permission for `bash`: denied by policy family (ba*)";
    check(bounds(mom(), denied), "ls", Verdict::Deny, why, false);
    let only = ToolBounds { only: vec![list("family", &["web_search"])], ..searches() };
    let why =
        "Mom (family) has no permission for `bash`: policy family denies all but its own tools";
    check(bounds(mom(), only), "ls", Verdict::Ask, why, true);
    let low = ToolBounds {
        allow: vec![list("owner", &["*"])],
        ceilings: vec![list("group", &["web_search"])],
        ..ToolBounds::default()
    };
    let why = "Mom (family) has no permission for `bash`: above the ceiling of policy group";
    check(bounds(mom(), low), "ls", Verdict::Ask, why, true);
    let why = "Mom (family) has no permission for `bash`: no policy and no grant allows it";
    check(bounds(mom(), searches()), "ls", Verdict::Ask, why, true);
}

#[test]
fn only_the_owner_and_those_who_are_known_may_ask() {
    for kind in PrincipalKind::ALL {
        let may = matches!(kind, PrincipalKind::Owner | PrincipalKind::Known);
        let verdict = if may { Verdict::Ask } else { Verdict::Deny };
        let who = Principal { entity_id: Some("x".to_owned()), ..Principal::of(kind) };
        let why = "x has no permission for `bash`: no policy and no grant allows it";
        check(bounds(who.clone(), searches()), "ls", verdict, why, may);
        // Where requests are not open, or it is not known who it is, nobody asks.
        let closed = Bounds { requests: None, ..bounds(who, searches()) };
        check(closed, "ls", Verdict::Deny, why, false);
        let why = format!(
            "the sender ({kind}) has no permission for `bash`: no policy and no grant allows it"
        );
        check(bounds(Principal::of(kind), searches()), "ls", Verdict::Deny, &why, false);
    }
}

#[test]
fn a_granted_command_carries_nothing_beside_it() {
    let granted = |patterns: &[&str]| {
        let from = PermissionSource::Policy("grant".into());
        let traced = |name: &&str| AttributedName { name: (*name).into(), from: from.clone() };
        let exec = patterns.iter().map(traced).collect();
        Bounds { exec, ..bounds(mom(), searches()) }
    };
    let mut authority = charter(Mode::Supervised).authority;
    let mut verdict = |patterns: &[&str], command: &str| {
        authority.bounds = Some(granted(patterns));
        let ruling = authority.rule(&bash_call(1, command), &[]);
        ruling.findings.iter().find(|one| one.stage == Stage::Access).unwrap().verdict
    };
    for (patterns, command) in [
        (&["git *"][..], "git status"),
        (&["git *"], "git status && git log"),
        (&["git *", "ls"], "ls; git log"),
        (&["sort -o *"], "sort -o a b"),
        (&["./run*"], "./run"),
        (&["python3 a.py*"], "python3 a.py -c x"),
        (&["git status; rm x"], " git status; rm x "),
        (&["cat a > b"], "cat a > b"),
    ] {
        assert_eq!(verdict(patterns, command), Verdict::Allow, "{patterns:?} {command}");
    }
    for (patterns, command) in [
        (&["git *"][..], "git status; rm x"),
        (&["git *"], "git log > x"),
        (&["git *"], "sudo git log"),
        (&["git *"], "A=b git log"),
        (&["git *"], "git log $(rm x)"),
        (&["git *"], "git $x"),
        (&["ls $x*"], "ls $x"),
        (&["ls"], "ls -la"),
        (&["ls*"], "ls (("),
        (&["ls*"], "ls/../run.sh"),
        (&["ls*"], "ls/evil.sh"),
        (&["git *"], "git rebase -x ls HEAD~1"),
        (&["git *"], "git rebase -xls HEAD~1"),
        (&["git rebase *"], "git rebase -qx ls HEAD~1"),
        (&["sort *"], "sort --o=F a"),
        (&["python3 *"], "python3 a.py"),
        (&["git rebase -x*"], "git rebase -xls"),
        (&["*"], "> F"),
    ] {
        assert_eq!(verdict(patterns, command), Verdict::Ask, "{patterns:?} {command}");
    }
    let denied = ToolBounds { deny: vec![list("family", &["bash"])], ..searches() };
    authority.bounds = Some(Bounds { tools: denied, ..granted(&["ls"]) });
    let ruling = authority.rule(&bash_call(1, "ls"), &[]);
    assert_eq!(ruling.verdict, Verdict::Deny, "a grant never beats a name that is denied");
}

#[test]
fn each_limit_holds_at_its_edge() {
    #[track_caller]
    fn check(change: impl Fn(&mut RequestQuota), expected: Result<(), RequestLimitError>) {
        let mut room = room();
        change(&mut room);
        assert_eq!(check_room(&room), expected);
    }
    check(|_| {}, Ok(()));
    check(|room| room.pending = 4, Ok(()));
    check(|room| room.pending = 5, Err(RequestLimitError::Pending { max: 5 }));
    check(|room| room.last_asked_ms = Some(NOW - MINUTE), Ok(()));
    let cooling = Err(RequestLimitError::CoolingDown { left_ms: 1 });
    check(|room| room.last_asked_ms = Some(NOW - MINUTE + 1), cooling);
    let denied = |newest: u64, oldest: u64, count: usize| {
        move |room: &mut RequestQuota| {
            room.denials_ms = vec![newest; count - 1];
            room.denials_ms.push(oldest);
        }
    };
    let blocked = |left_ms| Err(RequestLimitError::Blocked { denials: 5, left_ms });
    check(denied(NOW - 1, NOW - 2, 4), Ok(()));
    check(denied(NOW - 1, NOW - 2, 5), blocked(DAY - 1));
    // The five must lie within a day, and the block lasts a day.
    check(denied(NOW - 1, NOW - 1 - DAY, 5), blocked(DAY - 1));
    check(denied(NOW - 1, NOW - 2 - DAY, 5), Ok(()));
    check(denied(NOW - DAY + 1, NOW - DAY, 5), blocked(1));
    check(denied(NOW - DAY, NOW - DAY, 5), Ok(()));
    let none = |room: &mut RequestQuota| {
        room.limits.denials_max = 0;
        room.denials_ms = vec![NOW];
    };
    check(none, Ok(()));
}

#[test]
fn an_answer_must_fit_its_question() {
    let question = |permission: bool| {
        let mut turn = Talk::with(if permission { searches() } else { everything() });
        turn.reply(&["touch x"]);
        turn.asked().clone()
    };
    let edit =
        |answer: ApprovalAnswer| ApprovalAnswer { edit: Some(json!({"command": "ls"})), ..answer };
    let (call, permission) = (question(false), question(true));
    assert!(call.request().is_none() && permission.request().is_some());
    for (question, answer, expected) in [
        (&call, ApprovalAnswer::approved(ApprovalScope::Once), Ok(())),
        (&call, ApprovalAnswer::approved(ApprovalScope::Session), Ok(())),
        (
            &call,
            ApprovalAnswer::approved(ApprovalScope::Day),
            Err(WrongAnswer::ForPermission(ApprovalScope::Day)),
        ),
        (
            &call,
            ApprovalAnswer::approved(ApprovalScope::Always),
            Err(WrongAnswer::ForPermission(ApprovalScope::Always)),
        ),
        (&call, edit(ApprovalAnswer::approved(ApprovalScope::Once)), Ok(())),
        (
            &call,
            edit(ApprovalAnswer::approved(ApprovalScope::Session)),
            Err(WrongAnswer::EditBeyondCall),
        ),
        (&call, edit(ApprovalAnswer::declined(None)), Err(WrongAnswer::EditWithNo)),
        (&permission, ApprovalAnswer::approved(ApprovalScope::Once), Ok(())),
        (&permission, ApprovalAnswer::approved(ApprovalScope::Day), Ok(())),
        (&permission, ApprovalAnswer::approved(ApprovalScope::Always), Ok(())),
        (
            &permission,
            ApprovalAnswer::approved(ApprovalScope::Session),
            Err(WrongAnswer::NotForPermission),
        ),
        (
            &permission,
            edit(ApprovalAnswer::approved(ApprovalScope::Always)),
            Err(WrongAnswer::EditBeyondCall),
        ),
        (&permission, ApprovalAnswer::declined(None), Ok(())),
        (&permission, ApprovalAnswer::expired(), Ok(())),
    ] {
        assert_eq!(check_answer(question, &answer), expected, "{answer:?}");
    }
}

#[test]
fn a_request_names_the_command_where_a_grant_can() {
    let resources = |command: &str| permission_request::resources(&bash_call(1, command));
    assert_eq!(resources(" touch x "), [Resource::Exec("touch x".to_owned())]);
    assert_eq!(resources("rm *"), [Resource::Tool("bash".to_owned())]);
    assert_eq!(resources("a\nb"), [Resource::Tool("bash".to_owned())]);
    let call = ToolCall { tool: ToolName::canonical("send_email"), ..bash_call(1, "x") };
    assert_eq!(permission_request::resources(&call), [Resource::Tool("send_email".to_owned())]);
}

#[test]
fn credentials_are_those_of_the_bounds() {
    let from = PermissionSource::Policy("work".into());
    let named =
        Credentials::Named(vec![AttributedName { name: "github".into(), from: from.clone() }]);
    assert!(allows_credential(&named, "github") && !allows_credential(&named, "Github"));
    assert!(allows_credential(&Credentials::All(from), "anything"));
}

fn everything() -> ToolBounds {
    ToolBounds { allow: vec![list("owner", &["*"])], ..ToolBounds::default() }
}

/// A turn, with what it did last.
struct Talk {
    turn: Turn,
    step: u32,
    calls: u128,
    moves: Vec<Move>,
}

impl Talk {
    fn with(tools: ToolBounds) -> Self {
        Self::begin(Mode::Supervised, bounds(mom(), tools))
    }

    fn begin(mode: Mode, bounds: Bounds) -> Self {
        let mut charter = charter(mode);
        charter.authority.bounds = Some(bounds);
        let recorded = serde_json::to_value(&charter).expect("a charter is plain JSON");
        let plan = TurnPlan {
            parent: None,
            parent_hash: None,
            history_from: None,
            pruned: Default::default(),
            compaction: None,
            step: 0,
            prompt: "please".to_owned(),
            images: Vec::new(),
            charter: recorded.clone(),
            standing: Default::default(),
            shaping: Default::default(),
        };
        // As it is read again.
        let charter = serde_json::from_value(recorded).expect("it is read as it was written");
        let (turn, moves) = Turn::begin(charter, &plan, Vec::new()).expect("the turn begins");
        Self { turn, step: 0, calls: 0, moves }
    }

    fn tell(&mut self, event: &Event) {
        self.moves = self.turn.tell(event).expect("the turn goes on");
    }

    /// The model replies with these commands.
    fn reply(&mut self, commands: &[&str]) {
        self.step += 1;
        let call = |command: &&str| {
            self.calls += 1;
            bash_call(self.calls, command)
        };
        let calls = commands.iter().map(call).collect();
        let reply = ModelReply { calls, ..ModelReply::default() };
        self.tell(&Event::ModelReplied { step: self.step, reply, facts: Vec::new() });
    }

    #[track_caller]
    fn asked(&self) -> &Approval {
        let asked = self.moves.iter().find_map(|one| match one {
            Move::AskApproval(approval) => Some(approval),
            _ => None,
        });
        asked.unwrap_or_else(|| panic!("nobody is asked: {:?}", self.moves))
    }

    fn answer(&mut self, answer: ApprovalAnswer, time: u64) {
        let approval = self.asked().id.clone();
        let event = Event::ApprovalAnswered { approval, answer };
        self.moves = self.turn.tell_at(&event, time).expect("the turn goes on");
    }

    /// The command that is run, with what allows it.
    fn ran(&self) -> Option<(&str, &Permit)> {
        self.moves.iter().find_map(|one| match one {
            Move::RunCall { call, by, .. } => Some((call.input["command"].as_str()?, by)),
            _ => None,
        })
    }

    fn refused(&self) -> Vec<&str> {
        let refused = self.moves.iter().filter_map(|one| match one {
            Move::Refuse { why, .. } => Some(why.as_str()),
            _ => None,
        });
        refused.collect()
    }

    /// The call that runs comes to its end.
    fn finish(&mut self) {
        let call = CallId::from_number(self.calls);
        self.tell(&Event::CallFinished { call, outcome: ToolOutcome::done("it is done") });
    }

    fn last_result(&self) -> String {
        let messages = self.turn.request().messages;
        let found = messages.iter().rev().find_map(|one| match &**one {
            Message::Tool { content, .. } => Some(content.clone()),
            _ => None,
        });
        found.expect("the model was told something")
    }
}

#[test]
fn one_question_carries_what_access_and_what_the_rules_say_and_one_yes_covers_both() {
    let mut talk = Talk::with(searches());
    talk.reply(&["touch x"]);
    let asked = talk.asked();
    let request = asked.request().expect("it is a request for permission");
    let said: Vec<(Stage, Verdict)> =
        asked.ruling.findings.iter().map(|one| (one.stage, one.verdict)).collect();
    assert!(said.contains(&(Stage::Access, Verdict::Ask)), "{said:?}");
    assert!(said.contains(&(Stage::Rules, Verdict::Ask)), "{said:?}");
    assert_eq!(request.requester, mom());
    assert_eq!(request.requester_channel, "chat");
    assert_eq!(request.original_message, "please");
    assert_eq!(request.resources, [Resource::Exec("touch x".to_owned())]);
    assert_eq!((request.created_at, request.expires_at), (NOW, NOW + DAY));
    let id = asked.id.clone();
    talk.answer(ApprovalAnswer::approved(ApprovalScope::Once), NOW + 1);
    assert_eq!(talk.ran(), Some(("touch x", &Permit::Approval { approval: id })));
}

#[test]
fn a_call_that_the_rules_allow_is_asked_about_all_the_same() {
    let mut talk = Talk::with(searches());
    talk.reply(&["echo hi"]);
    assert!(talk.asked().request().is_some());
    let mut talk = Talk::with(everything());
    talk.reply(&["echo hi"]);
    assert!(matches!(talk.ran(), Some(("echo hi", Permit::Rule { .. }))));
}

#[test]
fn a_yes_is_for_one_call_whatever_it_says() {
    for reach in
        [ApprovalScope::Once, ApprovalScope::Session, ApprovalScope::Day, ApprovalScope::Always]
    {
        let mut talk = Talk::with(searches());
        talk.reply(&["touch x"]);
        talk.answer(ApprovalAnswer::approved(reach), NOW + 2 * MINUTE);
        assert!(talk.ran().is_some());
        talk.finish();
        // What lasts is a grant, which a later turn begins with.
        talk.reply(&["touch x"]);
        assert!(talk.asked().request().is_some(), "{reach:?}");
        assert_eq!(talk.ran(), None);
    }
}

#[test]
fn requests_of_the_same_turn_count() {
    let mut talk = Talk::with(searches());
    talk.reply(&["touch x", "touch y"]);
    let asked = talk.moves.iter().filter(|one| matches!(one, Move::AskApproval(_))).count();
    assert_eq!(asked, 1);
    let why = "Refused: Mom (family) has no permission for `bash`: no policy and no grant allows it; the \
               owner is not asked, since the last request was a moment ago; it can be asked for again \
               in 1 min 0 s";
    assert_eq!(talk.refused(), [why]);
    // The answer tells the time.
    talk.answer(ApprovalAnswer::declined(Some("not today".to_owned())), NOW + MINUTE);
    assert_eq!(talk.refused(), ["A person said no: not today"]);
    talk.reply(&["touch z"]);
    assert!(talk.asked().request().is_some());
}

#[test]
fn the_fifth_denial_blocks_within_the_turn_and_an_expired_request_does_not() {
    let mut talk = Talk::with(searches());
    let mut now = NOW;
    for number in 1..=6 {
        talk.reply(&["touch x"]);
        now += 2 * MINUTE;
        let answer =
            if number == 1 { ApprovalAnswer::expired() } else { ApprovalAnswer::declined(None) };
        talk.answer(answer, now);
        let why = match number {
            1 => "Refused: nobody answered the request for permission in time.",
            _ => "A person said no.",
        };
        assert_eq!(talk.refused(), [why], "{number}");
    }
    talk.reply(&["touch x"]);
    assert_eq!(talk.refused().len(), 1);
    assert!(
        talk.refused()[0].contains("5 requests were denied within a day"),
        "{talk:?}",
        talk = talk.refused()
    );
    assert!(talk.refused()[0].ends_with("in 24 h 0 min"), "{:?}", talk.refused());
}

#[test]
fn a_dangerous_call_is_refused_and_costs_no_request() {
    let mut talk = Talk::with(searches());
    talk.reply(&["rm -rf /", "touch x"]);
    assert_eq!(talk.refused().len(), 1);
    assert_eq!(talk.asked().call.input, json!({"command": "touch x"}));
}

#[test]
fn who_does_not_have_everything_works_with_questions_only() {
    let mut talk = Talk::begin(Mode::Autonomous, bounds(mom(), everything()));
    talk.reply(&["touch x"]);
    assert!(talk.asked().request().is_none());
    talk.tell(&Event::ModeReceived { mode: Mode::Autonomous, max_iterations: None });
    assert_eq!(talk.ran(), None);
    let full = Bounds {
        data: AttributedDisclosureLevel {
            level: DisclosureLevel::Full,
            from: PermissionSource::Default,
        },
        ..bounds(mom(), everything())
    };
    let mut talk = Talk::begin(Mode::Autonomous, full);
    talk.reply(&["touch x"]);
    assert_eq!(talk.ran(), Some(("touch x", &Permit::Mode {})));
}

fn edited(input: Value) -> ApprovalAnswer {
    ApprovalAnswer { edit: Some(input), ..ApprovalAnswer::approved(ApprovalScope::Once) }
}

#[test]
fn changed_arguments_are_run_and_recorded_and_the_model_is_told() {
    let mut talk = Talk::with(everything());
    talk.reply(&["touch x"]);
    let id = talk.asked().id.clone();
    // The rules would ask about it too: the answer covers it.
    talk.answer(edited(json!({"command": "touch y"})), NOW);
    assert_eq!(talk.ran(), Some(("touch y", &Permit::Approval { approval: id.clone() })));
    let Some(Event::CallStarted { edited: Some(one), .. }) =
        talk.moves.iter().map(Move::event).find(|one| matches!(one, Event::CallStarted { .. }))
    else {
        panic!("{:?}", talk.moves)
    };
    assert_eq!((one.input, one.ruling.verdict), (json!({"command": "touch y"}), Verdict::Ask));
    talk.finish();
    let told =
        "[A person changed the arguments of this call to {\"command\":\"touch y\"}]\nit is done";
    assert_eq!(talk.last_result(), told);
    let calls = talk.turn.request().messages.into_iter().find_map(|one| match &*one {
        Message::Assistant { calls, .. } => Some(calls.clone()),
        _ => None,
    });
    assert_eq!(calls.unwrap()[0].input, json!({"command": "touch x"}), "its own words stay");
    // It was for this call only.
    talk.reply(&["touch y"]);
    talk.asked();
}

#[test]
fn changed_arguments_are_judged_like_those_of_a_model() {
    for (input, why) in [
        (
            json!({"command": "rm -rf /"}),
            "[A person changed the arguments of this call to {\"command\":\"rm -rf /\"}]\nRefused: ",
        ),
        (
            json!({"command": 5}),
            "[A person changed the arguments of this call to {\"command\":5}]\nRefused: the arguments do not fit",
        ),
    ] {
        let mut talk = Talk::with(everything());
        talk.reply(&["touch x"]);
        talk.answer(edited(input), NOW);
        assert_eq!(talk.ran(), None);
        assert!(talk.refused()[0].starts_with(why), "{:?}", talk.refused());
        assert!(talk.last_result().starts_with(why), "it is told once");
    }
}

#[test]
fn a_request_may_be_answered_with_changed_arguments() {
    let mut talk = Talk::with(searches());
    talk.reply(&["touch x"]);
    talk.answer(edited(json!({"command": "echo hi"})), NOW);
    assert!(matches!(talk.ran(), Some(("echo hi", Permit::Approval { .. }))));
}

#[test]
fn a_credential_is_open_if_one_of_the_named_ones_is_it() {
    let traced = |name: &str| AttributedName { name: name.into(), from: PermissionSource::Default };
    let named = Credentials::Named(vec![traced("github"), traced("mail")]);
    assert!(allows_credential(&named, "mail") && allows_credential(&named, "github"));
    assert!(!allows_credential(&named, "bank"));
    assert!(!allows_credential(&Credentials::Named(Vec::new()), "mail"));
}

#[test]
fn work_without_questions_is_open_only_to_whom_nothing_is_withheld() {
    let all = || vec![list("owner", &["web_search", "*"])];
    let open = ToolBounds { allow: all(), ..ToolBounds::default() };
    let full = |tools: ToolBounds| {
        let from = PermissionSource::Policy("owner".into());
        Bounds {
            data: AttributedDisclosureLevel { level: DisclosureLevel::Full, from: from.clone() },
            credentials: Credentials::All(from),
            ..bounds(mom(), tools)
        }
    };
    let with = |change: fn(&mut ToolBounds)| {
        let mut tools = open.clone();
        change(&mut tools);
        full(tools)
    };
    let is_autonomous = |bounds: &Bounds| {
        let mut authority = charter(Mode::Supervised).authority;
        authority.bounds = Some(bounds.clone());
        authority.may_be_autonomous()
    };
    for yes in [
        full(open.clone()),
        with(|tools| tools.only = vec![list("a", &["*", "bash"])]),
        with(|tools| tools.ceilings = vec![list("a", &["bash", "*"])]),
        with(|tools| tools.allow.push(list("a", &["bash"]))),
        with(|tools| {
            tools.allow.clear();
            tools.granted = vec![list("a", &["*"])];
        }),
    ] {
        assert!(is_autonomous(&yes) && is_unbounded(&yes), "{yes:?}");
    }
    for no in [
        with(|tools| tools.deny = vec![list("a", &["x"])]),
        with(|tools| tools.only = vec![list("a", &["bash"])]),
        with(|tools| tools.only = vec![list("a", &["*"]), list("b", &["bash"])]),
        with(|tools| tools.ceilings = vec![list("a", &["bash"])]),
        with(|tools| tools.allow = vec![list("a", &["bash"])]),
        with(|tools| tools.allow.clear()),
        bounds(mom(), open.clone()),
    ] {
        assert!(!is_autonomous(&no) && !is_unbounded(&no), "{no:?}");
    }
    let named = Bounds { credentials: Credentials::Named(Vec::new()), ..full(open.clone()) };
    assert!(is_autonomous(&named) && !is_unbounded(&named));
}

#[test]
fn a_grant_for_a_command_is_for_plain_words_of_the_shell_only() {
    let exec = vec![AttributedName {
        name: "git *".into(),
        from: PermissionSource::Policy("family".into()),
    }];
    let bounds = Bounds { exec, requests: None, ..bounds(mom(), searches()) };
    let mut authority = charter(Mode::Supervised).authority;
    // A tool of another kind may have an argument of that name; no schema stops it here.
    let bash = authority.tools.first().expect("it has the shell").clone();
    let free = ToolSpec { name: ToolName::canonical("own"), parameters: json!({}), ..bash.clone() };
    authority.known.push(free.name.clone());
    authority.tools = [bash, free].into();
    authority.bounds = Some(bounds);
    let verdict = |call: &ToolCall| {
        let findings = authority.rule(call, &[]).findings;
        findings.iter().find(|one| one.stage == Stage::Access).map(|one| one.verdict)
    };
    assert_eq!(verdict(&bash_call(1, "git status")), Some(Verdict::Allow));
    assert_eq!(verdict(&bash_call(1, "git status $X")), Some(Verdict::Deny));
    let other = ToolCall { tool: ToolName::canonical("own"), ..bash_call(1, "git status") };
    assert_eq!(verdict(&other), Some(Verdict::Deny));
    let exact = AttributedName {
        name: "git status".into(),
        from: PermissionSource::Policy("family".into()),
    };
    authority.bounds.as_mut().expect("it has bounds").exec = vec![exact];
    let verdict = |call: &ToolCall| {
        let findings = authority.rule(call, &[]).findings;
        findings.iter().find(|one| one.stage == Stage::Access).map(|one| one.verdict)
    };
    assert_eq!(verdict(&bash_call(1, "git status")), Some(Verdict::Allow));
    assert_eq!(verdict(&other), Some(Verdict::Deny));
    assert!(authority.is_offered(&ToolName::canonical("bash")));
    assert!(!authority.is_offered(&ToolName::canonical("own")));
}
