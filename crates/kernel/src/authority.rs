//! Authority for one call, stage by stage: is the tool registered, does the input fit its schema,
//! may the sender use it, is it in scope, is it switched on, do rules allow it, is it dangerous?
//!
//! Each stage can only narrow the result of the stage before. The whole input of the decision is
//! one value, recorded with the turn: an equal value and an equal call give an equal ruling.
//!
//! Must never: allow a call that no stage has judged, or let a broken definition widen anything.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use agentry_agentfile::agent::{Agent, ExcludedTool};
use agentry_agentfile::approval_rule::{ApprovalRule, COMMAND, SHELL};
use agentry_agentfile::diagnostic::suggestion;
use agentry_agentfile::library::Library;
use agentry_agentfile::manifest::tool_access::AccessMode;
use agentry_agentfile::scope::DefinitionScope;
use agentry_agentfile::skill::SkillForm;
use agentry_agentfile::source::Origin;
use agentry_agentfile::task::Task;
use agentry_agentfile::tool_access::ToolAccess;
use agentry_protocol::SkillId;
use agentry_protocol::access::Bounds;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolSpec};
use agentry_protocol::verdict::{Finding, Ruling, Stage, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{self, JudgedPath, RulePatterns};
use crate::danger;
use crate::limits::INPUT_DEFECTS_MAX;
use crate::shell::{self, AllowlistMatch, ShellCommand, ShellFacts, ShellWord};

mod bounds;
mod input;

pub use bounds::{allows_credential, is_unbounded};
use input::Schemas;
pub use input::schema_errors;

/// The origin of a value that neither a file nor a setting gives.
const BUILT_IN: &str = "built-in";

/// The input of all decisions about the calls of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Authority {
    /// The tools that the agent is offered and this host has.
    pub tools: Vec<ToolSpec>,
    /// Tools of the agent that tool-access switched off when the agent was read.
    pub off: Vec<ToolSpec>,
    /// Every tool that this host has.
    pub known: Vec<ToolName>,
    /// Tools that the agent asked for and does not get.
    pub left_out: Vec<ExcludedTool>,
    /// The agent's approval rules.
    pub agent_rules: Vec<ApprovalRule>,
    /// The narrower scope of the task step; None outside of a task.
    pub scope: Option<NarrowScope>,
    /// The narrower scope of each of the agent's skills, in effect while the skill is active.
    pub skills: BTreeMap<SkillId, NarrowScope>,
    /// The tool-access settings: which tools are switched on.
    pub access: ToolAccess,
    /// The directories that relative and home paths of calls refer to.
    pub place: CallDirectories,
    /// The limits of their processes. Turns recorded before sandboxes existed lack it and had none.
    #[serde(default = "Confinement::unconfined")]
    pub confinement: Confinement,
    /// The bounds from the access decision; None if the turn did not come through access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// A cache compiled from the other fields on first use; start with the default.
    #[serde(skip)]
    pub prepared: AuthorityCache,
}

/// The narrower tool scope of a skill or a task step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NarrowScope {
    /// Its name, for people: ``the skill `commit` ``.
    pub name: String,
    /// Its tools, if it lists them; None keeps the tools of the enclosing scope.
    pub tools: Option<Vec<ToolName>>,
    /// Its approval rules, if it has any; None keeps the rules of the enclosing scope.
    pub rules: Option<Vec<ApprovalRule>>,
    /// The file and line that declare it.
    pub origin: Origin,
}

/// The directories in which calls act.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDirectories {
    /// The path of the workspace directory.
    pub workspace: String,
    /// The path of the user's home directory; None if unknown.
    pub home: Option<String>,
}

