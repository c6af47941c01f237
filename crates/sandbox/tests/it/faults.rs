//! A sandbox that cannot be built: nothing is run, and the step that failed is named.
//!
//! Every fault is one that machines have: the kernel refuses a call, a program is missing, a directory is gone.

use agentry_protocol::confinement::ConfinementLevel;
use serde_json::{Value, json};

use crate::supervisor::{Supervisor, User, has, skipped, text, users};

/// Making a namespace of users, in the older of the two calls; the newer one then does not exist.
const NO_NAMESPACES: [&str; 2] = ["clone&268435456=EPERM", "clone3=ENOSYS"];

fn level(level: ConfinementLevel) -> Value {
    serde_json::to_value(level).unwrap()
}

/// A command that leaves a mark behind if it ever runs.
fn marking(supervisor: &Supervisor) -> Value {
    supervisor.wanted(&["/bin/sh", "-c", "echo ran > marker"])
}

fn refusing(calls: &[&str]) -> Vec<String> {
    let mut words = vec!["sandbox-try".to_owned(), "with-refused".to_owned()];
    words.extend(calls.iter().map(|&call| call.to_owned()));
    words.push("--".to_owned());
    words
}

#[track_caller]
fn run_refused(supervisor: &Supervisor, calls: &[&str], wanted: &Value) -> Value {
    let around = refusing(calls);
    let around: Vec<&str> = around.iter().map(String::as_str).collect();
    supervisor.run(&around, wanted)
}

/// At this level, with these calls refused, nothing runs, and the message has these words.
#[track_caller]
fn check_level(only: ConfinementLevel, calls: &[&str], expected: &str) {
    for user in users() {
        let supervisor = Supervisor::of(user);
        let mut wanted = marking(&supervisor);
        wanted["only"] = level(only);
        let came = run_refused(&supervisor, calls, &wanted);
        let why = came["unavailable"].as_str().unwrap_or_else(|| panic!("{user:?}: {came}"));
        assert!(why.contains(expected), "{user:?}, {calls:?}: {why}");
        assert!(!supervisor.file("marker").exists(), "{user:?}: the command ran");
    }
}

#[test]
fn without_a_fault_the_command_runs() {
    for user in users() {
        let supervisor = Supervisor::of(user);
        let came = run_refused(&supervisor, &[], &marking(&supervisor));
        assert_eq!(
            (&came["level"], &came["ending"]),
            (&json!("ns"), &json!("Exited(0)")),
            "{came}"
        );
        assert!(supervisor.file("marker").exists());
    }
}

#[test]
fn refused_namespaces_are_named() {
    check_level(ConfinementLevel::Ns, &NO_NAMESPACES, "cannot make namespaces");
    check_level(
        ConfinementLevel::Ns,
        &["clone&268435456=ENOSPC", "clone3=ENOSYS"],
        "cannot make namespaces",
    );
}

#[test]
fn a_missing_landlock_is_named_at_every_level() {
    let step = "cannot confine paths (Landlock): the kernel has no Landlock";
    for level in [ConfinementLevel::Ns, ConfinementLevel::Landlock] {
        check_level(level, &["landlock_create_ruleset=ENOSYS"], step);
        check_level(level, &["landlock_create_ruleset=EOPNOTSUPP"], step);
    }
    check_level(
        ConfinementLevel::Ns,
        &["landlock_add_rule=EINVAL"],
        "cannot confine paths (Landlock): allow /",
    );
    check_level(
        ConfinementLevel::Ns,
        &["landlock_restrict_self=EPERM"],
        "cannot confine paths (Landlock)",
    );
}

#[test]
fn a_filter_that_cannot_be_installed_is_named() {
    for level in [ConfinementLevel::Ns, ConfinementLevel::Landlock] {
        check_level(level, &["seccomp=EINVAL"], "cannot install the filter of calls (seccomp)");
    }
}

#[test]
fn a_mount_that_fails_is_named() {
    check_level(ConfinementLevel::Ns, &["open_tree=EPERM"], "cannot mount /");
    check_level(ConfinementLevel::Ns, &["mount_setattr=EPERM"], "cannot mount /");
    check_level(ConfinementLevel::Ns, &["mount=EPERM"], "cannot make the mounts private");
    check_level(ConfinementLevel::Ns, &["fsopen=EPERM"], "cannot mount /proc");
    check_level(ConfinementLevel::Ns, &["fsmount=EPERM"], "cannot mount /proc");
    check_level(ConfinementLevel::Ns, &["move_mount=EPERM"], "cannot make the root");
    check_level(ConfinementLevel::Ns, &["pivot_root=EPERM"], "cannot enter the root");
    check_level(ConfinementLevel::Ns, &["umount2=EPERM"], "cannot enter the root");
}

