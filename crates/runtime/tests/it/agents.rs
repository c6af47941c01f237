//! Reading directories: what is taken, what is refused and why, and where it ends.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use agentry_agentfile::file_tree::{FileTree, FileTreeEntry};
use agentry_protocol::ContentHash;
use agentry_runtime::definitions::tree_reader;
use agentry_runtime::limits::{READ_BYTES_MAX, READ_DEPTH_MAX, READ_FILES_MAX};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

struct Project {
    root: TempDir,
}

impl Project {
    /// A directory with these empty files.
    fn new(files: &[&str]) -> Self {
        let root = TempDir::new().expect("a temporary directory can be made");
        let project = Self { root };
        for file in files {
            project.file(&format!("p/{file}"), b"");
        }
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn file(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it lies below")).expect("it can be made");
        fs::write(path, content).expect("the file can be written");
    }

    fn link(&self, target: &str, path: &str) {
        symlink(target, self.path(path)).expect("links can be made");
    }

    fn read(&self) -> FileTree {
        tree_reader::read_project(&self.path("p"), "p").expect("the directory can be read")
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        assert_eq!(entries(&self.read()), expected);
    }
}

/// Every entry: its path, `+x` if it is executable, and the reason if it was not read.
fn entries(tree: &FileTree) -> Vec<String> {
    let entry = |(path, entry): (&str, &FileTreeEntry)| match entry {
        FileTreeEntry::File(file) if file.executable => format!("{path} +x"),
        FileTreeEntry::File(_) => path.to_owned(),
        FileTreeEntry::Refused(refusal) => format!("{path}: {refusal:?}"),
    };
    tree.below("").map(entry).collect()
}

#[test]
fn only_what_belongs_to_definitions_is_read() {
    Project::new(&[
        ".agentry/skills/s/SKILL.md",
        ".agents/other/x.md",
        ".agents/skills/t/SKILL.md",
        ".git/HEAD",
        ".git/agent.yml",
        "AGENTS.md",
        "README.md",
        "agentry.toml",
        "app/agent.yml",
        "app/AGENT.md",
        "app/src/main.rs",
        "app/tools/run.yml",
        "node_modules/x/SKILL.md",
        "src/lib.rs",
        "target/debug/agent.yml",
    ])
    .check(&[
        ".agentry/skills/s/SKILL.md",
        ".agents/skills/t/SKILL.md",
        "AGENTS.md",
        "agentry.toml",
        "app/AGENT.md",
        "app/agent.yml",
        "app/tools/run.yml",
    ]);
}

#[test]
fn the_executable_bit_is_kept() {
    let project = Project::new(&["agent.yml", "hooks/before_inference", "hooks/notes"]);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("p/hooks/before_inference"), mode).expect("it can be set");
    project.check(&["agent.yml", "hooks/before_inference +x", "hooks/notes"]);
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let project = Project::new(&["agent.yml", "data/voice.md"]);
    project.file("outside/SKILL.md", b"secret");
    project.link("data/voice.md", "p/SOUL.md");
    project.link("../outside/SKILL.md", "p/USER.md");
    project.link("../outside", "p/skills");
    let absolute = project.path("p/data/voice.md").display().to_string();
    project.link(&absolute, "p/AGENT.md");
    project.check(&[
        "AGENT.md: LinkLeavesRoot",
        "SOUL.md",
        "USER.md: LinkLeavesRoot",
        "agent.yml",
        "data/voice.md",
        "skills: LinkLeavesRoot",
    ]);
}

#[test]
fn a_link_that_leads_nowhere_says_so() {
    let project = Project::new(&["agent.yml"]);
    project.link("gone", "p/SOUL.md");
    project.link("USER.md", "p/USER.md");
    project.check(&[
        "SOUL.md: Unreadable(\"the link points to nothing\")",
        "USER.md: Unreadable(\"the link leads to itself\")",
        "agent.yml",
    ]);
}

#[test]
fn directories_that_link_to_each_other_end() {
    let project = Project::new(&["agent.yml", "skills/a/SKILL.md"]);
    project.link("..", "p/skills/a/up");
    project.link("../..", "p/skills/a/top");
    project.check(&["agent.yml", "skills/a/SKILL.md"]);
}

