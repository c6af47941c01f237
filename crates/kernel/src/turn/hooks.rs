//! Runs the hooks of a turn: the next hook to run, and the meaning of its answer.
//!
//! The concerns know only that a hook must run and its verdict; the programs, texts and changed
//! arguments are kept here.
//!
//! Must never: run a hook that the program did not choose, or read more into an answer than it has.

use std::collections::BTreeMap;

use agentry_bthread::Lane;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::hook::{
    GateAnswer, GateVerdict, HookErrorPolicy, HookMoment, HookReport, HookResult, HookSpec,
    ShapeAnswer,
};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::verdict::{Finding, Ruling, Stage, Verdict};

use super::Turn;
use super::signal::{HookVerdict, Signal};
use crate::hook;
use crate::limits::HOOK_WORDS_CHARS_MAX;
use crate::moves::Move;

/// The state of the hooks of a turn.
#[derive(Default)]
pub(super) struct TurnHooks {
    // The number of hooks started.
    count: u32,
    // The running hooks.
    open: BTreeMap<u32, RunningHook>,
    // The index of the next hook before the end.
    next_stop: usize,
    // The number of consecutive failures of such a hook.
    stop_failures: u32,
    // Tools removed for this turn, each with the program that removed it.
    taken: BTreeMap<ToolName, String>,
    // Texts for the model after the outcomes.
    pub(super) says: Vec<String>,
    // The reason for a halt of the turn.
    pub(super) halted: Option<String>,
}

struct RunningHook {
    hook: HookSpec,
    about: HookSubject,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HookSubject {
    Before(usize),
    After(usize),
    Finish(u64),
}

/// The results of hooks for one call.
#[derive(Default)]
pub(super) struct CallHooks {
    // The number of hooks run before the call, and after it.
    before: usize,
    after: usize,
    // The findings of hooks that require approval.
    pub(super) asks: Vec<Finding>,
    // The reason of a hook's refusal, as shown to the model.
    pub(super) refusal: Option<String>,
    // Texts for the model beside the outcome.
    pub(super) notes: Vec<String>,
}

impl TurnHooks {
    /// Returns the running hooks with their numbers.
    pub(super) fn running(&self) -> impl Iterator<Item = (u32, &HookSpec)> {
        self.open.iter().map(|(number, one)| (*number, &one.hook))
    }

    /// Discards hooks before a call that already has its outcome.
    pub(super) fn forget_before(&mut self, call: u64) {
        self.open
            .retain(|_, one| !matches!(one.about, HookSubject::Before(at) if at as u64 == call));
    }

    /// Discards hooks before the end: input from outside makes their answers obsolete.
    pub(super) fn forget_stops(&mut self) {
        self.open.retain(|_, one| !matches!(one.about, HookSubject::Finish(_)));
        self.next_stop = 0;
    }

    /// Discards all hooks of a stopped turn; no answer counts any more.
    pub(super) fn forget_all(&mut self) {
        self.open.clear();
    }
}

/// Starting of hooks.
impl Turn {
    pub(super) fn has_hook(&self, moments: &[HookMoment], tool: &ToolName) -> bool {
        let hooks = &self.charter.hooks;
        moments.iter().any(|moment| hook::for_tool(hooks, *moment, tool).next().is_some())
    }

    fn before_hooks(&self, at: usize) -> Vec<HookSpec> {
        let tool = &self.calls[at].call.tool;
        hook::for_tool(&self.charter.hooks, HookMoment::PreToolUse, tool).cloned().collect()
    }

    fn after_hooks(&self, at: usize) -> Vec<HookSpec> {
        let tool = &self.calls[at].call.tool;
        let hooks = &self.charter.hooks;
        let shaping = hook::for_tool(hooks, HookMoment::AfterToolCall, tool);
        shaping.chain(hook::for_tool(hooks, HookMoment::PostToolUse, tool)).cloned().collect()
    }

    fn stop_hooks(&self) -> impl Iterator<Item = &HookSpec> {
        self.charter.hooks.iter().filter(|hook| hook.moment == HookMoment::Stop)
    }

    pub(super) fn consult(&mut self, number: u64) -> Option<Move> {
        let at = usize::try_from(number).ok()?;
        let hook = self.before_hooks(at).into_iter().nth(self.calls[at].hooked.before)?;
        Some(self.run_hook(hook, HookSubject::Before(at)))
    }

    pub(super) fn watch(&mut self, number: u64) -> Option<Move> {
        let at = usize::try_from(number).ok()?;
        let hook = self.after_hooks(at).into_iter().nth(self.calls[at].hooked.after)?;
        Some(self.run_hook(hook, HookSubject::After(at)))
    }

    pub(super) fn review(&mut self, number: u64) -> Option<Move> {
        let hook = self.stop_hooks().nth(self.hooks.next_stop)?.clone();
        Some(self.run_hook(hook, HookSubject::Finish(number)))
    }

