//! Repositories: read, or written but for hooks and settings.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

/// Runs git as it is installed; false if it is not.
fn git(dir: &Path, args: &[&str]) -> bool {
    let status = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output();
    match status {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(_) => false,
    }
}

#[test]
fn a_repository_of_git_itself_is_accepted_only_where_it_may_be_written() {
    for (mode, expected) in [(GitAccess::Write, 0), (GitAccess::Read, 1)] {
        let scene = Scene::new();
        let mut guard = scene.guard(mode);
        let violations = scene.call(&mut guard, || {
            git(&scene.root(), &["init", "-q"]);
        });
        assert!(violations.len() <= expected, "{violations:?}");
        if scene.is_there(".git") {
            assert_eq!(mode, GitAccess::Write);
            let _next_call = guard.begin().unwrap();
            let mounts = guard.mounts();
            assert!(mounts.contains(&scene.at(".git/config")), "{mounts:?}");
            assert!(mounts.contains(&scene.at(".git/hooks")), "{mounts:?}");
        }
        scene.is_at_rest(&mut guard);
    }
}

#[test]
fn work_in_a_repository_that_may_be_written_is_no_violation() {
    let scene = Scene::new();
    let root = scene.root();
    if !git(&root, &["init", "-q", "-b", "main"]) {
        return;
    }
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        scene.write("a", "a");
        git(&root, &["add", "a"]);
        git(&root, &["commit", "-q", "-m", "a"]);
        git(&root, &["branch", "b"]);
        git(&root, &["worktree", "add", "-q", "wt", "b"]);
        git(&root, &["clone", "-q", "./.", "copy"]);
    });
    // A clone of a path on this machine names it in full, which is not on the list.
    assert_eq!(told(&violations, &root), one("copy/.git", "planted"));
    assert!(scene.is_there("wt/.git"));
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_submodule_is_accepted_where_the_repository_may_be_written() {
    let scene = Scene::new();
    let root = scene.root();
    if !git(&root, &["init", "-q"]) {
        return;
    }
    let source = scene.dir.path().canonicalize().unwrap().join("source");
    fs::create_dir(&source).unwrap();
    git(&source, &["init", "-q"]);
    git(&source, &["commit", "-q", "--allow-empty", "-m", "a"]);
    git(&root, &["submodule", "--quiet", "add", "../source", "sub"]);
    git(&root, &["submodule", "--quiet", "deinit", "-f", "sub"]);
    fs::remove_dir_all(scene.at(".git/modules")).unwrap();
    let mut guard = scene.guard(GitAccess::Write);
    let url = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
               \tlogallrefupdates = true\n\tworktree = ../../../sub\n[remote \"origin\"]\n\
               \turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
    let clone = || {
        scene.write(".git/modules/sub/HEAD", "ref: refs/heads/main\n");
        scene.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    };
    let violations = scene.call(&mut guard, || {
        clone();
        scene.write(".git/modules/sub/config", url);
    });
    assert_eq!(violations, []);
    let expected = scene.at(".git/modules/sub/config");
    let _next_call = guard.begin().unwrap();
    assert!(guard.mounts().contains(&expected), "{:?}", guard.mounts());
}

#[test]
fn each_part_that_runs_something_is_protected_in_a_repository_that_may_be_written() {
    for part in [
        "hooks/pre-commit",
        "config",
        "config.worktree",
        "commondir",
        "info/attributes",
        "modules/a/config",
        "modules/a/hooks/post-checkout",
        "modules/a/b/config",
        "worktrees/w/config.worktree",
        "worktrees/w/commondir",
    ] {
        let new = Scene::new();
        new.write(".git/HEAD", "ref: refs/heads/main\n");
        new.write(".git/modules/a/HEAD", "");
        new.write(".git/modules/a/b/HEAD", "");
        let path = format!(".git/{part}");
        let mut guard = new.guard(GitAccess::Write);
        assert_eq!(guard.mounts(), Vec::<PathBuf>::new());
        let evil = "[core]\n\tfsmonitor = ./x\n";
        let violations = new.call(&mut guard, || {
            new.write(&path, evil);
            new.write(".git/refs/heads/main", "0000");
        });
        assert_eq!(violations.len(), 1, "{part}: {violations:?}");
        assert_eq!(violations[0].what, ViolationKind::Planted);
        assert!(!new.is_there(&path), "{part}");
        assert!(new.is_there(".git/refs/heads/main"));

        // The same, where it was there before.
        new.write(&path, "mine");
        let violations = new.call(&mut guard, || {
            new.write(&path, evil);
        });
        assert_eq!(told(&violations, &new.root()), one(&path, "changed"));
        assert_eq!(new.read(&path), "mine");
        let mounts = guard.mounts();
        assert!(mounts.iter().any(|it| new.at(&path).starts_with(it)), "{part}: {mounts:?}");
        assert!(!mounts.contains(&new.at(".git")));
    }
}

#[test]
fn a_repository_that_was_made_with_teeth_is_planted() {
    let teeth = [
        ("hooks/pre-commit", "x"),
        ("config", "[core]\n\thooksPath = ../x\n"),
        ("config", "[include]\n\tpath = ../x\n"),
        ("commondir", "../x\n"),
        ("info/attributes", "* filter=x\n"),
        ("modules/m/config", "[alias]\n\tx = !y\n"),
        ("hooks/pre-commit.sample/x", "x"),
    ];
    for (part, text) in teeth {
        let scene = Scene::new();
        let mut guard = scene.guard(GitAccess::Write);
        let violations = scene.call(&mut guard, || {
            scene.write("new/.git/HEAD", "ref: refs/heads/main\n");
            scene.write("new/.git/modules/m/HEAD", "x");
            scene.write("new/.git/hooks/pre-push.sample", "x");
            scene.write(&format!("new/.git/{part}"), text);
        });
        assert_eq!(told(&violations, &scene.root()), one("new/.git", "planted"), "{part}");
    }
}

#[test]
fn a_sample_that_is_no_file_is_no_sample() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        fs::create_dir_all(scene.at(".git/hooks")).unwrap();
        symlink("../../x", scene.at(".git/hooks/pre-commit.sample")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), one(".git", "planted"));
}

