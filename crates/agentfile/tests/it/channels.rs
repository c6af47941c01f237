//! Channels, webhooks and the queue: what the operator's settings may say, and that nobody else may.

use agentry_agentfile::manifest::channels::{FilterField, FilterKind, MarkdownFlavor};
use agentry_agentfile::manifest::command::CommandWords;
use agentry_protocol::access::Delivery;
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::intake::{OverflowPolicy, QueuePreferences};

use crate::reading::{check, given};

#[test]
fn the_operator_defines_channels_webhooks_and_the_queue() {
    let given = given("").user_settings(
        "
[channels.chat]
command = [\"python3\", \"adapter.py\"]
account_id = \"me\"
env = [\"LANG\"]
credentials = [\"chat-token\"]
agent = \"assistant\"
text_limit = 2000
markdown = \"slack_mrkdwn\"
filters = [{ type = \"exclude\", field = \"content\", pattern = \"!*\" }]
queue = { mode = \"collect\", debounce_ms = 5, cap = 3, drop = \"old\" }
peer_kind = \"group\"
[channels.mail]
command = \"mail-adapter\"
[queue]
mode = \"followup\"
cap = 9
turns = 4
turns_per_principal = 2
waiting = 100
[webhooks.github]
secret = \"github-hook\"
[webhooks.plain]
",
    );
    given.check("");
    let (library, _) = given.read();
    let config = &library.settings.config;
    // A name with nothing below it is a name all the same.
    assert_eq!(config.webhooks.get("plain"), Some(&Default::default()));
    let chat = &config.channels["chat"];
    let words = vec!["python3".to_owned(), "adapter.py".to_owned()];
    assert_eq!(chat.command, Some(CommandWords::Several(words)));
    assert_eq!(chat.credentials, ["chat-token"]);
    assert_eq!((chat.text_limit, chat.markdown), (Some(2000), Some(MarkdownFlavor::SlackMrkdwn)));
    assert_eq!(chat.peer_kind, Some(PeerKind::Group));
    let filter = &chat.filters[0];
    assert_eq!((filter.kind, filter.field), (FilterKind::Exclude, FilterField::Content));
    let queue = chat.queue.unwrap();
    assert_eq!((queue.mode, queue.cap), (Some(Delivery::Collect), Some(3)));
    assert_eq!(queue.drop, Some(OverflowPolicy::Old));
    assert_eq!(config.channels["mail"].command, Some(CommandWords::One("mail-adapter".to_owned())));
    let wish = QueuePreferences {
        mode: Some(Delivery::Followup),
        cap: Some(9),
        ..QueuePreferences::default()
    };
    assert_eq!(config.queue.preferences(), wish);
    assert_eq!((config.queue.turns, config.queue.waiting), (Some(4), Some(100)));
    assert_eq!(config.webhooks["github"].secret.as_deref(), Some("github-hook"));
}

#[test]
fn a_project_defines_none_of_it() {
    let given = given(
        "
        --- agentry.toml
        [channels.chat]
        command = \"evil\"
        [webhooks.github]
        secret = \"x\"
        [queue]
        turns = 1000
        ",
    )
    .user_settings("[channels.chat]\ncommand = \"good\"\n");
    given.check(
        "
        E0910 error agentry.toml:1:2
        E0910 error agentry.toml:3:2
        E0910 error agentry.toml:5:2
        ",
    );
    let (library, _) = given.read();
    let config = &library.settings.config;
    assert_eq!(config.channels["chat"].command, Some(CommandWords::One("good".to_owned())));
    assert!(config.webhooks.is_empty());
    assert_eq!(config.queue.turns, None);
}

#[test]
fn the_agent_in_a_project_defines_none_of_it_either() {
    check(
        "
        --- one/agent.yml
        name: one
        --- one/AGENT.md
        Hi.
        --- one/agentry.toml
        [channels.chat]
        command = \"evil\"
        ",
        "E0910 error one/agentry.toml:1:2",
    );
}

#[test]
fn a_channel_has_a_free_name_and_a_program() {
    let long = "c".repeat(65);
    for name in ["terminal", "stdio", "send", "timer", "webhook", "agent", "Chat", "\"a:b\"", &long]
    {
        let given = given("").user_settings(&format!("[channels.{name}]\ncommand = \"x\"\n"));
        given.check("E0911 error ~/.config/agentry/agentry.toml:2:11");
        let (library, _) = given.read();
        assert!(library.settings.config.channels.is_empty(), "{name}");
    }
    for command in ["[]", "\"\"", "[\" \"]"] {
        let text = format!("[channels.chat]\ncommand = {command}\n");
        given("").user_settings(&text).check("E0911 error ~/.config/agentry/agentry.toml:2:11");
    }
    given("")
        .user_settings("[channels.chat]\nagent = \"a\"\n[webhooks.\"a:b\"]\nsecret = \"x\"\n")
        .check(
            "
            E0911 error ~/.config/agentry/agentry.toml:2:9
            E0911 error ~/.config/agentry/agentry.toml:4:10
            ",
        );
}

#[test]
fn each_part_of_a_channel_is_checked_at_its_place() {
    given("")
        .user_settings(
            "\
[channels.chat]
command = \"x\"
commnd = \"x\"
env = [\"A B\"]
text_limit = 39
markdown = \"html\"
filters = [{ type = \"maybe\", field = \"content\", pattern = \"x\" }, { type = \"include\" }]
queue = { mode = \"later\", cap = -1, size = 3 }
peer_kind = \"crowd\"
[queue]
turns = 0
mood = \"x\"
[webhooks.a]
token = \"x\"
",
        )
        .check(
            "
            E0301 error ~/.config/agentry/agentry.toml:3:1
            E0305 error ~/.config/agentry/agentry.toml:4:8
            E0305 error ~/.config/agentry/agentry.toml:5:14
            E0304 error ~/.config/agentry/agentry.toml:6:12
            E0304 error ~/.config/agentry/agentry.toml:7:21
            E0302 error ~/.config/agentry/agentry.toml:7:66
            E0302 error ~/.config/agentry/agentry.toml:7:66
            E0304 error ~/.config/agentry/agentry.toml:8:18
            E0305 error ~/.config/agentry/agentry.toml:8:33
            E0301 error ~/.config/agentry/agentry.toml:8:37
            E0304 error ~/.config/agentry/agentry.toml:9:13
            E0305 error ~/.config/agentry/agentry.toml:11:9
            E0301 error ~/.config/agentry/agentry.toml:12:1
            E0301 error ~/.config/agentry/agentry.toml:14:1
            ",
        );
}
