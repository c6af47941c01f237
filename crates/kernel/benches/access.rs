//! `cargo bench --package agentry-kernel --bench access`: what a decision about access costs.
//!
//! Policies of four sorts: some for one person, some for a relationship, some for a channel, and some that every
//! event must be held against. Decisions go through principals and channels in turn.
//!
//! Must never: assert a time; machines differ.

use std::hint::black_box;

use agentry_agentfile::access::{LocalTime, Policy, Weekday, parse};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::source::SourceText;
use agentry_kernel::access::{
    AccessPolicies, AccessQuery, DecisionContext, allows_tool, compile, difference,
};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool::ToolName;
use rustix::time::{ClockId, clock_gettime};

const SIZES: [usize; 3] = [10, 50, 200];
const DECISIONS: usize = 20_000;
const ROUNDS: usize = 7;
const MICROSECONDS_TARGET: f64 = 20.0;
const REPLAY_TARGET: f64 = 50_000.0;
const CHANNELS: [&str; 4] = ["slack", "discord", "mail", "signal"];

fn main() {
    let principals = principals();
    println!("a decision about access (the target is {MICROSECONDS_TARGET} µs for 200 policies):");
    for size in SIZES {
        for (sort, spread) in [("of four sorts", true), ("all held against each event", false)] {
            let access = compile(&policies(size, spread));
            let micros = measure(|number| {
                let decision = access.decide(&asked(&principals, number), &[], 0);
                black_box(allows_tool(&decision, &ToolName::canonical("web_search")).is_allowed());
            });
            println!(
                "  {size:>4} policies, {sort:<28} {micros:>7.2} µs  {:>10.0} decisions/s",
                1e6 / micros
            );
        }
    }
    let (old, new) = (compile(&policies(200, true)), compile(&policies(199, true)));
    let micros = replay(&old, &new, &principals);
    println!(
        "  replay of 200 against 199 policies: {micros:.2} µs  {:.0} events/s (the target is {REPLAY_TARGET})",
        1e6 / micros
    );
}

fn replay(old: &AccessPolicies, new: &AccessPolicies, principals: &[Principal]) -> f64 {
    let tools: Vec<ToolName> =
        (0..40).map(|number| ToolName::canonical(&format!("tool_{number}"))).collect();
    let seen = DecisionContext { grants: &[], tools: &tools, now: 0 };
    measure(|number| {
        black_box(difference(old, new, &asked(principals, number), &seen));
    })
}

/// The median of several rounds, in microseconds for each time.
fn measure(mut once: impl FnMut(usize)) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = seconds();
            (0..DECISIONS).for_each(&mut once);
            (seconds() - before) * 1e6 / DECISIONS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// The processor time of this thread, which others on the machine do not move.
fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn policies(size: usize, spread: bool) -> Vec<Policy> {
    let mut text = String::from("policies:\n");
    for number in 0..size {
        let sort = if spread { number % 4 } else { 3 };
        let matching = match sort {
            0 => format!("{{principal: {{person_id: p{number}}}}}"),
            1 => format!("{{principal: {{relationship: r{}}}}}", number % 16),
            2 => format!(
                "{{conditions: [{{channel: {}, account: a{number}}}]}}",
                CHANNELS[number % 4]
            ),
            _ => format!(
                "{{principal: {{is_user: false}}, conditions: [{{peer_kind: group, guild: g{number}}}, {{time: '23:00-0{}:00'}}]}}",
                number % 8
            ),
        };
        text += &format!(
            "  - {{name: policy-{number}, match: {matching}, effect: allow, priority: {}, permissions: {{tools: {{allow: [web_search, tool_{number}], deny: [shell]}}, credentials: [c1, c2], data: minimal}}, session: {{key: 'k{number}:{{channel}}'}}}}\n",
            number % 100
        );
    }
    let mut findings = Findings::default();
    let policies = parse(&SourceText::new("bench.yml", text.as_str()), &mut findings);
    assert!(!findings.has_errors(), "{findings:?}");
    policies
}

fn principals() -> Vec<Principal> {
    let one = |number: usize| Principal {
        entity_id: Some(format!("p{number}")),
        name: Some(format!("Person {number}")),
        relationship: Some(format!("r{}", number % 32)),
        tags: vec!["tag".to_owned()],
        ..Principal::of(PrincipalKind::Known)
    };
    (0..50).map(one).collect()
}

fn asked(principals: &[Principal], number: usize) -> AccessQuery<'_> {
    AccessQuery {
        principal: &principals[number % principals.len()],
        sender_id: Some("sender"),
        channel: CHANNELS[number % 4],
        peer_kind: Some(PeerKind::Group),
        peer_id: Some("peer"),
        account: Some("a2"),
        guild: Some("g3"),
        hook_id: None,
        event_type: None,
        time: LocalTime { weekday: Weekday::Monday, minute: (number % 1_440) as u16 },
    }
}
