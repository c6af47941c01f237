//! `agentry access policies apply`, `enable`, `disable`: checks each change before writing it.
//!
//! Must never: write a policy that does not load together with all others.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentry_agentfile::access::{
    Policy, PolicySet, bundled_policies, directory, is_policy_file, read, with_policy_switched,
};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_agentfile::source::SourceText;
use agentry_kernel::access::AccessPolicies;
use agentry_runtime::definitions::definition_overlay::DefinitionOverlay;
use agentry_runtime::definitions::policies::{compile_changed_policies, compile_policies};
use serde_json::{Value, json};

use super::{ApplyOptions, PolicyNameOptions, list};
use crate::cli_context::CliContext;
use crate::commands::access::{atomic_write, replay};
use crate::confirmation;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};

/// New content of a policy file.
struct PolicyFileChange {
    /// The path of the file to write.
    path: PathBuf,
    /// The path as shown to people.
    shown: String,
    bytes: Vec<u8>,
}

/// The result of a change, for people (`lines`) and programs (`value`).
struct PolicyChangeReport {
    lines: Vec<String>,
    value: Value,
}

/// The policies before and after a change; None before if they did not load.
struct PolicyRevision {
    old: Option<AccessPolicies>,
    new: AccessPolicies,
}

pub(super) fn apply(host: &CliContext, options: &ApplyOptions) -> Result<ExitCode, Fault> {
    let trees = DefinitionOverlay::read(&options.dir, host.environment.home.as_deref())?;
    let file = options.file.display();
    let bytes = std::fs::read(&options.file).map_err(|error| {
        Fault::new(Blame::Caller, format!("cannot read {file}: {error}"))
            .hint("name a file of policies")
    })?;
    let name = options.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !is_policy_file(&name) {
        let what = format!("{file} is not a policy file name");
        return Err(
            Fault::new(Blame::Caller, what).hint("its name must end in .yml, .yaml or .json")
        );
    }
    let below = format!("{}/{name}", directory());
    let given = alone(&options.file, &bytes)?;
    let mut old_findings = Findings::default();
    let old_rules = read(&trees.both(), &mut old_findings);
    let target = trees.project.display_path(&below);
    let of_target = |one: &&Policy| *one.name.origin.file == *target;
    refuse_doubles(&given, &old_rules, &target, &file.to_string())?;
    let replaced: Vec<&Policy> = old_rules.own.iter().filter(of_target).collect();
    refuse_losses(&given, &replaced, &target, &file.to_string())?;
    let mut project = trees.project.clone();
    project.insert(below.clone(), FileTreeEntry::File(FileContent::new(bytes.clone(), false)));
    let new = together(&project, &trees)?;
    let is_there = |name: &str| replaced.iter().any(|one| *one.name.value == *name);
    let mut lines = Vec::new();
    for policy in &given.own {
        let word = if is_there(&policy.name.value) { "kept or changed" } else { "added" };
        lines.push(format!("{word}: {}", policy.name.value));
    }
    let names: Vec<&str> = given.own.iter().map(|one| &*one.name.value).collect();
    let value = json!({ "file": target, "policies": names });
    let change = PolicyFileChange { path: trees.directory.join(&below), shown: target, bytes };
    let revision = PolicyRevision { old: compile_policies(&old_rules, &old_findings).ok(), new };
    carry_out(host, options.json, &change, PolicyChangeReport { lines, value }, &revision)
}

/// Reads the policies of the file alone; they must load before other policies are read.
fn alone(path: &Path, bytes: &[u8]) -> Result<PolicySet, Fault> {
    let mut findings = Findings::default();
    let mut tree = FileTree::new("");
    tree.insert(
        path.display().to_string(),
        FileTreeEntry::File(FileContent::new(bytes.to_vec(), false)),
    );
    let rules = agentry_agentfile::access::read_directory(&tree, &mut findings);
    if !rules.broken.is_empty() {
        compile_changed_policies(&rules, &findings)?;
    }
    Ok(rules)
}

fn refuse_doubles(
    given: &PolicySet,
    old: &PolicySet,
    target: &str,
    file: &str,
) -> Result<(), Fault> {
    let others = || old.own.iter().filter(|one| *one.name.origin.file != *target);
    for policy in &given.own {
        if let Some(other) = others().find(|one| one.name.value == policy.name.value) {
            let name = &policy.name.value;
            let what = format!(
                "the policy `{name}` of {file}:{} already exists in {}",
                policy.name.origin.line, other.name.origin
            );
            return Err(Fault::new(Blame::Caller, what)
                .hint("rename one of the two, or remove the existing one"));
        }
    }
    Ok(())
}

