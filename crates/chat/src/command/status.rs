//! Commands that show facts about the chat, the agent and the costs.
//!
//! Must never: change anything.

use std::collections::BTreeMap;

use agentry_frontend::bootstrap;
use agentry_kernel::prompt::{PromptSources, assemble};
use agentry_kernel::tokens;
use agentry_protocol::event::Event;
use agentry_protocol::message::{Message, Usage};
use agentry_runtime::host::spending::dollars;
use agentry_runtime::host::tool_source::{ToolGrant, ToolScope};
use ratatui::style::Style;

use super::COMMANDS;
use crate::limits::CHAT_CONTEXT_TURNS_MAX;
use crate::live_rows::count;
use crate::style::{BAD, BOLD, DIM, StyledRow, joined, row, span};
use crate::wrap::{width, wrapped};
use crate::{TerminalChat, call, recent_turns};

const KEYS: [(&str, &str); 12] = [
    ("Enter", "send; during a turn: send to the agent at once"),
    ("Alt-Enter", "new line; during a turn: queue until it ends"),
    ("Ctrl-J, \\ Enter", "new line"),
    ("Esc, Ctrl-C", "interrupt; Ctrl-C twice quits"),
    ("Ctrl-D", "quit"),
    ("Up, Down", "history; Up takes a queued prompt back"),
    ("Ctrl-R", "search the history"),
    ("Tab", "complete /commands and @files"),
    ("Ctrl-O", "show the last call in full"),
    ("Ctrl-L", "redraw the screen"),
    ("!command", "run it in the sandbox, output goes to the agent; !! keeps it"),
    ("@file", "name a file of the workspace"),
];

/// The costs of one run.
#[derive(Default)]
struct ChatRunCost {
    prompt: String,
    usage: Usage,
    replies: u64,
    /// The cost of the answers with a known price, in nano-dollars.
    nano_usd: u64,
    /// The number of answers without a known price.
    unknown: u64,
}

