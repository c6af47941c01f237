//! Finds lines in files by a regular expression.
//!
//! Must never: search binaries, show lines without a limit, or hold more results than allowed.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use agentry_protocol::tool_call::{RepeatSafety, ToolOutcome, ToolSpec};
use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::run_parsed;
use crate::glob::{answer, matcher, names_hidden};
use crate::limits::{
    REGEX_BYTES_MAX, SEARCH_BUFFER_BYTES_MAX, SEARCH_CONTEXT_LINES_MAX, SEARCH_LINE_CHARS_MAX,
    SEARCH_OUTPUT_CHARS_MAX,
};
use crate::tool::{Tool, ToolContext, spec};
use crate::walk::{WalkEnd, WalkOptions, files};
use crate::workspace::{Error, Workspace, shown};

pub(crate) struct Grep {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrepArgs {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    max_results: Option<usize>,
    context: Option<usize>,
}

impl Grep {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "path": {"type": "string"},
                "glob": {"type": "string", "description": "such as *.rs"},
                "ignore_case": {"type": "boolean"},
                "max_results": {"type": "integer", "minimum": 1},
                "context": {"type": "integer", "minimum": 0, "description": "lines around a match"}
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        let description = "Search files for a regular expression. Gives path:line:text. Skips \
                           binary, hidden and ignored files.";
        Self { spec: spec("grep", description, parameters, RepeatSafety::Harmless) }
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_file_tool(&self) -> bool {
        true
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        run_parsed(input, |arguments: GrepArgs| search(&arguments, context))
    }
}

fn search(arguments: &GrepArgs, context: &ToolContext<'_>) -> Result<ToolOutcome, ToolOutcome> {
    let pattern = &arguments.pattern;
    let regex = regex(arguments)?;
    let filter = arguments.glob.as_deref().map(FileFilter::new).transpose()?;
    let asked = arguments.max_results.unwrap_or(usize::MAX);
    let mut found = MatchCollector {
        lines: Vec::new(),
        chars: 0,
        matches: 0,
        matches_max: asked.min(context.bounds.search_results),
        path: String::new(),
        is_full: false,
        is_binary: false,
    };
    let around = arguments.context.unwrap_or_default().min(SEARCH_CONTEXT_LINES_MAX);
    let mut search = GrepSearch {
        workspace: context.workspace,
        regex,
        searcher: searcher(around, context.bounds.search_file_bytes),
        file_bytes_max: context.bounds.search_file_bytes,
        too_large: 0,
        unreadable: 0,
    };
    let given = arguments.path.as_deref().unwrap_or(".");
    context.workspace.check_read(&context.workspace.relative(given)?)?;
    let root = context.workspace.locate(given, context.judged)?.path;
    let walk =
        WalkOptions { root: &root, hidden: arguments.glob.as_deref().is_some_and(names_hidden) };
    let walked = files(&walk, context, &mut |path| {
        if filter.as_ref().is_some_and(|filter| !filter.takes(path, &root)) {
            return ControlFlow::Continue(());
        }
        search.file(path, &mut found)
    });
    let end = match walked {
        Err(Error::NotDirectory { .. }) => {
            // The path is a file: it is searched even if a walk would skip it.
            drop(context.workspace.open_real(&root)?);
            let is_break = search.file(&root, &mut found).is_break();
            if is_break { WalkEnd::Enough } else { WalkEnd::Complete }
        }
        walked => walked?,
    };
    let mut outcome = answer(found.lines, end, &format!("Nothing matches `{pattern}`."));
    search.note(context, &mut outcome);
    Ok(outcome)
}

fn regex(arguments: &GrepArgs) -> Result<RegexMatcher, ToolOutcome> {
    RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case.unwrap_or_default())
        .line_terminator(Some(b'\n'))
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build(&arguments.pattern)
        .map_err(|error| ToolOutcome::failed(format!("The pattern is wrong: {error}")))
}

