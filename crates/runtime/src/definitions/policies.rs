//! Compiles the access policies of a directory, or reports their errors.
//!
//! Must never: return policies if one of them has an error or a failing example.

use std::collections::BTreeSet;

use agentry_agentfile::access::PolicySet;
use agentry_agentfile::diagnostic::{Diagnostic, FindingText, Findings, Severity};
use agentry_kernel::access::{AccessPolicies, Lint, compile, examples_that_fail, findings};
use agentry_protocol::tool::ToolName;

use crate::definitions::project_error::ProjectError;

/// Compiles policies that were read separately. Fails if any of them has an error.
pub fn compile_policies(
    rules: &PolicySet,
    findings: &Findings,
) -> Result<AccessPolicies, ProjectError> {
    compiled(rules, findings).map_err(ProjectError::Policies)
}

/// Compiles the policies after a change. The error says that nothing was changed.
pub fn compile_changed_policies(
    rules: &PolicySet,
    findings: &Findings,
) -> Result<AccessPolicies, ProjectError> {
    compiled(rules, findings).map_err(ProjectError::ChangedPolicies)
}

/// Returns the compiled policies, or a line for each error.
fn compiled(rules: &PolicySet, findings: &Findings) -> Result<AccessPolicies, Vec<String>> {
    if !rules.broken.is_empty() {
        let is_cause = |one: &&&Diagnostic| {
            one.severity == Severity::Error && rules.broken.contains(&one.file)
        };
        let sorted = findings.sorted();
        return Err(sorted.iter().filter(is_cause).map(|one| one.brief()).collect());
    }
    let access = compile(&rules.policies());
    let failed = wrong_examples(rules, &access);
    let line = |one: &Lint| format!("{} {} {}", one.origin, one.code, one.message);
    if failed.is_empty() { Ok(access) } else { Err(failed.iter().map(line).collect()) }
}

/// Reports probable mistakes in policies for a host with these tools, and examples that fail.
pub fn lint_policies(rules: &PolicySet, tools: &BTreeSet<ToolName>, noted: &mut Findings) {
    // Built-in policies alone need no lint; a set with errors cannot be linted.
    if rules.has_no_files() || !rules.broken.is_empty() {
        return;
    }
    let access = compile(&rules.policies());
    let lints = findings(&access, tools).into_iter().chain(wrong_examples(rules, &access));
    for Lint { code, origin, message, help, .. } in lints {
        rules.report(code, &origin, FindingText::new(message).help(help), noted);
    }
}

/// Returns the examples that fail. Examples of built-in policies count only without other policies,
/// because a directory may allow events that they deny.
fn wrong_examples(rules: &PolicySet, access: &AccessPolicies) -> Vec<Lint> {
    let is_own = |one: &Lint| rules.own.iter().any(|own| own.name.origin.file == one.origin.file);
    examples_that_fail(access)
        .into_iter()
        .filter(|one| rules.has_no_files() || is_own(one))
        .collect()
}
