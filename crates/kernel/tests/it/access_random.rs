//! Random policies, grants and events: the kernel decides as the plain reference does.

use agentry_agentfile::access::{
    KeyTemplate, LocalTime, ModifierRule, NameSet, Permissions, Policy, PolicyCondition,
    PolicyToolRule, PrincipalCondition, SessionRule, TimeWindow, Weekday,
};
use agentry_agentfile::source::{Origin, SourcedValue};
use agentry_kernel::access::{
    AccessPolicies, AccessQuery, DecisionContext, DecisionDiff, allows_tool, compile, difference,
};
use agentry_protocol::GrantId;
use agentry_protocol::access::{
    Credentials, Decision, Delivery, DisclosureLevel, Effect, Grant, GrantConditions,
    PolicyOutcome, PrincipalQuery, Resource,
};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool::ToolName;

use crate::access_reference::{self, Outcome};

const SETS: u64 = 100_000;
const EVENTS_PER_SET: usize = 3;
const NOW: u64 = 1_000;
const TOOLS: [&str; 7] = ["t_a", "t_b", "t_c", "u_a", "u_b", "credentials_x", "w"];
const PATTERNS: [&str; 10] =
    ["t_a", "t_b", "u_a", "w", "t_*", "u_?", "credentials_*", "*_a", "*", "none_such"];
const PEOPLE: [&str; 3] = ["p1", "p2", "p3"];
const RELATIONS: [&str; 3] = ["family", "friend", "work"];
const TAGS: [&str; 3] = ["red", "green", "blue"];
const CHANNELS: [&str; 3] = ["slack", "discord", "mail"];
const WORDS: [&str; 3] = ["one", "two", "three"];
const NAMES: [&str; 5] = ["Casey", "Mary Ann", "a:b", "main", ""];
const KEYS: [&str; 6] = [
    "main",
    "work",
    "family:{principal.name}",
    "{channel}:group:{peer_id}",
    "x:{principal.id}",
    "y:{principal.relationship}:{account}.{guild}",
];
const WINDOWS: [&str; 6] =
    ["23:00-08:00", "08:00-23:00", "weekends", "weekdays", "12:00-12:00", "00:00-24:00"];
const MINUTES: [u16; 8] = [0, 479, 480, 481, 720, 1_379, 1_380, 1_439];

/// A stream of numbers that is the same for the same seed.
struct Chance(u64);

impl Chance {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn some<T: Copy>(&mut self, all: &[T], times: usize) -> Option<T> {
        self.one_in(times).then(|| self.pick(all))
    }

    fn text(&mut self, all: &[&str], times: usize) -> Option<String> {
        self.some(all, times).map(str::to_owned)
    }

    fn list(&mut self, all: &[&str], longest: usize) -> Vec<String> {
        (0..self.below(longest + 1)).map(|_| self.pick(all).to_owned()).collect()
    }
}

fn names(texts: Vec<String>) -> Vec<std::sync::Arc<str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

fn who(chance: &mut Chance) -> PrincipalCondition {
    if chance.one_in(3) {
        return PrincipalCondition::default();
    }
    PrincipalCondition {
        is_user: chance.some(&[true, false], 5),
        relationship: chance.text(&RELATIONS, 5),
        tags: if chance.one_in(5) { chance.list(&TAGS, 2) } else { Vec::new() },
        person_id: chance.text(&PEOPLE, 7),
        unknown: chance.some(&[true, false], 7),
        system: chance.some(&[true, false], 7),
        webhook: chance.text(&["one", "two", "*"], 10),
        agent: chance.text(&["one", "two", "*"], 10),
    }
}

fn condition(chance: &mut Chance) -> PolicyCondition {
    PolicyCondition {
        channel: chance.text(&CHANNELS, 2),
        peer_kind: chance.some(&[PeerKind::Dm, PeerKind::Group, PeerKind::Channel], 4),
        account: chance.text(&WORDS, 8),
        guild: chance.text(&WORDS, 8),
        time: chance
            .some(&WINDOWS, 4)
            .map(|text| TimeWindow::parse(text).expect("the windows above are windows")),
        hook_id: chance.text(&WORDS, 12),
        event_type: chance.text(&["timer", "other"], 12),
    }
}

