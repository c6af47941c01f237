//! Applies the answer of a hook to its turn, and notes the parts that are dropped.
//!
//! Must never: let a hook exceed what the host, the operator or the sender's access allows.

use agentry_agentfile::manifest::agent_yml::PersonaRouter;
use agentry_kernel::charter::Charter;
use agentry_protocol::ContentHash;
use agentry_protocol::hook::{
    GateAnswer, GateVerdict, HookErrorPolicy, HookMoment, HookResult, HookSpec, PromptAddition,
    ShapeAnswer,
};
use agentry_protocol::tool::ToolName;

use super::PreTurnOutcome;
use crate::host::Host;
use crate::host::tool_source::{ToolGrant, ToolScope};

/// The context for applying an answer.
pub(super) struct ShapingContext<'a> {
    pub(super) host: &'a Host,
    /// The agent and its step.
    pub(super) scope: ToolScope<'a>,
    /// The charter of the turn without any hook.
    pub(super) charter: &'a Charter,
    /// The persona that the sender chose for the run; None if none was chosen.
    pub(super) chosen: Option<&'a str>,
}

impl ShapingContext<'_> {
    /// Applies an answer; returns a note for each part that was dropped.
    pub(super) fn apply(
        &self,
        before: &mut PreTurnOutcome,
        spec: &HookSpec,
        result: &HookResult,
    ) -> Vec<String> {
        if let Some(why) = rejection_reason(spec, result) {
            before.blocked = Some(why);
            return Vec::new();
        }
        match result {
            HookResult::Shaped { shape } => self.shape(before, spec, shape),
            HookResult::Gated { answer } => {
                let context = answer.context.iter();
                before.context.extend(context.map(|text| added(&spec.program, text)));
                Vec::new()
            }
            // The static configuration stays; a gate that may fail does not stop the turn.
            HookResult::Failed { .. } => Vec::new(),
        }
    }

    fn shape(
        &self,
        before: &mut PreTurnOutcome,
        spec: &HookSpec,
        shape: &ShapeAnswer,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let shaping = &mut before.shaping;
        if let Some(text) = shape.system_prompt_append.clone().filter(|text| !text.is_empty()) {
            shaping.appended.push(PromptAddition { program: spec.program.clone(), text });
        }
        if let Some(name) = &shape.persona_override {
            match self.persona(name) {
                Ok(()) => shaping.persona = Some(name.clone()),
                Err(why) => notes.push(why),
            }
        }
        if let Some(name) = &shape.model_override {
            match self.host.model_named(&self.scope.agent.models, name) {
                Ok(model) => shaping.model = Some(model),
                Err(why) => notes.push(format!("the model `{name}` is not used: {why}")),
            }
        }
        for name in &shape.tool_additions {
            let tool = ToolName::canonical(name);
            match self.addition(&tool) {
                Ok(true) if !shaping.additions.contains(&tool) => shaping.additions.push(tool),
                Ok(_) => {}
                Err(why) => notes.push(format!("the tool `{name}` is not added: {why}")),
            }
        }
        for name in &shape.tool_removals {
            let tool = ToolName::canonical(name);
            if !shaping.removals.contains(&tool) {
                shaping.removals.push(tool);
            }
        }
        notes
    }

    /// Checks a persona override: an explicit choice wins over a hook's.
    fn persona(&self, name: &str) -> Result<(), String> {
        let personas = &self.scope.agent.personas;
        if !personas.available.iter().any(|one| one.id.as_str() == name) {
            return Err(format!("there is no persona `{name}`"));
        }
        if let Some(chosen) = self.chosen {
            return Err(format!("the persona stays `{chosen}`: it was chosen for the run"));
        }
        let said = &personas.router;
        if said.value == PersonaRouter::Explicit && said.origin.line > 0 {
            return Err("the persona stays: personas.router is explicit".to_owned());
        }
        Ok(())
    }

    /// Returns true if a tool is new to the agent; fails if the agent may not have it.
    fn addition(&self, tool: &ToolName) -> Result<bool, String> {
        let authority = &self.charter.authority;
        if authority.tools.iter().any(|spec| spec.name == *tool) {
            return Ok(false);
        }
        if authority.off.iter().any(|spec| spec.name == *tool) {
            return Err("it is switched off".to_owned());
        }
        let tools = self.host.tools.toolset(&self.scope).map_err(|error| error.to_string())?;
        if !tools.granted(ToolGrant::Listed).any(|spec| spec.name == *tool) {
            return Err("this host has no such tool".to_owned());
        }
        if let Some(off) = authority.access.why_off(tool) {
            return Err(format!("tool-access denies it: {}", off.why));
        }
        let scope = authority.scope.as_ref().and_then(|scope| scope.tools.as_ref());
        if scope.is_some_and(|tools| !tools.contains(tool)) {
            return Err("the step does not include it".to_owned());
        }
        if !authority.is_offered(tool) {
            return Err("the sender may not have it".to_owned());
        }
        Ok(true)
    }
}

/// Returns a hook's text, marked as the agent's own words.
fn added(program: &str, text: &str) -> String {
    format!("[The agent's hook {program} adds: {text}]")
}

/// Returns the reason why a gate stops the turn; None if it does not.
pub(super) fn rejection_reason(spec: &HookSpec, result: &HookResult) -> Option<String> {
    let program = &spec.program;
    match result {
        HookResult::Gated { answer } => {
            let GateAnswer { say, reason, halt, .. } = &**answer;
            if let Some(why) = halt {
                return Some(format!("the hook {program} wants nothing to go on: {why}"));
            }
            let reason = reason.as_deref().unwrap_or("it gives no reason");
            match say {
                Some(GateVerdict::Deny) => Some(format!("the hook {program} says no: {reason}")),
                // There is no call that a person could approve.
                Some(GateVerdict::Ask) => Some(format!(
                    "the hook {program} wants a person to be asked, and at {} nobody can be: {reason}",
                    spec.moment
                )),
                Some(GateVerdict::Allow) | None => None,
            }
        }
        HookResult::Failed { why }
            if spec.moment.is_gate() && spec.on_error != HookErrorPolicy::Allow =>
        {
            Some(format!("the hook {program} failed ({why}), and a gate that cannot run means no"))
        }
        HookResult::Failed { .. } | HookResult::Shaped { .. } => None,
    }
}

/// Returns the specification of a hook of which only the name is known.
pub(super) fn named(moment: HookMoment, program: String) -> HookSpec {
    HookSpec {
        moment,
        program,
        args: Vec::new(),
        hash: ContentHash::of(b""),
        matcher: None,
        on_error: HookErrorPolicy::Allow,
        timeout_ms: 0,
    }
}

/// Returns the parts of an answer after a call that apply to the next turn.
pub(super) fn overrides(shape: ShapeAnswer) -> ShapeAnswer {
    ShapeAnswer {
        persona_override: shape.persona_override,
        model_override: shape.model_override,
        ..ShapeAnswer::default()
    }
}