    fn run_hook(&mut self, hook: HookSpec, about: HookSubject) -> Move {
        self.hooks.count += 1;
        let number = self.hooks.count;
        let (call, outcome) = match about {
            HookSubject::Before(at) => (Some(self.calls[at].call.clone()), None),
            HookSubject::After(at) => {
                (Some(self.calls[at].call.clone()), self.calls[at].outcome.clone())
            }
            HookSubject::Finish(_) => (None, None),
        };
        self.hooks.open.insert(number, RunningHook { hook: hook.clone(), about });
        Move::RunHook { number, hook: Box::new(hook), call, outcome }
    }
}

/// Handling of answers.
impl Turn {
    pub(super) fn hear_hook(&mut self, number: u32, report: &HookReport) {
        // An answer that is no longer awaited has no effect.
        let Some(RunningHook { hook, about }) = self.hooks.open.remove(&number) else { return };
        let heard = HookReply::of(&hook, &report.result);
        if let Some(why) = heard.halt() {
            self.hooks.halted = Some(format!("the hook {} stopped the turn: {why}", hook.program));
        }
        let signal = match about {
            HookSubject::Before(at) => {
                let facts = report.facts.as_deref().cloned().unwrap_or_default();
                let opinion = self.heard_before(at, &hook, &heard, facts);
                Signal::Consulted(self.subject(at), opinion)
            }
            HookSubject::After(at) => {
                Signal::Watched(at as u64, self.heard_after(at, &hook, &heard))
            }
            HookSubject::Finish(number) => Signal::Reviewed(number, self.heard_stop(&hook, &heard)),
        };
        self.program.offer(Lane::Normal, signal);
    }

    fn heard_before(
        &mut self,
        at: usize,
        hook: &HookSpec,
        heard: &HookReply<'_>,
        facts: CallFacts,
    ) -> HookVerdict {
        let program = &hook.program;
        self.calls[at].hooked.before += 1;
        let (opinion, why) = heard.opinion(hook);
        if let Some(context) = heard.context() {
            self.calls[at].hooked.notes.push(note(program, "adds", context));
        }
        match opinion {
            HookVerdict::Deny | HookVerdict::Halt => {
                self.calls[at].hooked.refusal = Some(match heard {
                    HookReply::Nothing(why) => format!(
                        "Refused: the hook {program} failed ({}), and a gate that cannot run means no",
                        shortened(why)
                    ),
                    HookReply::Answer(_) | HookReply::Shape(_) => {
                        format!("Refused by the hook {program}: {}", shortened(&why))
                    }
                });
                return opinion;
            }
            HookVerdict::Ask => {
                let why = format!("the hook {program} wants a person to be asked: {why}");
                let rule = Some(program.clone());
                let finding = Finding { stage: Stage::Hook, verdict: Verdict::Ask, why, rule };
                self.calls[at].hooked.asks.push(finding.clone());
                add_hook_questions(&mut self.calls[at].ruling, [finding]);
            }
            HookVerdict::Next | HookVerdict::Clear => {}
        }
        if let HookReply::Answer(GateAnswer { updated_input: Some(input), .. }) = heard {
            let call = ToolCall { input: input.clone(), ..self.calls[at].call.clone() };
            self.change(at, call, facts, Some(program.clone()));
        }
        let more = self.before_hooks(at).len() > self.calls[at].hooked.before;
        match (more, self.calls[at].hooked.asks.is_empty()) {
            (true, _) => HookVerdict::Next,
            (false, true) => HookVerdict::Clear,
            (false, false) => HookVerdict::Ask,
        }
    }

    fn heard_after(&mut self, at: usize, hook: &HookSpec, heard: &HookReply<'_>) -> HookVerdict {
        let program = &hook.program;
        self.calls[at].hooked.after += 1;
        let mut notes = Vec::new();
        match heard {
            HookReply::Answer(answer) => {
                if answer.say == Some(GateVerdict::Deny) {
                    let why = answer.reason.as_deref().unwrap_or("it gives no reason");
                    notes.push(note(program, "objects", why));
                }
                notes.extend(answer.context.as_deref().map(|text| note(program, "adds", text)));
            }
            HookReply::Shape(shape) => self.shape(hook, shape),
            HookReply::Nothing(why) => {
                if hook.moment == HookMoment::PostToolUse && hook.on_error == HookErrorPolicy::Deny
                {
                    notes.push(note(program, "failed", why));
                }
            }
        }
        self.calls[at].hooked.notes.extend(notes);
        match heard.halt() {
            Some(_) => HookVerdict::Halt,
            None if self.after_hooks(at).len() > self.calls[at].hooked.after => HookVerdict::Next,
            None => HookVerdict::Clear,
        }
    }

    /// Applies a hook's changes for the rest of the turn; the beginning of the request stays.
    fn shape(&mut self, hook: &HookSpec, shape: &ShapeAnswer) {
        if let Some(text) = &shape.system_prompt_append {
            let text = shortened(text);
            self.hooks.says.push(format!("[The agent's hook {} adds: {text}]", hook.moment));
        }
        for tool in &shape.tool_removals {
            let tool = ToolName::canonical(tool);
            self.hooks.taken.entry(tool).or_insert_with(|| hook.program.clone());
        }
        if !shape.tool_removals.is_empty() {
            self.forbid_anew();
        }
    }

