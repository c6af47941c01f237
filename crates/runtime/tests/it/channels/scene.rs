//! A clock that stands still, a sink that keeps, and programs in `sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use agentry_agentfile::manifest::channels::ChannelToml;
use agentry_agentfile::manifest::command::CommandWords;
use agentry_protocol::inbound::Inbound;
use agentry_runtime::channel::{
    Adapter, AdapterConfig, AdapterEnvironment, InboundAcceptance, InboundRejection, InboundSink,
    Latch, StartError, WaitClock,
};
use agentry_runtime::redact::secrets::{Secret, SecretRegistry, variable};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A test that waits longer has failed; nothing is ever waited for this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time, and who waits: how long, until when, for which bell.
type Hands = (u64, Vec<(u64, u64, Arc<Latch>)>);

/// A clock that only goes when it is told to.
#[derive(Default)]
pub(super) struct Still {
    state: Mutex<Hands>,
    changed: Condvar,
}

impl Still {
    /// Blocks until somebody waits exactly so long.
    #[track_caller]
    pub(super) fn await_wait(&self, ms: u64) {
        let state = self.state.lock().expect("no other thread failed");
        let is_absent = |state: &mut Hands| state.1.iter().all(|(wait, _, _)| *wait != ms);
        let (state, out) = self
            .changed
            .wait_timeout_while(state, PATIENCE, is_absent)
            .expect("no other thread failed");
        let waits: Vec<u64> = state.1.iter().map(|(wait, _, _)| *wait).collect();
        assert!(!out.timed_out(), "nobody waits {ms} ms, but {waits:?}");
    }

    pub(super) fn advance(&self, ms: u64) {
        let bells: Vec<Arc<Latch>> = {
            let mut state = self.state.lock().expect("no other thread failed");
            state.0 += ms;
            let bells = state.1.iter().map(|(_, _, bell)| Arc::clone(bell)).collect();
            // A wait that is over is not seen again, even before its thread goes on.
            let now = state.0;
            state.1.retain(|(_, until, _)| *until > now);
            bells
        };
        bells.iter().for_each(|bell| bell.notify());
    }

    /// Lets waits of one length pass until somebody waits another.
    pub(super) fn pass_until(&self, ms: u64, other: u64) {
        loop {
            let state = self.state.lock().expect("no other thread failed");
            let has = |state: &Hands, ms| state.1.iter().any(|(wait, _, _)| *wait == ms);
            let (state, out) = self
                .changed
                .wait_timeout_while(state, PATIENCE, |state| !has(state, ms) && !has(state, other))
                .expect("no other thread failed");
            assert!(!out.timed_out(), "nobody waits {ms} ms or {other} ms");
            if has(&state, other) {
                return;
            }
            drop(state);
            self.advance(ms);
        }
    }

    /// Lets a wait pass that is under way.
    #[track_caller]
    pub(super) fn pass(&self, ms: u64) {
        self.await_wait(ms);
        self.advance(ms);
    }
}

impl WaitClock for Still {
    fn now_ms(&self) -> u64 {
        self.state.lock().expect("no other thread failed").0
    }

    fn wait(&self, ms: u64, bell: &Arc<Latch>) -> bool {
        let until = {
            let mut state = self.state.lock().expect("no other thread failed");
            let until = state.0 + ms;
            state.1.push((ms, until, Arc::clone(bell)));
            until
        };
        self.changed.notify_all();
        let rang = bell.wait_while(|| self.now_ms() < until);
        let mut state = self.state.lock().expect("no other thread failed");
        let own = state.1.iter().position(|(_, at, own)| *at == until && Arc::ptr_eq(own, bell));
        own.map(|own| state.1.swap_remove(own));
        rang
    }
}

/// Keeps what comes in, once each; lets no more in than it has room for.
pub(super) struct Kept {
    all: Mutex<Vec<Inbound>>,
    room: Mutex<usize>,
    changed: Condvar,
    pub(super) refuses: Mutex<Option<String>>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            room: Mutex::new(usize::MAX),
            changed: Condvar::new(),
            refuses: Mutex::default(),
        }
    }
}

impl Kept {
    pub(super) fn with_room(room: usize) -> Self {
        Self { room: Mutex::new(room), ..Self::default() }
    }

    pub(super) fn make_room(&self, room: usize) {
        *self.room.lock().expect("no other thread failed") = room;
        self.changed.notify_all();
    }