#[test]
fn links_inside_of_a_repository_lead_nowhere() {
    for link in ["modules", "worktrees", "info", "hooks", "config", "modules/m"] {
        let scene = Scene::new();
        scene.write(".git/HEAD", "ref: refs/heads/main\n");
        if link == "modules/m" {
            fs::create_dir(scene.at(".git/modules")).unwrap();
        }
        let mut guard = scene.guard(GitAccess::Write);
        let violations = scene.call(&mut guard, || {
            scene.write("evil/m/config", "[core]\n\tfsmonitor = x\n");
            symlink(scene.at("evil"), scene.at(&format!(".git/{link}"))).unwrap();
        });
        let expected = one(&format!(".git/{link}"), "planted");
        assert_eq!(told(&violations, &scene.root()), expected);
    }
}

#[test]
fn a_file_that_names_a_repository_elsewhere_is_planted() {
    for text in [
        "gitdir: /elsewhere\n",
        "gitdir: evil\n",
        "gitdir: ../evil\n",
        "gitdir: ../.git/modules/../../evil\n",
        "gitdir: ../.git/modules/none\n",
        "gitdir: ../.git/modules/link\n",
        "gitdir: ../.git/modules/link/inner\n",
        "no repository",
    ] {
        let scene = Scene::new();
        scene.write(".git/HEAD", "ref: refs/heads/main\n");
        scene.write("evil/config", "[core]\n\tfsmonitor = x\n");
        scene.write("evil/inner/config", "[core]\n\tfsmonitor = x\n");
        scene.write("sub/evil/config", "[core]\n\tfsmonitor = x\n");
        scene.write(".git/modules/real/HEAD", "x");
        symlink("../../evil", scene.at(".git/modules/link")).unwrap();
        let mut guard = scene.guard(GitAccess::Write);
        let violations = scene.call(&mut guard, || {
            scene.write("sub/.git", text);
        });
        assert_eq!(told(&violations, &scene.root()), one("sub/.git", "planted"), "{text}");
        // One that names a submodule of ours is fine, where repositories may be written.
        let violations = scene.call(&mut guard, || {
            scene.write("sub/.git", "gitdir: ../.git/modules/real\n");
        });
        assert_eq!(violations, []);
    }
}