/// Returns the authority of an agent; `step` is a task and its step number, counted from zero.
pub fn of_agent(
    agent: &Agent,
    library: &Library,
    specs: &[ToolSpec],
    step: Option<(&Task, usize)>,
    confinement: Confinement,
) -> Authority {
    let powers = &agent.powers;
    let is_offered = |spec: &&ToolSpec| powers.toolset.iter().any(|one| one.name == spec.name);
    let is_off = |spec: &&ToolSpec| {
        let mut off = powers.left_out.iter().filter(|one| one.switched_off);
        off.any(|one| ToolName::canonical(&one.name) == spec.name)
    };
    let skills = agent.skills.iter().filter_map(|id| library.skill(agent, id.value.as_str()));
    let skills = skills.map(|skill| {
        // A skill in a single file has no scope of its own.
        let scopes: &[&DefinitionScope] = match skill.form {
            SkillForm::Folder => &[&skill.scope],
            SkillForm::File => &[],
        };
        let name = format!("the skill `{}`", skill.id);
        (skill.id.clone(), NarrowScope::of(name, scopes, &skill.body.origin))
    });
    let has = |name: &ToolName| specs.iter().any(|spec| spec.name == *name);
    let missing = powers.toolset.iter().filter(|tool| !has(&tool.name)).map(|tool| ExcludedTool {
        name: tool.name.as_str().to_owned(),
        why: "this host does not run it".to_owned(),
        origin: tool.origin.clone(),
        switched_off: false,
    });
    Authority {
        tools: specs.iter().filter(is_offered).cloned().collect(),
        off: specs.iter().filter(is_off).cloned().collect(),
        known: specs.iter().map(|spec| spec.name.clone()).collect(),
        left_out: powers.left_out.iter().cloned().chain(missing).collect(),
        agent_rules: without_examples(&powers.tool_rules),
        scope: step.and_then(|(task, at)| NarrowScope::of_step(task, at)),
        skills: skills.collect(),
        access: powers.access.clone(),
        place: CallDirectories::default(),
        confinement,
        bounds: None,
        prepared: AuthorityCache::default(),
    }
}

/// Removes the examples: they decide nothing, so they are not recorded.
fn without_examples(rules: &[ApprovalRule]) -> Vec<ApprovalRule> {
    rules.iter().map(|rule| ApprovalRule { examples: Vec::new(), ..rule.clone() }).collect()
}

impl NarrowScope {
    /// Returns the scope of a step; a later step that declares none inherits it from TASK.md.
    fn of_step(task: &Task, at: usize) -> Option<Self> {
        let (first, step) = (task.steps.first()?, task.steps.get(at)?);
        let name = format!("the step {} of the task `{}`", step.file, task.id);
        Some(Self::of(name, &[&step.scope, &first.scope], &step.body.origin))
    }

    /// Merges scopes, given innermost first: the first with a list of its own counts, and the tools
    /// that inner scopes add with `inherit` are appended.
    fn of(name: String, scopes: &[&DefinitionScope], origin: &Origin) -> Self {
        let at = scopes.iter().position(|scope| !scope.tools.inherit);
        let list = at.map(|at| scopes[at]);
        let tools = at.map(|at| {
            let names = scopes[..=at].iter().rev().flat_map(|scope| &scope.tools.names);
            names.map(|name| ToolName::canonical(&name.value)).collect()
        });
        let rules = scopes.iter().find_map(|scope| scope.tool_rules.as_deref());
        let said = list.and_then(|scope| scope.tools.names.first()).map(|name| &name.origin);
        let origin = said.unwrap_or(origin).clone();
        Self { name, tools, rules: rules.map(without_examples), origin }
    }
}

impl Authority {
    /// Judges a call by all stages but the danger guard, up to the first denial.
    pub fn rule(&self, call: &ToolCall, active: &[SkillId]) -> Ruling {
        self.rule_at(call, &CallFacts::default(), active)
    }

    /// Judges a call as `rule` does, with facts that the host has found out about it.
    pub fn rule_at(&self, call: &ToolCall, facts: &CallFacts, active: &[SkillId]) -> Ruling {
        let findings = self.stages(call, facts, active);
        let verdict = findings.iter().map(|finding| finding.verdict).max();
        Ruling { verdict: verdict.unwrap_or(Verdict::Deny), findings }
    }

    /// Returns the finding of the danger guard if it refuses the call.
    pub fn danger(&self, call: &ToolCall) -> Option<Finding> {
        self.danger_at(call, &CallFacts::default())
    }

