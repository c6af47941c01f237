//! Small settings files of the machine, cached so that a sandbox gets copies instead of mounts.
//!
//! A mount costs more than writing a file of a few pages. Files changed meanwhile are read again.
//!
//! Must never: hold more than some small files, or give a file that is older than the machine's.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

/// The path in the sandbox, and the content.
pub(crate) type FileCopy = (PathBuf, Rc<[u8]>);

/// The cached files, each with a stamp that shows if it has changed.
#[derive(Default)]
pub(crate) struct FileCopyCache(HashMap<PathBuf, (CopyStamp, Rc<[u8]>)>);

/// The identity of a file, its length and its last change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CopyStamp([i64; 4]);

impl FileCopyCache {
    /// Returns these files as they are now; missing ones are left out.
    pub(crate) fn load(&mut self, paths: &[PathBuf]) -> io::Result<Vec<FileCopy>> {
        let mut copies = Vec::with_capacity(paths.len());
        for path in paths {
            match self.one(path) {
                Ok(content) => copies.push((path.clone(), content)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(copies)
    }

    fn one(&mut self, path: &PathBuf) -> io::Result<Rc<[u8]>> {
        let metadata = std::fs::metadata(path)?;
        let stamp = CopyStamp([
            metadata.ino().cast_signed(),
            metadata.size().cast_signed(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        ]);
        if let Some((known, content)) = self.0.get(path)
            && *known == stamp
        {
            return Ok(content.clone());
        }
        let content: Rc<[u8]> = std::fs::read(path)?.into();
        self.0.insert(path.clone(), (stamp, content.clone()));
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_is_read_again_and_one_that_is_gone_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["one", "two"].map(|name| directory.path().join(name));
        std::fs::write(&paths[0], "first").unwrap();
        let mut copies = FileCopyCache::default();
        let text = |copies: &mut FileCopyCache| -> Vec<String> {
            let copies = copies.load(&paths).unwrap();
            copies.iter().map(|(_, content)| String::from_utf8_lossy(content).into()).collect()
        };
        assert_eq!(text(&mut copies), ["first"]);
        std::fs::write(&paths[0], "first, changed").unwrap();
        std::fs::write(&paths[1], "second").unwrap();
        assert_eq!(text(&mut copies), ["first, changed", "second"]);
        std::fs::remove_file(&paths[0]).unwrap();
        assert_eq!(text(&mut copies), ["second"]);
    }
}
