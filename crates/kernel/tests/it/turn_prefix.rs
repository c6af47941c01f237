//! Every request of a turn begins with the bytes of the one before it.

use std::collections::{BTreeMap, BTreeSet};

use agentry_agentfile::config::{self, ConfigLayers};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::library::{self, LibraryInput};
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::approval::try_examples;
use agentry_kernel::authority::{Authority, of_agent};
use agentry_kernel::charter::Charter;
use agentry_kernel::moves::Move;
use agentry_kernel::turn::{Turn, transcript};
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::confinement::Confinement;
use agentry_protocol::event::{Ending, Event, Mode, RunLimits, TurnPlan};
use agentry_protocol::message::{Message, ModelReply};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolOutcome, ToolSpec};
use agentry_protocol::{AgentId, CallId, ContentHash};
use serde_json::json;

const STEPS: u32 = 200;

fn bash() -> ToolSpec {
    ToolSpec {
        name: ToolName::canonical("bash"),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        category: ToolCategory::Custom,
        risk: Risk::Medium,
        repeat: RepeatSafety::Uncertain,
    }
}

/// An agent that is asked about every command but `echo`.
fn authority() -> Authority {
    let project = FileTree::from_fixture(
        "
        --- .agentry/agents/builder/AGENT.md
        ---
        name: Builder
        tools: [Bash]
        tool_approvals:
          rules: [{tool: Bash, allow: true, when: {command: {startsWith: 'echo '}}}]
        ---
        Build.
        ",
    );
    let mut findings = Findings::default();
    let input = LibraryInput {
        project: &project,
        home: None,
        skill_roots: &[],
        settings: config::layered(&ConfigLayers::default(), &mut findings),
        environment: BTreeMap::from([("SHELL_TOOL_MODE".to_owned(), "full".to_owned())]),
        host: BTreeSet::from([bash().name]),
        level: SkillLevel::Extended,
        try_templates: &|_| Vec::new(),
        try_examples,
    };
    let library = library::read(input, &mut findings);
    let agent = library.agents.values().next().expect("the agent loads");
    of_agent(agent, &library, &[bash()], None, Confinement::most_restricted())
}

pub(crate) fn charter(mode: Mode) -> Charter {
    Charter {
        agent: AgentId::new("builder"),
        agent_hash: ContentHash::of(b"the files"),
        model: "scripted".into(),
        temperature: None,
        max_tokens: None,
        system: "You build.".into(),
        tools: vec![bash()].into(),
        authority: authority(),
        mode,
        limits: RunLimits {
            steps_max: 10 * STEPS,
            calls_max: 10 * STEPS,
            iterations_max: 10 * STEPS,
            tokens_max: None,
        },
        check: None,
        hooks: Vec::new(),
    }
}

/// A world that answers: calls while there are steps left, every other one of them asked about; people
/// say yes and no in turn, steer, and switch the mode to and fro.
struct World {
    asked: u32,
    answered: u32,
    requests: Vec<Vec<u8>>,
}

impl World {
    fn reply(&mut self, step: u32, check: bool) -> Event {
        let number = u128::from(step);
        let command = if step.is_multiple_of(2) { "touch x" } else { "echo é" };
        let input = json!({ "command": format!("{command}{step}") });
        let call =
            ToolCall { id: CallId::from_number(number), tool: ToolName::canonical("bash"), input };
        let over = step >= STEPS;
        let text = match (check, over) {
            (true, true) => r#"{"done": true}"#.to_owned(),
            (true, false) => r#"{"done": false}"#.to_owned(),
            (false, _) => format!("Step {step}."),
        };
        let calls = if check || over { Vec::new() } else { vec![call] };
        let thinking = format!("{step}?");
        Event::ModelReplied {
            step,
            reply: ModelReply { text, thinking, calls, ..ModelReply::default() },
            facts: Vec::new(),
        }
    }

    /// The request as it is sent: when the turn has chosen, and before it is told anything else.
    fn send(&mut self, turn: &Turn, moves: &[Move]) {
        for one in moves {
            if let Move::AskModel { step, bytes, .. } = one {
                let now = transcript::bytes(&turn.request());
                assert_eq!(now.len() as u64, *bytes, "step {step}");
                self.requests.push(now);
            }
        }
    }

    /// What comes of a move.
    fn comes_of(&mut self, one: &Move) -> Vec<Event> {
        match one {
            Move::AskModel { step, check, .. } => {
                self.asked += 1;
                let mut events = Vec::new();
                if step.is_multiple_of(7) {
                    events.push(Event::SteerReceived {
                        content: format!("steer {step}"),
                        event: None,
                    });
                }
                if step.is_multiple_of(31) {
                    let mode = [Mode::Supervised, Mode::Autonomous][(step / 31 % 2) as usize];
                    events.push(Event::ModeReceived { mode, max_iterations: None });
                }
                events.push(self.reply(*step, *check));
                events
            }
            Move::AskApproval(approval) => {
                self.answered += 1;
                let allow = self.answered.is_multiple_of(2);
                let answer = if allow {
                    ApprovalAnswer::approved(ApprovalScope::Once)
                } else {
                    ApprovalAnswer::declined(None)
                };
                vec![Event::ApprovalAnswered { approval: approval.id.clone(), answer }]
            }
            Move::RunCall { call, .. } => {
                let outcome = ToolOutcome::done(format!("done {}", call.id));
                vec![Event::CallFinished { call: call.id.clone(), outcome }]
            }
            Move::Propose { .. }
            | Move::Refuse { .. }
            | Move::StopCall { .. }
            | Move::RunCheck { .. }
            | Move::RunHook { .. }
            | Move::CountIteration { .. }
            | Move::EndTurn { .. } => Vec::new(),
        }
    }
}

fn requests(mode: Mode) -> World {
    let charter = charter(mode);
    let plan = TurnPlan {
        parent: None,
        parent_hash: None,
        history_from: None,
        pruned: Default::default(),
        compaction: None,
        step: 0,
        prompt: "Work.".to_owned(),
        images: Vec::new(),
        charter: serde_json::to_value(&charter).expect("a charter is plain JSON"),
        standing: BTreeMap::new(),
        shaping: Default::default(),
    };
    let history = vec![Message::user("Earlier.")];
    let (mut turn, first) = Turn::begin(charter, &plan, history).expect("the turn begins");
    let mut world = World { asked: 0, answered: 0, requests: Vec::new() };
    world.send(&turn, &first);
    let mut moves = std::collections::VecDeque::from(first);
    let mut ending = None;
    while let Some(one) = moves.pop_front() {
        if let Move::EndTurn { ending: how, .. } = &one {
            ending = Some(*how);
        }
        for event in world.comes_of(&one) {
            let next = turn.tell(&event).expect("the turn goes on");
            world.send(&turn, &next);
            moves.extend(next);
        }
    }
    assert_eq!(ending, Some(Ending::Done));
    world
}

#[test]
fn every_request_begins_with_the_one_before_in_both_modes() {
    for mode in [Mode::Supervised, Mode::Autonomous] {
        let world = requests(mode);
        assert!(world.asked >= STEPS, "{} requests", world.asked);
        assert!(world.answered > 10, "{} answers", world.answered);
        for (at, pair) in world.requests.windows(2).enumerate() {
            assert!(pair[1].starts_with(&pair[0]), "request {} of {mode:?}", at + 2);
        }
        let last = String::from_utf8(world.requests.last().expect("there is one").clone());
        let last = last.expect("a request is text");
        assert!(last.contains("steer 7") && last.contains("steer 196"));
    }
}
