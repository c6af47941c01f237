//! Protected names that a call makes, and what the person made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use agentry_sandbox::protect::ProtectedNames;

use super::*;

const FILES: [&str; 18] = [
    ".gitmodules",
    ".gitconfig",
    ".envrc",
    ".mcp.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".ripgreprc",
    ".netrc",
    "agentry.toml",
    ".devcontainer.json",
    ".ENVRC",
    "Agentry.TOML",
];

const DIRECTORIES: [&str; 15] = [
    ".git",
    ".githooks",
    ".husky",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".agents",
    ".ssh",
    ".agentry",
    ".GIT",
    ".VSCode",
];

#[test]
fn every_protected_name_is_taken_at_any_depth() {
    for git in [GitAccess::Read, GitAccess::Write] {
        let scene = Scene::new();
        scene.write("sub/deep/code.rs", "");
        let mut guard = scene.guard(git);
        for below in ["", "sub/deep/", "new/"] {
            for name in FILES.iter().chain(&DIRECTORIES) {
                let path = format!("{below}{name}");
                let is_directory = DIRECTORIES.contains(name);
                let inside = if name.eq_ignore_ascii_case(".git") {
                    format!("{path}/hooks/pre-commit")
                } else {
                    format!("{path}/x")
                };
                let made = if is_directory { inside } else { path.clone() };
                let violations = scene.call(&mut guard, || {
                    scene.write(&made, "planted");
                });
                assert_eq!(told(&violations, &scene.root()), one(&path, "planted"));
                assert!(!scene.is_there(&path), "{path}");
                assert!(violations[0].quarantined.as_ref().unwrap().exists(), "{path}");
            }
        }
        assert!(scene.is_there("sub/deep/code.rs"));
        scene.is_at_rest(&mut guard);
    }
}

#[test]
fn a_directory_that_gets_a_protected_name_is_seen_by_that_name() {
    let scene = Scene::new();
    scene.write("fixtures/tasks.json", "the person's own, and old");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("fixtures"), scene.at(".vscode")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), one(".vscode", "planted"));
}

#[test]
fn what_a_pack_or_an_operator_names_is_protected_too() {
    let scene = Scene::new();
    scene.write("agents/coder/AGENT.md", "calm");
    let paths = vec![scene.at("agents/coder"), scene.at("policy.yml"), "/elsewhere".into()];
    let names = ProtectedNames::with(&[".nanobot"]);
    let mut guard = scene.guard_with(Protection { names, paths, ..Protection::default() });
    assert_eq!(guard.mounts(), [scene.at("agents/coder")]);
    let violations = scene.call(&mut guard, || {
        scene.write("policy.yml", "x");
        scene.write("a/.nanobot/x", "x");
        scene.write("agents/coder/AGENT.md", "bold");
        scene.write("agents/coder/tools/new", "x");
        scene.write("agents/other/AGENT.md", "free");
    });
    let expected = [
        ("agents/coder/AGENT.md", "changed"),
        ("a/.nanobot", "planted"),
        ("agents/coder/tools", "planted"),
        ("agents/other/AGENT.md", "planted"),
        ("policy.yml", "planted"),
    ];
    let expected: Vec<_> = expected.iter().flat_map(|(path, what)| one(path, what)).collect();
    assert_eq!(told(&violations, &scene.root()), expected);
    assert_eq!(scene.read("agents/coder/AGENT.md"), "calm");
    scene.is_at_rest(&mut guard);
}

#[test]
fn links_fifos_and_sockets_under_a_protected_name_are_taken_and_never_opened() {
    let scene = Scene::new();
    let outside = scene.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("config"), "kept").unwrap();
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        symlink(&outside, scene.at(".git")).unwrap();
        make_fifo(&scene.at(".envrc"));
        std::os::unix::net::UnixListener::bind(scene.at(".netrc")).unwrap();
        symlink("nowhere", scene.at(".mcp.json")).unwrap();
        symlink(".bashrc", scene.at(".bashrc")).unwrap();
    });
    assert_eq!(violations.len(), 5);
    assert!(violations.iter().all(|it| it.restored && it.what == ViolationKind::Planted));
    assert_eq!(fs::read_dir(scene.root()).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(outside.join("config")).unwrap(), "kept");
    let link = violations.iter().find(|it| it.path == scene.at(".git")).unwrap();
    assert_eq!(fs::read_link(link.quarantined.as_ref().unwrap()).unwrap(), outside);
}

#[test]
fn a_link_to_a_directory_is_not_entered() {
    let scene = Scene::new();
    let outside = scene.dir.path().join("outside");
    fs::create_dir_all(outside.join(".git")).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        symlink(&outside, scene.at("sub")).unwrap();
        symlink(".", scene.at("round")).unwrap();
    });
    assert_eq!(violations, []);
    assert!(outside.join(".git").exists());
}