#[test]
fn other_steps_are_named_too() {
    check_level(ConfinementLevel::Ns, &["sethostname=EPERM"], "cannot name the host");
    check_level(ConfinementLevel::Ns, &["setsid=EPERM"], "cannot lead a session");
    check_level(ConfinementLevel::Ns, &["close_range=ENOSYS"], "cannot close other descriptors");
    check_level(ConfinementLevel::Ns, &["signalfd4=EINVAL"], "cannot watch the children");
    for level in [ConfinementLevel::Ns, ConfinementLevel::Landlock] {
        check_level(level, &["capset=EPERM"], "cannot ");
    }
}

/// Reading a limit cannot fail for the library that asks, so it panics between the fork and the program.
#[test]
fn a_process_that_dies_on_the_way_is_not_the_end_of_the_command() {
    check_level(ConfinementLevel::Ns, &["prlimit64=EPERM"], "cannot confine the program");
}

#[test]
fn bubblewrap_that_fails_is_named_with_what_it_said() {
    if !has("bwrap") {
        return skipped("bubblewrap is not installed");
    }
    check_level(ConfinementLevel::Bwrap, &["clone&268435456=EPERM", "clone3=ENOSYS"], "bwrap: ");
    check_level(ConfinementLevel::Bwrap, &["pivot_root=EPERM"], "bwrap: ");
    check_level(ConfinementLevel::Bwrap, &["capset=EPERM"], "bwrap: ");
    check_level(
        ConfinementLevel::Bwrap,
        &["seccomp=EINVAL"],
        "cannot install the filter of calls (seccomp)",
    );
    check_level(ConfinementLevel::Bwrap, &["landlock_create_ruleset=ENOSYS"], "no Landlock");
}

#[test]
fn missing_bubblewrap_is_named() {
    if !rustix::process::geteuid().is_root() || !has("unshare") {
        return skipped("only root can take bubblewrap away for a while");
    }
    let supervisor = Supervisor::of(User::Ours);
    let mut wanted = marking(&supervisor);
    wanted["only"] = level(ConfinementLevel::Bwrap);
    for (instead, expected) in [
        // An empty device is no program, and belongs to everybody.
        ("/dev/null", "bwrap does not belong to root alone"),
        ("/bin/false", "cannot build the sandbox: its first process ended without a word"),
        ("/bin/true", "cannot build the sandbox: its first process ended without a word"),
    ] {
        let script = format!("mount --bind {instead} /usr/bin/bwrap && exec \"$@\"");
        let came = supervisor.run(&["unshare", "--mount", "sh", "-c", &script, "sh"], &wanted);
        let why = came["unavailable"].as_str().unwrap_or_else(|| panic!("{came}"));
        assert!(why.contains(expected), "{instead}: {why}");
        assert!(!supervisor.file("marker").exists());
    }
    let script = "mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && \
        mount -t overlay overlay -o lowerdir=/usr/bin,upperdir=/mnt/u,workdir=/mnt/w /usr/bin && \
        rm /usr/bin/bwrap && exec \"$@\"";
    let came = supervisor.run(&["unshare", "--mount", "sh", "-c", script, "sh"], &wanted);
    match came["unavailable"].as_str() {
        Some(why) => assert!(why.contains("bubblewrap is not installed"), "{why}"),
        None => panic!("{came}"),
    }
}

/// The kernel's own switch, in a namespace of users around the supervisor.
#[test]
fn namespaces_that_are_switched_off_for_real_are_named_at_every_level() {
    let user = if rustix::process::geteuid().is_root() { User::Ordinary } else { User::Ours };
    if !has("unshare") {
        return skipped("there is no `unshare`");
    }
    let supervisor = Supervisor::of(user);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let around =
        ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", script, "sh"];
    let mut wanted = marking(&supervisor);
    wanted["minimum"] = level(ConfinementLevel::Bwrap);
    let came = supervisor.run(&around, &wanted);
    let why = came["unavailable"].as_str().unwrap_or_else(|| panic!("{came}"));
    assert!(why.contains("ns: cannot make namespaces: No space left on device"), "{why}");
    assert!(why.contains("bwrap: cannot "), "{why}");
    assert!(!why.contains("landlock: "), "{why}");
    assert!(!supervisor.file("marker").exists());
    wanted["minimum"] = level(ConfinementLevel::Landlock);
    let came = supervisor.run(&around, &wanted);
    assert_eq!(
        (&came["level"], &came["ending"]),
        (&json!("landlock"), &json!("Exited(0)")),
        "{came}"
    );
}