    /// Applies the danger guard with facts that the host has found out about the call.
    pub fn danger_at(&self, call: &ToolCall, facts: &CallFacts) -> Option<Finding> {
        let CallDirectories { workspace, home } = &self.place;
        let place = danger::GuardDirectories { workspace, home: home.as_deref() };
        let path = self.path(call, facts);
        let opens = path.as_ref().and_then(JudgedPath::inside);
        let danger = danger::of_call(&call.tool, &call.input, opens, &place)?;
        let rule = Some(format!("built-in {}", danger.rule));
        Some(Finding { stage: Stage::Danger, verdict: Verdict::Deny, why: danger.why, rule })
    }

    /// Returns the finding of every stage including the danger guard, up to the first denial.
    pub fn chain(&self, call: &ToolCall, active: &[SkillId]) -> Vec<Finding> {
        self.chain_at(call, &CallFacts::default(), active)
    }

    /// Returns the findings of `chain`, with facts that the host has found out about the call.
    pub fn chain_at(&self, call: &ToolCall, facts: &CallFacts, active: &[SkillId]) -> Vec<Finding> {
        let mut findings = self.stages(call, facts, active);
        if findings.iter().all(|finding| finding.verdict < Verdict::Deny) {
            let nothing =
                || allow(Stage::Danger, "the guard against dangerous acts has no objection");
            findings.push(self.danger_at(call, facts).unwrap_or_else(nothing));
        }
        findings
    }

    /// Replaces the tool-access settings after their file has changed.
    pub fn set_access(&mut self, access: ToolAccess) {
        self.access = access;
    }

    fn path(&self, call: &ToolCall, facts: &CallFacts) -> Option<JudgedPath> {
        JudgedPath::of(call.tool.as_str(), &call.input, facts, &self.place.workspace)
    }

    fn stages(&self, call: &ToolCall, facts: &CallFacts, active: &[SkillId]) -> Vec<Finding> {
        let stages: [&dyn Fn() -> Option<Finding>; 7] = [
            &|| Some(self.registered(&call.tool)),
            &|| self.input(call),
            &|| self.access(call),
            &|| Some(self.scope(&call.tool, active)),
            &|| self.unconfined(),
            &|| Some(self.tool_access(call)),
            &|| Some(self.rules(call, facts, active)),
        ];
        let mut findings = Vec::with_capacity(stages.len());
        for finding in stages.into_iter().filter_map(|stage| stage()) {
            let verdict = finding.verdict;
            findings.push(finding);
            if verdict == Verdict::Deny {
                break;
            }
        }
        findings
    }

    /// Returns the agent's tool of this name, switched on or not.
    fn spec(&self, tool: &ToolName) -> Option<&ToolSpec> {
        self.tools.iter().chain(&self.off).find(|spec| spec.name == *tool)
    }

    fn registered(&self, tool: &ToolName) -> Finding {
        if self.known.contains(tool) {
            return allow(Stage::Registered, format!("this host has the tool `{tool}`"));
        }
        let asked = self.left_out.iter().find(|one| ToolName::canonical(&one.name) == *tool);
        if let Some(one) = asked {
            let why = format!("the tool `{tool}` is left out: {}", one.why);
            return deny(Stage::Registered, why, Some(&one.origin));
        }
        let names: Vec<&str> = self.tools.iter().map(|spec| spec.name.as_str()).collect();
        let why = format!("no tool is called `{tool}`; {}", suggestion(tool.as_str(), &names));
        deny(Stage::Registered, why, None)
    }

    /// Checks the arguments. None if the agent lacks the tool; the next stage denies that call.
    fn input(&self, call: &ToolCall) -> Option<Finding> {
        let spec = self.spec(&call.tool)?;
        let defects = self.prepared.get(self).schemas.argument_errors(spec, &call.input);
        if defects.is_empty() {
            return Some(allow(Stage::Input, "the arguments fit the tool's schema"));
        }
        let more = defects.len().saturating_sub(INPUT_DEFECTS_MAX);
        let mut words = defects;
        words.truncate(INPUT_DEFECTS_MAX);
        if more > 0 {
            words.push(format!("and {more} more"));
        }
        let why = format!(
            "the arguments do not fit the schema of `{}`: {}; call it again with these mended",
            call.tool,
            words.join("; ")
        );
        Some(deny(Stage::Input, why, None))
    }