#[test]
fn a_pipe_and_a_link_to_one_are_not_opened() {
    let project = Project::new(&["agent.yml"]);
    let path = project.path("p/SOUL.md");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipes can be made");
    project.link("SOUL.md", "p/USER.md");
    project.check(&["SOUL.md: NotARegularFile", "USER.md: NotARegularFile", "agent.yml"]);
}

#[test]
fn what_is_refused_and_belongs_to_nobody_is_passed_over() {
    let project = Project::new(&["agent.yml"]);
    project.link("/etc/hosts", "p/notes.txt");
    project.link("gone", "p/other");
    project.check(&["agent.yml"]);
}

#[test]
fn a_file_that_is_too_large_is_known_by_its_length_and_hash() {
    let project = Project::new(&["agent.yml"]);
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    project.file("p/data/big.bin", &bytes);
    let tree = project.read();
    let file = tree.file("data/big.bin").expect("it is there");
    assert!(file.bytes.is_none());
    assert_eq!(file.length, bytes.len() as u64);
    assert_eq!(file.hash, ContentHash::of(&bytes));
}

#[test]
fn more_files_than_may_be_read_end_the_reading() {
    let project = Project::new(&["agent.yml"]);
    fs::create_dir(project.path("p/data")).expect("it can be made");
    for at in 0..=READ_FILES_MAX {
        fs::write(project.path(&format!("p/data/{at:05}")), b"").expect("it can be written");
    }
    let entries = entries(&project.read());
    assert_eq!(entries.len(), READ_FILES_MAX + 1);
    let last = entries.last().expect("there are some");
    assert_eq!(*last, format!("data/19999: TooMuch(\"more than {READ_FILES_MAX} files\")"));
}

#[test]
fn a_file_with_more_bytes_than_may_be_read_does_not_hide_its_neighbors() {
    let project = Project::new(&["agent.yml", "data/a", "data/b"]);
    let file = fs::File::create(project.path("p/data/a")).expect("it can be made");
    // A file with a hole has its length without its blocks.
    file.set_len(READ_BYTES_MAX + 1).expect("it can have a hole");
    let refusal = format!("data/a: TooMuch(\"more than {READ_BYTES_MAX} bytes altogether\")");
    project.check(&["agent.yml", &refusal, "data/b"]);
}

#[test]
fn what_lies_too_deep_does_not_hide_its_neighbors() {
    let deep = format!("skills/{}x.md", "d/".repeat(READ_DEPTH_MAX));
    let project = Project::new(&["agent.yml", &deep, "skills/z.md"]);
    let place = format!("skills{}", "/d".repeat(READ_DEPTH_MAX));
    let why = format!("directories nest more than {READ_DEPTH_MAX} deep");
    project.check(&["agent.yml", &format!("{place}: TooMuch({why:?})"), "skills/z.md"]);
}

#[test]
fn of_a_home_only_packs_and_skills_are_read() {
    let project = Project::new(&[
        ".agentry/skills/s/SKILL.md",
        ".claude/skills/t/SKILL.md",
        ".claude/history.jsonl",
        ".ssh/id_ed25519",
        "agent.yml",
        "letters/AGENT.md",
    ]);
    let tree = tree_reader::read_home(&project.path("p"), "~").expect("the home can be read");
    assert_eq!(entries(&tree), [".agentry/skills/s/SKILL.md", ".claude/skills/t/SKILL.md"]);
    assert_eq!(tree.display_path("x"), "~/x");
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    assert!(tree_reader::read_project(Path::new("no/such/directory"), "p").is_err());
}

#[test]
fn one_more_file_can_be_added_and_never_from_outside() {
    let project = Project::new(&["agent.yml", "docs/rules.md"]);
    project.file("outside.md", b"secret");
    let mut tree = project.read();
    let root = project.path("p");
    assert!(tree_reader::read_extra_file(&mut tree, &root, "docs/rules.md").is_ok());
    assert!(tree_reader::read_extra_file(&mut tree, &root, "../outside.md").is_err());
    assert_eq!(entries(&tree), ["agent.yml", "docs/rules.md"]);
}