#[test]
fn names_that_are_no_text_are_walked_and_told() {
    let scene = Scene::new();
    let odd = scene.root().join(OsStr::from_bytes(b"a\xff\n\x1b[2J"));
    fs::create_dir(&odd).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || fs::write(odd.join(".envrc"), "x").unwrap());
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].path, odd.join(".envrc"));
    let line = violations[0].to_string();
    assert!(!line.contains(['\n', '\u{1b}']), "{line}");
}

#[test]
fn what_the_person_makes_between_calls_is_theirs() {
    let scene = Scene::new();
    scene.write(".envrc", "one");
    let mut guard = scene.guard(GitAccess::Read);
    scene.is_at_rest(&mut guard);
    scene.write(".envrc", "two");
    scene.write("sub/.git/hooks/pre-commit", "mine");
    scene.is_at_rest(&mut guard);
    assert_eq!(scene.read(".envrc"), "two");
    assert_eq!(guard.mounts(), [scene.at(".envrc"), scene.at("sub/.git")]);
    fs::rename(scene.at("sub"), scene.at("other")).unwrap();
    fs::remove_file(scene.at(".envrc")).unwrap();
    scene.is_at_rest(&mut guard);
    assert_eq!(guard.mounts(), [scene.at("other/.git")]);
}

#[test]
fn what_is_not_protected_is_left_alone() {
    let scene = Scene::new();
    scene.write(".envrc", "mine");
    scene.write(".vscode/tasks.json", "mine");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        scene.write(".gitignore", "x");
        scene.write("src/git", "x");
        scene.write(".envrc.example", "x");
        // Written with the same content: nothing is different.
        scene.write(".vscode/tasks.json", "mine");
    });
    assert_eq!(violations, []);
    assert_eq!(scene.read(".envrc"), "mine");
}

#[test]
fn what_was_changed_or_removed_is_put_back_with_its_permissions() {
    let scene = Scene::new();
    let hook = scene.write(".husky/pre-commit", "check");
    set_mode(&hook, 0o750);
    scene.write(".husky/_/h", "more");
    set_mode(&scene.write(".envrc", "mine"), 0o640);
    symlink("a/b", scene.at(".mcp.json")).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        scene.write(".envrc", "theirs");
        fs::remove_dir_all(scene.at(".husky")).unwrap();
        fs::remove_file(scene.at(".mcp.json")).unwrap();
        scene.write(".mcp.json", "{}");
    });
    let expected: Vec<_> = [(".envrc", "changed"), (".husky", "removed"), (".mcp.json", "changed")]
        .iter()
        .flat_map(|(path, what)| one(path, what))
        .collect();
    assert_eq!(told(&violations, &scene.root()), expected);
    assert_eq!((scene.read(".envrc"), mode(&scene.at(".envrc"))), ("mine".into(), 0o640));
    assert_eq!((scene.read(".husky/pre-commit"), mode(&hook)), ("check".into(), 0o750));
    assert_eq!(scene.read(".husky/_/h"), "more");
    assert_eq!(fs::read_link(scene.at(".mcp.json")).unwrap(), Path::new("a/b"));
    assert_eq!(fs::read_to_string(scene.quarantine().join("0001/.envrc")).unwrap(), "theirs");
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_right_to_be_executed_is_a_change() {
    let scene = Scene::new();
    set_mode(&scene.write(".githooks/pre-push", "x"), 0o644);
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || set_mode(&scene.at(".githooks/pre-push"), 0o755));
    assert_eq!(told(&violations, &scene.root()), one(".githooks/pre-push", "changed"));
    assert_eq!(mode(&scene.at(".githooks/pre-push")), 0o644);
}

#[test]
fn a_change_through_another_name_of_the_file_is_seen() {
    let scene = Scene::new();
    scene.write(".envrc", "mine");
    fs::hard_link(scene.at(".envrc"), scene.at("innocent")).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || fs::write(scene.at("innocent"), "theirs").unwrap());
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "changed"));
    assert_eq!((scene.read(".envrc"), scene.read("innocent")), ("mine".into(), "theirs".into()));
}

#[test]
fn where_a_protected_link_points_to_is_protected() {
    let scene = Scene::new();
    scene.write("tools/husky/pre-commit", "check");
    symlink("tools/husky", scene.at(".husky")).unwrap();
    // One that leads to a directory around itself would protect too much.
    fs::create_dir(scene.at("tools/deep")).unwrap();
    symlink("..", scene.at("tools/deep/.claude")).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    assert_eq!(guard.mounts(), [scene.at("tools/husky")]);
    let violations = scene.call(&mut guard, || {
        scene.write("tools/husky/pre-commit", "evil");
    });
    assert_eq!(told(&violations, &scene.root()), one("tools/husky/pre-commit", "changed"));
    assert_eq!(scene.read("tools/husky/pre-commit"), "check");
}

