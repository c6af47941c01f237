//! Words, wrappers, places and reasons.

use agentry_kernel::limits::{
    SHELL_CASES_MAX, SHELL_CODE_DEPTH_MAX, SHELL_COMMAND_BYTES_MAX, SHELL_COMMANDS_MAX,
    SHELL_EXPANSIONS_MAX, SHELL_GROUPS_MAX, SHELL_PARENTHESES_DEPTH_MAX,
};
use agentry_kernel::shell::{Simple, Word, read};

fn programs(command: &str) -> Vec<String> {
    read(command).commands.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(command: &str, expected: &[&str]) {
    assert_eq!(programs(command), expected, "{command}");
}

#[test]
fn every_part_of_a_command_is_found() {
    check("ls; rm -rf x", &["ls", "rm -rf x"]);
    check("ls\nrm x", &["ls", "rm x"]);
    check("a | b && c || d & e", &["a", "b", "c", "d", "e"]);
    check("echo \"$(date)\" `pwd`", &["date", "pwd", "echo $(date) $(pwd)"]);
    check("(a; { b; })", &["a", "b"]);
    check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    check("while a; do b; done", &["a", "b"]);
    check("case $(a) in x) b;; y) c;; esac", &["a", "b", "c"]);
    check("echo ${x:-$(a)} $((1 + $(b)))", &["a", "b", "echo ${x:-$(a)} $((1 + $(b)))"]);
    check("x=$(a) y=(1 $(b)) c", &["a", "b", "c"]);
    check("[[ $(a) == b ]] && c", &["a", "c"]);
    check("cat <<EOF\n$(a)\nEOF", &["a", "cat"]);
    check("cat < <(a)", &["a", "cat"]);
    check("coproc a", &["a"]);
    check("((x = $(a)))", &["a"]);
    check("for ((i = $(a); i < 3; i++)); do b; done", &["a", "b"]);
}

#[test]
fn wrappers_come_off_and_are_named() {
    for (command, inner, wrappers) in [
        ("env -u A B=1 ls -l", "ls -l", &["env"][..]),
        ("sudo -u me -- ls", "ls", &["sudo"]),
        ("timeout -s KILL 5 nice -n 3 ls", "ls", &["timeout", "nice"]),
        ("sh -c 'ls a'", "ls a", &["sh -c"]),
        ("bash -lc \"bash -c 'ls b'\"", "ls b", &["bash -c", "bash -c"]),
        ("command builtin exec ls", "ls", &["command", "builtin", "exec"]),
        ("xargs -n1 -P 4 rm -f", "rm -f {}", &["xargs"]),
        ("xargs -I@ cp @ b", "cp @ b", &["xargs"]),
        ("busybox rm x", "rm x", &["busybox"]),
        ("eval ls a", "ls a", &["eval"]),
    ] {
        let facts = read(command);
        let [simple] = facts.commands.as_slice() else { panic!("{command}: {facts:?}") };
        assert_eq!(simple.to_string(), inner, "{command}");
        assert_eq!(simple.wrappers, wrappers, "{command}");
    }
}

#[test]
fn words_are_literal_only_when_no_shell_would_change_them() {
    let words = |command: &str| read(command).commands.last().expect("a command").words.clone();
    let literal = |text: &str| Word::Literal(text.to_owned());
    let dynamic = |text: &str| Word::Dynamic(text.to_owned());
    assert_eq!(
        words("a 'b c' \"d\"e f\\ g $'h\\ti'"),
        [literal("a"), literal("b c"), literal("de"), literal("f g"), literal("h\ti"),]
    );
    assert_eq!(
        words("a $x \"${y}z\" *.rs ~/b {1,2} b?c"),
        [
            literal("a"),
            dynamic("$x"),
            dynamic("${y}z"),
            dynamic("*.rs"),
            dynamic("~/b"),
            dynamic("{1,2}"),
            dynamic("b?c"),
        ]
    );
    assert_eq!(
        words("a '$x' '*' \"~\" '{1,2}' {} \\* \"\\$x\""),
        [
            literal("a"),
            literal("$x"),
            literal("*"),
            literal("~"),
            literal("{1,2}"),
            literal("{}"),
            literal("*"),
            literal("$x"),
        ]
    );
    assert_eq!(words("a 'b'$'\\x2f'\\\nc"), [literal("a"), literal("b/c")]);
}

#[test]
fn a_command_knows_its_place_in_bytes() {
    let text = "echo ä; rm -f x | sh -c 'ls'";
    let facts = read(text);
    let places: Vec<&str> = facts
        .commands
        .iter()
        .map(|simple| simple.place.map_or("", |(from, to)| &text[from..to]))
        .collect();
    assert_eq!(places, ["echo ä", "rm -f x", "sh -c 'ls'"]);
}

#[test]
fn redirections_are_read_and_written_files() {
    let facts = read("a < in > out 2>> log 2>&1 &> both");
    let texts =
        |words: &[Word]| words.iter().map(|word| word.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&facts.commands[0].reads), ["in"]);
    assert_eq!(texts(&facts.commands[0].writes), ["out", "log", "both"]);
}

#[test]
fn what_is_fed_to_a_command_is_known() {
    let facts = read("curl x | tee y | sh");
    assert_eq!(facts.commands[2].fed_by, [0, 1]);
}

#[test]
fn a_heredoc_is_data_for_cat_and_code_for_bash() {
    let body = "rm -rf build\n";
    check(&format!("cat <<EOF\n{body}EOF"), &["cat"]);
    check(&format!("bash <<EOF\n{body}EOF"), &["rm -rf build"]);
    check(&format!("bash <<'EOF'\n{body}EOF"), &["rm -rf build"]);
    assert!(read("bash <<EOF\n$X\nEOF").opaque.is_some());
}

