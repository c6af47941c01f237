//! Turns a confinement into a profile for the sandbox of macOS.
//!
//! Plain text in, plain text out, so that it is compiled and tested on every system. It has not
//! been run on macOS. Seatbelt's order of rules is not simply "the last wins", so each path is
//! denied by name, by the paths below it and by a case-insensitive expression.
//!
//! Must never: put a path into a profile without quoting it.

use std::fmt::Write as _;

use agentry_protocol::confinement::{
    Confinement, ENV_EXAMPLES, GitAccess, NetworkAccess, ReadAccess,
};

/// The inputs of a profile beside the confinement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeatbeltContext {
    /// The private directory for temporary files.
    pub temporary: String,
    /// The port of the egress proxy on this machine; None if no network access is allowed.
    pub proxy_port: Option<u16>,
}

/// The directories that every program reads at its start.
const SYSTEM_READ: [&str; 14] = [
    "/System",
    "/usr/lib",
    "/usr/bin",
    "/usr/sbin",
    "/usr/share",
    "/usr/libexec",
    "/usr/local",
    "/bin",
    "/sbin",
    "/Library/Apple",
    "/Library/Developer",
    "/opt/homebrew",
    "/private/etc/ssl",
    "/private/var/db/dyld",
];
/// Single files that are readable.
const SYSTEM_FILES: [&str; 6] = [
    "/private/etc/passwd",
    "/private/etc/group",
    "/private/etc/hosts",
    "/private/etc/localtime",
    "/dev/urandom",
    "/dev/random",
];
/// Devices that are writable.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/tty"];
/// The few services that a command line program cannot do without. No Apple events, no keychain.
const SERVICES: [&str; 4] = [
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.logger",
    "com.apple.bsd.dirhelper",
];
/// Sockets of services that run anything for every client.
const SOCKETS: [&str; 3] =
    ["/private/var/run/docker.sock", "/private/var/run/podman", "/private/var/run/com.docker"];
/// The protected parts of a writable repository.
const GIT_PROTECTED: [&str; 3] = ["hooks", "config", "modules"];
/// Names of files that later run by themselves; protected in writable directories.
const PROTECTED: [&str; 7] =
    [".gitmodules", ".envrc", ".mcp.json", ".vscode", ".idea", ".husky", ".agentry"];
/// Links of the system: the usual path and its target.
const LINKS: [(&str, &str); 3] =
    [("/tmp", "/private/tmp"), ("/var", "/private/var"), ("/etc", "/private/etc")];

/// Returns the profile of a confinement.
pub fn profile(confinement: &Confinement, place: &SeatbeltContext) -> String {
    let mut text = String::from("(version 1)\n(deny default)\n");
    text.push_str("(allow process-exec)\n(allow process-fork)\n");
    text.push_str("(allow signal (target same-sandbox))\n");
    text.push_str("(allow process-info* (target same-sandbox))\n");
    text.push_str("(allow sysctl-read)\n");
    reading(&mut text, confinement, place);
    writing(&mut text, confinement, place);
    network(&mut text, confinement, place);
    for service in SERVICES {
        rule(&mut text, "allow mach-lookup", &[format!("(global-name {})", quoted(service))]);
    }
    text.push_str("(deny appleevent-send)\n(deny user-preference-write)\n");
    text
}

fn reading(text: &mut String, confinement: &Confinement, place: &SeatbeltContext) {
    match confinement.reading {
        ReadAccess::Broad => text.push_str("(allow file-read*)\n"),
        ReadAccess::Strict => {
            // The root itself and the metadata of all paths; names only, no contents.
            text.push_str("(allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n");
            let system = SYSTEM_READ.iter().map(|path| below(path));
            let files = SYSTEM_FILES.iter().chain(&DEVICES).map(|path| exactly(path));
            rule(text, "allow file-read*", &system.chain(files).collect::<Vec<_>>());
            let own = confinement.allow_read.iter().chain(&confinement.allow_write);
            let own = own.chain(&confinement.home).chain(Some(&place.temporary));
            let own: Vec<String> = own.filter(|path| !path.is_empty()).map(|p| below(p)).collect();
            rule(text, "allow file-read*", &own);
        }
    }
    for entry in &confinement.deny_read {
        rule(text, "deny file-read* file-write*", &denied(entry));
    }
    // The agent's own home lies inside of a denied directory.
    if let Some(home) = &confinement.home {
        rule(text, "allow file-read* file-write*", &[below(home)]);
    }
    let examples = confinement.deny_read.iter().filter_map(|entry| entry.strip_suffix("/.env.*"));
    let examples = examples.flat_map(|root| ENV_EXAMPLES.map(|name| format!("{root}/{name}")));
    let examples: Vec<String> = examples.map(|path| exactly(&path)).collect();
    rule(text, "allow file-read*", &examples);
    let sockets: Vec<String> = SOCKETS.iter().map(|path| below(path)).collect();
    rule(text, "deny file-read* file-write* network-outbound", &sockets);
}

