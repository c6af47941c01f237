//! What holds for every text.

use agentry_kernel::danger::{self, Danger};
use agentry_kernel::shell::{AllowlistMatch, ShellCommand, check_allowlist, read};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{PLACE, corpus};

/// Everything at once; a panic in any of it fails the test.
fn look(command: &str) -> (AllowlistMatch, Option<Danger>) {
    let facts = read(command);
    for (from, to) in facts.commands.iter().filter_map(|simple| simple.place) {
        assert!(command.get(from..to).is_some(), "{from}..{to} of {command:?}");
    }
    for (at, simple) in facts.commands.iter().enumerate() {
        assert!(simple.fed_by.iter().all(|fed| *fed < at), "{command:?}");
    }
    (check_allowlist(&facts, &["ls", "git", "sed -n"]), danger::of_command(command, &PLACE))
}

fn commands() -> Vec<String> {
    corpus().into_iter().map(|(_, command)| command).collect()
}

/// Commands that are whole, so that another can follow.
fn whole() -> Vec<String> {
    let whole = |command: &String| read(command).opaque.is_none() && !command.contains(['#', '\n']);
    commands().into_iter().filter(whole).collect()
}

/// The words of each command of a text.
fn words(command: &str) -> Vec<String> {
    read(command).commands.iter().map(ToString::to_string).collect()
}

fn shape(command: &str) -> Vec<ShellCommand> {
    let commands = read(command).commands.into_iter();
    commands.map(|simple| ShellCommand { place: None, ..simple }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        look(&text);
    }

    #[test]
    fn no_heap_of_shell_signs_makes_it_panic(
        pieces in prop::collection::vec(select(vec![
            "$(", ")", "`", "'", "\"", "${", "}", "((", "))", "<<EOF", "\nEOF\n", "\n", ";", "|", "&", ">", "<(", "case x in",
            "esac", "if ", "then ", "fi", "do ", "done", "f()", "{ ", "[[", "]]", "\\", "*", "~", "$'", "ls ", "rm -rf / ", "sh -c ",
            "eval ", "xargs ", "find . -exec ", "git -c ", "sed -n ", "awk ", "python -c ", "=", "ä", " ", "#", "!",
        ]), 0..40),
    ) {
        look(&pieces.concat());
    }

    #[test]
    fn no_mutation_of_an_example_makes_it_panic(
        command in select(commands()), at in any::<Index>(), cut in 0..4_usize, put in "[\\PC\n\t]{0,3}",
    ) {
        let chars: Vec<char> = command.chars().collect();
        let at = at.index(chars.len() + 1);
        let rest = chars.iter().skip(at + cut);
        let mutated: String = chars[..at].iter().copied().chain(put.chars()).chain(rest.copied()).collect();
        look(&mutated);
    }

    #[test]
    fn a_command_more_never_takes_one_away(
        first in select(whole()), second in select(whole()), between in select(vec!["; ", " && ", " || ", "\n"]),
    ) {
        prop_assume!(!first.ends_with('&'));
        prop_assert_eq!(words(&format!("{first}{between}{second}")), [words(&first), words(&second)].concat());
    }

    #[test]
    fn a_command_more_never_takes_the_danger_away(
        first in select(corpus().into_iter().filter(|(kind, _)| *kind == "danger").map(|(_, command)| command)
            .filter(|command| !command.contains('\n')).collect::<Vec<_>>()),
        second in select(whole()),
    ) {
        prop_assume!(![&first, &second].iter().any(|command| command.ends_with('&')) && !second.contains("cd ") && !second.contains("X="));
        prop_assert!(danger::of_command(&format!("{first}; {second}"), &PLACE).is_some(), "{first}");
        prop_assert!(danger::of_command(&format!("{second} | cat; {{ {first}; }}"), &PLACE).is_some(), "{first}");
    }

    #[test]
    fn quotes_around_a_plain_word_change_nothing(
        words in prop::collection::vec(select(vec!["rm", "-rf", "build", "git", "reset", "--hard", "ls", "sudo", "env", "A=1", "find",
            ".", "-delete", "sed", "-i", "/etc/x", "bash", "-c", "curl", "push", "--force"]), 1..6),
        quoted in any::<Index>(), quote in select(vec!["'", "\""]),
    ) {
        let quoted = quoted.index(words.len());
        // An assignment in front is one only without quotes.
        prop_assume!(words[0] != "A=1");
        let with: Vec<String> = words.iter().enumerate().map(|(at, word)| {
            if at == quoted { format!("{quote}{word}{quote}") } else { (*word).to_owned() }
        }).collect();
        prop_assert_eq!(shape(&with.join(" ")), shape(&words.join(" ")));
        prop_assert_eq!(look(&with.join(" ")), look(&words.join(" ")));
    }

    #[test]
    fn a_quoted_text_is_data(command in select(commands())) {
        prop_assume!(!command.contains(['\'', '\n', '\u{200b}']));
        prop_assert_eq!(words(&format!("echo '{command}'")), [format!("echo {command}")]);
        prop_assert_eq!(read(&format!("echo '{command}'")).opaque, None);
        prop_assert_eq!(danger::of_command(&format!("echo '{command}'"), &PLACE), None);
        prop_assert_eq!(danger::of_command(&format!("grep -F '{command}' notes.md"), &PLACE), None);
    }

    #[test]
    fn a_heredoc_for_cat_is_data(command in select(commands())) {
        prop_assume!(!command.contains("EOF") && !command.contains('\u{200b}') && !command.contains("((((("));
        prop_assert_eq!(words(&format!("cat <<'EOF'\n{command}\nEOF")), ["cat"]);
        prop_assert_eq!(read(&format!("cat <<'EOF'\n{command}\nEOF")).opaque, None);
        prop_assert_eq!(danger::of_command(&format!("cat > notes.md <<'EOF'\n{command}\nEOF"), &PLACE), None);
    }

    #[test]
    fn a_heredoc_for_bash_is_code(command in select(corpus().into_iter()
        .filter(|(kind, command)| *kind == "danger" && !command.contains("EOF") && !command.contains("<<<")).map(|(_, command)| command).collect::<Vec<_>>())) {
        prop_assert!(danger::of_command(&format!("bash <<'EOF'\n{command}\nEOF"), &PLACE).is_some(), "{command}");
    }

    #[test]
    fn wrapping_keeps_the_danger(
        command in select(corpus().into_iter().filter(|(kind, command)| *kind == "danger" && !command.contains(['\'', '\n']))
            .map(|(_, command)| command).collect::<Vec<_>>()),
        wrapped in select(vec!["bash -c '{}'", "eval '{}'", "(\n{}\n)", "if true; then\n{}\nfi", "env -S 'sh -c \"true\"'; {}", "timeout 5 sh -c '{}'"]),
    ) {
        let wrapped = wrapped.replace("{}", &command);
        prop_assert!(danger::of_command(&wrapped, &PLACE).is_some(), "{wrapped}");
    }
}
