//! Weights from a hub: whole, in pieces, wrong, and from two sides at once.

use std::fs;
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use agentry_model::weights::{PullError, PullProgress, WeightSource};

use crate::weights_server::{Answer, Bench, Server, bytes, file, from_hub, hub, nobody, sha256};

const TAG: &str = "\"one\"";

#[test]
fn a_model_comes_from_the_hub_with_a_record_beside_it() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, _| file(asked, &content, TAG));
    let told = bench.pull_well(&WeightSource::Hub(hub(&server.url(), Some("tok3n"))));
    assert_eq!(server.paths(), ["/Some/Tiny/resolve/abc123/sub/tiny-q4.gguf"]);
    assert_eq!(server.heard()[0].header("authorization"), Some("Bearer tok3n"));
    assert_eq!(server.heard()[0].header("range"), None);
    let began = PullProgress::Began {
        source: format!("the hub {}", server.url()),
        bytes: 700_000,
        there: 0,
    };
    assert_eq!(told.first(), Some(&began));
    assert_eq!(told.last(), Some(&PullProgress::Moved { done: 700_000, total: 700_000 }));
    let record = fs::read_to_string(bench.path("model.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["id"], "tiny");
    assert_eq!(record["licence"], "Apache-2.0");
    assert_eq!(record["bytes"], 700_000);
    assert_eq!(record["sha256"], sha256(&bench.content));
    assert_eq!(record["source"], format!("the hub {}/Some/Tiny", server.url()));
    let installed = bench.store().installed();
    assert_eq!(installed.len(), 1);
    assert_eq!(installed[0].path, bench.path("tiny.gguf"));
}

#[test]
fn what_is_there_is_not_asked_for_again() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, _| file(asked, &content, TAG));
    bench.pull_well(&from_hub(&server));
    let told = bench.pull_well(&from_hub(&server));
    assert_eq!((told.len(), server.heard().len()), (0, 1));
    // A file that lost its end is not there.
    fs::write(bench.path("tiny.gguf"), b"short").unwrap();
    assert_eq!(bench.store().find("tiny"), None);
    bench.pull_well(&from_hub(&server));
    assert_eq!(server.heard().len(), 2);
}

#[test]
fn a_cut_connection_goes_on_with_the_rest() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, number| match number {
        0 => file(asked, &content, TAG).cut(300_000),
        _ => file(asked, &content, TAG),
    });
    bench.pull_well(&from_hub(&server));
    let heard = server.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[1].header("range"), Some("bytes=300000-"));
    assert_eq!(heard[1].header("if-range"), Some(TAG));
}

#[test]
fn a_stopped_pull_goes_on_where_it_was() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, _| file(asked, &content, TAG));
    let watch = |progress| !matches!(progress, PullProgress::Moved { done: 200_000.., .. });
    let error = bench.store().pull("tiny", &from_hub(&server), &watch).unwrap_err();
    assert!(matches!(error, PullError::Stopped), "{error}");
    assert_eq!(bench.store().find("tiny"), None);
    let there = fs::metadata(bench.path(".pull/tiny.gguf.part")).unwrap().len();
    let told = bench.pull_well(&from_hub(&server));
    assert!(matches!(told[0], PullProgress::Began { there: found, .. } if found == there));
    assert_eq!(server.heard()[1].header("range"), Some(&*format!("bytes={there}-")));
}

#[test]
fn a_server_without_tags_is_still_asked_for_the_rest() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, number| {
        let mut answer = file(asked, &content, TAG);
        answer.headers.retain(|(name, _)| *name != "ETag");
        if number == 0 { answer.cut(300_000) } else { answer }
    });
    bench.pull_well(&from_hub(&server));
    assert_eq!(server.heard()[1].header("range"), Some("bytes=300000-"));
    assert_eq!(server.heard()[1].header("if-range"), None);
}

#[test]
fn a_server_that_ignores_the_range_gives_all_of_it_anew() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |_, number| match number {
        0 => Answer::ok(content.clone()).cut(300_000),
        _ => Answer::ok(content.clone()),
    });
    bench.pull_well(&from_hub(&server));
    assert_eq!(server.heard()[1].header("range"), Some("bytes=300000-"));
    assert_eq!(server.heard().len(), 2);
}

