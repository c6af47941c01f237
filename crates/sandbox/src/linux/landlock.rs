//! The paths that a process may use, held by Landlock, below whatever its mounts show.
//!
//! Must never: enforce less than was asked for and go on; a kernel that cannot is an error.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, AddRuleError, AddRulesError, BitFlags, CompatLevel,
    Compatible, CreateRulesetError, LandlockStatus, PathBeneath, PathFd, PathFdError,
    RestrictSelf, RestrictSelfError, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};

use crate::linux::Failed;

const STEP: &str = "confining paths (Landlock)";

/// What a process may use; everything else it may not.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// What may be read and executed.
    pub(crate) read: Vec<Allowed>,
    /// What may also be written and changed; no device node is made there.
    pub(crate) write: Vec<Allowed>,
    /// Whether TCP is refused, in and out; kernels know that from version 4.
    pub(crate) deny_tcp: bool,
    /// The version of Landlock below which nothing is started.
    pub(crate) abi_min: u32,
}

/// One path, a file or a directory with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// The path; a link is followed when the rule is made, not later.
    pub(crate) path: PathBuf,
    /// Whether it may be missing.
    pub(crate) optional: bool,
}

impl Allowed {
    /// A path that must be there.
    pub(crate) fn required(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), optional: false }
    }

    /// A path that is left out where it does not exist.
    pub(crate) fn optional(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), optional: true }
    }
}

/// The version of Landlock that the kernel has; 0 means that it has none.
pub(crate) fn abi() -> u32 {
    // With no flag set this asks for the version and does nothing else.
    let Ok(status) = RestrictSelf::default().no_new_privs(false).apply() else { return 0 };
    match status.landlock {
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            kernel_abi.map_or(effective_abi as u32, i32::cast_unsigned)
        }
    }
}

/// Puts the calling thread, and whatever it starts, under the rules for good.
pub(crate) fn restrict(rules: &Rules) -> Result<(), Failed> {
    let found = abi();
    if found < rules.abi_min || found == 0 {
        let why = format!("the kernel has version {found}, and {} is needed", rules.abi_min);
        return Err(Failed::refused(STEP, why));
    }
    let abi = ABI::from(i32::try_from(found).unwrap_or(i32::MAX));
    let mut ruleset = created(abi, rules.deny_tcp).map_err(|error| failed(STEP, error))?;
    let everything = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let write = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (list, access) in [(&rules.read, read), (&rules.write, write)] {
        for allowed in list {
            ruleset = with(ruleset, allowed, access, AccessFs::from_file(abi))?;
        }
    }
    let status = ruleset.restrict_self().map_err(|error| failed(STEP, error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(Failed::refused(STEP, "the kernel enforces only a part"))
        }
    }
}

/// An empty ruleset that handles all that this version can.
fn created(abi: ABI, deny_tcp: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    // Asking for nothing is an error, so older versions are not asked.
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let network = AccessNet::from_all(abi);
    if deny_tcp && !network.is_empty() {
        ruleset = ruleset.handle_access(network)?;
    }
    ruleset.create()
}

fn with(
    ruleset: RulesetCreated,
    allowed: &Allowed,
    access: BitFlags<AccessFs>,
    access_of_files: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Failed> {
    let step = || format!("{STEP}: allowing {}", allowed.path.display());
    let path = match PathFd::new(&allowed.path) {
        Ok(path) => path,
        Err(PathFdError::OpenCall { source, .. })
            if allowed.optional && is_missing(&source) =>
        {
            return Ok(ruleset);
        }
        Err(PathFdError::OpenCall { source, .. }) => return Err(Failed::new(step(), source)),
        Err(other) => return Err(Failed::refused(step(), other.to_string())),
    };
    let is_directory = is_directory(&path).map_err(|cause| Failed::new(step(), cause))?;
    let access = if is_directory { access } else { access & access_of_files };
    ruleset.add_rule(PathBeneath::new(path, access)).map_err(|error| failed(&step(), error))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Asks the opened path itself, so that nothing can be put in its place in between.
fn is_directory(path: &PathFd) -> io::Result<bool> {
    let stat = rustix::fs::fstat(path)?;
    Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Keeps the number that the system answered with, where there is one.
fn failed(step: &str, error: RulesetError) -> Failed {
    match error {
        RulesetError::CreateRuleset(CreateRulesetError::CreateRulesetCall { source, .. })
        | RulesetError::AddRules(AddRulesError::Fs(AddRuleError::AddRuleCall { source, .. }))
        | RulesetError::RestrictSelf(
            RestrictSelfError::SetNoNewPrivsCall { source, .. }
            | RestrictSelfError::RestrictSelfCall { source, .. },
        ) => Failed::new(step, source),
        other => Failed::refused(step, other.to_string()),
    }
}
