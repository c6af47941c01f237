//! Who may reach an agent, with the policies that ship: each line of the list of behaviors a test.

use agentry_agentfile::access::{LocalTime, MINUTES_PER_DAY, Policy, bundled_policies, parse};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::source::SourceText;
use agentry_kernel::access::{
    AccessPolicies, AccessQuery, DecisionContext, allows_tool, compile, difference,
    examples_that_fail, pattern_matches,
};
use agentry_kernel::limits::SESSION_KEY_BYTES_MAX;
use agentry_protocol::access::{
    Credentials, Decision, Delivery, DenyReason, DisclosureLevel, Effect, Grant, GrantConditions,
    MatchKey, PermissionSource, PolicyOutcome, PrincipalQuery, Resource,
};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool::ToolName;
use agentry_protocol::{AccessId, GrantId};

/// Every policy that ships, the named ones switched on beside the owner's.
fn shipped(on: &[&str]) -> AccessPolicies {
    let mut policies: Vec<Policy> = bundled_policies().to_vec();
    for policy in &mut policies {
        policy.enabled |= on.contains(&&*policy.name.value);
    }
    for name in on {
        assert!(policies.iter().any(|one| &*one.name.value == *name), "no policy {name}");
    }
    compile(&policies)
}

fn written(yaml: &str) -> AccessPolicies {
    let mut findings = Findings::default();
    let policies = parse(&SourceText::new("test.yml", yaml), &mut findings);
    assert!(!findings.has_errors(), "{findings:?}");
    compile(&policies)
}

fn person(name: &str, relationship: &str) -> Principal {
    Principal {
        entity_id: Some(format!("person_{}", name.to_lowercase())),
        name: Some(name.to_owned()),
        relationship: Some(relationship.to_owned()),
        ..Principal::of(PrincipalKind::Known)
    }
}

fn at(text: &str) -> LocalTime {
    LocalTime::parse(text).expect("the test writes a moment")
}

fn dm<'a>(principal: &'a Principal, channel: &'a str) -> AccessQuery<'a> {
    AccessQuery {
        principal,
        sender_id: Some("sender-1"),
        channel,
        peer_kind: Some(PeerKind::Dm),
        peer_id: Some("peer-1"),
        account: None,
        guild: None,
        hook_id: None,
        event_type: None,
        time: at("mon 12:00"),
    }
}

fn group<'a>(principal: &'a Principal, channel: &'a str) -> AccessQuery<'a> {
    AccessQuery { peer_kind: Some(PeerKind::Group), peer_id: Some("77"), ..dm(principal, channel) }
}

fn decide(access: &AccessPolicies, asked: AccessQuery<'_>) -> Decision {
    access.decide(&asked, &[], 0)
}

const UNIVERSE: [&str; 10] = [
    "bash",
    "calendar_read",
    "credentials_get",
    "github",
    "read_file",
    "send_email",
    "smart_home",
    "weather",
    "web_search",
    "write_file",
];

/// Those of ten tools that may be called.
fn tools(decision: &Decision) -> String {
    let allowed = |name: &&&str| allows_tool(decision, &ToolName::canonical(name)).is_allowed();
    UNIVERSE.iter().filter(allowed).copied().collect::<Vec<_>>().join(" ")
}

fn key(decision: &Decision) -> &str {
    decision.session.as_ref().map_or("-", |session| &session.key)
}

fn answer(decision: &Decision, tool: &str) -> String {
    allows_tool(decision, &ToolName::canonical(tool)).to_string()
}

fn grant(to: &Principal, resources: &[&str]) -> Grant {
    Grant {
        id: GrantId::from_number(1),
        principal_query: PrincipalQuery {
            person_id: to.entity_id.clone(),
            ..PrincipalQuery::default()
        },
        resources: resources
            .iter()
            .map(|one| one.parse::<Resource>().expect("the test names a resource"))
            .collect(),
        created_at: 0,
        expires_at: None,
        revoked_at: None,
        granted_by: "owner".to_owned(),
        reason: None,
        request_context: None,
        conditions: GrantConditions::default(),
    }
}

