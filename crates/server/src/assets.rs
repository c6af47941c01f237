//! The console: files embedded in the binary.
//!
//! Must never: serve anything except files of the console.

use rust_embed::{Embed, EmbeddedFile};

/// The output of `npm run build` in `console/`; empty in a build without it.
#[derive(Embed)]
#[folder = "../../console/dist"]
#[allow_missing = true]
struct ConsoleFiles;

/// The page of a binary without the console; it explains how to build the console.
const UNBUILT: &str = include_str!("assets/unbuilt.html");

/// A file of the console, ready to send.
pub(super) struct ConsoleAsset {
    pub(super) body: Vec<u8>,
    pub(super) content_type: &'static str,
    pub(super) encoding: Option<&'static str>,
    /// True if the name changes with the content, so that browsers may cache the file forever.
    pub(super) is_lasting: bool,
}

/// Returns the file at a path; for paths of the console's router, `index.html`.
pub(super) fn page(path: &str, accepts: &str) -> Option<ConsoleAsset> {
    let name = path.trim_start_matches('/');
    if let Some(page) = file(name, accepts).filter(|_| !name.is_empty()) {
        return Some(page);
    }
    // A missing file is "not found", not a page of the router.
    let last = name.rsplit('/').next().unwrap_or_default();
    if name.starts_with("assets/") || last.contains('.') {
        return None;
    }
    file("index.html", accepts).or_else(|| {
        let body = UNBUILT.as_bytes().to_vec();
        Some(ConsoleAsset {
            body,
            content_type: "text/html; charset=utf-8",
            encoding: None,
            is_lasting: false,
        })
    })
}

/// Returns a file in the smallest encoding that the browser accepts.
fn file(name: &str, accepts: &str) -> Option<ConsoleAsset> {
    let content_type = content_type(name)?;
    let is_lasting = name.starts_with("assets/");
    let page = |file: EmbeddedFile, encoding| ConsoleAsset {
        body: file.data.into_owned(),
        content_type,
        encoding,
        is_lasting,
    };
    let takes = |word: &str| {
        accepts.split(',').any(|part| {
            let mut parts = part.split(';').map(str::trim);
            parts.next() == Some(word) && parts.all(|quality| quality != "q=0")
        })
    };
    for (word, end) in [("br", "br"), ("gzip", "gz")] {
        if let Some(file) =
            takes(word).then(|| ConsoleFiles::get(&format!("{name}.{end}"))).flatten()
        {
            return Some(page(file, Some(word)));
        }
    }
    ConsoleFiles::get(name).map(|file| page(file, None))
}

fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('.').next()? {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_console_is_its_page_and_a_missing_file_is_nothing() {
        assert!(page("/", "").is_some_and(|page| page.content_type.starts_with("text/html")));
        assert!(page("/runs/run_1", "br").is_some());
        assert!(page("/assets/gone.js", "br").is_none());
        assert!(page("/../Cargo.toml", "").is_none());
    }
}
