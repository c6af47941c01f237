//! The files of a long-lived program: the protected ones, those it plants, and those it must not see.

use super::*;

/// Makes a file as a person does, for programs of any user to read and to write.
fn made_by_a_person(place: &Place, name: &str, text: &str) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let path = place.file(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let owner = place.file("").metadata().unwrap();
    chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// Replaces a file as editors do.
fn replaced_by_a_person(place: &Place, name: &str, text: &str) {
    made_by_a_person(place, "new", text);
    fs::rename(place.file("new"), place.file(name)).unwrap();
}

#[track_caller]
fn report(place: &Place) -> String {
    place.reports.recv_timeout(LONG).unwrap()
}

#[test]
fn what_is_planted_is_found_on_request_and_the_program_goes_on() {
    each_level(|place| {
        let mut child =
            place.shell("while read -r name; do mkdir -p sub; echo x >$name; echo .; done");
        let handle = child.handle();
        assert!(handle.check_files());
        for name in [".envrc", "sub/.envrc"] {
            say(&mut child, name);
            hear(&mut child, ".\n");
            assert!(handle.check_files());
            assert!(report(place).contains(&format!("{:?}", place.file(name))));
            assert!(!place.file(name).exists());
        }
        say(&mut child, "plain");
        hear(&mut child, ".\n");
        assert!(handle.check_files());
        child.terminate().unwrap();
        assert!(place.reports.try_recv().is_err(), "everything is told once");
        assert!(place.file("plain").exists());
        assert!(handle.check_files(), "when it is over there is nothing to find");
    });
}

#[test]
fn what_is_planted_by_a_program_that_nobody_asks_for_is_found_too() {
    each_level(|place| {
        let mut child = place.shell("echo x >.envrc; read -r word");
        assert!(report(place).contains(".envrc"));
        assert!(!place.file(".envrc").exists());
        assert_eq!(child.wait(Duration::ZERO).unwrap(), None);
    });
}

#[test]
fn what_is_planted_at_the_end_is_found_however_the_end_comes() {
    each_level(|place| {
        let ends: [fn(SandboxedChild); 3] = [
            |mut child| {
                say(&mut child, "go");
                ended(&mut child);
            },
            |mut child| assert!(child.terminate().is_ok()),
            drop,
        ];
        for end in ends {
            // It is planted until the last moment, after any other check.
            let script = "trap '' TERM; (while :; do echo x >.envrc; done) &
                while [ ! -e .envrc ]; do :; done; echo ready; read -r word";
            let mut child = place.deaf(script);
            hear(&mut child, "ready\n");
            end(child);
            assert!(!place.file(".envrc").exists());
            assert!(report(place).contains(".envrc"));
            while place.reports.try_recv().is_ok() {}
        }
    });
}

#[test]
fn a_protected_file_is_as_it_was_at_any_look() {
    each_level(|place| {
        made_by_a_person(place, ".envrc", "mine");
        let mut child = place.shell("read -r word; echo x >.envrc; echo $?; read -r word");
        say(&mut child, "go");
        let is_mounted = place.confinement.level != ConfinementLevel::Landlock;
        // With mounts it cannot be written; without, it is put back.
        let expected = if is_mounted { "2\n" } else { "0\n" };
        let mut said = [0; 2];
        child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert!(!is_mounted || &said != b"0\n", "{expected}");
        assert!(child.handle().check_files());
        assert_eq!(fs::read_to_string(place.file(".envrc")).unwrap(), "mine");
        assert_eq!(place.reports.try_recv().is_ok(), !is_mounted);
        child.terminate().unwrap();
    });
}

#[test]
fn a_check_that_cannot_be_finished_ends_the_program_and_no_other_starts() {
    each_level(|place| {
        let mut child = place.shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
        hear(&mut child, "ready\n");
        // A link in place of the quarantine is never used.
        let quarantine = place.file("").parent().unwrap().join("quarantine");
        drop(fs::remove_dir_all(&quarantine));
        std::os::unix::fs::symlink("/", &quarantine).unwrap();
        made_by_a_person(place, ".envrc", "x");
        assert!(!child.handle().check_files());
        assert_eq!(ended(&mut child).ending, ProcessEnding::Stopped);
        let bounds = ChildBounds { time: None, grace: LONG };
        let next = place.try_start(place.command(&["/bin/true"]), bounds);
        assert!(matches!(next.err(), Some(Error::Sandbox { .. })));
    });
}

#[test]
fn a_program_whose_mounts_go_is_ended() {
    for level in [ConfinementLevel::Ns, ConfinementLevel::Bwrap] {
        let Some(mut place) = Place::open(level) else { continue };
        place.confinement.deny_read = vec![place.file(".env").display().to_string()];
        made_by_a_person(&place, ".env", "secret");
        let script = "trap '' TERM; echo ready; while :; do cat .env 2>&1 | grep new; done";
        let mut child = place.shell(script);
        hear(&mut child, "ready\n");
        replaced_by_a_person(&place, ".env", "new secret");
        assert_eq!(ended(&mut child).ending, ProcessEnding::Stopped);
        assert!(report(&place).contains("was replaced or removed"));
        // A new one hides it again.
        let mut next = place.shell("cat .env");
        ended(&mut next);
        assert_eq!(rest(&mut next.stdout), "");
    }
}

#[test]
fn a_program_that_could_read_what_must_be_hidden_is_ended() {
    for level in LEVELS {
        let Some(mut place) = Place::open(level) else { continue };
        let root = place.file("").display().to_string();
        place.confinement.deny_read = vec![format!("{}/**/.env", root.trim_end_matches('/'))];
        let mut child = place.shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
        hear(&mut child, "ready\n");
        assert!(child.handle().check_files());
        made_by_a_person(&place, ".env", "secret");
        assert_eq!(ended(&mut child).ending, ProcessEnding::Stopped);
        assert!(report(&place).contains("must be hidden"));
    }
}

#[test]
fn commands_beside_a_program_are_guarded_as_ever() {
    each_level(|place| {
        let mut child = place.shell("read -r word; echo x >.envrc; echo planted; read -r word");
        let command = Command {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "echo x >.mcp.json; echo done".into()],
            cwd: Cwd::Path(place.file("")),
            env: Vec::new(),
            stdin: None,
            streams: Streams::Together,
        };
        let run = || {
            let job = SandboxJob {
                command: &command,
                confinement: &place.confinement,
                bounds: &within(LONG),
                connected: Arc::new(drop),
                hear: None,
            };
            place.sandbox.as_ref().unwrap().run(&job, &CancelToken::new()).unwrap()
        };
        let finished = run();
        assert_eq!((crate::stdout(&finished), finished.violations.len()), ("done\n".to_owned(), 1));
        say(&mut child, "go");
        hear(&mut child, "planted\n");
        // Either check may find it first.
        let finished = run();
        let found = finished.violations.len() + usize::from(place.reports.try_recv().is_ok());
        assert_eq!(found, 2, "{:?}", finished.violations);
        assert!(!place.file(".envrc").exists() && !place.file(".mcp.json").exists());
        child.terminate().unwrap();
        assert_eq!(run().violations.len(), 1);
    });
}
