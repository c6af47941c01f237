//! Words, wrappers, places and reasons.

use agentry_kernel::limits::{
    SHELL_CASES_MAX, SHELL_CODE_DEPTH_MAX, SHELL_COMMAND_BYTES_MAX, SHELL_COMMANDS_MAX,
    SHELL_EXPANSIONS_MAX, SHELL_GROUPS_MAX, SHELL_PARENTHESES_DEPTH_MAX,
};
use agentry_kernel::shell::{ShellCommand, ShellWord, read};

fn programs(command: &str) -> Vec<String> {
    read(command).commands.iter().map(ToString::to_string).collect()
}

#[track_caller]
pub(super) fn check(command: &str, expected: &[&str]) {
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
fn assignments_are_no_commands() {
    for command in ["x=$(a)", "x+=$(a)"] {
        check_whole(command, &["a", ""]);
        assert_eq!(read(command).commands[1].assigns[0].0, "x", "{command}");
    }
}

#[test]
fn groups_beside_each_other_are_not_deep() {
    let count = SHELL_PARENTHESES_DEPTH_MAX + 1;
    check_whole(&"(ls); ".repeat(count), &vec!["ls"; count]);
}

#[test]
fn a_command_runs_where_the_last_cd_went() {
    let dir = |command: &str| read(command).commands.last().expect("a command").dir.clone();
    let literal = |text: &str| Some(ShellWord::Literal(text.to_owned()));
    let dynamic = |text: &str| Some(ShellWord::Dynamic(text.to_owned()));
    assert_eq!(dir("ls"), None);
    assert_eq!(dir("cd -P a && ls"), literal("a"));
    assert_eq!(dir("cd && ls"), dynamic("~"));
    assert_eq!(dir("cd a && cd b/ && ls"), literal("a/b/"));
    assert_eq!(dir("cd a && cd /b && ls"), literal("/b"));
    assert_eq!(dir("cd $A && cd b && ls"), dynamic("$A/b"));
    assert_eq!(dir("cd a && cd $B && ls"), dynamic("$B"));
    assert_eq!(dir("(cd a) && ls"), None);
    assert_eq!(dir("env -C a ls"), literal("a"));
    assert_eq!(dir("env -i --chdir a ls"), literal("a"));
    assert_eq!(dir("env -u A ls"), None);
    assert_eq!(dir("sudo -C 3 ls"), None);
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
    // What is put aside of a short body takes no more room than the body.
    let text = "cat <<'E'\nx\nE\nls";
    let place = read(text).commands[1].place.expect("it stands in the text");
    assert_eq!(&text[place.0..place.1], "ls");
}

#[test]
fn redirections_are_read_and_written_files() {
    let facts = read("a < in > out 2>> log 2>&1 &> both");
    let texts =
        |words: &[ShellWord]| words.iter().map(|word| word.text().to_owned()).collect::<Vec<_>>();
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
    check_opaque("bash <<EOF\n$X\nEOF", "`bash` executes text that is not known");
    check_whole("bash <<< 'rm x'", &["rm x"]);
    check_opaque("bash <<< \"rm $X\"", "`bash` executes text that is not known");
    check_whole("cat <<\\EOF\n$(rm x)\nEOF", &["cat"]);
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
        (format!("echo \"$(cat <<'A'\n{body}A\ncat <<'B'\n{body}B\n)\""), &["cat", "cat", "echo"]),
    ] {
        let facts = read(&command);
        assert_eq!(facts.opaque, None, "{}", &command[..40]);
        let programs: Vec<_> = facts.commands.iter().filter_map(ShellCommand::program).collect();
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

/// Checks that a text is understood, and the commands in it.
#[track_caller]
pub(super) fn check_whole(command: &str, expected: &[&str]) {
    assert_eq!(read(command).opaque, None, "{command}");
    check(command, expected);
}

#[track_caller]
pub(super) fn check_opaque(command: &str, why: &str) {
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
    check_opaque("cat <<'E$'\nx\nE$", "a heredoc with a strange delimiter");
    let unterminated = "unterminated here document sequence; tag(s) [] found at: []";
    check_opaque("cat <<EOF", &format!("not a shell command: {unterminated}"));
    for open in ["${x", "$(x", "`x", "$[x"] {
        let command = format!("cat <<EOF\n{open}\nEOF");
        check_opaque(&command, "a quote or substitution is not closed");
    }
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
fn a_sum_over_what_a_program_gives_is_opaque() {
    let printed = "a sum over what a command prints";
    check_opaque("echo $((1 + $(a)))", printed);
    check_opaque("echo $[1 + $(a)]", printed);
    check_opaque("((x = $(a)))", printed);
    check_opaque("[[ $(a) -eq 1 ]]", printed);
    let read_before = "a sum or test over what was read";
    check_opaque("read x; echo $((x))", read_before);
    check_opaque("read x; echo ${y:x}", read_before);
    check_opaque("printf -v x y; echo $((x))", read_before);
    check_opaque("printf -vx y; echo $((x))", read_before);
    check_opaque("x=$(a); echo $((x))", read_before);
    check_opaque("x='$(a)'", "a variable holds text that may be executed");
    for command in [
        "read x; echo ${x}",
        "read x; echo ${x:-y}",
        "printf x; echo $((1))",
        "x=1; echo $((x))",
        "x=$y; echo $((x))",
        "[[ $(a) == b ]] && c",
        "[[ 1 -eq 2 ]]",
        "[[ -f $x ]]",
        "echo ${x:-$(a)}",
        "echo $((1 + 2)) $[1]",
    ] {
        assert_eq!(read(command).opaque, None, "{command}");
    }
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