#[test]
fn a_fresh_install_lets_in_the_owner_and_nobody_else() {
    let access = shipped(&[]);
    let owner = Principal::of(PrincipalKind::Owner);
    let decision = decide(&access, dm(&owner, "terminal"));
    assert_eq!(decision.effect, Effect::Allow);
    for kind in PrincipalKind::ALL.into_iter().filter(|kind| *kind != PrincipalKind::Owner) {
        let principal = Principal { kind, ..person("Casey", "partner") };
        for asked in [dm(&principal, "terminal"), group(&principal, "discord")] {
            let decision = decide(&access, asked);
            assert_eq!(decision.deny_reason, Some(DenyReason::NobodyAllows), "{kind}");
        }
    }
}

#[test]
fn the_owner_may_do_everything_in_a_direct_message() {
    let owner = Principal::of(PrincipalKind::Owner);
    let decision = decide(&shipped(&[]), dm(&owner, "discord"));
    assert_eq!(tools(&decision), UNIVERSE.join(" "));
    assert!(matches!(decision.credentials, Credentials::All(_)));
    assert_eq!(decision.data.level, DisclosureLevel::Full);
    assert_eq!(key(&decision), "main");
    assert_eq!(answer(&decision, "bash"), "allowed by policy owner-full-access (*)");
}

#[test]
fn the_owner_in_a_group_is_isolated_and_bounded() {
    let owner = Principal::of(PrincipalKind::Owner);
    for on in [vec![], vec!["group-chat-restrictions"]] {
        let decision = decide(&shipped(&on), group(&owner, "discord"));
        assert_eq!(tools(&decision), "read_file weather web_search");
        assert_eq!(decision.credentials, Credentials::Named(Vec::new()));
        assert_eq!(decision.data.level, DisclosureLevel::None);
        assert_eq!(key(&decision), "discord:group:77");
    }
    let decision = decide(&shipped(&[]), group(&owner, "discord"));
    assert_eq!(answer(&decision, "write_file"), "above the ceiling of policy owner-in-groups");
    assert_eq!(answer(&decision, "shell"), "denied by policy owner-in-groups (bash)");
}

#[test]
fn a_partner_in_a_group_gets_what_the_group_gets_and_no_more() {
    let casey = person("Casey", "partner");
    let access = shipped(&["group-chat-restrictions", "partner-access"]);
    let decision = decide(&access, group(&casey, "discord"));
    assert_eq!(tools(&decision), "read_file weather web_search");
    assert_eq!(key(&decision), "discord:group:77");
    let alone = decide(&access, dm(&casey, "discord"));
    assert_eq!(tools(&alone), "calendar_read read_file smart_home weather web_search");
    assert_eq!(key(&alone), "partner:casey");
    assert_eq!(alone.data.level, DisclosureLevel::Contextual);
    let stranger = Principal::of(PrincipalKind::Unknown);
    let stranger = decide(&access, group(&stranger, "discord"));
    assert_eq!(tools(&stranger), "read_file weather web_search", "alone a ceiling simply grants");
}

#[test]
fn a_stranger_at_night_stays_denied() {
    let access = shipped(&["quiet-hours", "friends-access"]);
    let stranger = Principal::of(PrincipalKind::Unknown);
    let night = AccessQuery { time: at("02:00"), ..dm(&stranger, "mail") };
    let decision = decide(&access, night);
    assert_eq!(decision.deny_reason, Some(DenyReason::NobodyAllows));
    assert_eq!(decision.matched[0].part, PolicyOutcome::Modified);
    let robin = person("Robin", "friend");
    let friend = decide(&access, AccessQuery { time: at("02:00"), ..dm(&robin, "mail") });
    assert_eq!(friend.effect, Effect::Allow);
    let delivery = friend.modifiers.delivery.unwrap();
    assert_eq!((delivery.value, &*delivery.policy), (Delivery::Collect, "quiet-hours"));
    assert!(friend.modifiers.delay_response.unwrap().value);
    assert_eq!(tools(&decide(&access, dm(&robin, "mail"))), "weather web_search");
}

#[test]
fn deny_all_beside_a_list_means_nothing_but_the_list() {
    let mom = person("Mom", "family");
    let decision = decide(&shipped(&["family-access"]), dm(&mom, "imessage"));
    assert_eq!(tools(&decision), "weather web_search");
    assert_eq!(key(&decision), "family:mom");
    let why = "policy family-access denies all but its own tools";
    assert_eq!(answer(&decision, "read_file"), why);
}