fn writing(text: &mut String, confinement: &Confinement, place: &SeatbeltContext) {
    let roots =
        confinement.allow_write.iter().chain(&confinement.home).chain(Some(&place.temporary));
    let roots: Vec<&String> = roots.filter(|path| !path.is_empty()).collect();
    let filters: Vec<String> = roots.iter().map(|root| below(root)).collect();
    rule(text, "allow file-write*", &filters);
    let devices: Vec<String> = DEVICES.iter().map(|path| exactly(path)).collect();
    rule(text, "allow file-write*", &devices);
    // A moved root would take its rules with it.
    for root in &roots {
        rule(text, "deny file-write-unlink", &[exactly(root)]);
    }
    for root in &confinement.allow_write {
        let mut protected: Vec<String> =
            PROTECTED.iter().flat_map(|name| denied(&format!("{root}/{name}"))).collect();
        match confinement.git {
            GitAccess::Read => protected.extend(denied(&format!("{root}/.git"))),
            GitAccess::Write => {
                let names = GIT_PROTECTED.iter().map(|name| format!("{root}/.git/{name}"));
                protected.extend(names.flat_map(|path| denied(&path)));
                protected.push(exactly(&format!("{root}/.git")));
            }
        }
        rule(text, "deny file-write*", &protected);
        // Repositories further down: by their name, in any directory.
        let nested = format!("(regex {})", expression(root, "/.*/\\.[gG][iI][tT](/.*)?$"));
        rule(text, "deny file-write*", &[nested]);
    }
    for entry in &confinement.deny_write {
        rule(text, "deny file-write*", &denied(entry));
    }
    // No setuid bits in any path.
    text.push_str("(deny file-write-setugid)\n");
}

/// Allows the proxy only, and only if network access is allowed.
fn network(text: &mut String, confinement: &Confinement, place: &SeatbeltContext) {
    text.push_str("(deny network*)\n");
    match (&confinement.network, place.proxy_port) {
        (NetworkAccess::Domains { .. }, Some(port)) => {
            let proxy = format!("(remote ip {})", quoted(&format!("localhost:{port}")));
            rule(text, "allow network-outbound", &[proxy]);
        }
        (NetworkAccess::None | NetworkAccess::Domains { .. }, _) => {}
    }
}

/// Adds a rule. Without filters it would match everything, so it is left out then.
fn rule(text: &mut String, what: &str, filters: &[String]) {
    if !filters.is_empty() {
        writeln!(text, "({what} {})", filters.join(" ")).expect("a text takes what is written");
    }
}

/// Returns the filter for a path and all below it.
fn below(path: &str) -> String {
    format!("(subpath {})", quoted(&canonical(path)))
}

fn exactly(path: &str) -> String {
    format!("(literal {})", quoted(&canonical(path)))
}

/// Returns the filters of a denied entry, for every way to name it.
fn denied(entry: &str) -> Vec<String> {
    match entry.strip_suffix('*') {
        Some(beginning) => vec![format!("(regex {})", expression(beginning, "[^/]*(/.*)?$"))],
        None => {
            vec![exactly(entry), below(entry), format!("(regex {})", expression(entry, "(/.*)?$"))]
        }
    }
}

/// Returns a path with the system's links at its start resolved.
fn canonical(path: &str) -> String {
    let found = LINKS.iter().find_map(|(name, real)| {
        let rest = path.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{real}{rest}"))
    });
    found.unwrap_or_else(|| path.to_owned())
}

