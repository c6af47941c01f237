//! Which files a command executes, so that an approval can be bound to them.

use agentry_kernel::limits::EXECUTED_CANDIDATES_MAX;
use agentry_kernel::shell::{FileUse, executes};

/// The files that are executed for sure.
fn executed(command: &str) -> Vec<String> {
    let found = executes(command).into_iter().filter(|(_, uses)| *uses == FileUse::Executed);
    found.map(|(path, _)| path).collect()
}

#[test]
fn a_program_names_the_files_that_it_executes() {
    for (command, file) in [
        ("sh ./b.sh", "./b.sh"),
        ("bash -x b.sh", "b.sh"),
        (". ./env", "./env"),
        ("source env.sh", "env.sh"),
        ("./tool --flag", "./tool"),
        ("bin/tool", "bin/tool"),
        ("timeout 5 ./tool", "./tool"),
        ("env X=1 ./tool", "./tool"),
        ("sh -c './tool'", "./tool"),
        ("echo x | xargs ./tool", "./tool"),
        ("find . -exec ./tool {} \\;", "./tool"),
        ("cd sub && ./tool", "sub/./tool"),
        ("python3 -W ignore a.py", "a.py"),
        ("python3 -m pkg.tool", "pkg/tool.py"),
        ("node a.js", "a.js"),
        ("sh < b.sh", "b.sh"),
        ("make", "Makefile"),
        ("make -f other.mk", "other.mk"),
        ("make -fother.mk", "other.mk"),
        ("make -C sub", "sub/Makefile"),
        ("npm run build", "package.json"),
        ("npm --prefix web run build", "web/package.json"),
        ("cargo test", "Cargo.toml"),
        ("cargo test", "build.rs"),
        ("pytest", "conftest.py"),
        ("ls && make", "Makefile"),
        ("$(cat x) b.sh", "b.sh"),
        ("bash a-", "a-"),
        ("make x-", "x-/Makefile"),
        ("python3 < in.py", "in.py"),
    ] {
        let found = executed(command);
        assert!(found.iter().any(|one| one == file), "{command}: {found:?}");
    }
}

#[test]
fn what_is_only_named_is_left_for_who_can_look_at_it() {
    assert_eq!(executed("cat notes.md"), [""; 0]);
    assert_eq!(executes("cat notes.md").get("notes.md"), Some(&FileUse::Named));
    assert_eq!(executes("git add 'src/a.rs'").get("src/a.rs"), Some(&FileUse::Named));
    assert_eq!(executes("echo 'a;./b'").get("./b"), Some(&FileUse::Named));
    assert_eq!(executes("cat < in").get("in"), Some(&FileUse::Named));
}

#[test]
fn what_is_no_file_is_not_named() {
    for (command, file) in [
        ("cd d && sh /b", "d//b"),
        ("make -k", "-k/Makefile"),
        ("tool --bar", "bar"),
        ("sh ''", ""),
    ] {
        assert_eq!(executes(command).get(file), None, "{command}");
    }
}

#[test]
fn a_text_names_no_more_files_than_the_limit() {
    let words: Vec<String> = (0..=EXECUTED_CANDIDATES_MAX).map(|one| format!("f{one}")).collect();
    assert_eq!(executes(&words.join(" ")).len(), EXECUTED_CANDIDATES_MAX);
}
