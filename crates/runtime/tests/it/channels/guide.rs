//! The program of the guide works as the guide says.

use std::fs;
use std::sync::Arc;

use agentry_agentfile::manifest::channels::ChannelToml;
use agentry_agentfile::manifest::command::CommandWords;
use agentry_runtime::channel::{
    Adapter, AdapterConfig, AdapterEnvironment, OutgoingChunk, SentChunk, SystemClock,
};
use agentry_runtime::redact::secrets::SecretRegistry;
use tempfile::TempDir;

use super::scene::Kept;

const GUIDE: &str = include_str!("../../../../../docs/guide/channels.md");

fn program() -> &'static str {
    let (_, rest) = GUIDE.split_once("```python file=folder.py\n").expect("the guide has it");
    rest.split_once("\n```").expect("it ends").0
}

#[test]
fn a_folder_is_a_channel() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    fs::write(path.join("folder.py"), program()).unwrap();
    fs::create_dir(path.join("inbox")).unwrap();
    fs::write(path.join("inbox/ada-1"), "Hello!").unwrap();
    let words = ["python3", "-u", "folder.py", "."].map(str::to_owned);
    let channel = ChannelToml {
        command: Some(CommandWords::Several(words.into())),
        ..ChannelToml::default()
    };
    let around = AdapterEnvironment {
        directory: path,
        variable: &|name| std::env::var(name).ok().filter(|_| name == "PATH"),
        secrets: &SecretRegistry::default(),
    };
    let config = AdapterConfig::of("folder", &channel, &around).unwrap();
    let sink = Arc::new(Kept::default());
    let adapter = Adapter::start(config, sink.clone(), Arc::new(SystemClock)).unwrap();
    let all = sink.await_count(1);
    assert_eq!(all[0].event_id.as_str(), "folder:ada-1");
    assert_eq!(all[0].sender.sender_id, "ada");
    assert_eq!(all[0].body.content, "Hello!");
    let mut outgoing = OutgoingChunk {
        id: "folder:ada-1#0".to_owned(),
        to: all[0].place.clone(),
        content: "Hello, Ada!".to_owned(),
    };
    let sent = Ok(SentChunk { message_id: Some("folder:ada-1#0".to_owned()) });
    assert_eq!(adapter.send(&outgoing), sent);
    let answer = path.join("outbox/ada/folder:ada-1#0");
    assert_eq!(fs::read_to_string(&answer).unwrap(), "Hello, Ada!");
    // The same id again is not written again.
    outgoing.content = "Something else".to_owned();
    assert_eq!(adapter.send(&outgoing), sent);
    assert_eq!(fs::read_to_string(&answer).unwrap(), "Hello, Ada!");
    // The acknowledgement came before the answer to the first was heard, so the message is done.
    assert!(!path.join("inbox/ada-1").exists());
    assert_eq!(adapter.capabilities().limit(), 2_000);
    assert_eq!(adapter.health().refused, 0, "{:?}", adapter.health());
    adapter.stop();
}