#[test]
fn a_weaker_level_is_taken_only_where_it_is_allowed() {
    for user in users() {
        let supervisor = Supervisor::of(user);
        let mut wanted = marking(&supervisor);
        for minimum in [ConfinementLevel::Ns, ConfinementLevel::Bwrap] {
            wanted["minimum"] = level(minimum);
            let came = run_refused(&supervisor, &NO_NAMESPACES, &wanted);
            let why = came["unavailable"].as_str().unwrap_or_else(|| panic!("{minimum}: {came}"));
            assert!(why.contains("ns: cannot make namespaces"), "{why}");
            assert_eq!(why.contains("bwrap: cannot "), minimum == ConfinementLevel::Bwrap, "{why}");
            assert!(!supervisor.file("marker").exists());
        }
        wanted["minimum"] = level(ConfinementLevel::Landlock);
        wanted["words"] = json!(["/bin/true"]);
        let came = run_refused(&supervisor, &NO_NAMESPACES, &wanted);
        assert_eq!((&came["level"], &came["ending"]), (&json!("landlock"), &json!("Exited(0)")));
    }
}

#[test]
fn with_nothing_left_every_level_is_listed_with_its_step() {
    for user in users() {
        let supervisor = Supervisor::of(user);
        let mut wanted = marking(&supervisor);
        wanted["minimum"] = level(ConfinementLevel::Landlock);
        let came = run_refused(&supervisor, &["seccomp=EINVAL"], &wanted);
        let why = came["unavailable"].as_str().unwrap_or_else(|| panic!("{came}"));
        for level in ["ns", "bwrap", "landlock"] {
            assert!(why.contains(&format!("{level}: cannot ")), "{why}");
        }
        assert!(!supervisor.file("marker").exists());
    }
}

#[test]
fn a_helper_that_is_none_is_named() {
    let supervisor = Supervisor::of(User::Ours);
    let mut wanted = marking(&supervisor);
    for (binary, expected) in
        [("/no/such/program", "cannot start the helper /no/such/program"), ("/bin/true", "helper")]
    {
        wanted["binary"] = json!(binary);
        let came = supervisor.run(&[], &wanted);
        let why = came["unavailable"].as_str().unwrap_or_else(|| panic!("{came}"));
        assert!(why.contains(expected), "{why}");
        assert!(!supervisor.file("marker").exists());
    }
}

/// Checks that a fault after the opening is reported by the run, and by the start.
#[track_caller]
fn check_run(supervisor: &Supervisor, wanted: &Value, expected: &str) {
    for spawn in [false, true] {
        let mut wanted = wanted.clone();
        wanted["spawn"] = json!(spawn);
        if let Some(gone) = wanted["meanwhile"]["Remove"].as_str() {
            std::fs::create_dir_all(gone).unwrap();
            supervisor.hand_over(gone.as_ref());
        }
        let came = supervisor.run(&[], &wanted);
        assert_eq!(came["error"], json!("sandbox"), "{came}");
        let text = came["text"].as_str().unwrap();
        assert!(text.starts_with("the sandbox is broken, nothing was run: cannot "), "{text}");
        assert!(text.contains(expected), "{text}, not {expected}: {wanted}");
        assert!(!supervisor.file("marker").exists());
    }
}

/// Every step that the open sandbox does for each program can fail for one that lives long.
#[test]
fn a_step_that_fails_after_the_opening_is_named_and_nothing_starts() {
    let filter = "cannot install the filter of calls (seccomp)";
    let faults: [(ConfinementLevel, &[&str], &str); 8] = [
        (ConfinementLevel::Ns, &["pivot_root=EPERM"], "cannot enter the root"),
        (ConfinementLevel::Ns, &["landlock_restrict_self=EPERM"], "(Landlock)"),
        (ConfinementLevel::Ns, &["seccomp=EINVAL"], filter),
        (ConfinementLevel::Bwrap, &["pivot_root=EPERM"], "bwrap: "),
        (ConfinementLevel::Bwrap, &["seccomp=EINVAL"], filter),
        (ConfinementLevel::Landlock, &["landlock_create_ruleset=ENOSYS"], "no Landlock"),
        (ConfinementLevel::Landlock, &["seccomp=EINVAL"], filter),
        (ConfinementLevel::Landlock, &["capset=EPERM"], "cannot give up all rights"),
    ];
    for user in users() {
        for (only, calls, expected) in &faults {
            if *only == ConfinementLevel::Bwrap && !has("bwrap") {
                skipped("bubblewrap is not installed");
                continue;
            }
            let supervisor = Supervisor::of(user);
            let mut wanted = marking(&supervisor);
            wanted["only"] = level(*only);
            wanted["meanwhile"] = json!({ "Refuse": calls });
            check_run(&supervisor, &wanted, expected);
        }
    }
}