/// Returns a case-insensitive expression for paths with this beginning and this end.
fn expression(beginning: &str, end: &str) -> String {
    let mut pattern = String::from("^");
    for c in canonical(beginning).chars() {
        match c {
            c if c.is_ascii_alphabetic() => {
                let (small, capital) = (c.to_ascii_lowercase(), c.to_ascii_uppercase());
                pattern.extend(['[', small, capital, ']']);
            }
            c if c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | ' ') => pattern.push(c),
            // Case of other scripts is unknown here: any one character matches.
            c if !c.is_ascii() || c.is_control() => pattern.push('.'),
            c => pattern.extend(['\\', c]),
        }
    }
    pattern.push_str(end);
    quoted(&pattern)
}

/// Quotes a string of the profile's language. Escapes every character that could end it early.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                write!(out, "\\x{:02x}", u32::from(c)).expect("a text takes what is written");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use agentry_protocol::confinement::ConfinementLevel;

    use super::*;

    fn confinement() -> Confinement {
        Confinement {
            level: ConfinementLevel::Seatbelt,
            allow_read: vec!["/Users/me/.cargo/bin".to_owned()],
            allow_write: vec!["/tmp/site".to_owned()],
            deny_read: vec![
                "/Users/me/.ssh".to_owned(),
                "/tmp/site/.env.*".to_owned(),
                "/Users/me/.state".to_owned(),
            ],
            deny_write: vec!["/tmp/site/agentry.toml".to_owned()],
            home: Some("/Users/me/.state/homes/coder".to_owned()),
            ..Confinement::most_restricted()
        }
    }

    fn place() -> SeatbeltContext {
        SeatbeltContext { temporary: "/private/tmp/agentry-1".to_owned(), proxy_port: Some(3128) }
    }

    #[track_caller]
    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|one| one == line), "no line {line}\n{text}");
    }

    /// Returns the index of the line with this beginning.
    fn at(text: &str, beginning: &str) -> usize {
        let found = text.lines().position(|line| line.starts_with(beginning));
        found.unwrap_or_else(|| panic!("no line {beginning}\n{text}"))
    }

    /// Returns true if the profile has balanced parentheses outside of strings.
    fn is_whole(text: &str) -> bool {
        let (mut depth, mut in_text, mut signs) = (0_i32, false, text.chars());
        while let Some(sign) = signs.next() {
            match (sign, in_text) {
                ('\\', true) => drop(signs.next()),
                ('"', _) => in_text = !in_text,
                ('(', false) => depth += 1,
                (')', false) => depth -= 1,
                ('\n', true) => return false,
                _ => {}
            }
            if depth < 0 {
                return false;
            }
        }
        depth == 0 && !in_text
    }

    #[test]
    fn nothing_is_allowed_that_is_not_named() {
        let text = profile(&confinement(), &place());
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
        assert!(is_whole(&text), "{text}");
        has(
            &text,
            "(allow file-write* (subpath \"/private/tmp/site\") \
            (subpath \"/Users/me/.state/homes/coder\") (subpath \"/private/tmp/agentry-1\"))",
        );
        assert!(!text.contains("(allow file-read*)\n") && !text.contains("(allow network*"));
        assert_eq!(text.matches("mach-lookup").count(), SERVICES.len());
        has(&text, "(deny appleevent-send)");
    }

    #[test]
    fn what_is_denied_is_denied_by_every_name() {
        let text = profile(&confinement(), &place());
        has(
            &text,
            "(deny file-read* file-write* (literal \"/Users/me/.ssh\") \
            (subpath \"/Users/me/.ssh\") \
            (regex \"^/[uU][sS][eE][rR][sS]/[mM][eE]/\\\\.[sS][sS][hH](/.*)?$\"))",
        );
        has(
            &text,
            "(deny file-read* file-write* \
            (regex \"^/[pP][rR][iI][vV][aA][tT][eE]/[tT][mM][pP]/[sS][iI][tT][eE]/\\\\.[eE][nN][vV]\\\\.[^/]*(/.*)?$\"))",
        );
        has(
            &text,
            "(allow file-read* (literal \"/private/tmp/site/.env.example\") \
            (literal \"/private/tmp/site/.env.sample\") (literal \"/private/tmp/site/.env.template\"))",
        );
        // The agent's home is allowed again after the directory around it was denied.
        let closed = at(&text, "(deny file-read* file-write* (literal \"/Users/me/.state\")");
        let opened = at(&text, "(allow file-read* file-write* (subpath \"/Users/me/.state/homes");
        assert!(closed < opened);
    }

    #[test]
    fn a_writable_root_cannot_be_moved_and_keeps_what_is_protected() {
        let text = profile(&confinement(), &place());
        has(&text, "(deny file-write-unlink (literal \"/private/tmp/site\"))");
        has(&text, "(deny file-write-setugid)");
        for name in ["agentry.toml", ".git", ".mcp.json", ".envrc"] {
            let filter = format!("(literal \"/private/tmp/site/{name}\")");
            let denies =
                |line: &str| line.starts_with("(deny file-write* ") && line.contains(&filter);
            assert!(text.lines().any(denies), "{name}\n{text}");
        }
        let allowed = at(&text, "(allow file-write* (subpath \"/private/tmp/site\")");
        assert!(
            allowed < at(&text, "(deny file-write* (literal \"/private/tmp/site/.gitmodules\")")
        );
        let written = profile(&Confinement { git: GitAccess::Write, ..confinement() }, &place());
        assert!(!written.contains("(subpath \"/private/tmp/site/.git\")"));
        assert!(written.contains("(subpath \"/private/tmp/site/.git/hooks\")"));
    }

    #[test]
    fn only_the_proxy_is_reached() {
        let reach = |network: NetworkAccess, proxy_port: Option<u16>| {
            let text = profile(
                &Confinement { network, ..confinement() },
                &SeatbeltContext { proxy_port, ..place() },
            );
            text.lines().filter(|line| line.contains("network-outbound (remote")).count()
        };
        let domains =
            NetworkAccess::Domains { allow: vec!["x.com".to_owned()], addresses: Vec::new() };
        assert_eq!(reach(NetworkAccess::None, Some(3128)), 0);
        assert_eq!(reach(domains.clone(), None), 0);
        assert_eq!(reach(domains.clone(), Some(3128)), 1);
        let text = profile(&Confinement { network: domains, ..confinement() }, &place());
        has(&text, "(allow network-outbound (remote ip \"localhost:3128\"))");
        assert!(at(&text, "(deny network*)") < at(&text, "(allow network-outbound"));
    }

    #[test]
    fn everything_is_read_only_if_the_confinement_says_so() {
        let broad = Confinement { reading: ReadAccess::Broad, ..confinement() };
        let text = profile(&broad, &place());
        assert!(
            at(&text, "(allow file-read*)") < at(&text, "(deny file-read* file-write* (literal")
        );
    }

    #[test]
    fn a_hostile_path_stays_a_path() {
        for path in [
            "/a\") (allow default) (literal \"",
            "/a\\",
            "/a\\\") (allow file-write* (subpath \"/",
            "/a\n(allow default)",
            "/a)(allow default",
            "/a;comment",
            "/a#\"b",
            "/ä\u{7}\r\t",
            "/.*",
            "/a|b(c)[d]$^",
        ] {
            let hostile = Confinement {
                allow_write: vec![path.to_owned()],
                allow_read: vec![path.to_owned()],
                deny_read: vec![path.to_owned()],
                deny_write: vec![format!("{path}*")],
                home: Some(path.to_owned()),
                ..confinement()
            };
            let text =
                profile(&hostile, &SeatbeltContext { temporary: path.to_owned(), ..place() });
            assert!(is_whole(&text), "{path:?}\n{text}");
            assert!(
                text.lines().all(|line| line.starts_with('(') && line.ends_with(')')),
                "{text}"
            );
            assert!(!text.lines().any(|line| line.starts_with("(allow default")), "{text}");
        }
    }

    #[test]
    fn an_expression_means_the_path_and_nothing_else() {
        assert_eq!(expression("/a.b+c", "$"), "\"^/[aA]\\\\.[bB]\\\\+[cC]$\"");
        assert_eq!(canonical("/tmpx"), "/tmpx");
        assert_eq!(canonical("/var"), "/private/var");
    }
}
