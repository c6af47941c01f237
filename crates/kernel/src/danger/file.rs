//! Paths that must not be written or deleted, for any sender.
//!
//! Must never: refuse a path below the workspace because of the workspace's location.

use agentry_protocol::protected::{ProtectedNameKind, kinds_in};

use super::{Danger, GuardDirectories, refused};
use crate::shell::path::is_stream;

/// System folders; the agent must not change any path below them.
const SYSTEM: [&str; 12] = [
    "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys",
    "/System", "/Library",
];
/// Folders whose loss destroys the machine or the files of all users.
const TOP: [&str; 14] = [
    "/",
    "/home",
    "/Users",
    "/root",
    "/var",
    "/opt",
    "/srv",
    "/dev",
    "/run",
    "/mnt",
    "/media",
    "/private",
    "/Applications",
    "/Volumes",
];

/// The parent folders of home directories.
pub(super) const HOMES: [&str; 2] = ["/home", "/Users"];

/// Returns the danger of writing this file; None if it may be written.
pub(super) fn of_write(path: &str, place: &GuardDirectories<'_>) -> Option<Danger> {
    if let Some(name) = governs(path, place) {
        return refused(
            "governance",
            format!("`{name}` says what the agent may do; only people change it"),
        );
    }
    // A start-up file counts at its place; a copy below the workspace is an ordinary file.
    let parent = path.rsplit_once('/').map(|(parent, _)| parent);
    let is_copy =
        is_below(path, place.workspace) && parent != place.home && !path.contains("/.git/");
    if runs_later(path) && !is_copy {
        return refused("persistence", format!("`{path}` is run later, outside of any approval"));
    }
    if is_device(path) {
        return refused("device_write", format!("`{path}` is a device"));
    }
    if is_below(path, place.workspace) {
        return None;
    }
    let system = SYSTEM.iter().any(|folder| path == *folder || is_below(path, folder));
    if system { refused("system_write", format!("`{path}` belongs to the system")) } else { None }
}

/// Returns true for files that a shell, a session, git or a scheduler runs by itself.
fn runs_later(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let start_up = matches!(
        name,
        ".bashrc"
            | ".bash_profile"
            | ".bash_login"
            | ".bash_logout"
            | ".profile"
            | ".zshrc"
            | ".zshenv"
            | ".zprofile"
            | ".zlogin"
            | ".kshrc"
            | ".cshrc"
            | ".tcshrc"
            | ".login"
            | ".xprofile"
            | ".xinitrc"
            | ".xsession"
            | ".pam_environment"
            | "authorized_keys"
            | "authorized_keys2"
    );
    let folders = [
        ".git/hooks/",
        "/etc/cron",
        "/var/spool/cron",
        "/etc/systemd/",
        "/.config/systemd/",
        "/.config/autostart/",
        "/LaunchAgents/",
        "/LaunchDaemons/",
        "/etc/profile",
        "/etc/init.d/",
        "/.config/fish/",
        "/.ssh/rc",
        "/etc/rc.local",
    ];
    let git_config =
        path == ".git/config" || path.ends_with("/.git/config") || name == ".gitconfig";
    start_up || git_config || folders.iter().any(|folder| path.contains(folder))
}

/// Returns the danger of deleting or changing the tree below this path; None if it is permitted.
pub(super) fn of_tree(path: &str, place: &GuardDirectories<'_>) -> Option<Danger> {
    let whole = path.trim_end_matches("/*").trim_end_matches("/.*").trim_end_matches("/.[!.]*");
    // A pattern directly below the root may match any path there.
    let below_root = whole
        .strip_prefix('/')
        .is_some_and(|rest| !rest.contains('/') && rest.contains(['*', '?', '[']));
    let whole = if whole.is_empty() || below_root { "/" } else { whole };
    if is_below(whole, place.workspace) {
        let git = whole == format!("{}/.git", place.workspace.trim_end_matches('/'));
        return if git {
            refused("history_destroyed", "it takes away the history of the repository")
        } else {
            None
        };
    }
    if whole == "/" {
        return refused("delete_root", "it reaches everything on the machine");
    }
    let home = place.home.is_some_and(|home| whole == home);
    if !home && (whole == place.workspace || is_below(place.workspace, whole)) {
        return refused("delete_workspace", format!("`{whole}` is or holds the whole workspace"));
    }
    let parent = whole.rsplit_once('/').map(|(parent, _)| parent);
    let somebody = parent.is_some_and(|parent| HOMES.contains(&parent));
    let keys =
        [".ssh", ".gnupg", ".aws"].iter().any(|folder| whole.ends_with(&format!("/{folder}")));
    if home || somebody || keys {
        return refused("delete_home", format!("`{whole}` is a home directory or holds its keys"));
    }
    let system = TOP.contains(&whole)
        || SYSTEM.iter().any(|folder| whole == *folder || is_below(whole, folder))
        || is_device(whole)
        || whole.strip_prefix("/var/").is_some_and(|rest| !rest.contains('/') && rest != "tmp");
    if system { refused("delete_system", format!("`{whole}` belongs to the system")) } else { None }
}

/// Returns true for a device that is neither a stream nor shared memory.
pub(super) fn is_device(path: &str) -> bool {
    path.starts_with("/dev/")
        && !is_stream(path)
        && !path.starts_with("/dev/shm/")
        && path != "/dev/full"
        && path != "/dev/random"
        && path != "/dev/urandom"
}

/// Returns the part of a path that makes it a definition or setting of agents; None if none does.
fn governs<'a>(path: &'a str, place: &GuardDirectories<'_>) -> Option<&'a str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    if matches!(
        lower.as_str(),
        "agent.yml" | "agent.yaml" | "agent.md" | "tool-access.json" | "agentry.toml"
    ) {
        return Some(name);
    }
    let rest = path.strip_prefix(place.workspace)?.trim_start_matches('/');
    if is_definition(rest) {
        return Some(rest);
    }
    let mut parts = rest.split('/').peekable();
    // Only where agents are defined: a deeper folder of this name belongs to the project.
    let first = match parts.next()? {
        "agents" => parts.nth(1)?,
        first => first,
    };
    let inside = parts.peek().is_some();
    match first.to_ascii_lowercase().as_str() {
        "hooks" | "policies" | ".agentry" if inside => Some(rest),
        _ => None,
    }
}

/// Returns true if the loader would read a path below the workspace as a definition.
fn is_definition(path: &str) -> bool {
    kinds_in(path.split('/').map(str::as_bytes)).any(|kind| kind == ProtectedNameKind::Definition)
}

/// Returns true if a path lies strictly below a folder, compared by whole components.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}
