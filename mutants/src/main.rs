//! `cargo xtask mutants`: changes the deciding code in small ways and looks whether a test notices.
//!
//! All changes are compiled into one build, each behind a switch, so that trying one costs a test run and no build. A
//! first run of all tests records which test reaches which change; a change is then tried by those tests only, the
//! fastest first. A change that no test notices must be listed with a reason in `accepted.tsv`.
//!
//! Must never: change a file of the checkout.

mod accepted;
mod audit;
mod rewrite;
mod suite;
mod switch;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use crate::accepted::AcceptedMutants;
use crate::audit::{AUDITS, Audit};
use crate::rewrite::Mutant;
use crate::suite::{Suite, Verdict};

type Error = Box<dyn std::error::Error>;

/// Progress is printed after so many changes.
const PROGRESS_EVERY: usize = 25;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(unexplained) => {
            eprintln!(
                "{unexplained} changes went unnoticed. Add a test, or a reason to mutants/accepted.tsv."
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the number of mutants that survive without a reason.
fn run(words: &[String]) -> Result<usize, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has a parent")?;
    let audits = chosen(words)?;
    let workshop = Workshop::copy(root)?;
    let mut mutants = Vec::new();
    for audit in &audits {
        for file in audit.files(&workshop.tree)? {
            rewrite::file(&workshop.tree, &file, &mut mutants)?;
        }
    }
    switch::install(&workshop.tree, mutants.len())?;
    println!("{} changes in {} audits", mutants.len(), audits.len());
    let mut accepted = AcceptedMutants::read(&root.join("mutants/accepted.tsv"))?;
    let mut unexplained = 0;
    for audit in &audits {
        unexplained += workshop.judge(audit, &mutants, &mut accepted)?;
    }
    for stale in accepted.unused(&audits) {
        println!("stale: {stale}");
        unexplained += 1;
    }
    Ok(unexplained)
}

fn chosen(words: &[String]) -> Result<Vec<&'static Audit>, Error> {
    if words.is_empty() {
        return Ok(AUDITS.iter().collect());
    }
    let find = |word: &String| {
        let names = AUDITS.map(|audit| audit.name).join(", ");
        AUDITS.iter().find(|audit| audit.name == word).ok_or_else(|| {
            format!("there is no audit `{word}`; name one or more of: {names}").into()
        })
    };
    words.iter().map(find).collect()
}

/// A copy of the checkout in which the changes are built.
struct Workshop {
    tree: PathBuf,
    target: PathBuf,
}

impl Workshop {
    /// Copies what git tracks or would track. The place is the same each time, so that builds are incremental.
    fn copy(root: &Path) -> Result<Self, Error> {
        let place = root.join("target/mutants");
        let tree = place.join("tree");
        if tree.exists() {
            std::fs::remove_dir_all(&tree)?;
        }
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = git.current_dir(root).output()?;
        if !listed.status.success() {
            return Err("git does not list the files of the checkout".into());
        }
        for name in listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = std::str::from_utf8(name)?;
            let (from, to) = (root.join(name), tree.join(name));
            if !from.is_file() {
                continue;
            }
            std::fs::create_dir_all(to.parent().ok_or("a file lies in a directory")?)?;
            std::fs::copy(from, to)?;
        }
        Ok(Self { tree, target: place.join("build") })
    }

    fn judge(
        &self,
        audit: &Audit,
        mutants: &[Mutant],
        accepted: &mut AcceptedMutants,
    ) -> Result<usize, Error> {
        let own: Vec<&Mutant> = mutants.iter().filter(|one| audit.holds(&one.file)).collect();
        let suite = Suite::build(&self.tree, &self.target, audit)?;
        println!("\n{}: {} changes, {} tests", audit.name, own.len(), suite.len());
        let tally = Mutex::new(Tally {
            accepted,
            total: own.len(),
            noticed: 0,
            explained: 0,
            unexplained: 0,
        });
        suite.try_all(&own, |mutant, verdict| {
            tally.lock().expect("no worker panics while it holds the lock").count(mutant, verdict);
        });
        let tally = tally.into_inner().expect("all workers have ended");
        println!("{tally}");
        Ok(tally.unexplained)
    }
}

/// The verdicts of an audit so far.
struct Tally<'a> {
    accepted: &'a mut AcceptedMutants,
    total: usize,
    noticed: usize,
    explained: usize,
    unexplained: usize,
}

impl Tally<'_> {
    /// Counts a verdict, and prints at once what needs a test or a reason: a long audit may be interrupted.
    fn count(&mut self, mutant: &Mutant, verdict: Verdict) {
        match verdict {
            Verdict::Noticed => self.noticed += 1,
            Verdict::Survived | Verdict::Unreached if self.accepted.take(mutant) => {
                self.explained += 1;
            }
            Verdict::Survived | Verdict::Unreached => {
                println!("{verdict}: {mutant}");
                self.unexplained += 1;
            }
        }
        let tried = self.noticed + self.explained + self.unexplained;
        if tried.is_multiple_of(PROGRESS_EVERY) {
            eprintln!("{tried} of {} tried: {self}", self.total);
        }
    }
}

impl fmt::Display for Tally<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { noticed, explained, unexplained, .. } = self;
        write!(f, "{noticed} noticed, {explained} explained, {unexplained} unnoticed")
    }
}
