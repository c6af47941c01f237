//! The private copy that a program of an agent runs from: every file that its trust covers.
//!
//! The files are read and compared with their trusted state right before the program runs; those
//! bytes are copied. A later change has no effect, and no other file can be loaded.
//!
//! Must never: hold a file that the trust does not cover, or be made from one that differs.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use agentry_agentfile::file_tree::{self, FileTree, FileTreeEntry};
use agentry_agentfile::trust;
use agentry_protocol::ContentHasher;

use super::AgentTree;
use crate::definitions::tree_reader;

/// Reads the files that a trust covers; fails if they differ from their trusted state.
pub(super) fn read_verified(directory: &Path, trusted: &AgentTree) -> Result<FileTree, String> {
    let tree = tree_reader::read_parts(directory, &trusted.parts)
        .map_err(|error| format!("{} cannot be read: {error}", directory.display()))?;
    let (_, hash) = trust::covered(&tree, &trusted.parts).map_err(|unknown| unknown.to_string())?;
    if hash == trusted.hash {
        return Ok(tree);
    }
    Err(format!(
        "the programs in {} have changed since they were trusted, so none was run; see \
         `agentry trust {0}`",
        directory.display()
    ))
}

/// Writes the files of a tree that was read from `from` into `to`.
pub(super) fn write(tree: &FileTree, from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    for (path, entry) in tree.below("") {
        let FileTreeEntry::File(file) = entry else { continue };
        let target = to.join(path);
        let folder = target.parent().unwrap_or(to);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mode = if file.executable { 0o500 } else { 0o400 };
        let mut written =
            fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&target)?;
        match &file.bytes {
            Some(bytes) => written.write_all(bytes)?,
            None => copy_large(&from.join(path), file, &mut written)?,
        }
        // The process's umask limits the mode at creation.
        written.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    }
    Ok(())
}

/// Copies a file that is too large to keep in memory, and compares its hash once more.
fn copy_large(from: &Path, file: &file_tree::FileContent, to: &mut File) -> io::Result<()> {
    let mut hasher = ContentHasher::default();
    let mut source = File::open(from)?.take(file.length + 1);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.piece(&buffer[..read]);
        to.write_all(&buffer[..read])?;
    }
    if hasher.finish() == file.hash {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} changed while it was copied", from.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_agentfile::trust::TrustCoverage;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    /// Returns a directory with a hook and the file that it loads, and its trust.
    fn scene() -> (TempDir, AgentTree) {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("agent.yml", "name: a\n"),
            ("hooks/guard", "#!/bin/sh\n"),
            ("hooks/node_modules/x/index.js", "1\n"),
            ("hooks/__pycache__/x.pyc", "compiled\n"),
            ("lib/rules.sh", "exit 2\n"),
            ("notes/other.sh", "exit 0\n"),
        ] {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mode = PermissionsExt::from_mode(0o755);
        fs::set_permissions(place.path().join("hooks/guard"), mode).unwrap();
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let parts =
            TrustCoverage { files: texts(&["agent.yml"]), folders: texts(&["hooks", "lib"]) };
        let tree = tree_reader::read_parts(place.path(), &parts).unwrap();
        let (_, hash) = trust::covered(&tree, &parts).unwrap();
        (place, AgentTree { hash, parts })
    }

    #[test]
    fn a_copy_has_what_the_trust_covers_and_nothing_else() {
        let (place, trusted) = scene();
        let tree = read_verified(place.path(), &trusted).unwrap();
        let to = tempfile::tempdir().unwrap();
        let copy = to.path().join("copy");
        write(&tree, place.path(), &copy).unwrap();
        let text = |path: &str| fs::read_to_string(copy.join(path));
        assert_eq!(text("lib/rules.sh").unwrap(), "exit 2\n");
        assert_eq!(text("hooks/node_modules/x/index.js").unwrap(), "1\n");
        assert!(!copy.join("hooks/__pycache__").exists());
        assert!(!copy.join("notes").exists());
        let mode = |path: &str| fs::metadata(copy.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("hooks/guard"), mode("lib/rules.sh")), (0o500, 0o400));
    }

    #[test]
    fn a_file_that_changed_came_or_went_means_that_nothing_runs() {
        type Change = fn(&Path);
        let changes: [Change; 6] = [
            |root| fs::write(root.join("lib/rules.sh"), "exit 0\n").unwrap(),
            |root| fs::write(root.join("lib/new.sh"), "").unwrap(),
            |root| fs::remove_file(root.join("lib/rules.sh")).unwrap(),
            |root| fs::write(root.join("agentry.toml"), "").unwrap(),
            |root| {
                let mode = PermissionsExt::from_mode(0o755);
                fs::set_permissions(root.join("lib/rules.sh"), mode).unwrap();
            },
            |root| {
                fs::remove_file(root.join("lib/rules.sh")).unwrap();
                symlink("/etc/passwd", root.join("lib/rules.sh")).unwrap();
            },
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let (place, mut trusted) = scene();
            trusted.parts.files.insert("agentry.toml".to_owned());
            assert!(read_verified(place.path(), &trusted).is_ok(), "{at}");
            change(place.path());
            assert!(read_verified(place.path(), &trusted).is_err(), "{at}");
        }
        let (place, trusted) = scene();
        fs::write(place.path().join("notes/other.sh"), "changed").unwrap();
        assert!(
            read_verified(place.path(), &trusted).is_ok(),
            "what it does not cover does not count"
        );
    }

    #[test]
    fn a_large_file_is_copied_whole_and_compared() {
        let (place, mut trusted) = scene();
        let large = place.path().join("lib/large");
        fs::write(&large, vec![b'x'; 3 * 1024 * 1024]).unwrap();
        let tree = tree_reader::read_parts(place.path(), &trusted.parts).unwrap();
        trusted.hash = trust::covered(&tree, &trusted.parts).unwrap().1;
        let tree = read_verified(place.path(), &trusted).unwrap();
        let to = tempfile::tempdir().unwrap();
        write(&tree, place.path(), &to.path().join("one")).unwrap();
        assert_eq!(fs::metadata(to.path().join("one/lib/large")).unwrap().len(), 3 * 1024 * 1024);
        fs::write(&large, vec![b'y'; 3 * 1024 * 1024]).unwrap();
        let error = write(&tree, place.path(), &to.path().join("two")).unwrap_err();
        assert!(error.to_string().contains("changed while it was copied"), "{error}");
    }
}
