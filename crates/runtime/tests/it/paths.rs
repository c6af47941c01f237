//! Rules and tools agree on paths: over random trees with links and random spellings, the file that a tool writes or
//! reads is the one that the rules judged.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene shall fail there")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_kernel::approval::{JudgedPath, RulePatterns, decide_at};
use agentry_protocol::CallId;
use agentry_protocol::call_facts::{CallFacts, ResolvedPath};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall};
use agentry_protocol::verdict::Verdict;
use agentry_runtime::turn::call_facts;
use agentry_sandbox::CancelToken;
use agentry_tools::{FetchRules, ToolContext, ToolLimits, ToolSandbox, Toolset, Workspace};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const DIRECTORIES: [&str; 6] = ["docs", "docs/in", "src", "src/in", "x", "x/in"];
const TARGETS: [&str; 12] = [
    ".",
    "..",
    "../..",
    "docs",
    "src",
    "../docs",
    "../src",
    "in",
    "../src/in",
    "../x/l0",
    "nowhere",
    "/tmp",
];
const PARTS: [&str; 12] =
    ["docs", "src", "x", "in", "l0", "l1", "l2", "..", ".", "", "new", "DOCS"];

#[derive(Clone, Debug)]
struct Scene {
    links: Vec<(usize, usize, usize)>,
    parts: Vec<usize>,
    file: usize,
    absolute: bool,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let link = (0..DIRECTORIES.len() + 1, 0..3_usize, 0..TARGETS.len());
    let links = prop::collection::vec(link, 0..5);
    let parts = prop::collection::vec(0..PARTS.len(), 0..5);
    (links, parts, 0..4_usize, any::<bool>()).prop_map(|(links, parts, file, absolute)| Scene {
        links,
        parts,
        file,
        absolute,
    })
}

impl Scene {
    fn build(&self, root: &Path) {
        for directory in DIRECTORIES {
            fs::create_dir_all(root.join(directory)).unwrap();
            fs::write(root.join(directory).join("a"), format!("<{directory}>")).unwrap();
        }
        for (place, name, target) in &self.links {
            let place = DIRECTORIES.get(*place).map_or(root.to_owned(), |one| root.join(one));
            // Of two links of one name the first stays.
            symlink(TARGETS[*target], place.join(format!("l{name}"))).ok();
        }
    }

    fn path(&self, root: &Path) -> String {
        let mut parts: Vec<&str> = self.parts.iter().map(|part| PARTS[*part]).collect();
        parts.push(["a", "b", "l0", "in"][self.file]);
        let path = parts.join("/");
        match (self.absolute, path.starts_with('/')) {
            (true, _) => format!("{}/{path}", root.display()),
            (false, true) => format!(".{path}"),
            (false, false) => path,
        }
    }
}

fn rules() -> Vec<ApprovalRule> {
    let rules = json!([
        {"subject": "write_file", "allow": false, "when": {"path": {"startsWith": "src/"}}, "origin": "A:1:1"},
        {"subject": "write_file", "allow": true, "when": {"path": {"startsWith": "docs/"}}, "origin": "A:2:1"},
        {"subject": "read_file", "allow": false, "when": {"path": {"startsWith": "src/"}}, "origin": "A:3:1"},
        {"subject": "read_file", "allow": true, "when": {"path": {"startsWith": "docs/"}}, "origin": "A:4:1"},
    ]);
    serde_json::from_value(rules).unwrap()
}

fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { id: CallId::from_number(1), tool: ToolName::canonical(tool), input }
}

fn judge(workspace: &Workspace, call: &ToolCall) -> (Verdict, Option<ResolvedPath>) {
    let found = CallFacts { paths: call_facts::paths(workspace, call), ..CallFacts::default() };
    let root = workspace.path().display().to_string();
    let path = JudgedPath::of(call.tool.as_str(), &call.input, &found, &root);
    let rules = rules();
    let (patterns, tool) = (RulePatterns::default(), call.tool.as_str());
    let verdict = decide_at(&patterns, &rules, tool, &call.input, path.as_ref()).verdict;
    (verdict, found.paths.get("path").cloned())
}

/// Every file below a directory that holds this text, without following links.
fn holding(root: &Path, directory: &Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            holding(root, &path, text, found);
        } else if kind.is_file() && fs::read_to_string(&path).unwrap() == text {
            found.push(path.strip_prefix(root).unwrap().to_owned());
        }
    }
}

fn run(
    workspace: &Workspace,
    call: &ToolCall,
    judged: Option<&ResolvedPath>,
) -> agentry_protocol::tool_call::ToolOutcome {
    let (stop, fetch) = (CancelToken::new(), FetchRules::default());
    let context = ToolContext {
        workspace,
        stop: &stop,
        bounds: ToolLimits::default(),
        fetch: &fetch,
        env: &[],
        confines: ToolSandbox::Off,
        judged,
    };
    Toolset::builtin().run(call, &context)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_file_that_is_opened_is_the_one_that_the_rules_judged(scene in scenes()) {
        let home = TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap().join("w");
        fs::create_dir(&root).unwrap();
        scene.build(&root);
        let workspace = Workspace::open(&root).unwrap();
        let path = scene.path(&root);

        let read = call("read_file", json!({"path": path}));
        let (verdict, judged) = judge(&workspace, &read);
        let outcome = run(&workspace, &read, judged.as_ref());
        if outcome.status == OutcomeStatus::Done {
            // Each file says where it is.
            let place = DIRECTORIES.iter().find(|one| outcome.text.contains(&format!("<{one}>"))).unwrap();
            let expected = format!("{place}/a");
            prop_assert_eq!(judged.as_ref().map(ResolvedPath::display_text), Some(expected.as_str()));
            prop_assert_eq!(verdict == Verdict::Allow, place.starts_with("docs"), "{}", path);
        }

        let write = call("write_file", json!({"path": path, "content": "written"}));
        let (verdict, judged) = judge(&workspace, &write);
        let outcome = run(&workspace, &write, judged.as_ref());
        let mut found = Vec::new();
        let above = root.parent().unwrap();
        holding(above, above, "written", &mut found);
        prop_assert_eq!(outcome.status == OutcomeStatus::Done, found.len() == 1, "{}: {:?}", path, &found);
        if let [place] = &found[..] {
            let place = place.strip_prefix("w").expect("nothing is written outside");
            prop_assert_eq!(judged.as_ref().map(ResolvedPath::display_text), place.to_str(), "{}", path);
            prop_assert_eq!(verdict == Verdict::Allow, place.starts_with("docs"), "{}", path);
        }
    }

    #[test]
    fn a_tree_that_changes_after_the_judgement_is_not_touched(
        scene in scenes(),
        later in prop::collection::vec((0..DIRECTORIES.len() + 1, 0..3_usize, 0..TARGETS.len()), 1..4),
    ) {
        let home = TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap().join("w");
        fs::create_dir(&root).unwrap();
        scene.build(&root);
        let workspace = Workspace::open(&root).unwrap();
        let write = call("write_file", json!({"path": scene.path(&root), "content": "written"}));
        let (_, judged) = judge(&workspace, &write);
        for (place, name, target) in later {
            let place = DIRECTORIES.get(place).map_or(root.clone(), |one| root.join(one));
            let link = place.join(format!("l{name}"));
            fs::remove_file(&link).ok();
            symlink(TARGETS[target], link).ok();
        }
        run(&workspace, &write, judged.as_ref());
        let mut found = Vec::new();
        holding(&root, &root, "written", &mut found);
        for place in found {
            prop_assert_eq!(judged.as_ref().map(ResolvedPath::display_text), place.to_str());
        }
    }
}