impl TerminalChat<'_> {
    pub(super) fn help(&mut self) {
        let columns = self.screen.width();
        let mut rows = vec![row("Commands", BOLD)];
        for one in &COMMANDS {
            let name = format!("/{} {}", one.name, one.takes);
            rows.extend(pair(&name, one.about, 26, columns));
        }
        rows.push(StyledRow::default());
        rows.push(row("Keys", BOLD));
        rows.extend(KEYS.iter().flat_map(|(key, about)| pair(key, about, 18, columns)));
        self.page(rows);
    }

    pub(super) fn status(&mut self) {
        let talk = &self.talk;
        let definitions = &talk.engine.definitions;
        let session = talk.session.as_ref().map_or("not started", |session| session.as_str());
        let columns = self.screen.width();
        let pair = |name, about: &str| pair(name, about, 12, columns);
        let rows = [
            pair("agent", talk.agent.as_str()),
            pair("model", &format!("{} ({})", talk.terms.model, talk.model_from)),
            pair("mode", talk.terms.mode.as_str()),
            pair("workspace", &definitions.workspace.display().to_string()),
            pair("definitions", &definitions.project.display().to_string()),
            pair("sandbox", definitions.level.as_str()),
            pair("session", &format!("{} ({session})", talk.key)),
        ];
        self.page(rows.concat());
    }

    pub(super) fn cost(&mut self) {
        let entries = match self.talk.entries() {
            Ok(entries) => entries,
            Err(error) => return self.note(&bootstrap::store_fault(error).plain(), BAD),
        };
        let mut runs: Vec<(String, ChatRunCost)> = Vec::new();
        for envelope in &entries {
            let id = envelope.about.run.as_ref().map(ToString::to_string).unwrap_or_default();
            let at = runs.iter().position(|(run, _)| *run == id).unwrap_or_else(|| {
                runs.push((id, ChatRunCost::default()));
                runs.len() - 1
            });
            let spent = &mut runs[at].1;
            if let Event::PromptReceived { content } = &envelope.event {
                spent.prompt = call_line(content);
            }
            if let Event::ModelReplied { reply, .. } = &envelope.event {
                spent.usage = spent.usage.plus(reply.usage);
                spent.replies += 1;
                match reply.cost_nano_usd {
                    Some(nano) => spent.nano_usd = spent.nano_usd.saturating_add(nano),
                    None => spent.unknown += 1,
                }
            }
        }
        runs.retain(|(_, spent)| spent.replies > 0);
        if runs.is_empty() {
            return self.note("No costs in this session yet.", DIM);
        }
        let columns = self.screen.width();
        let mut rows = vec![row("      in    out cached  requests       cost", BOLD)];
        let mut sum = ChatRunCost::default();
        for (_, spent) in &runs {
            sum.usage = sum.usage.plus(spent.usage);
            sum.replies += spent.replies;
            sum.nano_usd = sum.nano_usd.saturating_add(spent.nano_usd);
            sum.unknown += spent.unknown;
            let numbers = numbers(spent);
            let room = columns.saturating_sub(width(&numbers) + 2);
            let prompt = crate::wrap::short(&spent.prompt, room);
            rows.push(joined([span(numbers, Style::new()), span(format!("  {prompt}"), DIM)]));
        }
        rows.push(joined([span(numbers(&sum), BOLD), span("  this session", BOLD)]));
        if sum.usage.estimated {
            rows.push(row(
                "Some counts are estimates, because the provider did not report them.",
                DIM,
            ));
        }
        if sum.unknown > 0 {
            let text = format!("The price of {} answers is unknown and not included.", sum.unknown);
            rows.push(row(text, DIM));
        }
        self.page(rows);
    }

    pub(super) fn context(&mut self) {
        let Some(agent) = self.talk.definition() else { return };
        let persona = self.talk.persona();
        let persona = agent.personas.available.iter().find(|one| Some(one.id.as_str()) == persona);
        let template = self.host.render(agent, persona).ok().flatten();
        let library = &self.talk.engine.definitions.library;
        let skills = agent.skills.iter().filter_map(|id| library.skill(agent, id.value.as_str()));
        let material = PromptSources {
            agent,
            persona,
            skills: skills.collect(),
            template: template.as_deref(),
            hook_output: None,
        };
        let prompt = assemble(&material);
        let mut sizes: Vec<(String, usize, usize)> = Vec::new();
        for section in prompt.sections.iter().filter(|section| section.left_out.is_none()) {
            sizes.push((section.name.as_str().to_owned(), section.bytes, section.tokens));
        }
        let offered: Vec<&str> =
            agent.powers.toolset.iter().map(|tool| tool.name.as_str()).collect();
        let engine = &self.talk.engine;
        let scope = ToolScope { definitions: &engine.definitions, agent, step: None };
        let toolset = engine.parts.tools.toolset(&scope).ok();
        let specs = toolset.iter().flat_map(|toolset| toolset.granted(ToolGrant::Listed));
        let schemas: String = specs
            .filter(|spec| offered.contains(&spec.name.as_str()))
            .filter_map(|spec| serde_json::to_string(spec).ok())
            .collect();
        sizes.push(("tool schemas".to_owned(), schemas.len(), tokens::estimate(&schemas)));
        let told = recent_turns::turns(&self.talk, CHAT_CONTEXT_TURNS_MAX).unwrap_or_default();
        let told = recent_turns::visible_turns(told);
        let messages = told.iter().flat_map(|one| &one.messages);
        sizes.extend(by_kind(messages));
        let mut rows = vec![row("   bytes  tokens", BOLD)];
        let (bytes, all) = sizes.iter().fold((0, 0), |(b, t), one| (b + one.1, t + one.2));
        for (name, bytes, tokens) in &sizes {
            rows.push(joined([
                span(
                    format!("{:>8}{:>8}", count(*bytes as u64), count(*tokens as u64)),
                    Style::new(),
                ),
                span(format!("  {name}"), DIM),
            ]));
        }
        let sum = format!("{:>8}{:>8}  in total, about", count(bytes as u64), count(all as u64));
        rows.push(row(sum, BOLD));
        self.page(rows);
    }

    pub(super) fn permissions(&mut self) {
        let Some(agent) = self.talk.definition() else { return };
        let powers = &agent.powers;
        let mut rows = vec![row("Rules (first match wins)", BOLD)];
        for rule in powers.tool_rules.iter().chain(&powers.task_rules) {
            let verdict = if rule.allow { "allowed" } else { "needs approval" };
            let when = if rule.when.is_empty() {
                String::new()
            } else {
                format!(" when {}", serde_json::json!(rule.when))
            };
            rows.push(joined([
                span(format!("  {} {verdict}{when}", rule.subject), Style::new()),
                span(format!("  {}", rule.origin), DIM),
            ]));
        }
        rows.push(row("  anything else: needs approval", Style::new()));
        let access = &powers.access;
        let on = if access.enabled.value { "on" } else { "off" };
        rows.push(joined([
            span(format!("  tools are {on}"), Style::new()),
            span(format!("  {}", access.enabled.origin), DIM),
        ]));
        rows.push(StyledRow::default());
        rows.push(row("Calls allowed for this session", BOLD));
        let session = self.talk.row().ok().flatten().map(|row| row.id);
        let answers = session.map(|id| self.talk.ledger().approvals_standing(&id));
        let answers = answers.and_then(Result::ok).unwrap_or_default();
        let mut standing: Vec<StyledRow> = answers
            .iter()
            .map(|one| {
                let call = &one.approval.call;
                row(format!("  {} {}", call.tool, call::subject(call)), Style::new())
            })
            .collect();
        if standing.is_empty() {
            standing.push(row("  none", DIM));
        }
        rows.extend(standing);
        let mode = format!(
            "The mode is {}; the sandbox is {}.",
            self.talk.terms.mode.as_str(),
            self.talk.engine.definitions.level
        );
        rows.push(row(mode, DIM));
        self.page(rows);
    }

    pub(super) fn tools(&mut self) {
        let Some(agent) = self.talk.definition() else { return };
        let columns = self.screen.width();
        let mut rows = Vec::new();
        for tool in &agent.powers.toolset {
            let risk = format!("{:?} risk", tool.risk).to_lowercase();
            rows.extend(pair(tool.name.as_str(), &risk, 16, columns));
        }
        for one in &agent.powers.left_out {
            rows.push(row(format!("- {}: {}", one.name, one.why), DIM));
        }
        if rows.is_empty() {
            rows.push(row("The agent has no tools.", DIM));
        }
        self.page(rows);
    }

    pub(super) fn skills(&mut self) {
        let Some(agent) = self.talk.definition() else { return };
        let library = &self.talk.engine.definitions.library;
        let columns = self.screen.width();
        let mut rows = Vec::new();
        for id in &agent.skills {
            let about = library.skill(agent, id.value.as_str());
            let about = about.map_or("", |skill| skill.description.value.as_str());
            rows.extend(pair(id.value.as_str(), about, 20, columns));
        }
        if rows.is_empty() {
            rows.push(row("The agent has no skills.", DIM));
        }
        self.page(rows);
    }

    pub(super) fn agents(&mut self) {
        let library = &self.talk.engine.definitions.library;
        let columns = self.screen.width();
        let mut rows = Vec::new();
        for (id, agent) in &library.agents {
            let about = agent.identity.description.as_ref().map_or("", |text| text.value.as_str());
            let mark = if *id == self.talk.agent.as_str() { "* " } else { "  " };
            rows.extend(pair(&format!("{mark}{id}"), about, 22, columns));
        }
        for (id, file) in &library.broken_agents {
            rows.push(row(format!("  {id} does not load ({file})"), BAD));
        }
        rows.push(row("agentry chat <agent> starts a chat with another", DIM));
        self.page(rows);
    }
}

