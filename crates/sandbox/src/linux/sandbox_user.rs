//! The user that a sandbox runs as if this process is root.
//!
//! Must never: name root, or a user of the machine.

use std::sync::OnceLock;

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::Confinement;

use crate::limits::{USER_FIRST, USERS};

/// Returns true if we are root and can become other users. Root of a namespace without these users
/// is an ordinary user of the machine around it, and is treated as one.
pub(crate) fn has_own_users() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    rustix::process::geteuid().is_root()
        && *KNOWN.get_or_init(|| {
            let knows = |file| std::fs::read_to_string(file).is_ok_and(|map| is_mapped(&map));
            knows("/proc/self/uid_map") && knows("/proc/self/gid_map")
        })
}

/// Returns true if a user map (lines: first here, first there, count) has all sandbox users.
fn is_mapped(map: &str) -> bool {
    let (first, end) = (u64::from(USER_FIRST), u64::from(USER_FIRST) + u64::from(USERS));
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        matches!(numbers[..], [from, _, count] if from <= first && end <= from + count)
    })
}

/// Returns the authority's own user if we are root; far from the machine's users, never root.
pub(crate) fn own_user(confinement: &Confinement) -> Option<u32> {
    has_own_users().then(|| {
        let authority = confinement.authority.as_ref().map(ContentHash::as_str);
        let name = authority.or(confinement.home.as_deref()).unwrap_or_default();
        let sum = name
            .bytes()
            .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        USER_FIRST + sum % USERS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_mapped_only_where_all_of_them_are() {
        assert!(is_mapped("         0          0 4294967295\n"));
        assert!(is_mapped("0 1000 1\n1 100000 4294967294\n"));
        assert!(!is_mapped("0 1000 1\n1 100000 65536\n"));
        assert!(!is_mapped("1879048192 0 65535\n"));
        assert!(!is_mapped(""));
    }
}
