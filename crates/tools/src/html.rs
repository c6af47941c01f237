//! Converts a web page to Markdown: its main text if that is found, else all of it.
//!
//! Must never: recurse as deep, or parse as long, as a hostile page demands.

use std::rc::Rc;
use std::time::{Duration, Instant};

use dom_smoothie::{Config, Readability};
use htmd::{HtmlToMarkdown, Node};
use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::RcDom;

use crate::limits::{PAGE_DEPTH_MAX, PAGE_ELEMENTS_MAX, PAGE_PARSE_MS_MAX, PAGE_PIECE_BYTES_MAX};

/// Returns the page as Markdown; None if it cannot be converted safely.
pub(crate) fn to_markdown(html: &str, url: &str) -> Option<String> {
    let converter = HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "noscript", "template", "svg", "iframe"])
        .build();
    let tree = tree(html, Instant::now() + Duration::from_millis(PAGE_PARSE_MS_MAX))?;
    // The conversion and the search for the main text both recurse over the tree.
    if depth_exceeds(&tree, PAGE_DEPTH_MAX) {
        return None;
    }
    match main_text(html, url) {
        Some((title, content)) => {
            let text = converter.convert(&content).ok()?;
            let heading = format!("# {title}");
            if title.is_empty() || text.starts_with(&heading) {
                Some(text)
            } else {
                Some(format!("{heading}\n\n{text}"))
            }
        }
        None => Some(converter.tree_to_markdown(&tree)),
    }
}

/// Parses a page. Open elements slow down later ones, so depth and time are checked meanwhile.
fn tree(html: &str, deadline: Instant) -> Option<Rc<Node>> {
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PAGE_PIECE_BYTES_MAX));
        parser.process(piece.into());
        rest = after;
        let document = &parser.tokenizer.sink.sink.document;
        if Instant::now() >= deadline || last_depth_exceeds(document, PAGE_DEPTH_MAX) {
            return None;
        }
    }
    Some(parser.finish().document)
}

/// Checks the depth of the open elements, which are the last ones of the tree except in odd tables.
fn last_depth_exceeds(document: &Rc<Node>, depth_max: usize) -> bool {
    let mut node = Rc::clone(document);
    for _ in 0..=depth_max {
        let last = node.children.borrow().last().map(Rc::clone);
        match last {
            Some(last) => node = last,
            None => return false,
        }
    }
    true
}

fn main_text(html: &str, url: &str) -> Option<(String, String)> {
    let config = Config { max_elements_to_parse: PAGE_ELEMENTS_MAX, ..Config::default() };
    let mut readability = Readability::new(html, Some(url), Some(config)).ok()?;
    if !readability.is_probably_readable() {
        return None;
    }
    let article = readability.parse().ok()?;
    (!article.text_content.trim().is_empty())
        .then(|| (article.title.trim().to_owned(), article.content.to_string()))
}

fn depth_exceeds(tree: &Rc<Node>, depth_max: usize) -> bool {
    let mut stack = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = stack.pop() {
        if depth > depth_max {
            return true;
        }
        stack.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_main_text_is_converted_as_a_whole() {
        let html = "<html><body><h1>Hi</h1><p>a <b>b</b></p><script>x()</script></body></html>";
        assert_eq!(to_markdown(html, "http://x.test/").as_deref(), Some("# Hi\n\na **b**"));
    }

    #[test]
    fn of_an_article_only_the_main_text_is_kept() {
        let paragraph = ["This sentence is long enough, has commas, and says little."; 9].join(" ");
        let html = format!(
            "<html><head><title>News</title></head><body><nav><a href=/>Home</a></nav>\
             <article><p>{paragraph}</p><p>{paragraph}</p></article><footer>f</footer></body></html>"
        );
        let text = to_markdown(&html, "http://x.test/").unwrap();
        assert_eq!(text, format!("# News\n\n{paragraph}\n\n{paragraph}"));
    }

    #[test]
    fn a_page_that_nests_without_end_is_not_converted() {
        for deep in
            ["<div>", "<table><tr><td>", "<b>", "<table><div>", "<div><object></div></object>"]
        {
            let html = deep.repeat(100_000);
            assert_eq!(to_markdown(&html, "http://x.test/"), None, "{deep}");
        }
    }

    #[test]
    fn a_page_that_takes_too_long_is_not_converted() {
        let now = Instant::now();
        assert!(tree("<p>x</p>", now).is_none());
        assert!(tree("<p>x</p>", now + Duration::from_secs(3600)).is_some());
    }

    #[test]
    fn a_page_that_nests_just_below_the_limit_is_converted() {
        let html = format!("{}x", "<div>".repeat(PAGE_DEPTH_MAX - 10));
        assert_eq!(to_markdown(&html, "http://x.test/").as_deref(), Some("x"));
    }
}
