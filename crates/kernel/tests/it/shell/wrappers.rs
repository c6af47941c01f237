//! Programs that run other programs: what they run, and what of it is not known.

use agentry_kernel::shell::read;

use super::facts::{check, check_opaque, check_whole};

#[test]
fn wrappers_come_off_and_are_named() {
    for (command, inner, wrappers) in [
        ("env -u A B=1 ls -l", "ls -l", &["env"][..]),
        ("env - ls", "ls", &["env"]),
        ("/usr/bin/env ls", "ls", &["env"]),
        ("env -iv ls", "ls", &["env"]),
        ("env --null ls", "ls", &["env"]),
        ("sudo -u me -- ls", "ls", &["sudo"]),
        ("doas -u me ls", "ls", &["doas"]),
        ("pkexec --user me ls", "ls", &["pkexec"]),
        ("run0 --user me ls", "ls", &["run0"]),
        ("timeout -s KILL 5 nice -n 3 ls", "ls", &["timeout", "nice"]),
        ("timeout --signal=KILL 5 ls", "ls", &["timeout"]),
        ("stdbuf -oL ls", "ls", &["stdbuf"]),
        ("chrt -b 0 ls", "ls", &["chrt"]),
        ("taskset -c 1 ls", "ls", &["taskset"]),
        ("strace -f -e open ls", "ls", &["strace"]),
        ("chroot --userspec me /a ls", "ls", &["chroot"]),
        ("flock -n -w 3 lock ls", "ls", &["flock"]),
        ("sh -c 'ls a'", "ls a", &["sh -c"]),
        ("bash -c -- 'ls a'", "ls a", &["bash -c"]),
        ("zsh -o no_match -c ls", "ls", &["zsh -c"]),
        ("bash -lc \"bash -c 'ls b'\"", "ls b", &["bash -c", "bash -c"]),
        ("bash -s a <<< 'ls b'", "ls b", &["bash"]),
        ("command builtin exec ls", "ls", &["command", "builtin", "exec"]),
        ("xargs -n1 -P 4 rm -f", "rm -f {}", &["xargs"]),
        ("xargs -I@ cp @ b", "cp @ b", &["xargs"]),
        ("xargs -I @ cp @ b", "cp @ b", &["xargs"]),
        ("xargs", "echo {}", &["xargs"]),
        ("busybox rm x", "rm x", &["busybox"]),
        ("eval ls a", "ls a", &["eval"]),
        ("nice -- -x a", "-x a", &["nice"]),
        ("env a-b=1 ls", "a-b=1 ls", &["env"]),
        ("env =x ls", "=x ls", &["env"]),
    ] {
        let facts = read(command);
        let [simple] = facts.commands.as_slice() else { panic!("{command}: {facts:?}") };
        assert_eq!(simple.to_string(), inner, "{command}");
        assert_eq!(simple.wrappers, wrappers, "{command}");
        assert_eq!(facts.opaque, None, "{command}");
        assert!(simple.writes.is_empty(), "{command}");
    }
}

#[test]
fn a_command_without_another_stays() {
    for command in
        ["command -v ls", "command -V ls", "command", "nice -n", "bash -o", "bash", "env -u"]
    {
        check_whole(command, &[command]);
    }
    check_whole("bash -c", &[]);
}

#[test]
fn code_that_a_program_is_given_is_followed_beside_it() {
    check_whole("trap 'rm x' EXIT", &["rm x", "trap rm x EXIT"]);
    check_whole("trap -- 'rm x' EXIT", &["rm x", "trap -- rm x EXIT"]);
    for command in ["trap", "trap -", "trap -l", "trap -p", "alias", "source ./x", "source"] {
        check_whole(command, &[command]);
    }
    check_whole("watch -n 1 'ls a'", &["ls a", "watch -n 1 ls a"]);
    check_whole("ssh -p 22 host ls a", &["ls a", "ssh -p 22 host ls a"]);
    check_whole("su me -c 'ls a'", &["ls a", "su me -c ls a"]);
    check_whole("script --command 'ls a' F", &["ls a", "script --command ls a F"]);
    check_whole("git bisect run rm x", &["rm x", "git bisect run rm x"]);
    check_whole("git submodule foreach rm x", &["rm x", "git submodule foreach rm x"]);
    check_whole(
        "git submodule foreach --recursive rm x",
        &["rm x", "git submodule foreach --recursive rm x"],
    );
    check_whole("git rebase -x 'rm x' a", &["rm x", "git rebase -x rm x a"]);
    check_whole("git rebase --exec 'rm x' a", &["rm x", "git rebase --exec rm x a"]);
    check_whole(
        "git filter-branch --tree-filter 'rm x' a",
        &["rm x", "git filter-branch --tree-filter rm x a"],
    );
    check_whole("git rebase a b", &["git rebase a b"]);
}