#[test]
fn a_link_to_a_directory_with_something_protected_in_it_protects_all_of_it() {
    let scene = Scene::new();
    scene.write("tools/.envrc", "mine");
    scene.write("tools/pre-commit", "check");
    symlink("tools", scene.at(".husky")).unwrap();
    assert_eq!(scene.guard(GitAccess::Read).mounts(), [scene.at("tools")]);
}

#[test]
fn only_a_file_called_git_points_to_a_repository() {
    let scene = Scene::new();
    scene.write("store/config", "mine");
    scene.write(".envrc", "gitdir: store\n");
    assert_eq!(scene.guard(GitAccess::Read).mounts(), [scene.at(".envrc")]);
}

#[test]
fn a_directory_in_the_place_of_a_protected_file_is_taken() {
    let scene = Scene::new();
    scene.write(".envrc", "mine");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::remove_file(scene.at(".envrc")).unwrap();
        fs::create_dir(scene.at(".envrc")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "changed"));
    assert_eq!(scene.read(".envrc"), "mine");
}

#[test]
fn what_was_put_back_belongs_to_whom_it_belonged() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let scene = Scene::new();
    let path = scene.write(".envrc", "mine");
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65534), Some(65534)).unwrap();
    }
    let owner = || path.metadata().map(|it| (it.uid(), it.gid())).unwrap();
    let before = owner();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::remove_file(&path).unwrap();
        scene.write(".envrc", "theirs");
    });
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "changed"));
    assert_eq!(owner(), before);
}

#[test]
fn names_that_begin_in_a_protected_way_are_protected_in_their_directory() {
    let scene = Scene::new();
    scene.write("keys/id_one", "mine");
    let beginnings = vec![scene.at("keys/id_"), scene.at("missing/id_")];
    let mut guard = scene.guard_with(Protection { beginnings, ..Protection::default() });
    assert_eq!(guard.mounts(), [scene.at("keys/id_one")]);
    let violations = scene.call(&mut guard, || {
        scene.write("keys/id_two", "planted");
        scene.write("keys/no_id_", "free");
        scene.write("id_three", "free");
    });
    assert_eq!(told(&violations, &scene.root()), one("keys/id_two", "planted"));
    // A directory that cannot be looked for could hold such a name.
    let beginnings = vec![scene.at(&"x".repeat(300)).join("id_")];
    let protection = Protection { beginnings, ..Protection::default() };
    ProtectionGuard::scan(&[scene.root()], protection, WalkBounds::default()).unwrap_err();
}

#[test]
fn a_directory_in_one_that_is_protected_by_its_path_is_protected_itself() {
    let scene = Scene::new();
    scene.write("agents/sub/.envrc", "mine");
    set_mode(&scene.at("agents/sub"), 0o755);
    let paths = vec![scene.at("agents")];
    let mut guard = scene.guard_with(Protection { paths, ..Protection::default() });
    let violations = scene.call(&mut guard, || set_mode(&scene.at("agents/sub"), 0o700));
    assert_eq!(told(&violations, &scene.root()), one("agents/sub", "changed"));
    assert_eq!(mode(&scene.at("agents/sub")), 0o755);
}

#[test]
fn what_stands_beside_a_definition_is_protected_where_the_loader_reads_it() {
    let scene = Scene::new();
    for path in [
        "SKILL.md",
        "scripts/run.sh",
        "agent/AGENT.md",
        "agent/SOUL.md",
        "agent/notes.md",
        "agent/prompts/x.md",
        "node_modules/a/AGENT.md",
        "node_modules/a/SOUL.md",
        "node_modules/s/SKILL.md",
        "other/SOUL.md",
        "other/prompts/.envrc",
        "skill/SKILL.md",
        "skill/scripts/run.sh",
    ] {
        scene.write(path, "");
    }
    let expected = [
        "SKILL.md",
        "agent/AGENT.md",
        "agent/SOUL.md",
        "agent/prompts",
        "other/prompts/.envrc",
        "skill/SKILL.md",
        "skill/scripts",
    ];
    assert_eq!(scene.guard(GitAccess::Read).mounts(), expected.map(|path| scene.at(path)));
}