    /// Blocks until so many came in.
    #[track_caller]
    pub(super) fn await_count(&self, count: usize) -> Vec<Inbound> {
        let all = self.all.lock().expect("no other thread failed");
        let (all, out) = self
            .changed
            .wait_timeout_while(all, PATIENCE, |all| all.len() < count)
            .expect("no other thread failed");
        assert!(!out.timed_out(), "only {:?} came in", contents(&all));
        all.clone()
    }

    /// Blocks until something with this content came in.
    #[track_caller]
    pub(super) fn await_content(&self, part: &str) -> String {
        let all = self.all.lock().expect("no other thread failed");
        let has = |all: &Vec<Inbound>| contents(all).into_iter().find(|one| one.contains(part));
        let (all, _) = self
            .changed
            .wait_timeout_while(all, PATIENCE, |all| has(all).is_none())
            .expect("no other thread failed");
        has(&all).unwrap_or_else(|| panic!("only {:?} came in", contents(&all)))
    }

    pub(super) fn contents(&self) -> Vec<String> {
        contents(&self.all.lock().expect("no other thread failed"))
    }
}

fn contents(all: &[Inbound]) -> Vec<String> {
    all.iter().map(|one| one.body.content.clone()).collect()
}

impl InboundSink for Kept {
    fn take(&self, inbound: Inbound) -> Result<InboundAcceptance, InboundRejection> {
        if let Some(why) = self.refuses.lock().expect("no other thread failed").clone()
            && inbound.body.content == "unwanted"
        {
            return Err(InboundRejection { why });
        }
        let mut all = self.all.lock().expect("no other thread failed");
        while all.len() >= *self.room.lock().expect("no other thread failed") {
            all = self.changed.wait(all).expect("no other thread failed");
        }
        if all.iter().any(|one| one.event_id == inbound.event_id) {
            return Ok(InboundAcceptance::Repeated);
        }
        all.push(inbound);
        self.changed.notify_all();
        Ok(InboundAcceptance::New)
    }
}

/// What every program begins with: `event ID CONTENT` hands something in, and `tell_back` hands in each line
/// that the program is told.
const BEGIN: &str = r#"
event() { printf '{"type":"event","source_id":"%s","sender_id":"u1","content":"%s"}\n' "$1" "$2"; }
quoted() { printf %s "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
tell_back() {
    n=0
    while read -r line; do
        case $line in *told-*) continue ;; esac
        n=$((n + 1))
        event "told-$n" "$(quoted "$line")"
    done
}
"#;

/// A directory with a program, a sink and a clock.
pub(super) struct Scene {
    pub(super) directory: TempDir,
    pub(super) sink: Arc<Kept>,
    pub(super) clock: Arc<Still>,
    pub(super) channel: ChannelToml,
    pub(super) secrets: SecretRegistry,
}

impl Scene {
    /// A channel `chat` with a program in `sh`.
    pub(super) fn new(script: &str) -> Self {
        Self::with(Kept::default(), script)
    }

    pub(super) fn with(sink: Kept, script: &str) -> Self {
        let directory = TempDir::new().expect("there is room");
        fs::write(directory.path().join("adapter.sh"), format!("{BEGIN}{script}"))
            .expect("there is room");
        let command = CommandWords::Several(vec!["/bin/sh".to_owned(), "adapter.sh".to_owned()]);
        Self {
            directory,
            sink: Arc::new(sink),
            clock: Arc::new(Still::default()),
            channel: ChannelToml { command: Some(command), ..ChannelToml::default() },
            secrets: SecretRegistry::default(),
        }
    }

    pub(super) fn secret(mut self, name: &str, value: &str) -> Self {
        let secret = Secret {
            name: name.to_owned(),
            value: value.into(),
            receivers: Vec::new(),
            variable: variable(name),
        };
        self.secrets = SecretRegistry::new(vec![secret], Vec::new());
        self.channel.credentials.push(name.to_owned());
        self
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn config(&self) -> Result<AdapterConfig, StartError> {
        let around = AdapterEnvironment {
            directory: self.directory.path(),
            variable: &|name| (name == "PATH").then(|| "/usr/bin:/bin".to_owned()),
            secrets: &self.secrets,
        };
        AdapterConfig::of("chat", &self.channel, &around)
    }

    pub(super) fn try_start(&self) -> Result<Adapter, StartError> {
        let clock: Arc<dyn WaitClock> = self.clock.clone();
        Adapter::start(self.config()?, self.sink.clone(), clock)
    }

    #[track_caller]
    pub(super) fn start(&self) -> Adapter {
        self.try_start().expect("it starts")
    }
}

/// A pipe with a name; who has it open for writing keeps its reader waiting.
pub(super) fn fifo(scene: &Scene) -> PathBuf {
    let path = scene.path().join("alive");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it can be made");
    path
}
