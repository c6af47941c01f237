//! The help of the command line: the groups of `agentry --help`, and the examples of commands.
//!
//! Must never: repeat the description of a command; each command has its own.

use clap::Command;

/// All commands by group, the most used first.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["init", "check", "models", "pull", "doctor"]),
    ("Talk", &["chat", "run", "send", "stdio", "compact", "fork"]),
    ("Watch", &["show", "trace", "replay", "audit"]),
    ("Decide", &["approvals", "answer", "requests", "grants", "trust", "access", "entities"]),
    ("Operate", &["serve", "console", "resume", "cancel", "hooks", "secret", "token", "ledger"]),
    ("Inspect", &["explain", "tools", "policy", "sandbox", "config", "schema", "completions"]),
];

/// Returns the template of `agentry --help`, with the commands of `all` listed by group.
pub(super) fn template(all: &Command) -> String {
    let (header, literal) = (all.get_styles().get_header(), all.get_styles().get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for command in names.iter().filter_map(|name| all.find_subcommand(name)) {
            let (name, about) = (command.get_name(), command.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            let alias = command.get_visible_aliases().map(|alias| format!(" [alias: {alias}]"));
            let alias: String = alias.collect();
            text.push_str(&format!("  {literal}{name:<11}{literal:#}  {about}{alias}\n"));
        }
    }
    text + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}")
}

pub(super) const AGENTRY: &str = "\
Examples:
  agentry                                    chat with the agent of this directory
  agentry init my-agent --profile coder      create an agent from a bundled profile
  agentry check my-agent                     check its files for errors
  agentry run -C my-agent \"List the files\"   run a prompt
  agentry serve -C my-agent --open           start the server and its web console
  agentry show agent my-agent                show the resolved agent
  agentry explain E0401                      explain a diagnostic code

`agentry help <command>` shows the options and examples of a command.";

pub(super) const INIT: &str = "\
Examples:
  agentry init my-agent                      copy the default profile
  agentry init my-agent --profile coder      copy another bundled profile
  agentry init my-agent --from ../their-agent
  agentry init my-agent --blank --arg tone=friendly";

pub(super) const CHECK: &str = "\
Examples:
  agentry check
  agentry check my-agent --strict            treat warnings as errors
  agentry check my-agent --format json";

pub(super) const CHAT: &str = "\
Examples:
  agentry chat                               chat with the agent of this directory
  agentry chat builder --model gpt-4.1
  agentry chat --continue                    continue the latest chat here";

pub(super) const RUN: &str = "\
Examples:
  agentry run \"List the files\"
  agentry run release-notes --input version=1.2
  agentry run \"Fix the tests\" --mode wiggum --check \"npm test\"
  cat prompt.txt | agentry run - --json";

pub(super) const STDIO: &str = "\
Examples:
  echo '{\"prompt\": \"List the files\"}' | agentry stdio
  agentry stdio -C my-agent --session build";

pub(super) const SERVE: &str = "\
Examples:
  agentry serve --open                       open the web console too
  agentry serve -C my-agent --agent builder
  agentry serve --listen 127.0.0.1:8080";

pub(super) const SEND: &str = "\
Examples:
  agentry send \"Is the build green?\"
  agentry send --session notes \"Add milk\"
  agentry send --channel discord --from 1234 --no-wait hello";

pub(super) const SHOW: &str = "\
Examples:
  agentry show                               list the latest runs
  agentry show run_01k9 --follow             show a run and follow it
  agentry show session                       list the sessions
  agentry show agent my-agent
  agentry show prompt my-agent --raw";

pub(super) const ANSWER: &str = "\
Examples:
  agentry answer apr_01k9 yes
  agentry answer apr_01k9 yes --session      allow equal calls in this session too
  agentry answer apr_01k9 no --reason \"Use the test database\"";

pub(super) const REPLAY: &str = "\
Examples:
  agentry replay run_01k9

Exit codes: 0 no differences, 1 differences.";

pub(super) const DOCTOR: &str = "\
Examples:
  agentry doctor
  agentry doctor --verbose                   list every escape that was tried";

pub(super) const POLICY: &str = "\
Examples:
  agentry policy explain --tool bash --args '{\"command\": \"git push\"}'
  agentry policy explain my-agent --tool read_file --args '{\"path\": \"notes.md\"}'";

pub(super) const HOOKS: &str = "\
Examples:
  agentry hooks register hooks/urgent.py --mode one-shot
  agentry hooks test urgent --event event.json
  agentry hooks invocations urgent --errors-only
  agentry hooks disable urgent --reason \"Too noisy\"";

pub(super) const TOOLS: &str = "\
Examples:
  agentry tools list
  agentry tools new fortune --lang python
  agentry tools run fortune --args '{\"sign\": \"leo\"}'";

pub(super) const ACCESS: &str = "\
Examples:
  agentry access test --principal relationship:friend --channel discord
  agentry access check
  agentry access policies list --priority
  agentry access replay --since 7d --changed-only";

pub(super) const SECRET: &str = "\
Examples:
  agentry secret set github-token            type the value; it is not shown
  agentry secret set github-token --from-env GITHUB_TOKEN
  agentry secret list";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::GROUPS;
    use crate::commands::Cli;

    #[test]
    fn each_command_is_in_one_group() {
        let command = Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(|one| one.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn examples_are_valid_commands() {
        let command = Cli::command();
        let mut helps: Vec<String> =
            command.get_after_help().into_iter().map(ToString::to_string).collect();
        let mut open: Vec<&clap::Command> = command.get_subcommands().collect();
        while let Some(one) = open.pop() {
            helps.extend(one.get_after_help().map(ToString::to_string));
            open.extend(one.get_subcommands());
        }
        let lines =
            helps.iter().flat_map(|help| help.lines()).filter(|line| line.starts_with("  "));
        for line in lines {
            let example = line.rsplit_once("| ").map_or(line.trim(), |(_, example)| example);
            let parsed = Cli::try_parse_from(words(example)).err();
            assert!(parsed.is_none(), "{line}: {}", parsed.unwrap());
        }
    }

    /// Splits an example into words; its description begins after two spaces.
    fn words(example: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in example.chars() {
            let word = words.last_mut().unwrap();
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if c == open => quote = None,
                (None, ' ') if word.is_empty() => break,
                (None, ' ') => words.push(String::new()),
                (_, c) => word.push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }
}
