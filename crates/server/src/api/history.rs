//! The git history of an agent's folder: its commits, their diffs, and reverting one of them.
//!
//! Must never: touch a file outside of the folder, overwrite uncommitted changes, or run a program.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentry_protocol::token::TokenScope;
use agentry_runtime::definitions::project_loader::is_of_home;
use agentry_runtime::redact::Redactor;
use git2::build::CheckoutBuilder;
use git2::{
    Commit, Delta, Diff, DiffOptions, ErrorCode, Index, ObjectType, Oid, Patch, Repository,
    Signature, Sort, StatusOptions, Tree,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::{directory_of, find_agent};
use crate::api_error::{ApiError, ApiErrorCode};
use crate::limits::{
    API_COMMITS_LOOKED_MAX, API_COMMITS_MAX, API_COMMITS_SHOWN, API_DIFF_BYTES_MAX, API_FILES_MAX,
};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::state::ServerState;
use crate::supervision::Supervision;

/// Held during a revert, so that only one runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The git file mode of a folder in a tree.
const FOLDER_MODE: i32 = 0o040_000;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, admin) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Admin));
    vec![
        ApiRoute::get("/api/agents/{id}/history", read, "Commits of an agent's folder", history),
        ApiRoute::get(
            "/api/agents/{id}/history/{commit}",
            read,
            "A commit's changes in an agent's folder",
            one,
        ),
        ApiRoute::post(
            "/api/agents/{id}/history/{commit}/revert",
            admin,
            "Revert a commit's changes in an agent's folder with a new commit",
            revert,
        )
        // The reverted change may be a rule that requires approval.
        .supervision(Supervision::Reduced),
    ]
}

/// Size of a list of commits.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CommitsQuery {
    /// Most commits in the list. Default: 50.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<usize>,
}

/// The commits of an agent's folder.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommitHistory {
    /// Commits, newest first.
    pub(crate) commits: Vec<CommitSummary>,
    /// True if the folder has uncommitted changes.
    pub(crate) dirty: bool,
    /// Reason why there is no history; null if there is one.
    pub(crate) why: Option<String>,
}

/// A commit that changed an agent's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommitSummary {
    /// Id of the commit.
    pub(crate) id: String,
    /// First line of the message.
    pub(crate) summary: String,
    /// Name of the author.
    pub(crate) author: String,
    /// Time of the commit, in milliseconds since 1970.
    pub(crate) time: u64,
    /// Number of changed files in the folder.
    pub(crate) files: usize,
}

/// A commit, with its changes in the folder.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommitDetails {
    /// The commit.
    pub(crate) commit: CommitSummary,
    /// Changed files.
    pub(crate) files: Vec<FileChange>,
}

/// The change of a file.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileChange {
    /// Path of the file.
    pub(crate) path: String,
    /// added, deleted, modified or changed.
    pub(crate) status: &'static str,
    /// Unified diff; empty for a binary file.
    pub(crate) diff: String,
    /// True if the diff was cut.
    pub(crate) cut: bool,
}

/// The result of a revert.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevertResponse {
    /// Id of the new commit that reverts the change.
    pub(crate) commit: String,
}

fn history(site: &ServerState, asked: ApiRequest<CommitsQuery>) -> Result<CommitHistory, ApiError> {
    let limit = page_size(asked.query.limit, API_COMMITS_SHOWN, API_COMMITS_MAX)?;
    match GitFolder::open(&directory(site, asked.part(0))?)? {
        Ok(folder) => folder.history(limit).map_err(failed),
        Err(why) => Ok(CommitHistory { why: Some(why), ..CommitHistory::default() }),
    }
}

fn one(site: &ServerState, asked: ApiRequest<NoParams>) -> Result<CommitDetails, ApiError> {
    let folder = opened(&directory(site, asked.part(0))?)?;
    folder.page(asked.part(1), &site.parts.redactor)
}

