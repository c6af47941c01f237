//! `agentry explain`: a page for every code.

use crate::story::Story;

#[test]
fn every_code_has_a_page_that_begins_with_its_title() {
    let story = Story::new("");
    let list = story.out("explain");
    assert!(list.lines().count() > 90, "{list}");
    for line in list.lines() {
        let (code, title) = line.split_once("  ").expect("a code and a title");
        let page = story.out(&format!("explain {code}"));
        let head = page.lines().next().unwrap_or_default();
        assert!(head.starts_with("# ") && head.contains(code), "{code}: {head}");
        assert!(page.lines().count() > 10 && !title.is_empty(), "{code} says too little");
    }
}

#[test]
fn a_code_may_be_written_small() {
    let story = Story::new("");
    assert_eq!(story.out("explain e0401"), story.out("explain E0401"));
}

#[test]
fn an_unknown_code_is_exit_2() {
    insta::assert_snapshot!(Story::new("").run("explain E9999"), @"
    exit 2
    --- stderr
    error: there is no code `E9999`
     help: `agentry explain` lists all codes; known here: E0101, E0102, E0103, E0104, E0105, E0106, E0107, E0108, E0109, E0110, E0111, E0112 and 110 more
    ");
    insta::assert_snapshot!(Story::new("").run("explain E0408x"), @"
    exit 2
    --- stderr
    error: there is no code `E0408x`
     help: `agentry explain` lists all codes; did you mean `E0408`?
    ");
}
