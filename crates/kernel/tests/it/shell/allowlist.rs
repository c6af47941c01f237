//! The allowlist: every command must begin with an allowed prefix.

use agentry_kernel::shell::{Allowlist, read, within};

const ALLOWED: [&str; 14] = [
    "ls",
    "cat",
    "echo",
    "git status",
    "git log",
    "git diff",
    "find",
    "grep",
    "sed -n",
    "awk",
    "sort",
    "wc",
    "cargo test",
    "tar",
];

#[track_caller]
fn inside(command: &str) {
    assert_eq!(within(&read(command), &ALLOWED), Allowlist::Inside, "{command}");
}

#[track_caller]
fn outside(command: &str, why: &str) {
    let Allowlist::Outside { why: told, .. } = within(&read(command), &ALLOWED) else {
        panic!("allowed: {command}");
    };
    assert_eq!(told, why, "{command}");
}

const UNLISTED: &str = "it is not in the list of allowed commands";

#[test]
fn commands_that_begin_with_a_prefix_are_inside() {
    for command in [
        "ls",
        "ls -la *.rs",
        "ls $DIR",
        "/bin/ls",
        "/usr/bin/ls",
        "'ls' \"a b\"",
        "git status -s",
        "git log --oneline -3 | cat",
        "ls && cat a || echo b",
        "ls; cat a",
        "ls\ncat a",
        "echo $(ls)",
        "find . -name '*.rs'",
        "sed -n 5p a",
        "awk '{print $1}' a",
        "ls > /dev/null 2>&1",
        "LANG=C sort a",
        "x=1; echo $x",
        "timeout 5 ls",
        "env ls",
        "xargs cat",
        "bash -c 'ls | wc -l'",
        "find . -exec cat {} +",
        "cat <<EOF\nrm -rf /\nEOF",
        "for f in a b; do cat $f; done",
        "(ls)",
        "{ ls; }",
        "! ls",
        "time ls",
        "cargo test -p x",
        "bash -euo pipefail -c 'ls'",
        "timeout -k 3 5 ls",
        "nice -n5 ls",
        "xargs -0 -n1 cat",
        "ls # rm",
        "cat <(ls)",
        "sort < in",
        "",
    ] {
        inside(command);
    }
}

#[test]
fn every_simple_command_must_be_allowed() {
    for command in [
        "rm x",
        "ls; rm -rf x",
        "ls && rm x",
        "ls || rm x",
        "ls & rm x",
        "ls | rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "echo `rm x`",
        "echo \"$(rm x)\"",
        "cat <(rm x)",
        "cat <<EOF\n$(rm x)\nEOF",
        "echo ${x:-$(rm x)}",
        "(rm x)",
        "{ rm x; }",
        "xargs rm",
        "find . -exec rm {} \\;",
        "find . -name x -execdir rm {} +",
        "env rm x",
        "timeout 5 rm x",
        "command rm x",
        "exec rm x",
        "bash -c 'ls; rm x'",
        "eval 'rm x'",
        "if ls; then rm x; fi",
        "while ls; do rm x; done",
        "\"rm\" x",
        "r''m x",
        "\\rm x",
        "$'rm' x",
        "git push",
        "git",
        "./ls",
        "/tmp/ls",
        "cargo build",
        "x=$(rm x)",
        "nohup rm x",
        "awk '{print}' a; rm x",
        "ls <<< $(rm x)",
        "sh script",
        "python -c 1",
        ". ./ls",
        "source ls",
        "git\tpush",
    ] {
        outside(command, UNLISTED);
    }
}