#[test]
fn a_list_of_words_in_code_is_a_command() {
    let code = |list: &str| format!("python3 -c 'subprocess.run([{list}])'");
    let last = |list: &str| format!("python3 -c subprocess.run([{list}])");
    let list = "\"a\", \"b c\"";
    check_whole(&code(list), &["a", "b c", "a b c", &last(list)]);
    check_whole(&code("\"a\""), &["a", &last("\"a\"")]);
}

#[test]
fn a_search_runs_what_its_own_options_name() {
    check_whole(
        "find . -exec rm {} \\; -ok ls \\;",
        &["rm {}", "ls", "find . -exec rm {} ; -ok ls ;"],
    );
    check_whole("find . -exec rm {} + -name a", &["rm {}", "find . -exec rm {} + -name a"]);
    check_whole("find . -exec echo + a \\;", &["echo + a", "find . -exec echo + a ;"]);
    check_whole("find . -exec + a \\;", &["+ a", "find . -exec + a ;"]);
    check_whole("find . -x rm", &["find . -x rm"]);
    check_whole("fd a -x rm", &["rm", "fd a -x rm"]);
    check_whole("fd a --exec-batch rm", &["rm", "fd a --exec-batch rm"]);
    check_whole("fd -exec rm", &["fd -exec rm"]);
}

#[test]
fn an_option_that_is_not_known_makes_a_wrapper_opaque() {
    for (command, option) in [
        ("timeout --signalx 5 ls", "--signalx"),
        ("nice - ls", "-"),
        ("nice -n 3 + ls", "+"),
        ("env -vx ls", "-vx"),
        ("env --frob ls", "--frob"),
        ("xargs -Zn 1 ls", "-Zn"),
    ] {
        let name = command.split(' ').next().expect("a program");
        check_opaque(command, &format!("an option of `{name}` that is not known: `{option}`"));
    }
    for (command, option) in [
        ("bash -o Pipefail -c ls", "Pipefail"),
        ("bash -xZ -c ls", "-xZ"),
        ("bash --frobo x -c ls", "--frobo"),
    ] {
        check_opaque(command, &format!("an option of a shell that is not known: `{option}`"));
    }
    check("bash --frobo x -c ls", &["bash --frobo x -c ls"]);
    // The text as code, and as the name of a program.
    check("env -S 'ls a' b", &["ls a b", "ls a b"]);
}

#[test]
fn a_shell_runs_its_script_and_no_word_after_it() {
    for command in ["bash --norc x.sh", "bash -o noclobber x.sh", "bash x.sh -c ls"] {
        check_whole(command, &[command]);
    }
    check_whole("bash x.sh <<< 'rm x'", &["bash x.sh"]);
}

#[test]
fn code_that_is_not_known_is_opaque() {
    for (command, why) in [
        ("source $X", "it runs text that is not known"),
        ("bash $X", "a shell runs text that is not known"),
        ("bash - x", "a shell runs text that is not known"),
        ("eval ls $X", "`eval` executes text that is not known"),
        ("git bisect run ls $X", "`git` executes text that is not known"),
        ("watch ls $X", "`watch` executes text that is not known"),
        ("parallel", "`parallel` executes its input"),
        ("parallel ls", "`parallel` executes text made of its input"),
        ("./env ls", "a program in a folder of its own runs another"),
        ("env -S 'ls a'", "an option of `env` that is not known: `-S`"),
    ] {
        check_opaque(command, why);
    }
}

#[test]
fn what_a_wrapper_writes_is_written() {
    for command in ["/usr/bin/time -o x ls", "/usr/bin/time --output=x ls", "strace -ox ls"] {
        let facts = read(command);
        assert_eq!(facts.commands[0].writes.len(), 1, "{command}");
    }
}