fn numbers(spent: &ChatRunCost) -> String {
    let usage = spent.usage;
    let cost =
        if spent.unknown == spent.replies { "unknown".to_owned() } else { dollars(spent.nano_usd) };
    format!(
        "{:>8}{:>7}{:>7}{:>10}{cost:>11}",
        count(usage.input_tokens),
        count(usage.output_tokens),
        count(usage.cached_tokens),
        spent.replies
    )
}

/// Returns the rows of a name and its text; the text is wrapped in its own column.
fn pair(name: &str, about: &str, wide: usize, columns: usize) -> Vec<StyledRow> {
    let pad = " ".repeat(wide.saturating_sub(width(name)).max(1));
    let line = joined([span(format!("  {name}{pad}"), Style::new()), span(about, DIM)]);
    wrapped(&line, columns, wide + 2)
}

fn call_line(text: &str) -> String {
    crate::style::clean(text.lines().next().unwrap_or_default())
}

/// Returns bytes and tokens by kind of message.
fn by_kind<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<(String, usize, usize)> {
    let mut sizes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut add = |kind: &'static str, text: &str| {
        let size = sizes.entry(kind).or_default();
        size.0 += text.len();
        size.1 += tokens::estimate(text);
    };
    for message in messages {
        match message {
            Message::User { content, .. } => add("your messages", content),
            Message::Assistant { content, thinking, calls, .. } => {
                add("answers", content);
                add("thinking", thinking);
                calls.iter().for_each(|call| add("calls", &call.input.to_string()));
            }
            Message::Tool { content, .. } => add("outcomes of calls", content),
        }
    }
    let kept = sizes.into_iter().filter(|(_, size)| size.0 > 0);
    kept.map(|(kind, (bytes, tokens))| (kind.to_owned(), bytes, tokens)).collect()
}