fn revert(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<RevertResponse, ApiError> {
    let folder = opened(&directory(site, asked.part(0))?)?;
    let commit = folder.revert(asked.part(1))?.to_string();
    Ok(RevertResponse { commit })
}

/// Returns the folder of an agent, also of one that does not load: its history may repair it.
fn directory(site: &ServerState, id: &str) -> Result<PathBuf, ApiError> {
    let definite = site.definition_cache.read()?;
    match definite.loaded.library.broken_agents.get(id) {
        Some(file) if !is_of_home(file) => Ok(site.project.join(directory_of(file))),
        Some(_) | None => Ok(definite.definitions.directory(find_agent(&definite, id)?)),
    }
}

fn opened(directory: &Path) -> Result<GitFolder, ApiError> {
    GitFolder::open(directory)?.map_err(ApiError::conflict)
}

fn failed(error: git2::Error) -> ApiError {
    ApiError::new(ApiErrorCode::Internal, format!("git failed: {}", error.message()))
}

/// A folder in a git repository.
struct GitFolder {
    repository: Repository,
    /// The path of the folder in the repository; empty for the root.
    path: String,
}

impl GitFolder {
    /// Opens the folder; the inner error is the reason why it has no history.
    fn open(directory: &Path) -> Result<Result<Self, String>, ApiError> {
        let repository = match Repository::discover(directory) {
            Ok(repository) => repository,
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Ok(Err("the agent is not in a git repository".to_owned()));
            }
            Err(error) => return Err(failed(error)),
        };
        let Some(root) = repository.workdir().and_then(|root| root.canonicalize().ok()) else {
            return Ok(Err("the git repository has no working tree".to_owned()));
        };
        let full = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let Some(path) = full.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned)
        else {
            return Ok(Err("the agent's folder is not in a git repository".to_owned()));
        };
        Ok(Ok(Self { repository, path }))
    }

    fn history(&self, limit: usize) -> Result<CommitHistory, git2::Error> {
        let repository = &self.repository;
        let mut walk = repository.revwalk()?;
        walk.set_sorting(Sort::TIME | Sort::TOPOLOGICAL)?;
        if let Err(error) = walk.push_head() {
            return match error.code() {
                ErrorCode::UnbornBranch | ErrorCode::NotFound => Ok(CommitHistory {
                    why: Some("the repository has no commits yet".to_owned()),
                    dirty: self.is_dirty()?,
                    ..CommitHistory::default()
                }),
                _ => Err(error),
            };
        }
        let mut commits = Vec::new();
        for id in walk.take(API_COMMITS_LOOKED_MAX) {
            if commits.len() >= limit {
                break;
            }
            let commit = repository.find_commit(id?)?;
            if self.changes(&commit)? {
                commits.push(self.line(&commit)?);
            }
        }
        Ok(CommitHistory { commits, dirty: self.is_dirty()?, why: None })
    }

    fn page(&self, id: &str, redactor: &Redactor) -> Result<CommitDetails, ApiError> {
        let commit = self.find(id)?;
        let diff = self.diff(&commit).map_err(failed)?;
        let count = diff.deltas().len().min(API_FILES_MAX);
        let files = (0..count).map(|at| change(&diff, at, redactor));
        let files = files.collect::<Result<_, _>>().map_err(failed)?;
        Ok(CommitDetails { commit: self.line(&commit).map_err(failed)?, files })
    }

    /// Returns a commit of the current branch that changed the folder.
    fn find(&self, id: &str) -> Result<Commit<'_>, ApiError> {
        let unknown = || ApiError::not_found("commit of this agent", id);
        let id = Oid::from_str(id).map_err(|_| unknown())?;
        let commit = self.repository.find_commit(id).map_err(|_| unknown())?;
        let head = self.head()?;
        let is_past = head.id() == commit.id()
            || self.repository.graph_descendant_of(head.id(), commit.id()).map_err(failed)?;
        if is_past && self.changes(&commit).map_err(failed)? { Ok(commit) } else { Err(unknown()) }
    }

    fn head(&self) -> Result<Commit<'_>, ApiError> {
        let head = self.repository.head().and_then(|head| head.peel_to_commit());
        head.map_err(|_| ApiError::conflict("the repository has no commits yet"))
    }

    fn line(&self, commit: &Commit<'_>) -> Result<CommitSummary, git2::Error> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(CommitSummary {
            id: commit.id().to_string(),
            summary: commit.summary_bytes().map(text).unwrap_or_default(),
            author: text(commit.author().name_bytes()),
            time: u64::try_from(commit.time().seconds()).unwrap_or(0).saturating_mul(1_000),
            files: self.diff(commit)?.deltas().len(),
        })
    }

    /// Returns the folder's tree in a commit; none if the folder did not exist.
    fn tree_of(&self, commit: &Commit<'_>) -> Result<Option<Tree<'_>>, git2::Error> {
        let tree = self.repository.find_tree(commit.tree_id())?;
        if self.path.is_empty() {
            return Ok(Some(tree));
        }
        match tree.get_path(Path::new(&self.path)) {
            Ok(entry) if entry.kind() == Some(ObjectType::Tree) => {
                self.repository.find_tree(entry.id()).map(Some)
            }
            Ok(_) => Ok(None),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the folder's tree before a commit; for a merge, that of the first parent.
    fn tree_before(&self, commit: &Commit<'_>) -> Result<Option<Tree<'_>>, git2::Error> {
        match commit.parent_ids().next() {
            Some(id) => self.tree_of(&self.repository.find_commit(id)?),
            None => Ok(None),
        }
    }

    /// Returns true if a commit changed the folder; a merge only if it differs from all parents.
    fn changes(&self, commit: &Commit<'_>) -> Result<bool, git2::Error> {
        let own = self.tree_of(commit)?.map(|tree| tree.id());
        for id in commit.parent_ids() {
            let before = self.tree_of(&self.repository.find_commit(id)?)?;
            if before.map(|tree| tree.id()) == own {
                return Ok(false);
            }
        }
        Ok(commit.parent_count() > 0 || own.is_some())
    }

    fn diff(&self, commit: &Commit<'_>) -> Result<Diff<'_>, git2::Error> {
        let (before, after) = (self.tree_before(commit)?, self.tree_of(commit)?);
        let mut options = DiffOptions::new();
        options.indent_heuristic(true);
        let repository = &self.repository;
        repository.diff_tree_to_tree(before.as_ref(), after.as_ref(), Some(&mut options))
    }

    fn is_dirty(&self) -> Result<bool, git2::Error> {
        let mut options = StatusOptions::new();
        options.include_untracked(true).disable_pathspec_match(true);
        if !self.path.is_empty() {
            options.pathspec(&self.path);
        }
        Ok(!self.repository.statuses(Some(&mut options))?.is_empty())
    }

    /// Reverts a commit's changes in the folder with a new commit; other files stay unchanged.
    fn revert(&self, id: &str) -> Result<Oid, ApiError> {
        // One at a time: the files that one revert writes are uncommitted changes to another.
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if self.repository.head_detached().map_err(failed)? {
            let text = "the repository is not on a branch, so the new commit could get lost";
            return Err(ApiError::conflict(text).hint("check out a branch first"));
        }
        let commit = self.find(id)?;
        if commit.parent_count() > 1 {
            let text = "cannot revert a merge commit";
            return Err(ApiError::conflict(text).hint("revert the merged commits one by one"));
        }
        if self.is_dirty().map_err(failed)? {
            let text = "the agent's folder has uncommitted changes";
            return Err(ApiError::conflict(text).hint("commit or stash them first"));
        }
        let head = self.head()?;
        let folder = self.without(&commit, &head)?;
        let base = head.tree().map_err(failed)?;
        let tree = self.with_folder(&base, folder).map_err(failed)?;
        self.write(&head, &tree, &commit)
    }

    /// Returns the current folder without a commit's changes; none if no file remains.
    fn without(&self, commit: &Commit<'_>, head: &Commit<'_>) -> Result<Option<Oid>, ApiError> {
        let empty = || {
            let id = self.repository.treebuilder(None)?.write()?;
            self.repository.find_tree(id)
        };
        let or_empty = |tree: Option<Tree<'_>>| {
            tree.map_or_else(empty, |tree| self.repository.find_tree(tree.id()))
        };
        let trees = |commit| self.tree_of(commit).and_then(or_empty).map_err(failed);
        let (then, now) = (trees(commit)?, trees(head)?);
        let before = self.tree_before(commit).and_then(or_empty).map_err(failed)?;
        let merged = self.repository.merge_trees(&then, &now, &before, None);
        let mut merged = merged.map_err(failed)?;
        if merged.has_conflicts() {
            let paths = conflicting(&merged).map_err(failed)?.join(", ");
            let text = format!("later commits conflict with the revert: {paths}");
            return Err(
                ApiError::conflict(text).hint("revert those commits first, or edit the files")
            );
        }
        let folder = merged.write_tree_to(&self.repository).map_err(failed)?;
        if folder == now.id() {
            return Err(ApiError::conflict(
                "nothing to revert: the changes are no longer in the files",
            ));
        }
        let left = self.repository.find_tree(folder).map_err(failed)?;
        Ok((!left.is_empty()).then_some(folder))
    }

    /// Returns the tree of the repository with a new folder tree in place of the agent's.
    fn with_folder(&self, base: &Tree<'_>, folder: Option<Oid>) -> Result<Tree<'_>, git2::Error> {
        let parts: Vec<&str> = self.path.split('/').filter(|part| !part.is_empty()).collect();
        let id = match replaced(&self.repository, Some(base), &parts, folder)? {
            Some(id) => id,
            None => self.repository.treebuilder(None)?.write()?,
        };
        self.repository.find_tree(id)
    }

    /// Writes the files, then the commit. If the branch moved meanwhile, the files are restored.
    fn write(
        &self,
        head: &Commit<'_>,
        after: &Tree<'_>,
        commit: &Commit<'_>,
    ) -> Result<Oid, ApiError> {
        let repository = &self.repository;
        repository.checkout_tree(after.as_object(), Some(&mut self.checkout())).map_err(
            |error| ApiError::conflict(format!("cannot write the files: {}", error.message())),
        )?;
        let author =
            repository.signature().or_else(|_| Signature::now("agentry", "agentry@localhost"));
        let author = author.map_err(failed)?;
        let summary =
            String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
        let text =
            format!("Revert \"{summary}\"\n\nThis reverts {} in {}.\n", commit.id(), self.name());
        let made = repository.commit(Some("HEAD"), &author, &author, &text, after, &[head]);
        made.map_err(|error| {
            let text = format!("cannot create the commit: {}", error.message());
            match repository.checkout_head(Some(self.checkout().force())) {
                Ok(()) => ApiError::conflict(text),
                Err(error) => {
                    let why = error.message();
                    ApiError::conflict(format!("{text}; the files were not restored: {why}"))
                        .hint("git shows them as uncommitted changes; restore them with git")
                }
            }
        })
    }

    fn name(&self) -> &str {
        if self.path.is_empty() { "this repository" } else { &self.path }
    }

    fn checkout(&self) -> CheckoutBuilder<'static> {
        let mut checkout = CheckoutBuilder::new();
        checkout.safe().overwrite_ignored(false);
        if !self.path.is_empty() {
            checkout.disable_pathspec_match(true).path(&self.path);
        }
        checkout
    }
}

/// Returns a tree with the folder at a path replaced or removed; none if it becomes empty.
fn replaced(
    repository: &Repository,
    tree: Option<&Tree<'_>>,
    path: &[&str],
    folder: Option<Oid>,
) -> Result<Option<Oid>, git2::Error> {
    let Some((name, rest)) = path.split_first() else { return Ok(folder) };
    let entry = tree.and_then(|tree| tree.get_name(name)).map(|entry| (entry.kind(), entry.id()));
    let below = match entry {
        Some((Some(ObjectType::Tree), id)) => Some(repository.find_tree(id)?),
        Some(_) | None => None,
    };
    let below = replaced(repository, below.as_ref(), rest, folder)?;
    let mut builder = repository.treebuilder(tree)?;
    match below {
        Some(id) => drop(builder.insert(name, id, FOLDER_MODE)?),
        None if entry.is_some() => builder.remove(name)?,
        None => {}
    }
    match builder.len() {
        0 => Ok(None),
        _ => builder.write().map(Some),
    }
}

fn conflicting(index: &Index) -> Result<Vec<String>, git2::Error> {
    let mut paths = Vec::new();
    for conflict in index.conflicts()?.take(API_FILES_MAX) {
        let conflict = conflict?;
        let entry = conflict.our.or(conflict.their).or(conflict.ancestor);
        paths.extend(entry.map(|entry| String::from_utf8_lossy(&entry.path).into_owned()));
    }
    Ok(paths)
}

fn change(diff: &Diff<'_>, at: usize, redactor: &Redactor) -> Result<FileChange, git2::Error> {
    let delta = diff.get_delta(at);
    let file = delta.as_ref().and_then(|delta| {
        delta.new_file().path().or_else(|| delta.old_file().path()).map(Path::to_path_buf)
    });
    let status = match delta.map(|delta| delta.status()) {
        Some(Delta::Added) => "added",
        Some(Delta::Deleted) => "deleted",
        Some(Delta::Modified) => "modified",
        Some(_) | None => "changed",
    };
    let text = match Patch::from_diff(diff, at)? {
        Some(mut patch) => String::from_utf8_lossy(&patch.to_buf()?).into_owned(),
        None => String::new(),
    };
    let mut text = redactor.hide(&text);
    let cut = text.len() > API_DIFF_BYTES_MAX;
    text.truncate(text.floor_char_boundary(API_DIFF_BYTES_MAX));
    let path = file.map_or_else(String::new, |file| file.display().to_string());
    Ok(FileChange { path, status, diff: text, cut })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use git2::{IndexAddOption, RepositoryInitOptions};
    use tempfile::TempDir;

    use super::*;

    /// A repository with a folder of an agent and a file beside it.
    struct Scene {
        directory: TempDir,
        repository: Repository,
    }

    impl Scene {
        fn new() -> Self {
            let directory = TempDir::new().unwrap();
            let mut options = RepositoryInitOptions::new();
            options.initial_head("main").external_template(false);
            let repository = Repository::init_opts(directory.path(), &options).unwrap();
            Self { directory, repository }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn read(&self, path: &str) -> Option<String> {
            fs::read_to_string(self.directory.path().join(path)).ok()
        }

        fn commit(&self, message: &str) -> String {
            let mut index = self.repository.index().unwrap();
            index.read(true).unwrap();
            index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
            index.update_all(["*"], None).unwrap();
            index.write().unwrap();
            let tree = self.repository.find_tree(index.write_tree().unwrap()).unwrap();
            let who = Signature::now("A", "a@localhost").unwrap();
            let head = self.repository.head().ok().map(|head| head.peel_to_commit().unwrap());
            let parents: Vec<&Commit<'_>> = head.iter().collect();
            let made = self.repository.commit(Some("HEAD"), &who, &who, message, &tree, &parents);
            made.unwrap().to_string()
        }

        fn folder(&self) -> GitFolder {
            GitFolder::open(&self.directory.path().join("agents/a")).unwrap().unwrap()
        }
    }

    fn three_commits() -> (Scene, [String; 3]) {
        let scene = Scene::new();
        scene.write("agents/a/AGENT.md", "one\ntwo\nthree\nfour\nfive\n");
        let first = scene.commit("the agent");
        scene.write("agents/a/AGENT.md", "one\n2\nthree\nfour\nfive\n");
        scene.write("agents/a/tools/x.json", "{}");
        scene.write("beside.txt", "beside");
        let second = scene.commit("a tool, and something beside");
        scene.write("other.txt", "other");
        scene.commit("not about the agent");
        scene.write("agents/a/AGENT.md", "one\n2\nthree\nfour\n5\n");
        let last = scene.commit("the end");
        (scene, [first, second, last])
    }

    #[test]
    fn the_history_of_an_agent_has_the_commits_that_changed_its_folder() {
        let (scene, [first, second, last]) = three_commits();
        let history = scene.folder().history(10).unwrap();
        let ids: Vec<(&str, usize)> =
            history.commits.iter().map(|one| (one.id.as_str(), one.files)).collect();
        assert_eq!(ids, [(last.as_str(), 1), (second.as_str(), 2), (first.as_str(), 1)]);
        assert!(!history.dirty);
        let page = scene.folder().page(&second, &Redactor::default()).unwrap();
        let files: Vec<(&str, &str)> =
            page.files.iter().map(|one| (one.path.as_str(), one.status)).collect();
        assert_eq!(files, [("AGENT.md", "modified"), ("tools/x.json", "added")]);
        assert!(page.files[0].diff.contains("-two\n+2\n"), "{}", page.files[0].diff);
        scene.write("agents/a/more.md", "more");
        assert!(scene.folder().history(10).unwrap().dirty);
    }

    #[test]
    fn taking_a_commit_back_changes_the_folder_and_nothing_else() {
        let (scene, [_, second, _]) = three_commits();
        scene.write("beside.txt", "not committed, and not the agent's");
        let made = scene.folder().revert(&second).unwrap();
        assert_eq!(scene.read("agents/a/AGENT.md").unwrap(), "one\ntwo\nthree\nfour\n5\n");
        assert_eq!(scene.read("agents/a/tools/x.json"), None);
        assert_eq!(scene.read("beside.txt").unwrap(), "not committed, and not the agent's");
        let head = scene.repository.head().unwrap();
        assert_eq!(head.name(), Ok("refs/heads/main"));
        let head = head.peel_to_commit().unwrap();
        assert_eq!(head.id(), made);
        let tree = head.tree().unwrap();
        assert!(tree.get_path(Path::new("beside.txt")).is_ok());
        assert!(tree.get_path(Path::new("agents/a/tools")).is_err());
        assert!(!scene.folder().is_dirty().unwrap());
        let again = scene.folder().revert(&second).unwrap_err();
        assert_eq!(again.code, ApiErrorCode::Conflict);
    }

    #[test]
    fn a_commit_is_not_taken_back_where_something_could_be_lost() {
        let (scene, [first, second, last]) = three_commits();
        let code = |id: &str| scene.folder().revert(id).unwrap_err().code;
        assert_eq!(code(&first), ApiErrorCode::Conflict, "later changes are in the way");
        assert_eq!(code(&"0".repeat(40)), ApiErrorCode::NotFound);
        assert_eq!(code("main"), ApiErrorCode::NotFound);
        scene.write("agents/a/more.md", "more");
        assert_eq!(code(&second), ApiErrorCode::Conflict, "not committed");
        fs::remove_file(scene.directory.path().join("agents/a/more.md")).unwrap();
        scene.repository.set_head_detached(Oid::from_str(&last).unwrap()).unwrap();
        assert_eq!(code(&second), ApiErrorCode::Conflict, "on no branch");
        assert_eq!(scene.read("agents/a/AGENT.md").unwrap(), "one\n2\nthree\nfour\n5\n");
    }
}
