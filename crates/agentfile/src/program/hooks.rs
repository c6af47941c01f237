//! `hooks/`: which programs run at which moment.
//!
//! A hook that is switched on and cannot run is an error: a guard that is off must not look like one
//! that is on.
//!
//! Must never: switch a hook on because its file is there.

use crate::agent::{Hook, HookSwitch};
use crate::diagnostic::{Code, Findings, Text, nearest};
use crate::file_tree::FileTree;
use crate::manifest::agent_yml::{AgentYml, Hooks};
use crate::schema::Doc;

const MOMENTS: [&str; 3] = ["on_conversation_start", "before_inference", "after_tool_call"];

/// The hooks that were switched on or off.
pub(super) fn read(
    tree: &FileTree,
    yml: Option<&Doc<AgentYml>>,
    findings: &mut Findings,
) -> Vec<Hook> {
    let flags = yml.and_then(|yml| yml.manifest.hooks.clone()).unwrap_or_default();
    let mut hooks = Vec::new();
    for moment in MOMENTS {
        let (Some(on), Some(yml)) = (flag(&flags, moment), yml) else { continue };
        let pointer = format!("/hooks/{moment}");
        let switch = if on {
            switched_on(tree, moment).map_err(|(code, text)| {
                findings.at(code, &yml.source, yml.span(&pointer), text);
            })
        } else {
            Ok(HookSwitch::Off)
        };
        if let Ok(switch) = switch {
            hooks.push(Hook { moment: moment.to_owned(), switch, origin: yml.origin(&pointer) });
        }
    }
    if yml.is_some_and(|yml| !yml.lost("/hooks")) {
        report_undeclared(tree, &flags, findings);
    }
    hooks
}

/// A hook that is on needs a program that can run.
fn switched_on(tree: &FileTree, moment: &str) -> Result<HookSwitch, (Code, Text)> {
    let program = format!("hooks/{moment}");
    match tree.file(&program) {
        None => {
            let text = Text::new(format!("`{moment}` is on, but {program} is not there"))
                .help(format!("write {program}, or set it to false"));
            Err((Code::HookMissing, text))
        }
        Some(file) if !file.executable => {
            let text = Text::new(format!("`{moment}` is on, but {program} is not executable"))
                .help(format!("run `chmod +x {}`", tree.shown(&program)));
            Err((Code::HookNotExecutable, text))
        }
        Some(_) => Ok(HookSwitch::On(program)),
    }
}

fn flag(flags: &Hooks, moment: &str) -> Option<bool> {
    match moment {
        "on_conversation_start" => flags.on_conversation_start,
        "before_inference" => flags.before_inference,
        _ => flags.after_tool_call,
    }
}

/// A program in `hooks/` that agent.yml does not mention never runs; say so.
fn report_undeclared(tree: &FileTree, flags: &Hooks, findings: &mut Findings) {
    for (name, file) in tree.files_in("hooks") {
        let known = MOMENTS.contains(&name);
        let words = match (known, nearest(name, MOMENTS)) {
            (true, _) if flag(flags, name).is_none() => {
                Some(format!("set `hooks.{name}` in agent.yml to true or false"))
            }
            (false, Some(near)) if file.executable => Some(format!("did you mean `{near}`?")),
            _ => None,
        };
        if let Some(help) = words {
            let text = Text::new(format!("the hook `{name}` is here but never runs")).help(help);
            findings.about(Code::HookNotDeclared, tree.shown(&format!("hooks/{name}")), text);
        }
    }
}