#[test]
fn options_that_act_are_not_covered_by_the_name() {
    outside("find . -delete", "`-delete`: it deletes what it finds");
    outside("find . -fprint out", "`-fprint`: it writes what it finds");
    outside("find $X -name a", "`$X`: a word that may turn out to be an option");
    outside("xargs find", "`{}`: a word that may turn out to be an option");
    outside("sort -o a b", "`-o`: it writes a file");
    outside("sort --compress-program=x a", "`--compress-program=x`: it runs a program");
    outside("sed -n '1e rm x' a", "`1e rm x`: a script that may write or execute");
    outside("sed -n 's/a/b/w out' a", "`s/a/b/w out`: a script that may write or execute");
    outside("sed -n -i p a", "`-i`: it changes files");
    outside("awk 'BEGIN{system(\"rm x\")}'", UNLISTED);
    outside(
        "awk 'BEGIN{system($1)}'",
        "`BEGIN{system($1)}`: a program that may run or write something",
    );
    outside(
        "awk '{print > \"f\"}' a",
        "`{print > \"f\"}`: a program that may run or write something",
    );
    outside("awk -f x a", "`-f`: a program that is not seen");
    outside(
        "tar xf a --checkpoint-action=exec=sh",
        "`--checkpoint-action=exec=sh`: it runs a program",
    );
    outside("git log --output=x", "`--output=x`: an option by which git runs or writes something");
    outside("git diff --ext-diff", "`--ext-diff`: an option by which git runs or writes something");
    outside("sort -uo a b", "`-uo`: it writes a file");
    outside("sort --outp=a b", "`--outp=a`: it writes a file");
    outside(
        "sed -n p a --expression='1e rm x'",
        "`--expression=1e rm x`: an option that is not known",
    );
    outside("sed -n -e p -e 'w x'", "`w x`: a script that may write or execute");
    outside("sed -n -nf x a", "`-nf`: a script that is not seen");
    outside("sed -n -ni p a", "`-ni`: it changes files");
    outside("awk -ox 1 a", "`-ox`: a program that is not seen");
    outside("git log --outp=x", "`--outp=x`: an option by which git runs or writes something");
    outside("tar xIf prog a", "`xIf`: it runs a program");
    outside("git -c core.pager=x log", UNLISTED);
    outside("git -C .. status", UNLISTED);
}

#[test]
fn a_wide_prefix_does_not_cover_options_that_steer_git() {
    let told = |command: &str| within(&read(command), &["git"]);
    assert_eq!(told("git push"), Allowlist::Inside);
    for command in [
        "git -c core.pager=x log",
        "git --exec-path=x status",
        "git -C .. status",
        "git --git-dir=x log",
        "git -ccore.pager=x log",
        "git --config-env=a=b log",
        "git --work-tree=/ clean -fd",
    ] {
        assert!(matches!(told(command), Allowlist::Outside { .. }), "{command}");
    }
}

#[test]
fn a_prefix_that_names_the_option_covers_it() {
    assert_eq!(within(&read("sed -i s/a/b/ f"), &["sed -i"]), Allowlist::Inside);
    assert_eq!(within(&read("sudo ls"), &["sudo", "ls"]), Allowlist::Inside);
}

#[test]
fn files_variables_and_rights_are_not_covered() {
    outside("ls > out", "it writes the file `out`");
    outside("ls >> out", "it writes the file `out`");
    outside("ls &> out", "it writes the file `out`");
    outside("> out", "it writes the file `out`");
    outside("{ ls; } > out", "it writes the file `out`");
    outside("bash -c 'ls' > out", "it writes the file `out`");
    outside("ls > $X", "it writes the file `$X`");
    outside("PATH=. ls", "it sets the variable `PATH`");
    outside("env PATH=. ls", "it sets the variable `PATH`");
    outside("env X=1 ls", "it sets the variable `X`");
    outside("X=1 bash -c 'ls'", "it sets the variable `X`");
    outside("LD_PRELOAD=x; ls", "it sets the variable `LD_PRELOAD`");
    outside("IFS=x", "it sets the variable `IFS`");
    outside("for PATH in a; do ls; done", "it sets the variable `PATH`");
    outside("GIT_PAGER=x git log", "it sets the variable `GIT_PAGER`");
    outside("sudo ls", "it runs under `sudo`");
    outside("ssh host ls", "it runs under `ssh`");
}

#[test]
fn what_is_not_understood_is_outside() {
    outside("ls() { cat a; }", "it is not in the list of allowed commands");
    outside("echo 'ls", "not a shell command: unterminated single quote at 1,6");
    outside("echo ls | bash -s", "it is not in the list of allowed commands");
    outside("cat ${!x}", "a variable that names or holds another expansion");
    outside("ls \u{200b}", "a character that does not show: U+200B");
    outside(
        "xargs --process-slot-var ls rm x",
        "an option of `xargs` that is not known: `--process-slot-var`",
    );
    outside("env --frob ls rm x", "an option of `env` that is not known: `--frob`");
    outside("x='a[$(rm x)]'; echo $((x))", "a variable holds text that may be executed");
    outside("$X", "it is not in the list of allowed commands");
}

#[test]
fn an_empty_list_or_prefix_allows_nothing() {
    for prefixes in [&[][..], &[""], &["  "]] {
        assert!(matches!(within(&read("ls"), prefixes), Allowlist::Outside { .. }));
    }
}