#[test]
fn family_in_the_channel_of_work_keeps_the_bounds_of_family() {
    let mom = person("Mom", "family");
    let work = AccessQuery { account: Some("company-workspace"), ..dm(&mom, "slack") };
    let decision = decide(&shipped(&["family-access", "work-context"]), work);
    assert_eq!(tools(&decision), "weather web_search");
    assert_eq!(decision.credentials, Credentials::Named(Vec::new()));
    assert_eq!(decision.data.level, DisclosureLevel::None);
    assert_eq!(key(&decision), "work");
}

#[test]
fn a_blocked_person_stays_out_whatever_allows_them() {
    let access = written(
        "
- {name: block, match: {principal: {person_id: person_x}}, effect: deny, priority: 1}
- {name: all, effect: allow, permissions: {tools: '*'}, session: {key: main}, priority: 100}
",
    );
    let blocked = person("X", "friend");
    let decision = access.decide(&dm(&blocked, "mail"), &[grant(&blocked, &["bash"])], 0);
    assert_eq!(decision.deny_reason, Some(DenyReason::Policy { policy: "block".into() }));
    assert_eq!(tools(&decision), "");
    assert_eq!(decision.grants, []);
    assert_eq!(decide(&access, dm(&person("Y", "friend"), "mail")).effect, Effect::Allow);
}

#[test]
fn a_grant_adds_a_tool_until_it_expires_or_is_revoked() {
    let mom = person("Mom", "family");
    let access = shipped(&["family-access"]);
    let asked = dm(&mom, "imessage");
    let mut given = grant(&mom, &["send_email", "credential:google", "data:minimal", "exec:ls *"]);
    given.expires_at = Some(1_000);
    let decision = access.decide(&asked, std::slice::from_ref(&given), 999);
    assert_eq!(tools(&decision), "send_email weather web_search");
    assert_eq!(
        answer(&decision, "send_email"),
        format!("allowed by grant {} (send_email)", given.id)
    );
    assert_eq!(decision.data.level, DisclosureLevel::Minimal);
    assert_eq!(decision.data.from, PermissionSource::Grant(given.id.clone()));
    assert_eq!(&*decision.exec[0].name, "ls *");
    let Credentials::Named(named) = &decision.credentials else { panic!("all credentials") };
    assert_eq!(&*named[0].name, "google");
    assert_eq!(decision.grants, [given.id.clone()]);
    let over = access.decide(&asked, std::slice::from_ref(&given), 1_000);
    assert_eq!(tools(&over), "weather web_search");
    given.revoked_at = Some(500);
    let revoked = access.decide(&asked, std::slice::from_ref(&given), 600);
    assert_eq!((tools(&revoked).as_str(), revoked.grants), ("weather web_search", vec![]));
}

#[test]
fn a_grant_beats_neither_a_denial_nor_a_tool_denied_by_name() {
    let casey = person("Casey", "partner");
    let access = shipped(&["partner-access"]);
    let given = [grant(&casey, &["shell", "write_file", "credentials_get"])];
    let decision = access.decide(&dm(&casey, "imessage"), &given, 0);
    let without = "calendar_read read_file smart_home weather web_search";
    assert_eq!(tools(&decision), format!("{without} write_file"));
    assert_eq!(answer(&decision, "bash"), "denied by policy partner-access (bash)");
    let why = "denied by policy partner-access (credentials_*)";
    assert_eq!(answer(&decision, "credentials_get"), why);
    let stranger = access.decide(&dm(&casey, "imessage"), &given, 0);
    assert_eq!(stranger.effect, Effect::Allow);
    let nobody = shipped(&[]).decide(&dm(&casey, "imessage"), &given, 0);
    assert_eq!(nobody.effect, Effect::Deny, "a grant lets nobody in by itself");
}