/// It may die before it is asked, and is started anew, or while it is asked, and the call fails.
#[test]
fn after_a_helper_died_the_command_runs_confined_or_not_at_all() {
    for (user, spawn) in users().into_iter().flat_map(|user| [(user, false), (user, true)]) {
        let supervisor = Supervisor::of(user);
        let mut wanted = marking(&supervisor);
        wanted["meanwhile"] = json!("KillHelper");
        wanted["spawn"] = json!(spawn);
        let came = supervisor.run(&[], &wanted);
        assert_eq!(came["level"], json!("ns"), "{came}");
        let ran = supervisor.file("marker").exists();
        match came["ending"].as_str() {
            Some(ending) => assert_eq!((ending, ran), ("Exited(0)", true), "{came}"),
            None => {
                assert_eq!((&came["error"], ran), (&json!("sandbox"), false), "{came}");
                assert!(came["text"].as_str().unwrap().contains("the helper"), "{came}");
            }
        }
    }
}

#[test]
fn a_writable_directory_that_is_gone_is_named() {
    for user in users() {
        let supervisor = Supervisor::of(user);
        let gone = supervisor.file("gone");
        let mut wanted = marking(&supervisor);
        wanted["confinement"]["allow_write"] = json!([supervisor.dir, gone]);
        wanted["meanwhile"] = json!({ "Remove": gone });
        check_run(&supervisor, &wanted, &text(&gone));
    }
}

/// Terminals cannot be lent: their file system does not know how.
#[test]
fn files_that_cannot_be_lent_are_named() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root lends files");
    }
    let supervisor = Supervisor::of(User::Ours);
    let mut wanted = marking(&supervisor);
    wanted["confinement"]["allow_write"] = json!([supervisor.dir, "/dev/pts"]);
    check_run(&supervisor, &wanted, "lend /dev/pts");
}

/// Such a root, as in many containers, cannot become another user, and need not: outside it is an ordinary one.
#[test]
fn root_of_a_namespace_that_knows_no_other_user_is_treated_as_an_ordinary_one() {
    if !has("unshare") {
        return skipped("there is no `unshare`");
    }
    let supervisor = Supervisor::of(User::Ours);
    let wanted =
        supervisor.wanted(&["/bin/sh", "-c", "touch marker; grep -i '^cap' /proc/self/status"]);
    let came = supervisor.run(&["unshare", "--user", "--map-root-user"], &wanted);
    assert_eq!((&came["level"], &came["ending"]), (&json!("ns"), &json!("Exited(0)")), "{came}");
    assert!(supervisor.file("marker").exists());
    let rights = came["output"].as_str().unwrap();
    assert!(rights.lines().all(|line| line.ends_with("\t0000000000000000")), "{rights}");
}

#[test]
fn what_the_command_itself_does_is_never_taken_for_a_broken_sandbox() {
    for user in users() {
        let supervisor = Supervisor::of(user);
        std::fs::write(supervisor.file("plain"), "no program").unwrap();
        supervisor.hand_over(&supervisor.file("plain"));
        let plain = text(&supervisor.file("plain"));
        for only in [ConfinementLevel::Ns, ConfinementLevel::Bwrap, ConfinementLevel::Landlock] {
            if only == ConfinementLevel::Bwrap && !has("bwrap") {
                skipped("bubblewrap is not installed");
                continue;
            }
            for code in [1, 101, 125, 126, 127] {
                let mut wanted = supervisor.wanted(&["/bin/sh", "-c", &format!("exit {code}")]);
                wanted["only"] = level(only);
                let came = supervisor.run(&[], &wanted);
                assert_eq!(came["ending"], json!(format!("Exited({code})")), "{came}");
            }
            for (program, kind) in [
                ("/no/such/program", "program not found"),
                ("no-such-program", "program not found"),
                (&plain, "not executable"),
                ("/usr", "not executable"),
            ] {
                let mut wanted = supervisor.wanted(&[program]);
                wanted["only"] = level(only);
                let came = supervisor.run(&[], &wanted);
                assert_eq!(came["error"], json!(kind), "{only}, {program}: {came}");
            }
            for cwd in ["/no/such/directory", &plain] {
                let mut wanted = marking(&supervisor);
                wanted["only"] = level(only);
                wanted["cwd"] = json!(cwd);
                let came = supervisor.run(&[], &wanted);
                assert_eq!(came["error"], json!("no directory"), "{only}, {cwd}: {came}");
                assert!(!supervisor.file("marker").exists());
            }
        }
    }
}
