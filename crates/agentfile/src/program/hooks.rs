//! `hooks`: the programs to run at each moment.
//!
//! A hook that is enabled and cannot run is an error: a disabled gate must not look like an enabled
//! one.
//!
//! Must never: enable a hook because its file exists.

use std::collections::HashSet;

use agentry_protocol::ContentHash;
use agentry_protocol::hook::{HookErrorPolicy, HookMoment, HookSpec};

use crate::agent::{Hook, HookSwitch};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings, nearest};
use crate::file_tree::FileTree;
use crate::limits::{HOOK_TIMEOUT_MS_DEFAULT, HOOKS_MAX};
use crate::manifest::agent_yml::AgentYml;
use crate::manifest::hooks::{HookEntry, HookYml, HooksYml};
use crate::pattern;
use crate::schema::ManifestFile;

/// Returns the hooks that are set on or off, in the order of their moments.
pub(super) fn read(
    tree: &FileTree,
    yml: Option<&ManifestFile<AgentYml>>,
    findings: &mut Findings,
) -> Vec<Hook> {
    let Some(yml) = yml else { return Vec::new() };
    let said = yml.manifest.hooks.clone().unwrap_or_default();
    let mut hooks = Vec::new();
    let mut named = HashSet::new();
    for moment in HookMoment::ALL {
        let pointer = format!("/hooks/{moment}");
        let off = || Hook { moment, switch: HookSwitch::Off, origin: yml.origin(&pointer) };
        match said.at(moment) {
            None => continue,
            Some(HookYml::Switch(false)) => hooks.push(off()),
            Some(HookYml::Several(entries)) if entries.is_empty() => hooks.push(off()),
            Some(HookYml::Switch(true) | HookYml::One(_) | HookYml::Several(_)) => {}
        }
        for (pointer, entry) in entries(&said, moment) {
            let reading = HookEntryReader { tree, yml, moment, pointer, entry: &entry };
            named.insert(reading.program());
            if hooks.len() < HOOKS_MAX {
                hooks.extend(reading.hook(findings));
            } else {
                let text = FindingText::new(format!("an agent may have at most {HOOKS_MAX} hooks"));
                reading.report(DiagnosticCode::OutOfRange, "", text, findings);
                return hooks;
            }
        }
    }
    if !yml.lost("/hooks") {
        report_undeclared(tree, &said, &named, findings);
    }
    hooks
}

/// Returns the programs of a moment, each with its pointer.
fn entries(said: &HooksYml, moment: HookMoment) -> Vec<(String, HookEntry)> {
    let pointer = format!("/hooks/{moment}");
    match said.at(moment) {
        None | Some(HookYml::Switch(false)) => Vec::new(),
        Some(HookYml::Switch(true)) => vec![(pointer, HookEntry::default())],
        Some(HookYml::One(entry)) => vec![(pointer, entry.clone())],
        Some(HookYml::Several(entries)) => {
            let entries = entries.iter().enumerate();
            entries.map(|(at, entry)| (format!("{pointer}/{at}"), entry.clone())).collect()
        }
    }
}

/// Reads one program of a moment.
struct HookEntryReader<'a> {
    tree: &'a FileTree,
    yml: &'a ManifestFile<AgentYml>,
    moment: HookMoment,
    pointer: String,
    entry: &'a HookEntry,
}