fn tools(chance: &mut Chance) -> PolicyToolRule {
    PolicyToolRule {
        allow: (!chance.one_in(5)).then(|| names(chance.list(&PATTERNS, 4))),
        deny: if chance.one_in(3) { names(chance.list(&PATTERNS[..8], 2)) } else { Vec::new() },
        deny_the_rest: chance.one_in(6),
    }
}

fn policy(chance: &mut Chance, number: usize) -> Policy {
    let denies = chance.one_in(12);
    let given = |chance: &mut Chance, times| !denies && chance.one_in(times);
    let permissions = if given(chance, 1) && !chance.one_in(4) {
        Permissions {
            tools: (!chance.one_in(5)).then(|| tools(chance)),
            credentials: chance.one_in(2).then(|| {
                if chance.one_in(3) {
                    NameSet::All
                } else {
                    NameSet::Listed(names(chance.list(&WORDS, 3)))
                }
            }),
            data: chance.some(&DisclosureLevel::ALL, 2),
            ceiling: chance.one_in(4),
        }
    } else {
        Permissions::default()
    };
    let session = given(chance, 2).then(|| SessionRule {
        persona: chance.some(&["atlas", "nova"], 2).map(Into::into),
        key: KeyTemplate::parse(chance.pick(&KEYS)).expect("the keys above are keys"),
        isolate: chance.one_in(4),
    });
    let modifiers = if given(chance, 3) {
        ModifierRule {
            delivery: chance.some(&Delivery::ALL, 2),
            delay_response: chance.some(&[true, false], 2),
        }
    } else {
        ModifierRule::default()
    };
    let conditions = if chance.one_in(2) {
        (0..=chance.below(3)).map(|_| condition(chance)).collect()
    } else {
        Vec::new()
    };
    // Names do not follow the order in which policies are given.
    let name = format!("p{}-{number}", chance.below(10));
    Policy {
        name: SourcedValue::new(name.as_str().into(), Origin::named("random")),
        description: None,
        enabled: !chance.one_in(10),
        priority: chance.pick(&[0, 10, 50, 50, 90, 100]),
        effect: if denies { Effect::Deny } else { Effect::Allow },
        who: who(chance),
        conditions,
        permissions,
        session,
        modifiers,
        examples: Vec::new(),
    }
}

fn principal(chance: &mut Chance) -> Principal {
    Principal {
        kind: chance.pick(&PrincipalKind::ALL),
        entity_id: chance.text(&PEOPLE, 2),
        name: chance.text(&NAMES, 2).or_else(|| Some("Casey".to_owned())),
        relationship: chance.text(&RELATIONS, 2),
        tags: chance.list(&TAGS, 3),
        source: chance.text(&WORDS, 2),
        agent_id: chance.text(&WORDS, 2),
    }
}

fn grant(chance: &mut Chance, number: u128) -> Grant {
    let resources = (0..=chance.below(2)).map(|_| match chance.below(4) {
        0 | 1 => Resource::Tool(chance.pick(&PATTERNS).to_owned()),
        2 => Resource::Credential(chance.pick(&WORDS).to_owned()),
        _ => Resource::Data(chance.pick(&DisclosureLevel::ALL)),
    });
    Grant {
        id: GrantId::from_number(number),
        resources: resources.collect(),
        principal_query: PrincipalQuery {
            person_id: chance.text(&PEOPLE, 3),
            relationship: chance.text(&RELATIONS, 3),
            tags: if chance.one_in(3) { chance.list(&TAGS, 1) } else { Vec::new() },
        },
        created_at: 0,
        expires_at: chance.some(&[NOW - 1, NOW, NOW + 1], 2),
        revoked_at: chance.some(&[NOW - 1, NOW + 1], 8),
        granted_by: "owner".to_owned(),
        reason: None,
        request_context: None,
        conditions: GrantConditions {
            channel: chance.text(&CHANNELS, 5),
            session: chance.text(&["main", "work", "family:casey"], 5),
        },
    }
}

fn outcome(decision: &Decision) -> Outcome {
    let allowed = |tool: &&&str| allows_tool(decision, &ToolName::canonical(tool)).is_allowed();
    Outcome {
        effect: decision.effect,
        tools: TOOLS.iter().filter(allowed).map(|tool| (*tool).to_owned()).collect(),
        credentials: match &decision.credentials {
            Credentials::All(_) => None,
            Credentials::Named(all) => Some(all.iter().map(|one| one.name.to_string()).collect()),
        },
        data: decision.data.level,
        session: decision
            .session
            .as_ref()
            .map(|one| (one.key.clone(), one.persona.as_deref().map(str::to_owned))),
        delivery: decision.modifiers.delivery.as_ref().map(|one| one.value),
        delay: decision.modifiers.delay_response.as_ref().map(|one| one.value),
    }
}

