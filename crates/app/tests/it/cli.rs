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

#[test]
fn help_ends_with_examples() {
    insta::assert_snapshot!(Story::new("").run("--help"), @r#"
    exit 0
    --- stdout
    Runs agents defined as files in git: governed, confined, durable, replayable

    Usage: agentry [OPTIONS] [COMMAND]

    Commands:
      init         Make an agent in a new directory, with git history
      chat         Talk with an agent in the terminal; `agentry` alone does the same
      run          Run a task or a prompt to its end
      stdio        Talk with an agent in JSON lines
      serve        Take in what comes from all channels, and answer it
      console      Open the console of the server that runs
      token        Make keys to the server, and take them back
      send         Say something to an agent the way a channel does
      trace        Show what became of an event, stage by stage
      check        Say everything that is wrong with agents, skills, tasks and settings
      resume       Take up runs that a process left
      cancel       Ask a run to end
      approvals    List what waits for an answer
      answer       Answer an approval
      requests     See what others ask you for, and answer them
      grants       Give others powers for a time, and take them back
      fork         Begin a new session from a turn
      compact      Put the older turns of a session into one text
      replay       Play a recorded run to today's program and files
      ledger       Look after the record
      show         Show a run, a session or a turn, or what files resolve to
      doctor       Say what this machine can confine, and what to do about what is missing
      sandbox      Try the sandbox, and see what an agent may do in it
      policy       Look at what decides about calls
      access       Who may reach an agent and with what powers: see it, test it, change it [alias: acl]
      entities     Who is known, and by which identities
      audit        See what was decided about who may
      trust        Look at the programs that agents bring, and let them run as they are
      tools        See an agent's tools; make and try its own
      hooks        Hooks that look at events and may start work: make, see and switch them
      secret       Keep secrets, and see who may have them
      models       Show who serves which models, and which one an agent gets
      pull         Get the weights of a model that runs on this machine
      explain      Explain the code of a finding
      schema       Print the JSON Schema of a definition file, for editors
      config       Look at the settings
      completions  Print a completion script for a shell
      help         Print this message or the help of the given subcommand(s)

    Options:
      -c, --config <KEY=VALUE>
              Override a setting, such as agent.model=gpt-4.1 (may be given several times)

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
      agentry                                   talk with the agent of this directory
      agentry init my-agent --profile coder     make an agent from a bundled profile
      agentry check my-agent                    say what is wrong with it
      agentry run -C my-agent "List the files"   run a prompt or a task
      agentry show agent my-agent               show what it resolves to, and why
      agentry show prompt my-agent              show its prompt, section by section
      agentry explain E0401                     explain a finding
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