    fn scope(&self, tool: &ToolName, active: &[SkillId]) -> Finding {
        if self.spec(tool).is_none() {
            let asked = self.left_out.iter().find(|one| ToolName::canonical(&one.name) == *tool);
            return match asked {
                Some(one) => {
                    let why = format!("the agent does not get `{tool}`: {}", one.why);
                    deny(Stage::Scope, why, Some(&one.origin))
                }
                None => {
                    deny(Stage::Scope, format!("`{tool}` is not one of the agent's tools"), None)
                }
            };
        }
        // The narrowing of an unknown skill is unknown too, so the call is denied.
        if let Some(id) = active.iter().find(|id| !self.skills.contains_key(*id)) {
            let why = format!("the skill `{id}` is active but is not one of the agent's");
            return deny(Stage::Scope, why, None);
        }
        let skills = active.iter().filter_map(|id| self.skills.get(id));
        for scope in self.scope.iter().chain(skills) {
            if let Some(tools) = scope.tools.as_ref().filter(|tools| !tools.contains(tool)) {
                let names: Vec<&str> = tools.iter().map(ToolName::as_str).collect();
                let why = format!("{} works with [{}] only", scope.name, names.join(", "));
                return deny(Stage::Scope, why, Some(&scope.origin));
            }
        }
        allow(Stage::Scope, format!("`{tool}` is one of the agent's tools"))
    }

    /// Requires approval for each call if there is no sandbox.
    fn unconfined(&self) -> Option<Finding> {
        if !self.is_unconfined() {
            return None;
        }
        let why = "the sandbox is off, so each call needs approval".to_owned();
        let rule = Some("sandbox.enabled".to_owned());
        Some(Finding { stage: Stage::Sandbox, verdict: Verdict::Ask, why, rule })
    }

    /// Returns true if the sandbox level is `off`.
    pub fn is_unconfined(&self) -> bool {
        self.confinement.level == ConfinementLevel::Off
    }

    fn tool_access(&self, call: &ToolCall) -> Finding {
        if let Some(off) = self.access.why_off(&call.tool) {
            let why = format!("tool-access does not let `{}`: {}", call.tool, off.why);
            return deny(Stage::ToolAccess, why, Some(&off.origin));
        }
        if call.tool.as_str() == SHELL {
            return self.shell_access(&call.input);
        }
        allow(Stage::ToolAccess, "tool-access has it switched on")
    }

    /// Judges a shell command. In mode `allowlist`, commands outside the list are denied. An
    /// explicitly empty list sends each command to approval; without a list the approval rules
    /// decide. A command that cannot be parsed needs approval in either case.
    fn shell_access(&self, input: &Value) -> Finding {
        let shell = &self.access.shell;
        let finding = |verdict, why: String| Finding {
            stage: Stage::ToolAccess,
            verdict,
            why,
            rule: Some(place_of(&shell.mode.origin)),
        };
        match shell.mode.value {
            AccessMode::Full => {
                return finding(Verdict::Allow, "the mode of the shell is full".to_owned());
            }
            AccessMode::Off => {
                return finding(Verdict::Deny, "the mode of the shell is off".to_owned());
            }
            AccessMode::Allowlist => {}
        }
        let command = input.get(COMMAND).and_then(Value::as_str).unwrap_or_default();
        let facts = shell::read(command);
        if shell.allowed_prefixes.is_empty() {
            let said = *shell.mode.origin.file != *BUILT_IN;
            let (verdict, why) = match &facts.opaque {
                _ if said => (
                    Verdict::Ask,
                    "the mode of the shell is allowlist and the list is empty, so each \
                     command needs approval; list allowedPrefixes, or set the mode to full"
                        .to_owned(),
                ),
                Some(why) => (
                    Verdict::Ask,
                    format!("the command is not fully understood ({why}), so it needs approval"),
                ),
                None => (Verdict::Allow, "the approval rules are the list of commands".to_owned()),
            };
            return finding(verdict, why);
        }
        let prefixes: Vec<&str> =
            shell.allowed_prefixes.iter().map(|prefix| prefix.value.as_str()).collect();
        // The known words of a text are enough to refuse it.
        let known = facts.commands.iter().filter(|simple| is_known(simple)).cloned().collect();
        let known = ShellFacts { commands: known, ..ShellFacts::default() };
        match (shell::check_allowlist(&known, &prefixes), shell::check_allowlist(&facts, &prefixes))
        {
            (AllowlistMatch::Outside { command, why }, _) => {
                let why = format!("the command `{command}` is not let by allowedPrefixes: {why}");
                finding(Verdict::Deny, why)
            }
            (_, AllowlistMatch::Outside { why, .. }) => {
                let why =
                    format!("the command is not fully understood ({why}), so it needs approval");
                finding(Verdict::Ask, why)
            }
            (AllowlistMatch::Beyond { command, why }, _)
            | (_, AllowlistMatch::Beyond { command, why }) => {
                let why = format!(
                    "the command `{command}` begins with an allowed prefix, but {why}, so it needs approval"
                );
                finding(Verdict::Ask, why)
            }
            (AllowlistMatch::Inside, AllowlistMatch::Inside) => {
                let why = "each of its commands begins with an allowed prefix";
                finding(Verdict::Allow, why.to_owned())
            }
        }
    }