fn refuse_losses(
    given: &PolicySet,
    replaced: &[&Policy],
    target: &str,
    file: &str,
) -> Result<(), Fault> {
    let is_kept = |one: &&&Policy| given.own.iter().any(|new| new.name.value == one.name.value);
    let lost = replaced.iter().filter(|one| !is_kept(one));
    let lost: Vec<String> = lost.map(|one| format!("`{}`", one.name.value)).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let what = format!("{target} has policies that {file} lacks: {}", lost.join(", "));
    Err(Fault::new(Blame::Caller, what)
        .hint("add them to the file, rename the file, or remove the old file first"))
}

/// Returns the policies of a changed project, if all of them load together.
fn together(project: &FileTree, trees: &DefinitionOverlay) -> Result<AccessPolicies, Fault> {
    let mut findings = Findings::default();
    let both: Vec<&FileTree> = std::iter::once(project).chain(trees.home_tree()).collect();
    let rules = read(&both, &mut findings);
    Ok(compile_changed_policies(&rules, &findings)?)
}

pub(super) fn switch(
    host: &CliContext,
    options: &PolicyNameOptions,
    on: bool,
) -> Result<ExitCode, Fault> {
    let trees = DefinitionOverlay::read(&options.dir, host.environment.home.as_deref())?;
    let mut findings = Findings::default();
    let rules = read(&trees.both(), &mut findings);
    let old = compile_policies(&rules, &findings);
    let word = if on { "on" } else { "off" };
    let name = &options.name;
    // Switching a policy may fix a failing example, so only unreadable policies stop here.
    if !rules.broken.is_empty() {
        old?;
        return Ok(ExitCode::FAILURE);
    }
    let Some(policy) = rules.own.iter().find(|one| *one.name.value == **name) else {
        return Err(no_file_of(name, word, &rules));
    };
    if policy.enabled == on {
        let mut out = crate::output::stdout().lock();
        writeln!(out, "`{name}` is already {word}, in {}", policy.name.origin)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = policy.name.origin.file.to_string();
    let (path, below, is_home) = trees.place_of(&file).ok_or_else(|| {
        Fault::new(Blame::Us, format!("cannot find the path of {file}")).hint("edit it by hand")
    })?;
    let cannot = || {
        let what = format!("cannot switch `{name}` {word} without changing more of {file}");
        Fault::new(Blame::Caller, what).hint(format!("write `enabled: {on}` there by hand"))
    };
    let bytes = std::fs::read(&path)
        .map_err(|error| Fault::new(Blame::Machine, format!("cannot read {file}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| cannot())?;
    let (mark, plain) =
        text.strip_prefix('\u{feff}').map_or(("", &*text), |rest| ("\u{feff}", rest));
    let source = SourceText::new(file.as_str(), plain);
    let text = format!("{mark}{}", with_policy_switched(&source, name, on).ok_or_else(cannot)?);
    let mut changed = trees.clone();
    let entry = FileTreeEntry::File(FileContent::new(text.clone().into_bytes(), false));
    changed.tree_mut(is_home).insert(below, entry);
    let new = together(&changed.project, &changed)?;
    let done = PolicyChangeReport {
        lines: vec![format!("`{name}` is now {word}")],
        value: json!({ "file": file, "policy": name, "enabled": on }),
    };
    let change = PolicyFileChange { path, shown: file, bytes: text.into_bytes() };
    carry_out(host, options.json, &change, done, &PolicyRevision { old: old.ok(), new })
}

fn no_file_of(name: &str, word: &str, rules: &PolicySet) -> Fault {
    if bundled_policies().iter().any(|one| &*one.name.value == name) {
        let what = format!("`{name}` is built in, so no file of yours switches it {word}");
        return Fault::new(Blame::Caller, what).hint(format!(
            "write a copy that replaces it: agentry access policies show {name} > \
             {}/{name}.yml; then switch the copy",
            directory()
        ));
    }
    list::unknown(name, rules.policies().iter())
}

/// Writes the file, and reports which recent decisions would differ.
fn carry_out(
    host: &CliContext,
    json: bool,
    change: &PolicyFileChange,
    done: PolicyChangeReport,
    revision: &PolicyRevision,
) -> Result<ExitCode, Fault> {
    confirmation::write_confirmed(host, &change.path, || {
        atomic_write::whole(&change.path, &change.bytes).map_err(|error| {
            Fault::new(Blame::Machine, format!("cannot write {}: {error}", change.shown))
                .hint("nothing was changed")
        })
    })?;
    let mut out = crate::output::stdout().lock();
    let differences = match &revision.old {
        Some(old) => replay::replay_recent(host, old, &revision.new)?,
        None => None,
    };
    if json {
        let mut value = done.value;
        value["differences"] = differences
            .map_or(Value::Null, |found| replay::report_json(&found, replay::ReplayScope::Changed));
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", visible_line(&format!("wrote {}", change.shown)))?;
    for line in &done.lines {
        writeln!(out, "  {}", visible_line(line))?;
    }
    if let Some(found) = differences {
        writeln!(out, "re-evaluated decisions of the last 7 days:")?;
        replay::write_report(&found, replay::ReplayScope::Changed, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}