#[test]
fn a_heredoc_that_nobody_expands_may_hold_any_text() {
    let body = "it's ((((((((((((((((((( ${a} `b` $(c)\n".repeat(200);
    for (command, expected) in [
        (format!("cat <<'EOF'\n{body}EOF"), &["cat"][..]),
        (format!("cat <<\"EOF\"\n{body}EOF\nls"), &["cat", "ls"]),
        (format!("cat <<-'E F'\n{body}\tE F\n"), &["cat"]),
        (format!("echo \"$(cat <<'EOF'\n{body}EOF\n)\""), &["cat", "echo"]),
        (format!("bash -c 'cat <<\"EOF\"\n{}EOF\n'", body.replace('\'', "")), &["cat"]),
    ] {
        let facts = read(&command);
        assert_eq!(facts.opaque, None, "{}", &command[..40]);
        let programs: Vec<_> = facts.commands.iter().filter_map(Simple::program).collect();
        assert_eq!(programs, expected, "{}", &command[..40]);
    }
}

#[test]
fn what_only_looks_like_a_heredoc_hides_nothing() {
    for command in [
        "# <<'EOF'\nrm -rf x\nEOF",
        "echo '<<\"EOF\"'\nrm -rf x\nEOF",
        "echo \"<<'EOF'\"\nrm -rf x\nEOF",
        "echo $((1<<'2'))\nrm -rf x\n2",
        "cat <<'A' # <<'B'\nx\nA\nrm -rf x\nB",
        "echo \\<<'EOF'\nx\nEOF\nrm -rf x",
    ] {
        let programs = programs(command);
        assert!(programs.iter().any(|one| one == "rm -rf x"), "{command}: {programs:?}");
    }
}

#[track_caller]
fn check_opaque(command: &str, why: &str) {
    let facts = read(command);
    assert_eq!(facts.opaque.as_deref(), Some(why), "{}", &command[..command.len().min(80)]);
}

#[test]
fn a_text_at_each_limit_is_read_and_one_beyond_it_is_opaque() {
    let long = |length: usize| format!("echo {}", "x".repeat(length - 5));
    let parentheses = |depth: usize| format!("{}ls{}", "( ".repeat(depth), ")".repeat(depth));
    let groups = |count: usize| "{ ls; };".repeat(count);
    let cases = |count: usize| "case x in x) ls;; esac;".repeat(count);
    let expansions = |count: usize| format!("echo {}", "${x}".repeat(count));
    let commands = |count: usize| "ls;".repeat(count);
    let nested = |depth: usize| "eval ".repeat(depth) + "ls";
    for (text, limit, why) in [
        (&long as &dyn Fn(usize) -> String, SHELL_COMMAND_BYTES_MAX, "longer than 65536 bytes"),
        (&parentheses, SHELL_PARENTHESES_DEPTH_MAX, "more than 10 parentheses deep"),
        (&groups, SHELL_GROUPS_MAX, "more than 60 groups or 6 cases"),
        (&cases, SHELL_CASES_MAX, "more than 60 groups or 6 cases"),
        (&expansions, SHELL_EXPANSIONS_MAX, "more than 80 substitutions"),
        (&commands, SHELL_COMMANDS_MAX, "more than 1000 commands"),
        (&nested, SHELL_CODE_DEPTH_MAX - 1, "code in code more than 8 deep"),
    ] {
        let at_limit = read(&text(limit));
        assert_eq!(at_limit.opaque, None, "{why}");
        check_opaque(&text(limit + 1), why);
    }
}

#[test]
fn characters_that_do_not_show_are_opaque() {
    check_opaque("ls \u{200b}", "a character that does not show: U+200B");
    check_opaque("ls\r\nrm x", "a character that does not show: U+000D");
    check_opaque("ls \u{a0}x", "a character that does not show: U+00A0");
    check_opaque("echo \u{202e}x", "a character that does not show: U+202E");
    check_opaque("echo \0", "a character that does not show: U+0000");
}

#[test]
fn reasons_are_given_for_what_is_not_understood() {
    check_opaque("cat <<\"\"", "a heredoc with a strange delimiter");
    check_opaque("cat <\\\n<''", "a heredoc with a strange delimiter");
    check_opaque("echo $(cat << ; x", "a heredoc with a strange delimiter");
    check_opaque("cat <<'EOF'x$(''", "a heredoc with a strange delimiter");
    check_opaque("$X a", "the name of a program is not known");
    check_opaque("f() { ls; }", "it defines a function");
    check_opaque("bash -c \"$X\"", "`bash -c` executes text that is not known");
    check_opaque("eval \"$X\"", "`eval` executes text that is not known");
    check_opaque("alias a=b", "it changes what names mean");
    check_opaque("echo x | sh", "a shell runs what it is fed");
    check_opaque("ls ${x@P}", "a variable that names or holds another expansion");
    check_opaque("[[ -v 'a[$(rm x)]' ]]", "a test on text that may be executed");
}

#[test]
fn nesting_that_is_never_closed_costs_little() {
    for open in [
        "$(",
        "${x:-",
        "$((",
        "\"$(",
        "( ",
        "{ ",
        "if ",
        "case x in a) ",
        "`",
        "${a[",
        "$(\"(",
        "@(",
        "[[ ( ",
    ] {
        for count in [7, 59, 240, 5_000] {
            let facts = read(&open.repeat(count));
            assert!(facts.opaque.is_some(), "{open} {count}: {facts:?}");
        }
    }
}