#[test]
fn only_a_file_called_git_may_name_a_submodule() {
    let scene = Scene::new();
    scene.write(".git/HEAD", "ref: refs/heads/main\n");
    scene.write(".git/modules/real/HEAD", "x");
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        scene.write("sub/.envrc", "gitdir: ../.git/modules/real\n");
    });
    assert_eq!(told(&violations, &scene.root()), one("sub/.envrc", "planted"));
}

#[test]
fn a_directory_in_the_place_of_settings_is_planted() {
    let scene = Scene::new();
    scene.write(".git/HEAD", "ref: refs/heads/main\n");
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || fs::create_dir(scene.at(".git/config")).unwrap());
    assert_eq!(told(&violations, &scene.root()), one(".git/config", "planted"));
}

#[test]
fn a_repository_under_another_name_is_protected_where_a_file_points_to_it() {
    let scene = Scene::new();
    scene.write("store/config", "mine");
    scene.write("store/objects/x", "x");
    scene.write("sub/.git", "gitdir: ../store\n");
    let mut guard = scene.guard(GitAccess::Write);
    assert_eq!(guard.mounts(), [scene.at("store/config"), scene.at("sub/.git")]);
    let violations = scene.call(&mut guard, || {
        scene.write("store/config", "theirs");
        scene.write("store/objects/y", "y");
    });
    assert_eq!(told(&violations, &scene.root()), one("store/config", "changed"));
    assert_eq!(scene.guard(GitAccess::Read).mounts(), [scene.at("store"), scene.at("sub/.git")]);
}

#[test]
fn a_repository_that_is_read_is_one_mount() {
    let scene = Scene::new();
    scene.write(".git/config", "");
    scene.write(".git/hooks/h", "");
    scene.write("a/b/.git", "gitdir: ../../.git/modules/b\n");
    scene.write("a/.vscode/tasks.json", "");
    let guard = scene.guard(GitAccess::Read);
    let expected = [scene.at(".git"), scene.at("a/.vscode"), scene.at("a/b/.git")];
    assert_eq!(guard.mounts(), expected);
}

#[test]
fn a_repository_is_compared_as_a_whole_only_where_it_may_only_be_read_and_cannot_be_mounted() {
    for (git, whole_repositories) in [
        (GitAccess::Read, false),
        (GitAccess::Write, false),
        (GitAccess::Write, true),
        (GitAccess::Read, true),
    ] {
        let scene = Scene::new();
        scene.write(".git/config", "");
        let protection = Protection { git, whole_repositories, ..Protection::default() };
        let mut guard = scene.guard_with(protection);
        let violations = scene.call(&mut guard, || {
            scene.write(".git/objects/aa", "");
        });
        let is_compared = git == GitAccess::Read && whole_repositories;
        assert_eq!(violations.is_empty(), !is_compared, "{git:?} {whole_repositories}");
    }
}

#[test]
fn a_submodule_may_have_the_name_of_a_part_of_a_repository() {
    let scene = Scene::new();
    for path in ["HEAD", "modules/logs/HEAD", "modules/logs/config", "modules/a/logs/HEAD"] {
        scene.write(&format!(".git/{path}"), "");
    }
    // In a repository, what is large and runs nothing is left out.
    scene.write(".git/modules/a/HEAD", "");
    scene.write(".git/modules/a/logs/config", "");
    assert_eq!(scene.guard(GitAccess::Write).mounts(), [scene.at(".git/modules/logs/config")]);
}

#[test]
fn a_repository_that_is_protected_by_its_path_is_protected_as_a_whole() {
    let scene = Scene::new();
    scene.write(".git/config", "");
    let (git, paths) = (GitAccess::Write, vec![scene.at(".git")]);
    let guard = scene.guard_with(Protection { git, paths, ..Protection::default() });
    assert_eq!(guard.mounts(), [scene.at(".git")]);
}