#[test]
fn a_grant_holds_for_whom_and_where_it_says() {
    let mom = person("Mom", "family");
    let access = shipped(&["family-access"]);
    let has = |given: &Grant| {
        tools(&access.decide(&dm(&mom, "mail"), std::slice::from_ref(given), 0)).contains("bash")
    };
    let base = grant(&mom, &["bash"]);
    assert!(has(&base));
    let mut nobody = base.clone();
    nobody.principal_query = PrincipalQuery::default();
    assert!(!has(&nobody), "a grant that names nobody is for nobody");
    let mut others = base.clone();
    others.principal_query.relationship = Some("partner".to_owned());
    assert!(!has(&others));
    let mut tagged = base.clone();
    tagged.principal_query.tags = vec!["trusted".to_owned()];
    assert!(!has(&tagged));
    for (channel, session, holds) in [
        (Some("mail"), None, true),
        (Some("slack"), None, false),
        (None, Some("family:mom"), true),
        (None, Some("main"), false),
    ] {
        let mut bound = base.clone();
        bound.conditions.channel = channel.map(str::to_owned);
        bound.conditions.session = session.map(str::to_owned);
        assert_eq!(has(&bound), holds, "{channel:?} {session:?}");
    }
}

#[test]
fn a_value_cannot_reach_another_session() {
    let access = written(
        "
- name: named
  effect: allow
  match: {principal: {relationship: friend}}
  session: {key: 'friend:{principal.name}'}
- name: by-id
  effect: allow
  match: {principal: {unknown: true}}
  session: {key: 'unknown:{channel}:{principal.id}'}
",
    );
    let named = |name: &str| {
        let person = person(name, "friend");
        let decision = decide(&access, dm(&person, "mail"));
        key(&decision).to_owned()
    };
    assert_eq!(named("Casey"), "friend:casey");
    assert_eq!(named("Mary  Ann"), "friend:mary-ann");
    assert_eq!(named("Zoë"), "friend:zoë");
    assert_eq!(named("x:main"), "friend:x%3amain");
    assert_eq!(named("../a b%3a"), "friend:..%2fa-b%253a");
    assert_eq!(named("a\n{channel}"), "friend:a-%7bchannel%7d");
    let sent = |sender: &'static str| {
        let stranger = Principal::of(PrincipalKind::Unknown);
        let decision =
            decide(&access, AccessQuery { sender_id: Some(sender), ..dm(&stranger, "mail") });
        key(&decision).to_owned()
    };
    assert_eq!(sent("A.B@x.org"), "unknown:mail:a.b@x.org");
    for (one, other) in [("a.b@x", "a-b@x"), ("-100", "100"), ("a b", "a-b"), ("a:b", "a%3ab")] {
        assert_ne!(sent(one), sent(other));
    }
}

#[test]
fn without_a_value_for_its_session_nobody_gets_in() {
    let access = written(
        "
- {name: named, effect: allow, priority: 90, session: {key: 'friend:{principal.name}'}}
- {name: other, effect: allow, priority: 10, session: {key: main}}
",
    );
    for name in [None, Some(""), Some("  ")] {
        let person =
            Principal { name: name.map(str::to_owned), ..Principal::of(PrincipalKind::Known) };
        let decision = decide(&access, dm(&person, "mail"));
        let variable = "principal.name".to_owned();
        let reason = DenyReason::MissingValue { policy: "named".into(), variable };
        assert_eq!(decision.deny_reason, Some(reason), "{name:?}");
    }
    for (letters, effect) in [(7, Effect::Allow), (6, Effect::Deny)] {
        let name = "x".repeat(SESSION_KEY_BYTES_MAX - letters);
        let person = Principal { name: Some(name), ..Principal::of(PrincipalKind::Known) };
        assert_eq!(decide(&access, dm(&person, "mail")).effect, effect);
    }
}

#[test]
fn quiet_hours_begin_at_eleven_and_end_at_eight() {
    let access = shipped(&["quiet-hours", "friends-access"]);
    let robin = person("Robin", "friend");
    for (time, quiet) in [
        ("22:59", false),
        ("23:00", true),
        ("sat 23:59", true),
        ("00:00", true),
        ("07:59", true),
        ("08:00", false),
    ] {
        let decision = decide(&access, AccessQuery { time: at(time), ..dm(&robin, "mail") });
        assert_eq!(decision.modifiers.delivery.is_some(), quiet, "{time}");
    }
    let owner = Principal::of(PrincipalKind::Owner);
    let owner = decide(&access, AccessQuery { time: at("02:00"), ..dm(&owner, "mail") });
    assert!(owner.modifiers.is_empty());
}

