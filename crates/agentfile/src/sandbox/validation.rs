//! Checks the variables to pass to commands, and the form of domains.
//!
//! Must never: accept a name or a domain that it does not understand.

use crate::diagnostic::{DiagnosticCode, FindingText};
use crate::limits::DOMAIN_BYTES_MAX;
use crate::manifest::config::SandboxToml;

/// Variables that load or run other code, or hold keys, by the beginning of their names.
const PREFIXES: [&str; 12] = [
    "LD_",
    "DYLD_",
    "GLIBC_",
    "GIT_",
    "PYTHON",
    "RUBY",
    "PERL",
    "NODE_",
    "BASH_FUNC_",
    "AGENTRY_",
    "AWS_",
    "AZURE_",
];
/// Variables that hold options or keys, by the end of their names.
const SUFFIXES: [&str; 9] = [
    "_OPTIONS",
    "_OPTS",
    "_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
    "_CREDENTIALS",
    "_ASKPASS",
];
const NAMES: [&str; 18] = [
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
    "PS4",
    "CDPATH",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "KUBECONFIG",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "GOFLAGS",
];

/// True if a variable is never passed to commands: it makes them run other code, or holds a secret.
pub fn is_kept_from_commands(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    NAMES.contains(&upper.as_str())
        || PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
        || ["SECRET", "PASSWORD", "TOKEN"].contains(&upper.as_str())
}

/// Returns the defects of variables and domains, by pointer.
pub(super) fn defects(sandbox: &SandboxToml) -> Vec<(String, DiagnosticCode, FindingText)> {
    let mut defects = Vec::new();
    for (at, name) in sandbox.env.iter().flatten().enumerate() {
        if let Some(why) = why_not_passed(name) {
            let text = FindingText::new(format!("`{name}` is not passed to commands: {why}"))
                .help("name variables that commands may see; keys belong to providers and tools");
            defects.push((format!("/env/{at}"), DiagnosticCode::VariableNotPassed, text));
        }
    }
    for (at, domain) in sandbox.security.allowed_domains.iter().flatten().enumerate() {
        if !is_domain(domain) {
            let text = FindingText::new(format!("`{domain}` is not the name of a host"))
                .help("write a name such as api.github.com, or *.github.com for all below it");
            defects.push((
                format!("/security/allowedDomains/{at}"),
                DiagnosticCode::DomainForm,
                text,
            ));
        }
    }
    defects
}

/// Returns the valid variables and domains.
pub(super) fn valid_entries(sandbox: &SandboxToml) -> (Vec<String>, Vec<String>) {
    let env = sandbox.env.iter().flatten().filter(|name| why_not_passed(name).is_none());
    let domains = sandbox.security.allowed_domains.iter().flatten();
    (env.cloned().collect(), domains.filter(|domain| is_domain(domain)).cloned().collect())
}

fn why_not_passed(name: &str) -> Option<&'static str> {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(is_sign) {
        return Some("it is not the name of a variable");
    }
    is_kept_from_commands(name).then_some("it can hold a key, or make a program run something else")
}

/// True if a text is a name of complete labels, an address, or `*.` and a name.
pub(super) fn is_domain(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    if text.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let is_label = |label: &str| {
        let signs = label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        !label.is_empty()
            && label.len() <= 63
            && signs
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let labels: Vec<&str> = name.strip_suffix('.').unwrap_or(name).split('.').collect();
    // `1.2.3` and `0x7f.1` are disguised addresses: a name does not end with a number.
    let ends_well =
        labels.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_alphabetic()));
    name.len() <= DOMAIN_BYTES_MAX && ends_well && labels.into_iter().all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_whole_labels_or_an_address() {
        for good in ["x.com", "*.x.com", "localhost", "a-b.c_d.org", "x.com.", "127.0.0.1", "::1"] {
            assert!(is_domain(good), "{good}");
        }
        for bad in [
            "",
            " ",
            "*",
            "*.",
            "*x.com",
            "a.*.com",
            "x..com",
            ".x.com",
            "-x.com",
            "https://x.com",
            "x.com:443",
            "x.com/a",
            "ä.com",
            "x\0.com",
            "1.2.3",
            "0x7f.1",
            "2130706433",
            "a b.com",
        ] {
            assert!(!is_domain(bad), "{bad}");
        }
        assert!(!is_domain(&format!("{}com", "a.".repeat(130))));
    }

    #[test]
    fn what_steers_a_program_or_holds_a_key_is_not_passed() {
        for bad in [
            "LD_PRELOAD",
            "ld_preload",
            "GIT_DIR",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "MAVEN_OPTS",
            "PYTHONPATH",
            "BASH_ENV",
            "ENV",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "AGENTRY_HOME",
            "1X",
            "A B",
            "",
            "A=B",
        ] {
            assert!(why_not_passed(bad).is_some(), "{bad}");
        }
        for good in ["CI", "RUST_LOG", "TZ", "MY_SETTING", "CARGO_HOME"] {
            assert!(why_not_passed(good).is_none(), "{good}");
        }
    }
}