#[test]
fn a_piece_whose_tag_changed_begins_anew() {
    let bench = Bench::new();
    let (old, content) = (bytes(700_000, 8), bench.content.clone());
    let server = Server::new(move |asked, number| match number {
        0 => file(asked, &old, "\"old\"").cut(300_000),
        // It takes no notice of If-Range, and would mix two versions.
        1 => {
            let mut answer = file(asked, &content, "\"old\"");
            answer.headers.retain(|(name, _)| *name != "ETag");
            answer.with("ETag", "\"new\"")
        }
        _ => file(asked, &content, "\"new\""),
    });
    bench.pull_well(&from_hub(&server));
    let heard = server.heard();
    assert_eq!(heard[1].header("if-range"), Some("\"old\""));
    assert_eq!(heard.len(), 3);
    assert_eq!(heard[2].header("range"), None);
}

#[test]
fn a_range_that_nobody_asked_for_is_not_put_behind_what_is_there() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, number| match number {
        0 => file(asked, &content, TAG).cut(300_000),
        1 => {
            let rest = Answer { status: 206, ..Answer::ok(&content[200_000..]) };
            rest.with("Content-Range", "bytes 200000-699999/700000").with("ETag", TAG)
        }
        _ => file(asked, &content, TAG),
    });
    bench.pull_well(&from_hub(&server));
    assert_eq!(server.heard().len(), 3);
    assert_eq!(server.heard()[2].header("range"), None);
}

#[test]
fn wrong_bytes_are_named_and_not_kept() {
    let bench = Bench::new();
    let (wrong, content) = (bytes(700_000, 9), bench.content.clone());
    let found = sha256(&wrong);
    let server = Server::new(move |asked, number| match number {
        0 => file(asked, &wrong, TAG),
        _ => file(asked, &content, TAG),
    });
    let error = bench.pull(&from_hub(&server)).0.unwrap_err().to_string();
    let expected = sha256(&bench.content);
    assert_eq!(
        error,
        format!("tiny.gguf is not what was published: expected sha256 {expected}, found {found}")
    );
    assert!(!bench.path(".pull/tiny.gguf.part").exists());
    assert_eq!(bench.store().find("tiny"), None);
    bench.pull_well(&from_hub(&server));
    assert_eq!(server.heard()[1].header("range"), None);
}

#[test]
fn another_size_is_seen_before_it_comes_and_more_than_announced_is_cut_off() {
    let bench = Bench::new();
    let server = Server::new(|_, _| Answer::ok(vec![0; 700_001]));
    let error = bench.pull(&from_hub(&server)).0.unwrap_err().to_string();
    assert!(error.ends_with("its tiny.gguf has 700001 bytes, not 700000"), "{error}");
    let server = Server::new(|_, _| Answer { endless: true, ..Answer::ok(vec![0; 900_000]) });
    let error = bench.pull(&from_hub(&server)).0.unwrap_err();
    assert!(matches!(error, PullError::Size { expected: 700_000, .. }), "{error}");
    assert!(!bench.path(".pull/tiny.gguf.part").exists());
}

#[test]
fn a_hub_that_announces_another_digest_is_not_used() {
    let bench = Bench::new();
    let server = Server::new(|_, _| {
        Answer::ok(vec![0; 700_000]).with("X-Linked-ETag", format!("\"{}\"", "ab".repeat(32)))
    });
    let error = bench.pull(&from_hub(&server)).0.unwrap_err();
    assert!(matches!(error, PullError::NotOffered { .. }), "{error}");
    assert!(!bench.path(".pull/tiny.gguf.part").exists());
}

#[test]
fn a_redirect_to_another_host_does_not_carry_the_token() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let cdn = Server::new(move |asked, _| file(asked, &content, TAG));
    let to = format!("{}/blob?x=1", cdn.url());
    let server = Server::new(move |asked, _| match asked.path.as_str() {
        "/again" => Answer::status(307).with("Location", to.clone()),
        _ => Answer::status(302).with("Location", "/again"),
    });
    bench.pull_well(&WeightSource::Hub(hub(&server.url(), Some("tok3n"))));
    let seen: Vec<_> =
        server.heard().iter().map(|one| one.header("authorization").is_some()).collect();
    assert_eq!(seen, [true, true]);
    assert_eq!(cdn.paths(), ["/blob?x=1"]);
    assert_eq!(cdn.heard()[0].header("authorization"), None);
}

