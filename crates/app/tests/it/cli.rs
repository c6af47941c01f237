//! The command line itself: version, help, completions, color.

use crate::story::Story;

#[test]
fn the_version_is_one_line() {
    insta::assert_snapshot!(Story::new("").run("--version"), @"
    exit 0
    --- stdout
    agentry 0.1.0
    ");
}

/// Returns the commands of `--help`, and what follows them.
fn help() -> (String, String) {
    let text = Story::new("").out("--help");
    let at = text.find("Options:\n").expect("the help lists options");
    (text[..at].trim_end().to_owned(), text[at..].to_owned())
}

#[test]
fn help_groups_the_commands() {
    insta::assert_snapshot!(help().0, @"
    Runs agents defined as files in git: governed, confined, durable, replayable

    Usage: agentry [OPTIONS] [COMMAND]

    Start:
      init         Create an agent in a new directory, with git history
      check        Check agents, skills, tasks and settings for errors
      models       Show providers, their models and an agent's choice
      pull         Download a model that runs on this machine
      doctor       Check the sandbox and the ledger of this machine

    Talk:
      chat         Chat with an agent in the terminal (default command)
      run          Run a prompt or a task to its end
      send         Send a message to an agent as a channel would
      stdio        Drive an agent from a program, in JSON lines
      compact      Summarize older turns of a session to free context
      fork         Start a new session from an earlier turn

    Watch:
      show         Show runs, sessions and turns, or a resolved agent
      trace        Show how an event was handled, stage by stage
      replay       Replay a recorded run against the current code and files
      audit        List, export and count access decisions

    Decide:
      approvals    List the approvals that wait for an answer
      answer       Answer an approval
      requests     List and answer requests for permission
      grants       Give people extra permissions for a time, and revoke them
      trust        Review and trust the programs that agents bring
      access       Test, check, change and replay access policies [alias: acl]
      entities     List and change known people and their identities

    Operate:
      serve        Run the server: HTTP API, web console and channels
      console      Open the web console of the running server
      resume       Resume paused or interrupted runs
      cancel       Cancel a run
      hooks        Register, inspect and switch event hooks
      secret       Store secrets, and list who receives them
      token        Create, list and revoke access tokens of the server
      ledger       Verify the ledger, or accept a loss of entries

    Inspect:
      explain      Explain a diagnostic code, such as E0401
      tools        List an agent's tools; create and try its own
      policy       Explain which rule decides about a tool call
      sandbox      Try the sandbox, or explain what an agent may do in it
      config       Show the settings and where each was made
      schema       Print the JSON Schema of a definition file
      completions  Print a completion script for a shell
    ");
}

#[test]
fn help_ends_with_examples() {
    insta::assert_snapshot!(help().1, @r#"
    Options:
      -c, --config <KEY=VALUE>
              Set a setting, such as agent.model=gpt-4.1 (repeatable)

          --color <COLOR>
              When to use color

              Possible values:
              - auto:   On a terminal, unless `NO_COLOR` is set
              - always: Always
              - never:  Never
              
              [default: auto]

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Examples:
      agentry                                    chat with the agent of this directory
      agentry init my-agent --profile coder      create an agent from a bundled profile
      agentry check my-agent                     check its files for errors
      agentry run -C my-agent "List the files"   run a prompt
      agentry serve -C my-agent --open           start the server and its web console
      agentry show agent my-agent                show the resolved agent
      agentry explain E0401                      explain a diagnostic code

    `agentry help <command>` shows the options and examples of a command.
    "#);
}

#[test]
fn without_a_verb_a_terminal_or_a_prompt_it_is_exit_2_and_nothing_is_written() {
    let story = Story::new("");
    let ran = story.ran_in("", "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("echo hello | agentry"), "{}", ran.err);
    assert!(!story.home(".local").exists());
}

#[test]
fn an_unknown_verb_is_exit_2() {
    insta::assert_snapshot!(Story::new("").run("chek"), @"
    exit 2
    --- stderr
    error: unrecognized subcommand 'chek'

      tip: some similar subcommands exist: 'schema', 'check'

    Usage: agentry [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
}

#[test]
fn each_shell_has_completions() {
    let story = Story::new("");
    for shell in ["bash", "zsh", "fish"] {
        let script = story.out(&format!("completions {shell}"));
        assert!(script.contains("agentry") && script.contains("explain"), "{shell}: {script}");
    }
    assert_eq!(story.ran_in("", "completions tcsh").code, Some(2));
}

#[test]
fn color_is_for_terminals_or_on_request() {
    let story = Story::new("\n--- agent.yml\nnmae: a\n--- AGENT.md\nHi.\n");
    let escapes = |story: &Story, command: &str| story.run(command).contains('\u{1b}');
    assert!(!escapes(&story, "check"));
    assert!(!escapes(&story, "show agent"));
    assert!(!escapes(&story, "check --color never"));
    assert!(escapes(&story, "check --color always"));
    assert!(escapes(&story, "show agent --color always"));
    let story = story.with("NO_COLOR", "1");
    assert!(!escapes(&story, "check"));
}

#[test]
fn json_has_no_color_even_on_request() {
    let story = Story::new("\n--- agent.yml\nnmae: a\n--- AGENT.md\nHi.\n");
    assert!(!story.run("check --format json --color always").contains('\u{1b}'));
}
