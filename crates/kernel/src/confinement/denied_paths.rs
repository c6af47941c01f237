//! Paths denied regardless of settings, and the meaning of a denied path.
//!
//! Must never: be shortened by a setting.

use agentry_protocol::confinement::denies;

use super::path;

/// Paths below a home that are never readable: keys, tokens, secrets of programs, input history.
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

/// Files of a working directory that are never readable; example files of these are.
pub(super) const SECRETS: [&str; 2] = [".env", ".env.*"];

/// The usual directories of toolchains below a home.
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

/// Returns true if a path can be denied: it is literal, except for one `*` at its end.
pub(super) fn is_pattern(path: &str) -> bool {
    let literal = path.strip_suffix('*').unwrap_or(path);
    !literal.contains(['*', '?', '[']) && literal != "/"
}

/// Returns true if a path, or a directory above it, is denied.
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
