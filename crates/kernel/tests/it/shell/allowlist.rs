//! The allowlist: every command must begin with an allowed prefix.

use agentry_kernel::shell::{AllowlistMatch, check_allowlist, read};

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
    assert_eq!(check_allowlist(&read(command), &ALLOWED), AllowlistMatch::Inside, "{command}");
}

#[track_caller]
fn outside(command: &str, why: &str) {
    let AllowlistMatch::Outside { why: told, .. } = check_allowlist(&read(command), &ALLOWED)
    else {
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
        "sed -n --posix -- p a",
        "sed -n --expression p a",
        "sed -n '/x/Ip' a",
        "sed -n 'p;d' a",
        "sed -n 's/a\\/b/c/' a",
        "awk -vx=1 '{print}' a",
        "awk '{print $1}' a",
        "ls > /dev/null 2>&1",
        "LANG=C sort a",
        "LC_ALL=C sort a",
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
    outside("sed -n --in-place p a", "`--in-place`: it changes files");
    outside("sed -n - a", "`-`: a script that may write or execute");
    outside("sed -n --expression 'w x' a", "`w x`: a script that may write or execute");
    outside("sed -n /$X/p a", "`/$X/p`: a script that may write or execute");
    outside("sed -n p *", "`*`: a word that may turn out to be an option");
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

const RUNS: &str = "it runs a program";
const WRITES: &str = "it writes a file";
const PAGES: &str = "it runs or writes something";
const GIT: &str = "an option by which git runs or writes something";

/// Commands with a word that an allowlist with the name of the program refuses, and why.
const REFUSED: &[(&str, &str, &str)] = &[
    ("find . -fls F", "-fls", "it writes what it finds"),
    ("find . -fprintf F x", "-fprintf", "it writes what it finds"),
    ("fd -Hx rm", "-Hx", RUNS),
    ("fd --exec=rm", "--exec=rm", RUNS),
    ("fdfind --exec-batch=rm", "--exec-batch=rm", RUNS),
    ("shuf -o F a", "-o", WRITES),
    ("base64 --output=F a", "--output=F", WRITES),
    ("rg --pre x a", "--pre", RUNS),
    ("tree -o F", "-o", WRITES),
    ("tree -R", "-R", WRITES),
    ("date -s x", "-s", "it sets the clock"),
    ("date --set=x", "--set=x", "it sets the clock"),
    ("file -C a", "-C", WRITES),
    ("file --compile a", "--compile", WRITES),
    ("yq -i x a", "-i", "it changes a file"),
    ("yq --inplace x a", "--inplace", "it changes a file"),
    ("tar --to-command=x -xf a", "--to-command=x", RUNS),
    ("tar -xFf x a", "-xFf", RUNS),
    ("man -P x a", "-P", PAGES),
    ("man --html=x a", "--html=x", PAGES),
    ("bat --pager=x a", "--pager=x", PAGES),
    ("less +x a", "+x", PAGES),
    ("less -o F a", "-o", PAGES),
    ("less --log-file=F a", "--log-file=F", PAGES),
    ("printf -v x y", "-v", "it sets a variable"),
    ("printf -vx y", "-vx", "it sets a variable"),
    ("hash -p x y", "-p", "it changes what names mean"),
    ("test -v x", "-v", "a test that may execute text"),
    ("test 'a[$x]' -eq 1", "a[$x]", "a test that may execute text"),
    ("[ 'a[`x`]' -eq 1 ]", "a[`x`]", "a test that may execute text"),
    ("uniq a b", "b", "a file it writes"),
    ("xxd -r a b", "b", "a file it writes"),
    ("hostname -b x", "x", "a new name for the machine"),
    ("/bin/hostname x", "x", "a new name for the machine"),
    ("curl -K x https://x", "-K", "options that are not seen"),
    ("curl -X POST https://x", "-X", "a request that changes something"),
    ("curl -d x https://x", "-d", "it sends something"),
    ("curl --output F https://x", "--output", WRITES),
    ("curl -sO https://x", "-sO", WRITES),
    ("curl --remote-name https://x", "--remote-name", WRITES),
    ("git grep -nOx a", "-nOx", GIT),
    ("git clone ext::x", "ext::x", GIT),
    ("git -C x grep --frob-O a", "-C", "an option that changes what git runs or where"),
    ("env -u *", "*", "a word that may turn out to be an option"),
    ("set *", "*", "a word that may turn out to be an option"),
    ("shopt *", "*", "a word that may turn out to be an option"),
    ("sort a *", "*", "a word that may turn out to be an option"),
    ("awk /$X/ a", "/$X/", "a program that is not known"),
    ("awk *", "*", "a word that may turn out to be an option"),
];

/// Commands with a word that such an allowlist asks about.
const ASKED: &[&str] = &[
    "find . -frob",
    "find . -frob-fprint",
    "fd -x fd",
    "fd --frob-exec=",
    "fd -H --frob",
    "sort --o F",
    "tree --frob",
    "date -Iseconds --frob",
    "rg --frob a",
    "file --frob a",
    "yq --frob x",
    "tar xf a --frob INSTALLS",
    "tar xf a --Frob",
    "man --frob a",
    "man --frobPH- a",
    "bat --frob a",
    "less --frob a+",
    "less --frobo a",
    "less a-o -\u{e4}",
    "printf --frob-v x",
    "hash --frop x",
    "test a -frob b",
    "uniq --frob a",
    "uniq a --frob",
    "hostname --frob",
    "curl -X GET --frob https://x",
    "curl -X head --frob https://x",
    "curl --frob --location https://x/O",
    "curl --frobO https://x",
    "curl https://x/O- --frob",
    "git log -Ox",
    "git --no-pager log --frob",
    "git log --o=F",
    "cp a '~b'",
    "git grep --frob-O a",
    "git grep aO- --frob",
    "git grep --frob a",
];

#[test]
fn an_option_that_is_known_to_act_is_refused() {
    for (command, word, why) in REFUSED {
        let program = command.split(' ').next().expect("a program").trim_start_matches("/bin/");
        let AllowlistMatch::Outside { why: told, .. } = check_allowlist(&read(command), &[program])
        else {
            panic!("not refused: {command}");
        };
        assert_eq!(told, format!("`{word}`: {why}"), "{command}");
    }
}

#[test]
fn an_option_that_is_not_known_is_asked_about() {
    for command in ASKED {
        let program = command.split(' ').next().expect("a program");
        let told = check_allowlist(&read(command), &[program]);
        assert!(matches!(told, AllowlistMatch::Beyond { .. }), "{command}: {told:?}");
    }
    let told = check_allowlist(&read("find . -exec echo -delete \\; -frob"), &["find", "echo"]);
    assert!(matches!(told, AllowlistMatch::Beyond { .. }), "{told:?}");
}

#[test]
fn a_wide_prefix_does_not_cover_options_that_steer_git() {
    let told = |command: &str| check_allowlist(&read(command), &["git"]);
    assert_eq!(told("git push"), AllowlistMatch::Inside);
    for command in [
        "git -c core.pager=x log",
        "git --exec-path=x status",
        "git -C .. status",
        "git --git-dir=x log",
        "git -ccore.pager=x log",
        "git --config-env=a=b log",
        "git --work-tree=/ clean -fd",
    ] {
        assert!(matches!(told(command), AllowlistMatch::Outside { .. }), "{command}");
    }
}

#[test]
fn a_prefix_that_names_the_option_covers_it() {
    assert_eq!(check_allowlist(&read("sed -i s/a/b/ f"), &["sed -i"]), AllowlistMatch::Inside);
    assert_eq!(
        check_allowlist(&read("sed -i s/a/b/ f"), &["sed -i", "sed"]),
        AllowlistMatch::Inside
    );
    assert_eq!(check_allowlist(&read("sort -o a b"), &["sort", "sort -o"]), AllowlistMatch::Inside);
    assert_eq!(check_allowlist(&read("sudo ls"), &["sudo", "ls"]), AllowlistMatch::Inside);
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
        assert!(matches!(check_allowlist(&read("ls"), prefixes), AllowlistMatch::Outside { .. }));
    }
}