/// Makes a directory look like a repository to git.
fn make_bare(scene: &Scene, directory: &str) {
    scene.write(&format!("{directory}HEAD"), "ref: refs/heads/main\n");
    fs::create_dir_all(scene.at(&format!("{directory}objects"))).unwrap();
    fs::create_dir_all(scene.at(&format!("{directory}refs"))).unwrap();
}

#[test]
fn a_directory_that_was_made_a_repository_loses_what_makes_it_one() {
    for directory in ["", "src/", "new/"] {
        for mode in [GitAccess::Read, GitAccess::Write] {
            let scene = Scene::new();
            scene.write("src/main.rs", "fn main() {}");
            let mut guard = scene.guard(mode);
            let violations = scene.call(&mut guard, || {
                make_bare(&scene, directory);
                scene.write(&format!("{directory}config"), "[core]\n\tfsmonitor = ./x\n");
            });
            assert!(!violations.is_empty() && violations.iter().all(|it| it.restored));
            assert!(!scene.is_there(&format!("{directory}config")));
            assert_eq!(scene.is_there(&format!("{directory}HEAD")), mode == GitAccess::Write);
            assert!(scene.is_there("src/main.rs"));
            scene.is_at_rest(&mut guard);
        }
    }
    // Where `commondir` leads git elsewhere, the rest may be missing.
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        scene.write("src/HEAD", "ref: refs/heads/main\n");
        scene.write("src/commondir", "../evil\n");
    });
    assert_eq!(told(&violations, &scene.root()), one("src/commondir", "planted"));
}

#[test]
fn a_directory_with_half_of_what_makes_a_repository_is_none() {
    for half in [["HEAD", "objects/x"], ["HEAD", "refs/x"], ["objects/x", "refs/x"]] {
        let scene = Scene::new();
        scene.write("config", "");
        for path in half {
            scene.write(path, "");
        }
        assert_eq!(scene.guard(GitAccess::Read).mounts(), Vec::<PathBuf>::new(), "{half:?}");
    }
}

#[test]
fn a_bare_repository_of_the_person_keeps_its_settings() {
    let scene = Scene::new();
    make_bare(&scene, "store/");
    scene.write("store/config", "[core]\n\tbare = true\n");
    for mode in [GitAccess::Read, GitAccess::Write] {
        let mut guard = scene.guard(mode);
        assert_eq!(guard.mounts(), [scene.at("store/HEAD"), scene.at("store/config")]);
        let violations = scene.call(&mut guard, || {
            scene.write("store/config", "[core]\n\tfsmonitor = ./x\n");
            scene.write("store/objects/x", "");
        });
        assert_eq!(told(&violations, &scene.root()), one("store/config", "changed"));
    }
}

/// Where a repository cannot be mounted read-only, every file of it is compared.
#[test]
fn a_repository_that_may_only_be_read_is_put_right_as_a_whole() {
    let scene = Scene::new();
    scene.write(".git/config", "[core]\n\tbare = false\n");
    scene.write(".git/HEAD", "ref: refs/heads/main\n");
    scene.write(".git/refs/heads/main", "mine");
    scene.write(".git/objects/aa/bb", "object");
    let protection = Protection { whole_repositories: true, ..Protection::default() };
    let mut guard = scene.guard_with(protection);
    let violations = scene.call(&mut guard, || {
        scene.write(".git/deep/sub", "planted");
        scene.write(".git/refs/heads/main", "theirs");
        fs::remove_file(scene.at(".git/objects/aa/bb")).unwrap();
        fs::set_permissions(scene.at(".git"), fs::Permissions::from_mode(0o744)).unwrap();
    });
    let expected: Vec<_> = [
        (".git", "changed"),
        (".git/objects/aa/bb", "removed"),
        (".git/refs/heads/main", "changed"),
        (".git/deep", "planted"),
    ]
    .iter()
    .flat_map(|(path, what)| one(path, what))
    .collect();
    assert_eq!(told(&violations, &scene.root()), expected);
    assert!(!scene.is_there(".git/deep"));
    let mode = fs::metadata(scene.at(".git")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(scene.read(".git/refs/heads/main"), "mine");
    assert_eq!(scene.read(".git/objects/aa/bb"), "object");
    scene.is_at_rest(&mut guard);
}
