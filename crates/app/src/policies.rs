//! The access policies of a directory, ready to decide, or what is wrong with them.
//!
//! Must never: hand out policies of which one has an error, or an example that comes out otherwise.

use agentry_agentfile::access::PolicySet;
use agentry_agentfile::diagnostic::{Diagnostic, FindingText, Findings, Severity};
use agentry_kernel::access::{AccessPolicies, Lint, compile, examples_that_fail, findings};

use crate::cli_context::{LoadedProject, host_tool_names};
use crate::diagnostics;
use crate::fault::{Blame, Fault};

/// The policies of what was read. If anything is wrong with one of them, none is handed out.
pub(crate) fn project_policies(loaded: &LoadedProject) -> Result<AccessPolicies, Fault> {
    compile_policies(&loaded.library.access, &loaded.findings)
}

/// The same for policies that were read by themselves.
pub(crate) fn compile_policies(
    rules: &PolicySet,
    findings: &Findings,
) -> Result<AccessPolicies, Fault> {
    compiled(rules, findings).map_err(|lines| {
        let what = "the access policies have errors, so nobody is let in by them";
        Fault::new(Blame::Caller, format!("{what}:\n  {}", lines.join("\n  ")))
            .hint("`agentry access check` shows them with excerpts")
    })
}

/// The same for policies that a change would lead to.
pub(crate) fn compile_changed_policies(
    rules: &PolicySet,
    findings: &Findings,
) -> Result<AccessPolicies, Fault> {
    compiled(rules, findings).map_err(|lines| {
        let what = "nothing was changed, since the access policies would have errors";
        Fault::new(Blame::Caller, format!("{what}:\n  {}", lines.join("\n  ")))
    })
}

/// The policies, or a line for each thing that is wrong with them.
fn compiled(rules: &PolicySet, findings: &Findings) -> Result<AccessPolicies, Vec<String>> {
    if !rules.broken.is_empty() {
        let is_cause = |one: &&&Diagnostic| {
            one.severity == Severity::Error && rules.broken.contains(&one.file)
        };
        let sorted = findings.sorted();
        return Err(sorted.iter().filter(is_cause).map(|one| diagnostics::brief(one)).collect());
    }
    let access = compile(&rules.policies());
    let failed = wrong_examples(rules, &access);
    let line = |one: &Lint| format!("{} {} {}", one.origin, one.code, one.message);
    match failed.is_empty() {
        true => Ok(access),
        false => Err(failed.iter().map(line).collect()),
    }
}

/// Notes what is probably not meant, and which examples come out otherwise.
pub(crate) fn lint_policies(rules: &PolicySet, noted: &mut Findings) {
    // What ships alone is as it should be; of a set with errors nothing can be said.
    if rules.has_no_files() || !rules.broken.is_empty() {
        return;
    }
    let access = compile(&rules.policies());
    let lints =
        findings(&access, &host_tool_names()).into_iter().chain(wrong_examples(rules, &access));
    for Lint { code, origin, message, help, .. } in lints {
        rules.report(code, &origin, FindingText::new(message).help(help), noted);
    }
}

/// The examples that come out otherwise. Those that ship say what holds where nobody else says anything; a
/// directory may let in whom they do not.
fn wrong_examples(rules: &PolicySet, access: &AccessPolicies) -> Vec<Lint> {
    let is_own = |one: &Lint| rules.own.iter().any(|own| own.name.origin.file == one.origin.file);
    examples_that_fail(access)
        .into_iter()
        .filter(|one| rules.has_no_files() || is_own(one))
        .collect()
}
