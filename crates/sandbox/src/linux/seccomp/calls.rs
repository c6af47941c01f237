//! The system calls that both lists name.
//!
//! Must never: say what a process may do with them.

use libc::c_long;

/// The number of `fchmodat2` (mode of a file, with flags); libc lacks it on some machines.
pub(super) const FCHMODAT2: c_long = 452;

/// Messages, semaphores and memory that processes share by number or name.
pub(super) const QUEUES: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];
