//! Words as the shell would make them, and the code in them.

use agentry_kernel::shell::{ShellWord, read};

use super::facts::check_whole;

fn words(command: &str) -> Vec<ShellWord> {
    read(command).commands.last().expect("a command").words.clone()
}

/// Checks the arguments of a command: exact texts as they are, others with a `~` before them.
#[track_caller]
fn check(command: &str, expected: &[&str]) {
    let shown = |word: &ShellWord| match word {
        ShellWord::Literal(text) => text.clone(),
        ShellWord::Dynamic(text) => format!("~{text}"),
    };
    let shown: Vec<String> = words(command)[1..].iter().map(shown).collect();
    assert_eq!(shown, expected, "{command}");
}

#[test]
fn words_are_literal_only_when_no_shell_would_change_them() {
    let literal = |text: &str| ShellWord::Literal(text.to_owned());
    let dynamic = |text: &str| ShellWord::Dynamic(text.to_owned());
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
fn a_home_directory_is_one_also_in_an_assignment() {
    check("a b=~/c b:~/c b~c", &["~b=~/c", "~b:~/c", "b~c"]);
}

#[test]
fn quotes_keep_what_they_hold() {
    check(r#"a "b\"c" "b\$c" "b\c" $"b c" '"' "'""#, &["b\"c", "b$c", "b\\c", "b c", "\"", "'"]);
    check("a \"b\\\nc\" b\\\nc", &["bc", "bc"]);
    check_whole("bash <<EOF\necho \\\"a\\\" \\$b\nEOF", &["echo \"a\" $b"]);
    check_whole("bash <<EOF\necho 'a\\\nb'\nEOF", &["echo ab"]);
}

#[test]
fn variables_are_known_by_their_first_character() {
    check(
        "a $_b $b $1b $@ $* $# $? $- $$ $!",
        &["~$_b", "~$b", "~$1b", "~$@", "~$*", "~$#", "~$?", "~$-", "~$$", "~$!"],
    );
    check("a $ $% $. $ä", &["$", "$%", "$.", "$ä"]);
    check_whole("a \"$$(b)\"", &["a $$(b)"]);
    check_whole("a $b'$(c)'", &["a $b$(c)"]);
}

#[test]
fn escapes_are_those_of_c() {
    check(
        r#"a $'\n\t\r' $'\a\b\e\E\f\v' $'\\\'\"\?' $'\x41\x5a' $'\u0041' $'\U00000041' $'\101b' $'b\"c'"#,
        &["\n\t\r", "\u{7}\u{8}\u{1b}\u{1b}\u{c}\u{b}", "\\'\"?", "AZ", "A", "A", "Ab", "b\"c"],
    );
    // Shells disagree about these.
    check(r"a $'\0' $'\xe4' $'\u00e4' $'\cb' $'\x'", &["~", "~", "~", "~cb", "~"]);
}

#[test]
fn a_list_in_braces_is_expanded_and_other_braces_are_not() {
    check("a {b,c} {1..3} b{c}d {} 'b'{c,d}", &["~{b,c}", "~{1..3}", "b{c}d", "{}", "~b{c,d}"]);
    check("a {b c}", &["{b", "c}"]);
}

#[test]
fn the_end_of_a_substitution_is_found() {
    for (inside, expected) in [
        ("b \")\"; c", &["b )", "c"][..]),
        ("b ')'; c", &["b )", "c"]),
        ("b \\); c", &["b )", "c"]),
        ("b '\"'; c", &["b \"", "c"]),
        ("b \"'\"; c", &["b '", "c"]),
        ("b \\\"; c", &["b \"", "c"]),
        ("b \\'; c", &["b '", "c"]),
        ("b \"(\"; c", &["b (", "c"]),
        ("b '('; c", &["b (", "c"]),
        ("b \\ä; c", &["b ä", "c"]),
        ("b ${x:-)}; c", &["b ${x:-)}", "c"]),
        ("b \"$(d \")\")\"; c", &["d )", "b $(d \")\")", "c"]),
        ("b \\(; c", &["b (", "c"]),
        ("b {; c", &["b {", "c"]),
        ("b [; c", &["b [", "c"]),
        ("b \"{\"; c", &["b {", "c"]),
        ("(b); c", &["b", "c"]),
        ("b ${x:-')'}; c", &["b ${x:-')'}", "c"]),
        ("b \"${x:-)}\"; c", &["b ${x:-)}", "c"]),
        ("b \"$(d)\"; c", &["d", "b $(d)", "c"]),
        ("b <<< ')'; c", &["b", "c"]),
        ("b <<< $(d); c", &["d", "b", "c"]),
        ("b < x\nc", &["b", "c"]),
        ("b \"<<A \"\nc", &["b <<A ", "c"]),
        ("b <<A\n'\nA\nc", &["b", "c"]),
        ("b <<'A'\n)'(\nA\nc", &["b", "c"]),
        ("b <<-A\n\t'\n\tA\nc", &["b", "c"]),
        ("b <<A; d\n'\nA\nc", &["b", "d", "c"]),
        ("b <<A <<B\n'\nA\n'\nB\nc", &["b", "c"]),
        ("(b; c); d", &["b", "c", "d"]),
    ] {
        for command in [format!("a $({inside})"), format!("a \"$({inside})\"")] {
            let facts = read(&command);
            assert_eq!(facts.opaque, None, "{command}");
            let commands: Vec<String> = facts.commands.iter().map(ToString::to_string).collect();
            assert_eq!(commands[..commands.len() - 1], *expected, "{command}");
            assert_eq!(facts.commands[expected.len()].words.len(), 2, "{command}");
        }
    }
    // Two commands, and no sum.
    check_whole("a $((b); (c))", &["b", "c", "a $((b); (c))"]);
}
