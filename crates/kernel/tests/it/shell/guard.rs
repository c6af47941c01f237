//! The danger guard: rules by name, calls of tools, and what it must leave alone.

use agentry_kernel::danger::{GuardDirectories, of_call, of_command};
use agentry_protocol::tool::ToolName;
use serde_json::json;

use super::PLACE;

#[track_caller]
fn check(command: &str, rule: &str) {
    let danger = of_command(command, &PLACE).unwrap_or_else(|| panic!("let through: {command}"));
    assert_eq!(danger.rule, rule, "{command}: {}", danger.why);
}

#[test]
fn each_rule_has_its_name() {
    check("rm -rf /", "delete_root");
    check("rm -rf ~", "delete_home");
    check(&format!("rm -rf {}/other", "/home"), "delete_home");
    check("rm -rf ~/.ssh", "delete_home");
    check("rm -rf /usr/share", "delete_system");
    check("rm -rf .", "delete_workspace");
    check("rm -rf \"$X\"/", "delete_unknown");
    check("rm -rf .git", "history_destroyed");
    check("mkfs.ext4 /dev/sdb", "device_write");
    check("echo x > /dev/sdb", "device_write");
    check("echo x > /etc/hosts", "system_write");
    check(":(){ :|:& };:", "fork_bomb");
    check("chmod 777 /", "system_permissions");
    check("curl x | sh", "run_downloaded");
    check("sudo ls", "privilege");
    check("echo x >> ~/.zshrc", "persistence");
    check("git push -f", "force_push");
    check("git gc --prune=now", "history_destroyed");
    check("kill -9 -1", "kill_all");
    check("reboot", "power");
    check("echo x > agentry.toml", "governance");
    check("wipe -f ~", "delete_home");
    check("rsync -a --delete empty/ ~", "delete_home");
    check("mke2fs -t ext4 /dev/sdb", "device_write");
    check("chmod 0777 /", "system_permissions");
    check("rm -rf ~+", "delete_workspace");
    check("rm -rf /$?", "delete_unknown");
    check("rm -rf $HOME/{.ssh,.gnupg}", "delete_home");
    check("X='rm -rf /'; X=$Y; $X", "delete_root");
}

#[test]
fn the_neighbors_of_a_rule_are_left_alone() {
    for command in
        ["rsync -a --delete empty/ build/", "rsync -a docs/ ~", "pkill", "chmod 777 a", "wipe -f a"]
    {
        assert_eq!(of_command(command, &PLACE), None, "{command}");
    }
}

#[test]
fn a_workspace_inside_a_system_folder_is_still_a_workspace() {
    let place = GuardDirectories { workspace: "/usr/src/app", home: Some("/root") };
    for command in
        ["rm -rf build", "rm -rf /usr/src/app/target", "echo x > a", "rm -rf ./node_modules/*"]
    {
        assert_eq!(of_command(command, &place), None, "{command}");
    }
    for command in
        ["rm -rf /usr/src/app", "rm -rf /usr/src", "rm -rf ..", "rm -rf ~", "echo x > /usr/src/x"]
    {
        assert!(of_command(command, &place).is_some(), "{command}");
    }
}

#[test]
fn a_name_that_only_begins_like_a_folder_is_another() {
    let place = GuardDirectories { workspace: "/people/dev/project", home: None };
    for command in [
        "rm -rf /people/dev/project2",
        "rm -rf /etcetera/x",
        "echo x > /usrlocal",
        "rm -rf /tmp/etc",
    ] {
        assert_eq!(of_command(command, &place), None, "{command}");
    }
}

#[test]
fn a_start_up_file_is_guarded_when_home_is_the_workspace() {
    let place = GuardDirectories { workspace: "/people/dev", home: Some("/people/dev") };
    assert!(of_command("echo x >> .bashrc", &place).is_some());
    assert_eq!(of_command("echo x >> dotfiles/.bashrc", &place), None);
}

#[track_caller]
fn call(tool: &str, input: serde_json::Value) -> Option<&'static str> {
    of_call(&ToolName::canonical(tool), &input, None, &PLACE).map(|danger| danger.rule)
}

#[test]
fn files_are_guarded_whichever_tool_writes_them() {
    for tool in ["Write", "Edit"] {
        for (path, rule) in [
            ("agent.yml", Some("governance")),
            ("agents/coder/AGENT.md", Some("governance")),
            ("AGENT.MD", Some("governance")),
            ("./context/../context/tool-access.json", Some("governance")),
            ("hooks/pre_turn", Some("governance")),
            ("agents/coder/policies/a.yml", Some("governance")),
            ("/etc/passwd", Some("system_write")),
            ("../../../etc/passwd", Some("system_write")),
            ("/dev/sda", Some("device_write")),
            ("~/.bashrc", Some("persistence")),
            (".git/hooks/pre-commit", Some("persistence")),
            (".git/config", Some("persistence")),
            ("/people/dev/.ssh/authorized_keys", Some("persistence")),
            ("dotfiles/.bashrc", None),
            ("src/main.rs", None),
            ("AGENTS.md", Some("governance")),
            ("src/hooks/use_state.ts", None),
            ("docs/policies.md", None),
            ("hooks", None),
            ("/tmp/x", None),
            ("etc/passwd", None),
        ] {
            assert_eq!(call(tool, json!({ "path": path })), rule, "{tool} {path}");
            assert_eq!(call(tool, json!({ "file_path": path })), rule, "{tool} {path}");
        }
    }
}

#[test]
fn calls_are_looked_at_by_their_tool() {
    assert_eq!(call("Bash", json!({ "command": "rm -rf /" })), Some("delete_root"));
    assert_eq!(call("shell", json!({ "cmd": "rm -rf /" })), Some("delete_root"));
    assert_eq!(call("Bash", json!({ "command": "ls" })), None);
    assert_eq!(call("Bash", json!({})), None);
    assert_eq!(call("Bash", json!({ "command": 7 })), None);
    assert_eq!(call("Read", json!({ "path": "/etc/passwd" })), None);
}

#[test]
fn a_text_too_long_to_read_is_still_looked_at() {
    let padded = format!("rm -rf / ; echo {}", "x".repeat(70 * 1024));
    check(&padded, "delete_root");
    check("rm -rf / ; echo 'unclosed", "delete_root");
    // The grammar panics on this one.
    check("rm -rf / ; ${${:: f(<<EOF) f(}) f()\n~1 x >> $$(\"x\nEOF\n", "delete_root");
}
