//! What is denied whatever the settings say, and what a denied path means.
//!
//! Must never: be shortened by a setting.

use agentry_protocol::confinement::denies;

use super::path;

/// What is never read below a home: keys, tokens, other programs' secrets, what was typed.
pub const HOME_DENIED: [&str; 28] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials*",
    ".config/gh",
    ".config/git/credentials",
    ".git-credentials",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".local/share/keyrings",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".config/op",
    ".terraform.d",
    ".config/hub",
];

/// What is never read in a directory that is worked in; examples of such files are.
pub(super) const SECRETS: [&str; 2] = [".env", ".env.*"];

/// Where toolchains are kept below a home.
pub const TOOLCHAINS: [&str; 15] = [
    ".cargo/bin",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".local/share/mise",
    ".local/share/uv",
    "go/bin",
    ".sdkman",
    ".rbenv",
    ".deno/bin",
    ".bun/bin",
    ".local/bin",
    ".local/lib",
];

/// Whether a path can be denied: it is literal, but for one `*` at its end.
pub(super) fn is_pattern(path: &str) -> bool {
    let literal = path.strip_suffix('*').unwrap_or(path);
    !literal.contains(['*', '?', '[']) && literal != "/"
}

/// Whether a path, or a directory above it, is denied.
pub(super) fn covers(pattern: &str, path: &str) -> bool {
    denies(pattern, path)
        || path.match_indices('/').any(|(at, _)| denies(pattern, &path[..at]))
        || path::lies_in(path, pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_denied_with_all_in_it() {
        for (pattern, path, expected) in [
            ("/h/.ssh", "/h/.ssh", true),
            ("/h/.ssh", "/h/.ssh/id", true),
            ("/h/.ssh", "/h/.sshx", false),
            ("/h/.cargo/credentials*", "/h/.cargo/credentials.toml", true),
            ("/h/.cargo/credentials*", "/h/.cargo/credentials/x", true),
            ("/h/.cargo/credentials*", "/h/.cargo/bin", false),
            ("/h/.env.*", "/h/.env.local", true),
            ("/h/.env.*", "/h/.env.example", false),
        ] {
            assert_eq!(covers(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_star_stands_at_the_end_only() {
        assert!(is_pattern("/a/b") && is_pattern("/a/b*"));
        for bad in ["/a/*/b", "/**", "/a?b", "/a[b]", "/a**", "/*", "/"] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }
}