#[test]
fn what_one_of_two_calls_does_is_found_whichever_ends_first() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    let first = guard.begin().unwrap();
    scene.write(".envrc", "of the first");
    // The second begins after the deed, and must not take it for the person's.
    let second = guard.begin().unwrap();
    let violations = guard.check(&second, &scene.quarantine()).unwrap().violations;
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "planted"));
    scene.write(".envrc", "again");
    let violations = guard.check(&first, &scene.quarantine()).unwrap().violations;
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "planted"));
}

#[test]
fn a_call_that_was_never_checked_is_checked_with_the_next() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    drop(guard.begin().unwrap());
    scene.write(".envrc", "left behind");
    let violations = scene.call(&mut guard, || ());
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "planted"));
    scene.write(".envrc", "mine");
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_root_inside_of_a_protected_directory_stays_free() {
    let scene = Scene::new();
    scene.write(".claude/settings.json", "{}");
    scene.write(".claude/wt/code.rs", "");
    scene.write(".claude/wt/.envrc", "");
    let roots = [scene.root(), scene.at(".claude/wt")];
    let mut guard =
        ProtectionGuard::scan(&roots, Protection::default(), WalkBounds::default()).unwrap();
    assert_eq!(guard.mounts(), [scene.at(".claude"), scene.at(".claude/wt/.envrc")]);
    let violations = scene.call(&mut guard, || {
        scene.write(".claude/wt/code.rs", "fn main() {}");
        scene.write(".claude/wt/.mcp.json", "{}");
    });
    assert_eq!(told(&violations, &scene.root()), one(".claude/wt/.mcp.json", "planted"));
}

#[test]
fn a_root_inside_of_a_root_is_looked_at_once_and_free_whatever_its_name() {
    let scene = Scene::new();
    scene.write("sub/.envrc", "");
    scene.write(".claude/.mcp.json", "");
    scene.write(".claude/notes.md", "");
    let roots = [scene.at(".claude"), scene.at("sub"), scene.root(), scene.at("missing")];
    let mut guard =
        ProtectionGuard::scan(&roots, Protection::default(), WalkBounds::default()).unwrap();
    assert_eq!(guard.mounts(), [scene.at(".claude/.mcp.json"), scene.at("sub/.envrc")]);
    let violations = scene.call(&mut guard, || {
        scene.write(".claude/notes.md", "more");
        scene.write("sub/.envrc", "theirs");
    });
    assert_eq!(told(&violations, &scene.root()), one("sub/.envrc", "changed"));
}

#[test]
fn a_link_on_the_way_to_a_protected_path_is_taken_and_not_followed() {
    let scene = Scene::new();
    let outside = scene.dir.path().canonicalize().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("policy.yml"), "outside").unwrap();
    let paths = vec![scene.at("sub/policy.yml")];
    let mut guard = scene.guard_with(Protection { paths, ..Protection::default() });
    let violations = scene.call(&mut guard, || symlink(&outside, scene.at("sub")).unwrap());
    assert_eq!(told(&violations, &scene.root()), one("sub", "planted"));
    assert_eq!(fs::read_to_string(outside.join("policy.yml")).unwrap(), "outside");
}

#[test]
fn a_directory_that_a_call_closed_is_opened_again() {
    let scene = Scene::new();
    scene.write("sub/.envrc", "mine");
    set_mode(&scene.at("sub"), 0o750);
    let mut guard = scene.guard(GitAccess::Read);
    assert_eq!(scene.call(&mut guard, || set_mode(&scene.at("sub"), 0)), []);
    assert_eq!(mode(&scene.at("sub")), 0o750);
    assert_eq!(scene.read("sub/.envrc"), "mine");
}

#[test]
fn a_path_is_protected_by_what_stands_beside_it() {
    let there = [
        "a/AGENT.md",
        "s/SKILL.md",
        "r/HEAD",
        "r/objects",
        "SKILL.md",
        "whole/HEAD",
        "whole/objects",
        "whole/refs",
        "headless/refs",
        "head/HEAD",
    ];
    let has = |path: &Path| there.iter().any(|one| Path::new(one) == path);
    for (path, expected) in [
        ("a/SOUL.md", true),
        ("a/prompts/x.md", true),
        ("a/other.md", false),
        ("b/SOUL.md", false),
        ("s/scripts/run.sh", true),
        ("scripts/run.sh", false),
        ("r/refs/x", true),
        ("r/config", false),
        ("q/refs/x", false),
        ("whole/readme", false),
        // A repository without a directory `.git` may have come to be after the files were mounted.
        ("whole/config", true),
        ("whole/config.worktree", true),
        ("whole/hooks/pre-commit", true),
        ("whole/info/attributes", true),
        ("headless/objects", false),
        ("head/objects", false),
    ] {
        let is_protected = agentry_sandbox::protect::is_protected_among(Path::new(path), &has);
        assert_eq!(is_protected, expected, "{path}");
    }
}
