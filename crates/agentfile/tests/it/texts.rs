//! Files as texts: bytes, YAML, front matter, JSON, TOML, and what was refused.

use agentry_agentfile::file_tree::{FileContent, FileTreeEntry, ReadRefusal};

use crate::reading::{check, check_clean, given};

const AGENT_MD: &str = "
    --- AGENT.md
    Work.
";

#[test]
fn bytes_that_are_not_utf8_are_found_at_their_place() {
    given(AGENT_MD)
        .bytes("agent.yml", b"name: a\ndescription: \xc3\xa9\xff\n")
        .check("E0101 error agent.yml:2:15");
    given(AGENT_MD).bytes("agent.yml", b"\xff\xfe").check("E0101 error agent.yml:1:1");
    given(AGENT_MD)
        .bytes("agent.yml", b"\xef\xbb\xbfname: a\r\nx\xc3")
        .check("E0101 error agent.yml:2:2");
}

#[test]
fn a_file_larger_than_a_definition_is_refused_and_one_at_the_limit_is_read() {
    let of_length = |length: usize| {
        let mut text = b"name: a\n# ".to_vec();
        text.resize(length, b'x');
        text
    };
    given(AGENT_MD).bytes("agent.yml", of_length(1 << 20)).check("");
    given(AGENT_MD).bytes("agent.yml", of_length((1 << 20) + 1)).check("E0102 error agent.yml:1:1");
}

#[test]
fn a_nul_byte_is_found_at_its_place() {
    given(AGENT_MD)
        .bytes("agent.yml", b"name: a\ndescription: \xc3\xa9\0\n")
        .check("E0103 error agent.yml:2:15");
}

#[test]
fn a_byte_order_mark_and_foreign_line_ends_change_nothing() {
    for text in ["\u{feff}name: a\nnam: b\n", "name: a\r\nnam: b\r\n", "name: a\rnam: b\r"] {
        given(AGENT_MD).bytes("agent.yml", text).check("E0301 error agent.yml:2:1");
    }
    given("").bytes("AGENT.md", "\u{feff}---\r\nname: a\r\n---\r\nWork.\r\n").check("");
}

#[test]
fn what_was_refused_is_named() {
    let program = "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
    ";
    for (refusal, expected) in [
        (ReadRefusal::LinkLeavesRoot, "E0104 error SOUL.md:1:1"),
        (ReadRefusal::Unreadable("Permission denied".to_owned()), "E0105 error SOUL.md:1:1"),
        (ReadRefusal::TooMuch("2000 files".to_owned()), "E0106 error SOUL.md:1:1"),
        (ReadRefusal::Timeout, "E0107 error SOUL.md:1:1"),
        (ReadRefusal::Misnamed("SOUL.md".to_owned()), "E0112 warning SOUL.md:1:1"),
        (ReadRefusal::NotARegularFile, "E0109 error SOUL.md:1:1"),
    ] {
        given(program).entry("SOUL.md", FileTreeEntry::Refused(refusal)).check(expected);
    }
}

#[test]
fn something_refused_outside_of_any_agent_is_named_once() {
    let pack = "
        --- .agentry/agents/a/AGENT.md
        ---
        name: a
        ---
    ";
    let refused = || FileTreeEntry::Refused(ReadRefusal::LinkLeavesRoot);
    given(pack)
        .entry(".agentry/skills/x/SKILL.md", refused())
        .check("E0104 error .agentry/skills/x/SKILL.md:1:1");
    given(pack)
        .entry(".agentry/agents/a/notes.md", refused())
        .check("E0104 error .agentry/agents/a/notes.md:1:1");
}

#[test]
fn a_required_file_must_be_there_and_one_that_is_empty_says_nothing() {
    check("--- agent.yml\nname: a", "E0110 error AGENT.md:1:1");
    check("--- context/soul.json\n{}", "E0110 error context/system_prompt.md:1:1");
    check("--- agent.yml\nname: a\n--- AGENT.md\n", "E0111 warning AGENT.md:1:1");
    check(
        "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
        --- SOUL.md

        --- prompts/system.md.liquid
        ",
        "
        E0111 warning SOUL.md:1:1
        E0111 warning prompts/system.md.liquid:1:1
        ",
    );
}

#[test]
fn an_optional_file_may_be_absent() {
    check_clean("--- agent.yml\nname: a\n--- AGENT.md\nWork.");
}

#[track_caller]
fn check_yaml(text: &str, expected: &str) {
    given(AGENT_MD).bytes("agent.yml", text).check(expected);
}

#[test]
fn broken_yaml_is_found_where_it_breaks() {
    check_yaml("name: [a\n", "E0201 error agent.yml:1:7");
    check_yaml("name: a: b\n", "E0201 error agent.yml:1:8");
    check_yaml("name: a\n\tmodel: b\n", "E0201 error agent.yml:2:1");
    check_yaml("model:\n\tdefault: b\n", "E0201 error agent.yml:2:1");
    check_yaml("model:\n  default: b\n  \tprefer: []\n", "E0201 error agent.yml:3:3");
    check_yaml("%YAML 1.2\n---\nname: a\n", "E0201 error agent.yml:1:1");
}