impl HookEntryReader<'_> {
    /// Returns the hook; `None`, with findings, if it cannot run as written.
    fn hook(&self, findings: &mut Findings) -> Option<Hook> {
        let hash = self.hash(findings);
        let matcher = self.matcher(findings);
        let on_error = self.on_error(findings);
        let timeout_ms = self.timeout_ms(findings);
        self.check_said_once("run", "command", findings);
        let spec = HookSpec {
            moment: self.moment,
            program: self.program(),
            args: self.entry.args.clone(),
            hash: hash?,
            matcher,
            on_error,
            timeout_ms,
        };
        let origin = self.yml.origin(&self.pointer);
        Some(Hook { moment: self.moment, switch: HookSwitch::On(spec), origin })
    }

    fn program(&self) -> String {
        match self.entry.run.as_ref().or(self.entry.command.as_ref()) {
            Some(path) => path.trim_start_matches("./").to_owned(),
            None => format!("hooks/{}", self.moment),
        }
    }

    /// Returns the hash of the program, which must be executable.
    fn hash(&self, findings: &mut Findings) -> Option<ContentHash> {
        let (moment, program) = (self.moment, self.program());
        let field = match (&self.entry.run, &self.entry.command) {
            (Some(_), _) => "/run",
            (None, Some(_)) => "/command",
            (None, None) => "",
        };
        match self.tree.file(&program) {
            None => {
                let text =
                    FindingText::new(format!("`{moment}` is on, but {program} is not there"));
                let help = if is_inside(&program) {
                    format!("write {program}, or set it to false")
                } else {
                    "a hook's program is a file in the agent's directory".to_owned()
                };
                self.report(DiagnosticCode::HookMissing, field, text.help(help), findings);
                None
            }
            Some(file) if !file.executable => {
                let text =
                    FindingText::new(format!("`{moment}` is on, but {program} is not executable"))
                        .help(format!("run `chmod +x {}`", self.tree.display_path(&program)));
                self.report(DiagnosticCode::HookNotExecutable, field, text, findings);
                None
            }
            Some(file) => Some(file.hash.clone()),
        }
    }

    /// Returns the pattern of tool names. `*` and the empty pattern mean all, as elsewhere.
    fn matcher(&self, findings: &mut Findings) -> Option<String> {
        let pattern = self.entry.matcher.as_deref()?;
        if !has_tool(self.moment) {
            let text = FindingText::new(format!("`{}` is not about a tool", self.moment)).help(
                "`matcher` stands at PreToolUse, PostToolUse and after_tool_call; remove it here",
            );
            self.report(DiagnosticCode::HookForm, "/matcher", text, findings);
            return None;
        }
        if matches!(pattern, "" | "*") {
            return None;
        }
        if let Some(text) = pattern::defect_of_whole(pattern) {
            self.report(DiagnosticCode::BadRegex, "/matcher", text, findings);
        }
        Some(pattern.to_owned())
    }

    /// Returns the policy for a failed hook: a gate denies, and a shaping hook changes nothing.
    fn on_error(&self, findings: &mut Findings) -> HookErrorPolicy {
        match (self.moment.is_gate(), self.entry.on_error) {
            (true, said) => said.unwrap_or(HookErrorPolicy::Deny),
            (false, None | Some(HookErrorPolicy::Allow)) => HookErrorPolicy::Allow,
            (false, Some(HookErrorPolicy::Deny | HookErrorPolicy::Ask)) => {
                let text = FindingText::new(format!("`{}` is not a gate and cannot say no", self.moment))
                    .help("without it the turn goes on as the files say; write `allow`, or use a gate such as PreToolUse");
                self.report(DiagnosticCode::HookForm, "/on_error", text, findings);
                HookErrorPolicy::Allow
            }
        }
    }

    fn timeout_ms(&self, findings: &mut Findings) -> u64 {
        self.check_said_once("timeout_ms", "timeout", findings);
        let seconds = self.entry.timeout.map(|seconds| seconds.saturating_mul(1000));
        self.entry.timeout_ms.or(seconds).unwrap_or(HOOK_TIMEOUT_MS_DEFAULT)
    }

    /// Reports two names of one field that are both present.
    fn check_said_once(&self, name: &str, other: &str, findings: &mut Findings) {
        let is_said = |name: &str| self.yml.said(&format!("{}/{name}", self.pointer)).is_some();
        if is_said(name) && is_said(other) {
            let text = FindingText::new(format!("`{other}` says the same as `{name}`"))
                .help("remove one of the two");
            self.report(DiagnosticCode::HookForm, &format!("/{other}"), text, findings);
        }
    }

    fn report(
        &self,
        code: DiagnosticCode,
        field: &str,
        text: FindingText,
        findings: &mut Findings,
    ) {
        let span = self.yml.span(&format!("{}{field}", self.pointer));
        findings.at(code, &self.yml.source, span, text);
    }
}

/// True if a moment is about a call of a tool.
fn has_tool(moment: HookMoment) -> bool {
    match moment {
        HookMoment::PreToolUse | HookMoment::PostToolUse | HookMoment::AfterToolCall => true,
        HookMoment::OnConversationStart
        | HookMoment::BeforeInference
        | HookMoment::SessionStart
        | HookMoment::UserPromptSubmit
        | HookMoment::Stop
        | HookMoment::PreCompact
        | HookMoment::SessionEnd => false,
    }
}

fn is_inside(path: &str) -> bool {
    !path.starts_with(['/', '~']) && path.split('/').all(|part| part != "..")
}

/// Reports each program in `hooks/` that agent.yml does not mention and that never runs.
fn report_undeclared(
    tree: &FileTree,
    said: &HooksYml,
    named: &HashSet<String>,
    findings: &mut Findings,
) {
    for (name, file) in tree.files_in("hooks") {
        if named.contains(&format!("hooks/{name}")) {
            continue;
        }
        let help = match name.parse::<HookMoment>() {
            Ok(moment) if said.at(moment).is_none() => {
                Some(format!("set `hooks.{name}` in agent.yml to true or false"))
            }
            Ok(_) => None,
            Err(_) if file.executable => {
                let near = nearest(name, HookMoment::ALL.map(HookMoment::as_str));
                near.map(|near| format!("did you mean `{near}`?"))
            }
            Err(_) => None,
        };
        if let Some(help) = help {
            let text =
                FindingText::new(format!("the hook `{name}` is here but never runs")).help(help);
            findings.about(
                DiagnosticCode::HookNotDeclared,
                tree.display_path(&format!("hooks/{name}")),
                text,
            );
        }
    }
}