#[test]
fn redirects_have_an_end() {
    let bench = Bench::new();
    let server = Server::new(|_, _| Answer::status(302).with("Location", "/again"));
    let error = bench.pull(&from_hub(&server)).0.unwrap_err().to_string();
    assert!(error.ends_with("more than 5 redirects"), "{error}");
    assert_eq!(server.heard().len(), 6);
}

#[test]
fn a_hub_that_never_answered_is_not_asked_again() {
    let bench = Bench::new();
    let error = bench.pull(&WeightSource::Hub(hub(&nobody(), None))).0.unwrap_err();
    assert!(matches!(error, PullError::Unreachable { .. }), "{error}");
    for (status, expected) in [(503, "it answers 503"), (404, "it answers 404")] {
        let server = Server::new(move |_, _| Answer::status(status));
        let error = bench.pull(&from_hub(&server)).0.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(server.heard().len(), 1);
    }
}

#[test]
fn of_two_pulls_at_once_the_second_waits_and_gets_the_same() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let server = Server::new(move |asked, _| {
        wait.lock().unwrap().recv().unwrap();
        file(asked, &content, TAG)
    });
    let (began, has_begun) = mpsc::channel();
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let watch = |progress| {
                if matches!(progress, PullProgress::Began { .. }) {
                    began.send(()).unwrap();
                }
                true
            };
            bench.store().pull("tiny", &from_hub(&server), &watch).map(|one| one.path)
        });
        has_begun.recv().unwrap();
        let second = scope.spawn(|| {
            let waited = Mutex::new(false);
            let watch = |progress| {
                let mut waited = waited.lock().unwrap();
                if progress == PullProgress::Waiting && !std::mem::replace(&mut waited, true) {
                    go.send(()).unwrap();
                }
                true
            };
            let pulled = bench.store().pull("tiny", &from_hub(&server), &watch);
            (pulled.map(|one| one.path), *waited.lock().unwrap())
        });
        let (second, waited) = second.join().unwrap();
        assert!(waited, "the second did not say that it waits");
        assert_eq!(first.join().unwrap().unwrap(), second.unwrap());
    });
    assert_eq!(server.heard().len(), 1);
}

#[test]
fn weights_that_changed_on_the_disk_are_found_and_pulled_again() {
    let bench = Bench::new();
    let content = bench.content.clone();
    let server = Server::new(move |asked, _| file(asked, &content, TAG));
    bench.pull_well(&from_hub(&server));
    assert!(bench.store().verify("tiny", &|_| true).unwrap().is_some());
    let mut changed = bench.content.clone();
    changed[1234] ^= 1;
    fs::write(bench.path("tiny.gguf"), changed).unwrap();
    let error = bench.store().verify("tiny", &|_| true).unwrap_err();
    assert!(matches!(error, PullError::Digest { .. }), "{error}");
    assert!(bench.store().verify("tiny", &|_| true).unwrap().is_none());
    bench.pull_well(&from_hub(&server));
}

#[test]
fn a_file_of_ones_own_is_copied_under_a_name() {
    let bench = Bench::new();
    let own = bench.outside("own.gguf");
    fs::write(&own, b"GGUF and so on").unwrap();
    let taken = bench.store().import(&own, "mine", &|_| true).unwrap();
    assert_eq!((taken.licence.as_str(), taken.bytes), ("unknown", 14));
    assert_eq!(taken.sha256, sha256(b"GGUF and so on"));
    assert_eq!(fs::read(&taken.path).unwrap(), b"GGUF and so on");
    assert_eq!(bench.store().find("mine"), Some(taken.path));
    let refused = |name: &str| bench.store().import(&own, name, &|_| true).unwrap_err().to_string();
    assert!(refused("tiny").ends_with("this is the name of a model that can be pulled"));
    for name in ["", "../x", "a/b", ".a", &"a".repeat(65)] {
        assert!(refused(name).contains("a name has letters"), "{name}");
    }
    fs::write(&own, b"GGU").unwrap();
    assert!(refused("other").ends_with("it is not in the GGUF format"));
}

#[test]
fn an_unknown_model_names_the_known_ones() {
    let error =
        Bench::new().store().pull("big", &WeightSource::Path("x".into()), &|_| true).unwrap_err();
    assert_eq!(error.to_string(), "there is no model `big`; known are tiny");
}