    fn heard_stop(&mut self, hook: &HookSpec, heard: &HookReply<'_>) -> HookVerdict {
        let (mut opinion, why) = heard.opinion(hook);
        match heard {
            HookReply::Answer(_) => self.hooks.stop_failures = 0,
            HookReply::Shape(_) | HookReply::Nothing(_) => {
                self.hooks.stop_failures += 1;
                // A broken hook must not keep the turn from finishing again and again.
                if self.hooks.stop_failures > 1 {
                    opinion = HookVerdict::Clear;
                }
            }
        }
        let program = &hook.program;
        if let Some(text) = heard.context() {
            self.hooks.says.push(note(program, "adds", text));
        }
        self.hooks.next_stop += 1;
        match opinion {
            HookVerdict::Halt => HookVerdict::Halt,
            HookVerdict::Deny => {
                self.hooks.next_stop = 0;
                self.hooks.says.push(note(program, "does not let you stop", &why));
                HookVerdict::Deny
            }
            HookVerdict::Next | HookVerdict::Clear | HookVerdict::Ask => {
                if self.stop_hooks().count() > self.hooks.next_stop {
                    return HookVerdict::Next;
                }
                self.hooks.next_stop = 0;
                HookVerdict::Clear
            }
        }
    }

    /// Rules on a call by the authority, and by the tools that hooks removed.
    pub(super) fn ruled(&self, call: &ToolCall, facts: &CallFacts) -> Ruling {
        let mut ruling = self.charter.authority.rule_at(call, facts, &self.skills);
        if let Some(program) = self.hooks.taken.get(&call.tool) {
            let tool = &call.tool;
            let why = format!("the hook {program} took `{tool}` away for this turn");
            let rule = Some(program.clone());
            ruling.findings.retain(|one| one.stage < Stage::Scope);
            ruling.findings.push(Finding {
                stage: Stage::Scope,
                verdict: Verdict::Deny,
                why,
                rule,
            });
            ruling.verdict = Verdict::Deny;
        }
        ruling
    }
}

/// The answer of a hook, or the reason why there is none.
enum HookReply<'a> {
    Answer(&'a GateAnswer),
    Shape(&'a ShapeAnswer),
    Nothing(&'a str),
}

impl<'a> HookReply<'a> {
    /// Reads a result; an answer of the wrong kind counts as none.
    fn of(hook: &HookSpec, result: &'a HookResult) -> Self {
        match (result, hook.moment.is_gate()) {
            (HookResult::Gated { answer }, true) => Self::Answer(answer),
            (HookResult::Shaped { shape }, false) => Self::Shape(shape),
            (HookResult::Gated { .. } | HookResult::Shaped { .. }, _) => {
                Self::Nothing("it answered for another moment")
            }
            (HookResult::Failed { why }, _) => Self::Nothing(why),
        }
    }

    fn halt(&self) -> Option<&'a str> {
        match self {
            Self::Answer(answer) => answer.halt.as_deref(),
            Self::Shape(_) | Self::Nothing(_) => None,
        }
    }

    fn context(&self) -> Option<&'a str> {
        match self {
            Self::Answer(answer) => answer.context.as_deref(),
            Self::Shape(_) | Self::Nothing(_) => None,
        }
    }

    /// Returns the verdict of a gate, and its reason. No objection is no approval.
    fn opinion(&self, hook: &HookSpec) -> (HookVerdict, String) {
        match self {
            Self::Answer(answer) => {
                let reason = answer.reason.as_deref().unwrap_or("it gives no reason").to_owned();
                match (&answer.halt, answer.say) {
                    (Some(why), _) => (HookVerdict::Halt, why.clone()),
                    (None, Some(GateVerdict::Deny)) => (HookVerdict::Deny, reason),
                    (None, Some(GateVerdict::Ask)) => (HookVerdict::Ask, reason),
                    (None, Some(GateVerdict::Allow) | None) => (HookVerdict::Clear, reason),
                }
            }
            Self::Shape(_) => (HookVerdict::Clear, String::new()),
            Self::Nothing(why) => {
                let opinion = match hook.on_error {
                    HookErrorPolicy::Deny => HookVerdict::Deny,
                    HookErrorPolicy::Ask => HookVerdict::Ask,
                    HookErrorPolicy::Allow => HookVerdict::Clear,
                };
                (opinion, format!("the hook failed ({why})"))
            }
        }
    }
}

/// Adds the approvals that hooks require, as if the rules required them.
pub(super) fn add_hook_questions(ruling: &mut Ruling, asks: impl IntoIterator<Item = Finding>) {
    if ruling.verdict == Verdict::Deny {
        return;
    }
    for finding in asks {
        ruling.verdict = ruling.verdict.max(finding.verdict);
        ruling.findings.push(finding);
    }
}

fn note(program: &str, verb: &str, words: &str) -> String {
    format!("[The hook {program} {verb}: {}]", shortened(words))
}

fn shortened(words: &str) -> String {
    match words.char_indices().nth(HOOK_WORDS_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}