    /// Applies the rules of the innermost scope with rules: the latest skill, the step, the agent.
    fn rules(&self, call: &ToolCall, facts: &CallFacts, active: &[SkillId]) -> Finding {
        let skills = active.iter().rev().filter_map(|id| self.skills.get(id));
        let rules = skills
            .chain(&self.scope)
            .find_map(|scope| scope.rules.as_deref())
            .unwrap_or(&self.agent_rules);
        let patterns = &self.prepared.get(self).patterns;
        let path = self.path(call, facts);
        let tool = call.tool.as_str();
        let opinion = approval::decide_at(patterns, rules, tool, &call.input, path.as_ref());
        Finding {
            stage: Stage::Rules,
            verdict: opinion.verdict,
            why: match path.and_then(|path| path.note()) {
                Some(note) => format!("{} ({note})", opinion.why),
                None => opinion.why,
            },
            rule: opinion.rule.map(|rule| place_of(&rule.origin)),
        }
    }

    fn all_rules(&self) -> impl Iterator<Item = &ApprovalRule> {
        let scopes = self.scope.iter().chain(self.skills.values());
        self.agent_rules.iter().chain(scopes.filter_map(|scope| scope.rules.as_deref()).flatten())
    }
}

/// Returns true if each word of a command is known before it runs.
fn is_known(simple: &ShellCommand) -> bool {
    simple.words.iter().all(|word| matches!(word, ShellWord::Literal(_)))
}

fn allow(stage: Stage, why: impl Into<String>) -> Finding {
    Finding { stage, verdict: Verdict::Allow, why: why.into(), rule: None }
}

fn deny(stage: Stage, why: String, origin: Option<&Origin>) -> Finding {
    Finding { stage, verdict: Verdict::Deny, why, rule: origin.map(place_of) }
}

/// Formats an origin: `file:line`, or its name alone if it is no file.
fn place_of(origin: &Origin) -> String {
    match origin.line {
        0 => origin.file.to_string(),
        line => format!("{}:{line}", origin.file),
    }
}

/// The schemas and expressions compiled from an authority. They derive from it entirely, so all
/// caches are equal.
#[derive(Clone, Default)]
pub struct AuthorityCache(Arc<OnceLock<CompiledAuthority>>);

struct CompiledAuthority {
    schemas: Schemas,
    patterns: RulePatterns,
}

impl AuthorityCache {
    fn get(&self, authority: &Authority) -> &CompiledAuthority {
        self.0.get_or_init(|| CompiledAuthority {
            schemas: Schemas::of(authority.tools.iter().chain(&authority.off)),
            patterns: RulePatterns::of(authority.all_rules()),
        })
    }
}

impl PartialEq for AuthorityCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for AuthorityCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}