#[test]
fn what_is_decided_changes_only_at_the_turning_points() {
    assert!(shipped(&["friends-access"]).boundary_minutes().is_empty());
    let access = shipped(&["quiet-hours", "weekend-work-filter", "work-context", "friends-access"]);
    let turns = access.boundary_minutes();
    assert_eq!(turns.iter().copied().collect::<Vec<_>>(), [0, 8 * 60, 23 * 60]);
    let robin = person("Robin", "friend");
    let said = |time: &str| decide(&access, AccessQuery { time: at(time), ..dm(&robin, "slack") });
    let mut before = said("sun 23:59");
    for day in ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] {
        for minute in 0..MINUTES_PER_DAY {
            let now = said(&format!("{day} {:02}:{:02}", minute / 60, minute % 60));
            assert!(now == before || turns.contains(&minute), "{day} {minute}");
            before = now;
        }
    }
}

#[test]
fn a_system_event_has_powers_and_a_session_of_its_own() {
    let access = shipped(&["system-timer-events", "trusted-backup-hook", "untrusted-web-hook"]);
    let system = Principal::of(PrincipalKind::System);
    let tick =
        AccessQuery { event_type: Some("timer_tick"), peer_kind: None, ..dm(&system, "timer") };
    let decision = decide(&access, tick);
    assert_eq!((key(&decision), decision.data.level), ("system:timer", DisclosureLevel::Full));
    let scraper = decide(&access, AccessQuery { hook_id: Some("web-scraper"), ..tick });
    assert_eq!(tools(&scraper), "web_search");
    let backup =
        decide(&access, AccessQuery { hook_id: Some("daily-backup"), event_type: None, ..tick });
    assert_eq!(tools(&backup), "read_file write_file");
}

#[test]
fn programs_and_agents_are_matched_by_their_names() {
    let access = shipped(&["github-webhooks", "stripe-webhooks", "agent-to-agent"]);
    let hook = |source: &str| Principal {
        source: Some(source.to_owned()),
        ..Principal::of(PrincipalKind::Webhook)
    };
    assert_eq!(key(&decide(&access, dm(&hook("github"), "webhook"))), "webhook:github");
    assert_eq!(decide(&access, dm(&hook("gitlab"), "webhook")).effect, Effect::Deny);
    let person = Principal { source: Some("github".to_owned()), ..person("X", "friend") };
    assert_eq!(decide(&access, dm(&person, "webhook")).effect, Effect::Deny);
    let agent =
        Principal { agent_id: Some("scribe".to_owned()), ..Principal::of(PrincipalKind::Agent) };
    let decision = decide(&access, dm(&agent, "agent"));
    assert_eq!((decision.effect, tools(&decision).as_str()), (Effect::Allow, ""));
}

#[test]
fn a_tool_denied_under_one_of_its_names_is_denied_under_all() {
    let access = written(
        "
- name: one
  effect: allow
  permissions: {tools: {allow: '*', deny: [shell, 'write*']}}
",
    );
    let decision = decide(&access, dm(&person("X", "friend"), "mail"));
    for (name, allowed) in [("bash", false), ("shell", false), ("Write", false), ("Read", true)] {
        let answer = allows_tool(&decision, &ToolName::canonical(name));
        assert_eq!(answer.is_allowed(), allowed, "{name}");
    }
}

#[test]
fn every_policy_tells_its_part() {
    let access = shipped(&["friends-access", "work-context", "quiet-hours"]);
    let robin = person("Robin", "friend");
    let asked = AccessQuery { time: at("23:30"), ..dm(&robin, "slack") };
    let parts = access.parts(&asked);
    let part = |name: &str| parts.iter().find(|one| &*one.policy == name).unwrap().part;
    assert_eq!(part("owner-full-access"), PolicyOutcome::NotMatched(MatchKey::IsUser));
    assert_eq!(part("friends-access"), PolicyOutcome::Allowed);
    assert_eq!(part("quiet-hours"), PolicyOutcome::Modified);
    assert_eq!(part("work-context"), PolicyOutcome::NotMatched(MatchKey::Account));
    assert_eq!(part("family-access"), PolicyOutcome::Disabled);
    assert_eq!(&*parts[0].policy, "owner-full-access", "the first in rank first");
    let record = access.record(&asked, decide(&access, asked), AccessId::from_number(1));
    let evaluated: Vec<&str> = record.policies_evaluated.iter().map(|name| &**name).collect();
    assert_eq!(evaluated, ["quiet-hours", "work-context", "friends-access"]);
    let json = serde_json::to_string(&record).unwrap();
    assert_eq!(
        serde_json::from_str::<agentry_protocol::access::AccessRecord>(&json).unwrap(),
        record
    );
}

