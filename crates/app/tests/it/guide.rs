//! The guide is true: each page is followed step by step, with the files it shows.
//!
//! A fenced block with `file=PATH` in its first line is written, `mode=755` makes it executable. Lines of a
//! `console` block that begin with `$ agentry` are run; `# exit N` at the end says how they must end.
//! `<run>`, `<turn>`, `<session>`, `<approval>` and `<key>` in a command stand for the id that was printed last, and
//! `< PATH` at its end for the file that it reads.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::story::Story;

/// `run_`, and so on, and 26 letters and digits.
const ID_CHARS: usize = 30;

#[test]
fn every_page_of_the_guide_can_be_followed() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut pages: Vec<_> = fs::read_dir(guide)
        .expect("the guide is there")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.sort();
    assert!(pages.len() > 5, "{pages:?}");
    let wrong: Vec<String> = pages.iter().flat_map(|page| follow(page)).collect();
    assert!(wrong.is_empty(), "the guide is wrong:\n{}", wrong.join("\n"));
}

/// What went otherwise than the page says.
fn follow(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("the page can be read");
    let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let story = Story::new("");
    let mut ids = Ids::default();
    let mut wrong = Vec::new();
    for block in blocks(&text) {
        if let Some(path) = block.value("file") {
            write(&story, path, &block);
        } else if block.head.starts_with("console") {
            for (at, line) in block.lines.iter().enumerate() {
                if let Err(what) = run(&story, &mut ids, line) {
                    wrong.push(format!("{name}:{}: {what}", block.line + 1 + at));
                }
            }
        }
    }
    wrong
}

/// The ids that were printed last, by what a page calls them.
#[derive(Default)]
struct Ids(BTreeMap<&'static str, String>);

impl Ids {
    fn put_into(&self, command: &str) -> String {
        let put = |text: String, (name, id): (&&str, &String)| text.replace(*name, id);
        self.0.iter().fold(command.to_owned(), put)
    }

    fn take_from(&mut self, text: &str) {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in text.split(|c| !is_inside(c)) {
            let name = match word.split_once('_') {
                Some(("run", _)) => "<run>",
                Some(("trn", _)) => "<turn>",
                Some(("ses", _)) => "<session>",
                Some(("apr", _)) => "<approval>",
                Some(("key", _)) => "<key>",
                Some(_) | None => continue,
            };
            if word.len() == ID_CHARS {
                self.0.insert(name, word.to_owned());
            }
        }
    }
}

struct Block<'a> {
    /// The line of the fence, from one.
    line: usize,
    /// What stands behind the fence.
    head: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Block<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        let mut words = self.head.split_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (at, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(head), None) => open = Some(Block { line: at + 1, head, lines: Vec::new() }),
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

fn write(story: &Story, path: &str, block: &Block<'_>) {
    story.file(path, format!("{}\n", block.lines.join("\n")).as_bytes());
    if let Some(mode) = block.value("mode") {
        let mode = u32::from_str_radix(mode, 8).expect("a mode is octal");
        fs::set_permissions(story.path(path), fs::Permissions::from_mode(mode)).expect("it can");
    }
}

fn run(story: &Story, ids: &mut Ids, line: &str) -> Result<(), String> {
    let Some(command) = line.strip_prefix("$ agentry") else { return Ok(()) };
    let (command, expected) = match command.split_once("  # exit ") {
        Some((command, code)) => (command, code.trim().parse().expect("an exit code is a number")),
        None => (command, 0),
    };
    let command = ids.put_into(command);
    let ran = match command.split_once(" < ") {
        Some((command, path)) => {
            let mut talk = story.talk(command);
            story.read(path.trim()).lines().for_each(|line| talk.say(line));
            talk.end()
        }
        None => story.ran_in("", &command),
    };
    ids.take_from(&ran.err);
    ids.take_from(&ran.out);
    if ran.code == Some(expected) {
        return Ok(());
    }
    Err(format!(
        "`agentry{command}` ends with {:?}, not {expected}\n{}{}",
        ran.code, ran.out, ran.err
    ))
}
