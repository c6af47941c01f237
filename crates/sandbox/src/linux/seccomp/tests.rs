//! The filter on real calls: every number there is, the relevant arguments, and real programs.

mod arguments;
#[cfg(target_arch = "x86_64")]
mod machine;
mod programs;
mod walk;

use std::io;

use libc::c_long;

use super::{Kind, SyscallFilter};
use crate::linux::tests::in_child;

const KINDS: [(&str, Kind); 6] = [
    ("command", Kind::Command { unix_sockets: true }),
    ("command that sees foreign sockets", Kind::Command { unix_sockets: false }),
    ("own", Kind::Own { unix_sockets: true }),
    ("command without network", Kind::CommandNoNet { unix_sockets: false }),
    ("command without network but for files", Kind::CommandNoNet { unix_sockets: true }),
    ("own without network", Kind::OwnNoNet),
];
/// The variable with the kind of filter that the child installs.
const KIND: &str = "AGENTRY_TEST_KIND";

/// Runs the body of a child under the filter that `KIND` names.
fn filtered(body: impl FnOnce(Kind)) {
    in_child(|| {
        let name = std::env::var(KIND).expect("the parent names a kind");
        let (_, kind) = KINDS.iter().find(|(it, _)| *it == name).expect("it is one of ours");
        SyscallFilter::new(*kind)
            .expect("the filter can be made")
            .install()
            .expect("and installed");
        body(*kind);
    });
}

/// Makes one call; returns its result, or the number of the error.
#[expect(unsafe_code, reason = "only a raw call has no library between it and the filter")]
fn call(number: c_long, args: [u64; 6]) -> Result<i64, i32> {
    let [a, b, c, d, e, f] = args;
    // SAFETY: the arguments are numbers, valid pointers, or pointers that the kernel refuses.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer == -1 {
        return Err(io::Error::last_os_error().raw_os_error().unwrap_or_default());
    }
    Ok(answer)
}

#[test]
fn the_filter_of_every_kind_can_be_made() {
    for (name, kind) in KINDS {
        assert!(SyscallFilter::new(kind).is_ok(), "{name}");
    }
}