/// What a change of policies gains and loses is what the two decisions say.
fn check_difference(
    old: &AccessPolicies,
    new: &AccessPolicies,
    (asked, grants): (&AccessQuery<'_>, &[Grant]),
    (after, seed): (&Outcome, u64),
) {
    let tools = TOOLS.map(ToolName::canonical);
    let seen = DecisionContext { grants, tools: &tools, now: NOW };
    let change = difference(old, new, asked, &seen).unwrap_or_default();
    let before = outcome(&old.decide(asked, grants, NOW));
    let names = |tools: &[ToolName]| tools.iter().map(ToolName::to_string).collect::<Vec<_>>();
    let only = |one: &Outcome, other: &Outcome| {
        TOOLS
            .iter()
            .filter(|tool| one.tools.contains(**tool) && !other.tools.contains(**tool))
            .map(|tool| (*tool).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&change.tools_gained), only(after, &before), "seed {seed}");
    assert_eq!(names(&change.tools_lost), only(&before, after), "seed {seed}");
    assert_eq!(change == DecisionDiff::default(), same_but_delay(&before, after), "seed {seed}");
}

/// Not to wait and to say nothing about waiting let the same happen.
fn same_but_delay(before: &Outcome, after: &Outcome) -> bool {
    let waits = |one: &Outcome| one.delay.unwrap_or_default();
    let rest = |one: &Outcome| Outcome { delay: Some(waits(one)), ..one.clone() };
    rest(before) == rest(after)
}

#[test]
fn a_hundred_thousand_random_sets_are_decided_as_the_rules_say() {
    let (mut allowed, mut denied) = (0_u64, 0_u64);
    for seed in 0..SETS {
        let chance = &mut Chance(seed);
        let policies: Vec<Policy> =
            (0..chance.below(9)).map(|number| policy(chance, number)).collect();
        let grants: Vec<Grant> =
            (0..chance.below(4)).map(|number| grant(chance, number as u128)).collect();
        let access = compile(&policies);
        let fewer = compile(&policies[policies.len().min(1)..]);
        for _ in 0..EVENTS_PER_SET {
            let principal = principal(chance);
            let (peer, account) = (chance.text(&WORDS, 2), chance.text(&WORDS, 2));
            let (guild, hook) = (chance.text(&WORDS, 2), chance.text(&WORDS, 3));
            let asked = AccessQuery {
                principal: &principal,
                sender_id: chance.some(&["Sender 1", "s2"], 2),
                channel: chance.pick(&CHANNELS),
                peer_kind: chance.some(&[PeerKind::Dm, PeerKind::Group, PeerKind::Channel], 1),
                peer_id: peer.as_deref(),
                account: account.as_deref(),
                guild: guild.as_deref(),
                hook_id: hook.as_deref(),
                event_type: chance.some(&["timer"], 3),
                time: LocalTime {
                    weekday: chance.pick(&Weekday::ALL),
                    minute: chance.pick(&MINUTES),
                },
            };
            let decision = access.decide(&asked, &grants, NOW);
            let expected = access_reference::decide(&policies, &asked, (&grants, NOW), &TOOLS);
            assert_eq!(
                outcome(&decision),
                expected,
                "seed {seed}\n{asked:#?}\n{policies:#?}\n{grants:#?}\n{decision:#?}"
            );
            // The index may leave out only what does not match.
            let parts = access.parts(&asked);
            let matched = parts.iter().filter(|one| match one.part {
                PolicyOutcome::Allowed | PolicyOutcome::Denied | PolicyOutcome::Modified => true,
                PolicyOutcome::Disabled | PolicyOutcome::NotMatched(_) => false,
            });
            assert!(matched.eq(decision.matched.iter()), "seed {seed}");
            check_difference(&fewer, &access, (&asked, &grants), (&expected, seed));
            match expected.effect {
                Effect::Allow => allowed += 1,
                Effect::Deny => denied += 1,
            }
        }
    }
    // Both outcomes must be common, or the test shows little.
    let all = SETS * EVENTS_PER_SET as u64;
    assert!(allowed > all / 5 && denied > all / 5, "{allowed} allowed, {denied} denied");
}