#[test]
fn anchors_aliases_merge_keys_and_tags_are_refused() {
    check_yaml("name: &a x\n", "E0202 error agent.yml:1:7");
    check_yaml(
        "name: a\nmetadata:\n  x: &b {k: 1}\n  y: *b\n  <<: *b\n",
        "
        E0202 error agent.yml:3:6
        E0202 error agent.yml:4:6
        E0202 error agent.yml:5:7
        ",
    );
    check_yaml("name: !!str a\n", "E0203 error agent.yml:1:7");
    check_yaml("name: !secret a\n", "E0203 error agent.yml:1:7");
}

#[test]
fn a_key_that_stands_twice_is_found_the_second_time() {
    check_yaml("name: a\nname: b\n", "E0204 error agent.yml:2:1");
    check_yaml("name: a\nmetadata: {x: 1, é: 2, x: 3}\n", "E0204 error agent.yml:2:24");
}

#[test]
fn a_key_must_be_plain_text() {
    check_yaml("name: a\n? [x]\n: y\n", "E0213 error agent.yml:2:3");
    check_yaml("name: a\n{x: y}: z\n", "E0213 error agent.yml:2:1");
}

#[test]
fn a_file_holds_one_document() {
    check_yaml("name: a\n---\nname: b\n", "E0214 error agent.yml:2:1");
    check_yaml("---\nname: a\n", "");
}

#[test]
fn words_of_yaml_1_1_are_words() {
    // In YAML 1.1 `no` is false and the key `on` is true.
    check_yaml("name: no\nmetadata: {on: yes, y: 012}\n", "");
}

#[test]
fn a_file_of_fields_is_a_map() {
    check_yaml("- name: a\n", "E0209 error agent.yml:1:1");
    check_yaml("", "E0209 error agent.yml:1:1");
    check_yaml("# name: a\n", "E0209 error agent.yml:1:1");
    check_yaml("\n\n\"é\"\n", "E0209 error agent.yml:3:1");
}

#[test]
fn front_matter_must_be_there_closed_and_a_map() {
    check("--- AGENT.md\nWork.", "E0207 error AGENT.md:1:1");
    check("--- SKILL.md\n# Sums", "E0207 error SKILL.md:1:1");
    check("--- TASK.md\nGo.", "E0207 error TASK.md:1:1");
    check("--- AGENT.md\n---\nname: a\n", "E0208 error AGENT.md:1:1");
    check("--- AGENT.md\n---\n---\nWork.", "E0209 error AGENT.md:2:1");
    check("--- AGENT.md\n---\n- name\n---\nWork.", "E0209 error AGENT.md:2:1");
}

#[test]
fn a_line_of_hyphens_in_the_body_is_body() {
    given("").bytes("AGENT.md", "---  \nname: a\n--- \t\nWork.\n\n---\n\nRest.").check("");
}

#[track_caller]
fn check_json(text: &str, expected: &str) {
    given("--- context/system_prompt.md\nWork.").bytes("context/soul.json", text).check(expected);
}

#[test]
fn broken_json_is_found_where_it_breaks() {
    check_json("{\"soul\": {\"name\": \"é\",}}", "E0210 error context/soul.json:1:22");
    check_json("{\n  // no comments\n}", "E0210 error context/soul.json:2:3");
    check_json("{'soul': {}}", "E0210 error context/soul.json:1:2");
    check_json("{\"soul\": {}", "E0210 error context/soul.json:1:1");
    check_json("", "E0210 error context/soul.json:1:1");
    check_json("{\"version\": 01}", "E0210 error context/soul.json:1:14");
    check_json("{\"version\": 1e999}", "E0210 error context/soul.json:1:13");
    check_json("{} {}", "E0210 error context/soul.json:1:4");
}

#[test]
fn a_json_key_that_stands_twice_is_found_the_second_time() {
    check_json(
        "{\"soul\": {\"name\": \"a\",\n\"name\": \"b\"}}",
        "E0204 error context/soul.json:2:1",
    );
}

#[test]
fn json_that_is_not_a_map_is_named() {
    check_json("[]", "E0209 error context/soul.json:1:1");
    check_json("{\"soul\": []}", "E0303 error context/soul.json:1:10");
    check_json("{\"vioce\": {}}", "E0301 warning context/soul.json:1:2");
    check_json("{\"voice\": {\"tune\": \"x\"}}", "E0301 warning context/soul.json:1:12");
}

#[test]
fn broken_toml_is_found_where_it_breaks_and_so_is_the_next() {
    check("--- agentry.toml\n[agent\nname = 1", "E0211 error agentry.toml:1:7");
    check("--- agentry.toml\n[agent]\nname = \"a\"\nname = \"b\"", "E0211 error agentry.toml:3:1");
    check(
        "--- agentry.toml\n[agent]\nname = \nmodel = ?\n",
        "
        E0211 error agentry.toml:2:8
        E0211 error agentry.toml:3:9
        ",
    );
}

#[test]
fn a_tree_knows_its_files_by_path_content_and_mode() {
    let plain = given("--- agent.yml\nname: a\n--- AGENT.md\nWork.").agent("agent");
    let other = given("--- agent.yml\nname: a\n--- AGENT.md +x\nWork.").agent("agent");
    assert_ne!(plain.hash, other.hash);
    assert_eq!(FileContent::new(vec![b'x'; 3], false).length, 3);
}