fn searcher(around: usize, file_bytes_max: u64) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(around)
        .after_context(around)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(usize::try_from(file_bytes_max + SEARCH_BUFFER_BYTES_MAX).ok())
        .build()
}

/// A filter for searched files. A pattern without a slash matches names, at any depth.
struct FileFilter {
    matcher: GlobMatcher,
    is_name_only: bool,
}

impl FileFilter {
    fn new(pattern: &str) -> Result<Self, ToolOutcome> {
        Ok(Self { matcher: matcher(pattern)?, is_name_only: !pattern.contains('/') })
    }

    fn takes(&self, path: &Path, root: &Path) -> bool {
        if self.is_name_only {
            return path.file_name().is_some_and(|name| self.matcher.is_match(name));
        }
        let root: PathBuf = root.components().collect();
        self.matcher.is_match(path.strip_prefix(root).unwrap_or(path))
    }
}

struct GrepSearch<'a> {
    workspace: &'a Workspace,
    regex: RegexMatcher,
    searcher: Searcher,
    file_bytes_max: u64,
    too_large: usize,
    unreadable: usize,
}

impl GrepSearch<'_> {
    fn file(&mut self, path: &Path, found: &mut MatchCollector) -> ControlFlow<()> {
        let Ok((file, metadata)) = self.workspace.open_real(path) else {
            self.unreadable += 1;
            return ControlFlow::Continue(());
        };
        if metadata.len() > self.file_bytes_max {
            self.too_large += 1;
            return ControlFlow::Continue(());
        }
        let before = found.begin(path);
        let bounded = io::Read::take(file, self.file_bytes_max);
        if self.searcher.search_reader(&self.regex, bounded, &mut *found).is_err() {
            self.unreadable += 1;
        }
        if found.is_binary {
            found.restore(&before);
        }
        if found.is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn note(&self, context: &ToolContext<'_>, outcome: &mut ToolOutcome) {
        let notes = [
            (self.too_large, format!("larger than {} bytes", context.bounds.search_file_bytes)),
            (self.unreadable, "that could not be read".to_owned()),
        ];
        for (count, why) in notes {
            if count > 0 {
                let files = if count == 1 { "file" } else { "files" };
                outcome.text.push_str(&format!("\n[skipped {count} {files} {why}]"));
            }
        }
    }
}

/// The matches so far.
struct MatchCollector {
    lines: Vec<String>,
    chars: usize,
    matches: usize,
    matches_max: usize,
    path: String,
    is_full: bool,
    is_binary: bool,
}

/// The counts of a collector before a file.
struct MatchCheckpoint {
    lines: usize,
    chars: usize,
    matches: usize,
}

impl MatchCollector {
    fn begin(&mut self, path: &Path) -> MatchCheckpoint {
        self.path = shown(path);
        self.is_binary = false;
        MatchCheckpoint { lines: self.lines.len(), chars: self.chars, matches: self.matches }
    }

    /// Drops the lines of a file that turned out to be binary.
    fn restore(&mut self, before: &MatchCheckpoint) {
        self.lines.truncate(before.lines);
        self.chars = before.chars;
        self.matches = before.matches;
        self.is_full = false;
    }

    fn push(&mut self, separator: char, line: Option<u64>, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let text = match text.char_indices().nth(SEARCH_LINE_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        let line = line.unwrap_or_default();
        let line = format!("{}{separator}{line}{separator}{text}", self.path);
        self.chars += line.chars().count();
        self.lines.push(line);
        if self.chars > SEARCH_OUTPUT_CHARS_MAX {
            self.is_full = true;
        }
        !self.is_full
    }
}

impl Sink for MatchCollector {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.matches == self.matches_max {
            self.is_full = true;
            return Ok(false);
        }
        self.matches += 1;
        Ok(self.push(':', found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.push('-', around.line_number(), around.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.lines.push("--".to_owned());
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
