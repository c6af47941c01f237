//! `cargo xtask pictures`: makes the pictures of README.md from real sessions.
//!
//! `terminal.svg` is a recording of a chat in tmux; `console.png` is a screenshot of the console in
//! a browser. Both use the real binary and a scripted model.
//!
//! Must never: invent what a session shows, or write outside `docs/pictures`.

mod ansi;
mod masks;
mod pane;
mod project;
mod recording;
mod svg;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    build, child,
    console::{self, Npm},
    failure::CommandFailure,
    limits::{PICTURE_CONSOLE_BYTES_MAX, PICTURE_TERMINAL_BYTES_MAX},
    packages,
};

const FOLDER: &str = "docs/pictures";

/// Makes both pictures; without a binary, builds one first.
pub(crate) fn run(root: &Path, binary: Option<&str>) -> Result<(), CommandFailure> {
    packages::require(&packages::PICTURES)?;
    console::build(root)?;
    let binary = match binary {
        Some(binary) => absolute(Path::new(binary))?,
        None => build::agentry(root)?,
    };
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| CommandFailure::file("create", &folder, &error))?;

    let terminal = folder.join("terminal.svg");
    let frames = recording::record(&binary)?;
    fs::write(&terminal, svg::drawing(&frames))
        .map_err(|error| CommandFailure::file("write", &terminal, &error))?;
    check_size(&terminal, PICTURE_TERMINAL_BYTES_MAX)?;

    let console = folder.join("console.png");
    shoot_console(root, &binary, &console)?;
    check_size(&console, PICTURE_CONSOLE_BYTES_MAX)
}

fn absolute(binary: &Path) -> Result<PathBuf, CommandFailure> {
    binary.canonicalize().map_err(|error| CommandFailure::file("find", binary, &error))
}

/// Takes the screenshot with the browser tests' server, and with the pages as they are now.
fn shoot_console(root: &Path, binary: &Path, picture: &Path) -> Result<(), CommandFailure> {
    let npm = Npm::find(root)?;
    npm.install()?;
    let mut command = npm.command(&["run", "picture"])?;
    command.env("AGENTRY_BIN", binary).env("AGENTRY_DIST", "dist").env("PICTURE", picture);
    println!("$ npm run picture   (in console)");
    if child::succeeds(&mut command)? {
        return Ok(());
    }
    Err(CommandFailure::new("The screenshot of the console failed; the browser says why above."))
}

fn check_size(picture: &Path, bytes_max: u64) -> Result<(), CommandFailure> {
    let metadata = fs::metadata(picture);
    let bytes = metadata.map_err(|error| CommandFailure::file("read", picture, &error))?.len();
    println!("{} has {bytes} bytes.", picture.display());
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(CommandFailure::new(format!(
        "{} has {bytes} bytes, and at most {bytes_max} are allowed. Show less in it.",
        picture.display()
    )))
}