#[test]
fn changed_policies_show_what_they_change() {
    let (old, new) = (shipped(&["friends-access"]), shipped(&["friends-access", "block-unknown"]));
    let tools: Vec<ToolName> = UNIVERSE.iter().map(|name| ToolName::canonical(name)).collect();
    let seen = DecisionContext { grants: &[], tools: &tools, now: 0 };
    let robin = person("Robin", "friend");
    assert_eq!(difference(&old, &new, &dm(&robin, "mail"), &seen), None);
    let wider = written(
        "
- name: friends-access
  effect: allow
  permissions: {tools: [web_search, bash], data: full}
  session: {key: 'friend:{principal.name}'}
",
    );
    let change = difference(&old, &wider, &dm(&robin, "mail"), &seen).unwrap();
    assert_eq!(change.effect, None);
    assert_eq!(change.tools_gained, [ToolName::canonical("bash")]);
    assert_eq!(change.tools_lost, [ToolName::canonical("weather")]);
    assert_eq!(change.data, Some((DisclosureLevel::None, DisclosureLevel::Full)));
    assert_eq!(change.session, None);
    let anybody =
        written("{name: all, effect: allow, modifiers: {queue_mode: steer}, session: {key: x}}");
    let stranger = Principal::of(PrincipalKind::Unknown);
    let change = difference(&old, &anybody, &dm(&stranger, "mail"), &seen).unwrap();
    assert_eq!(change.effect, Some((Effect::Deny, Effect::Allow)));
    assert_eq!(change.session, Some((None, Some("x".to_owned()))));
    assert_eq!(change.delivery, Some((None, Some(Delivery::Steer))));
}

#[test]
fn the_examples_that_ship_hold_and_a_wrong_one_is_named() {
    assert_eq!(examples_that_fail(&shipped(&[])), []);
    let access = written(
        "
- name: friends
  match: {principal: {relationship: friend}}
  effect: allow
  permissions: {tools: [web_search]}
  session: {key: 'friend:{principal.name}'}
  examples:
    - {principal: {relationship: friend, name: Robin}, expect: allow, tools: [web_search], session: 'friend:robin'}
    - {principal: unknown, expect: allow}
    - {principal: {relationship: friend, name: Robin}, expect: deny}
    - {principal: {relationship: friend, name: Robin}, expect: allow, tools: [bash]}
    - {principal: {relationship: friend, name: Robin}, expect: allow, no_tools: [web_search]}
    - {principal: {relationship: friend, name: Robin}, expect: allow, session: main}
",
    );
    let failed = examples_that_fail(&access);
    let lines: Vec<usize> = failed.iter().map(|one| one.origin.line).collect();
    assert_eq!(lines, [9, 10, 11, 12, 13]);
    assert_eq!(failed[0].message, "this event is denied: no policy allows it");
    assert_eq!(failed[2].message, "`bash` may not be called: no policy and no grant allows it");
    assert_eq!(failed[4].message, "it goes to the session friend:robin");
}

#[test]
fn a_pattern_fits_as_a_shell_would_have_it() {
    for (pattern, text, fits) in [
        ("credentials_*", "credentials_get", true),
        ("credentials_*", "credentials_", true),
        ("credentials_*", "credentials", false),
        ("*_a*b", "x_aaab", true),
        ("*_a*b", "x_aaac", false),
        ("t?", "t1", true),
        ("t?", "t", false),
        ("*", "", true),
        ("", "", true),
        ("", "x", false),
        ("a", "A", false),
        ("a**b", "ab", true),
    ] {
        assert_eq!(pattern_matches(pattern, text), fits, "{pattern} {text}");
    }
}
