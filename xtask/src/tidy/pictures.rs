//! Each picture of a page is in the repository.
//!
//! Must never: look at addresses of other hosts; the network is not here.

use crate::tidy::{
    TidyFinding,
    tree::{SourceTree, TreeFile},
};

const HOW_TO_MAKE: &str = "Make it with `cargo xtask pictures`, or mend the link";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let pages = tree.files.iter().filter(|file| is_page(file));
    pages.flat_map(|page| findings(tree, page)).collect()
}

/// True for the pages at the root and in `docs`; the bundled agents bring pages of their own.
fn is_page(file: &TreeFile) -> bool {
    file.path.ends_with(".md") && (!file.path.contains('/') || file.path.starts_with("docs/"))
}

fn findings(tree: &SourceTree, page: &TreeFile) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (at, link) in links(&page.text) {
        let exists = resolved(&page.path, link).is_some_and(|path| tree.file(&path).is_some());
        if !exists && !link.contains("//") {
            let line = page.text[..at].matches('\n').count() + 1;
            let problem = format!("the picture {link} is not there");
            findings.push(TidyFinding::new(&page.path, line, problem, HOW_TO_MAKE));
        }
    }
    findings
}

/// The targets of `![…](target)` and `src="target"`, each with the position of its link.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let marked = text.match_indices("![").filter_map(|(at, _)| {
        let (_, rest) = text[at..].split_once(']')?;
        Some((at, rest.strip_prefix('(')?.split([')', ' ']).next()?))
    });
    let tag = "src=\"";
    let tagged = text
        .match_indices(tag)
        .filter_map(move |(at, _)| Some((at, text[at + tag.len()..].split('"').next()?)));
    marked.chain(tagged)
}

/// The path from the root; nothing for a link that leads out of the repository.
fn resolved(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn a_picture_that_is_not_there_is_found() {
        fixture::check(
            check,
            &[
                (
                    "README.md",
                    "# A\n\n![A](docs/pictures/a.svg) ![two\nlines](docs/pictures/b.png)\n",
                ),
                ("docs/guide/x.md", "<img src=\"../pictures/c.png\" alt=\"c\">\n"),
                ("docs/pictures/a.svg", "<svg/>"),
            ],
            &[
                "README.md:3: the picture docs/pictures/b.png is not there",
                "docs/guide/x.md:1: the picture ../pictures/c.png is not there",
            ],
        );
    }

    #[test]
    fn pictures_that_are_there_and_those_of_other_hosts_are_fine() {
        fixture::check(
            check,
            &[
                ("README.md", "[![a](./docs/a.svg \"A\")](docs/guide/x.md)\n"),
                ("docs/guide/x.md", "![a](../a.svg) ![b](https://example.com/b.png) ![c](//x/c)\n"),
                ("docs/a.svg", "<svg/>"),
                ("agents/a/AGENT.md", "![a](none.png)\n"),
            ],
            &[],
        );
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        fixture::check(
            check,
            &[("README.md", "![a](../a.svg)\n"), ("a.svg", "<svg/>")],
            &["README.md:1: the picture ../a.svg is not there"],
        );
    }
}
