//! Composes the parts of a run: the ledger, the tools, the definitions.
//!
//! Commands that run, resume or replay work in the project's directory, so that files have equal
//! names each time.
//!
//! Must never: print, except warnings about requests that a project does not get, the ledger or the
//! clock.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_agentfile::agent::Agent;
use agentry_agentfile::sandbox::SandboxLayers;
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::model_choice::{ModelPreferences, SelectableProvider, choose, is_played};
use agentry_model::weights::WeightStore;
use agentry_protocol::RunId;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_protocol::event::{Ending, Mode};
use agentry_runtime::definitions::definition_cache::{
    CacheInput, CacheSurface, CliSelection, Confirmation, DefinitionCache,
};
use agentry_runtime::definitions::plan;
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::environment::Environment;
use agentry_runtime::host::executor::Executors;
use agentry_runtime::host::spending::SpendingLimiter;
use agentry_runtime::inbound::local_intake::LocalIntake;
use agentry_runtime::inbound::permission_request;
use agentry_runtime::providers::{ProviderInput, ProviderSet, ServingList, provider_set};
use agentry_runtime::redact::Redactor;
use agentry_runtime::redact::secrets::SecretRegistry;
use agentry_runtime::{
    Definitions, Enforcer, Host, HostModels, LedgerFollower, ModelNameResolver, RunExit,
    RunOutcome, RunRequest, secret_store,
};
use agentry_store::limits::CLOCK_BEHIND_MS_MAX;
use agentry_store::{Home, Ledger};
use agentry_tools::{FetchRules, Toolset};

use crate::address_trust::{AddressTrust, untrusted};
use crate::cli_context::{CliContext, tool_registry};
use crate::fault::{Blame, Fault};
use crate::output::{log_line, warn};
pub use crate::runtime_fault::{fault, store_fault};
use crate::sandbox_setup;
use crate::timezone;

/// The runtime of a project: the parts that runs need, and the loaded definitions.
pub struct ProjectRuntime {
    pub parts: Arc<Host>,
    pub definitions: Arc<Definitions>,
    pub loaded: LoadedProject,
    /// The absolute path of the project's directory.
    pub project: PathBuf,
    /// The providers and their models, from the settings alone.
    pub said: ServingList,
    looked: OnceLock<Vec<SelectableProvider>>,
    /// The store of weights; None if there is no directory for it.
    pub weights: Option<WeightStore>,
}

impl ProjectRuntime {
    /// Returns the providers and their models; probes providers on this machine on the first call.
    pub fn servings(&self) -> &[SelectableProvider] {
        self.looked.get_or_init(|| self.said.probe(&self.parts.models.providers))
    }

    /// Authorizes a request from a local channel of this process; fails if access is denied.
    pub fn admit(&self, channel: &str, order: RunRequest) -> Result<RunRequest, Fault> {
        let access = self.loaded.policies()?;
        let settings = &self.loaded.library.settings;
        let now = self.parts.ledger.now();
        let intake = LocalIntake {
            host: &self.parts,
            access: &access,
            local_time: timezone::of(settings)?.local(now),
            requests: permission_request::limits(&settings.config.requests),
        };
        intake.admit(channel, order).map_err(fault)
    }
}

/// Opens the ledger of this user, and warns if the clock is behind it.
pub fn open_ledger(host: &CliContext) -> Result<Ledger, Fault> {
    let Some(home) = &host.environment.state else {
        return Err(Fault::new(Blame::Machine, "no directory for the ledger: HOME is not set")
            .hint("set AGENTRY_HOME to a directory"));
    };
    let ledger = Ledger::open(home, Arc::new(now)).map_err(store_fault)?;
    warn_of_clock(&ledger);
    Ok(ledger)
}

/// Opens the ledger read-only; works if entries are lost or if the home is not writable.
pub fn open_ledger_to_read(host: &CliContext) -> Result<Ledger, Fault> {
    let there = host.environment.state.as_ref().filter(|home| Home::is_there(home));
    let Some(home) = there else { return open_ledger(host) };
    let ledger = match Ledger::open_to_read(home, Arc::new(now)) {
        Ok(ledger) => ledger,
        Err(agentry_store::Error::NeedsUpgrade { .. }) => return open_ledger(host),
        Err(error) => return Err(store_fault(error)),
    };
    if let Some(loss) = ledger.loss().map_err(store_fault)? {
        let path = ledger.home().ledger();
        log_line(&format!(
            "warning: {} {loss}; `agentry ledger verify` shows how to continue",
            path.display()
        ));
    }
    warn_of_clock(&ledger);
    Ok(ledger)
}

/// Returns the problems of the ledger and the clock, without printing them.
pub fn ledger_troubles(host: &CliContext) -> Vec<String> {
    let Some(home) = host.environment.state.as_ref().filter(|home| Home::is_there(home)) else {
        return Vec::new();
    };
    let ledger = match Ledger::open_to_read(home, Arc::new(now)) {
        Ok(ledger) => ledger,
        // The next command that writes upgrades the ledger.
        Err(agentry_store::Error::NeedsUpgrade { .. }) => return Vec::new(),
        Err(error) => return vec![error.to_string()],
    };
    let lost = match ledger.loss() {
        Ok(Some(loss)) => {
            Some(agentry_store::Error::Lost { path: ledger.home().ledger(), loss }.to_string())
        }
        Ok(None) => None,
        Err(error) => Some(error.to_string()),
    };
    lost.into_iter().chain(clock_trouble(&ledger)).collect()
}

/// Returns the current time in milliseconds, never before the newest entry of the ledger.
pub fn ledger_now(host: &CliContext) -> Result<u64, Fault> {
    if has_ledger(host) { Ok(open_ledger_to_read(host)?.now()) } else { Ok(now()) }
}

/// Warns, once per process, if the clock of this machine is behind the ledger.
fn warn_of_clock(ledger: &Ledger) {
    static TOLD: OnceLock<()> = OnceLock::new();
    if let Some(text) = clock_trouble(ledger)
        && TOLD.set(()).is_ok()
    {
        log_line(&format!("warning: {text}"));
    }
}

/// Returns a warning if the clock is behind the newest entry by over `CLOCK_BEHIND_MS_MAX`.
pub fn clock_trouble(ledger: &Ledger) -> Option<String> {
    let behind = ledger.clock_behind_ms();
    (behind > CLOCK_BEHIND_MS_MAX).then(|| {
        let seconds = behind / 1000;
        format!(
            "the clock of this machine is {seconds} s behind the newest entry of the ledger; times continue from \
             that entry. Correct the clock"
        )
    })
}

/// Returns true if this user has a ledger.
pub fn has_ledger(host: &CliContext) -> bool {
    host.environment.state.as_ref().is_some_and(|home| Home::is_there(home))
}

/// Returns the time of the machine in milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Formats milliseconds since 1970 as RFC 3339.
pub fn rfc3339(milliseconds: u64) -> String {
    let time =
        i64::try_from(milliseconds).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(String::new, |time| time.to_string())
}

/// Returns a globally unique number; later numbers are larger.
pub fn new_uuid_number() -> u128 {
    uuid::Uuid::now_v7().as_u128()
}

/// Opens the project and workspace of a recorded run.
pub fn engine_of(host: &CliContext, ledger: Ledger, run: &RunId) -> Result<ProjectRuntime, Fault> {
    engine_of_with(host, ledger, run, sandbox_setup::open)
}

/// Opens the project of a recorded run without a sandbox, so that no program can run.
pub fn engine_read_only(
    host: &CliContext,
    ledger: Ledger,
    run: &RunId,
) -> Result<ProjectRuntime, Fault> {
    engine_of_with(host, ledger, run, |_, layers| sandbox_setup::placeholder_enforcer(layers))
}

/// Creates the enforcer that confines the processes of runs.
type EnforcerFactory = fn(&Environment, &SandboxLayers) -> Enforcer;

fn engine_of_with(
    host: &CliContext,
    ledger: Ledger,
    run: &RunId,
    open: EnforcerFactory,
) -> Result<ProjectRuntime, Fault> {
    let plan = plan::recorded(&ledger, run).map_err(fault)?;
    let workspace = Path::new(&plan.workspace);
    engine_with(host, ledger, Path::new(&plan.project), Some(workspace), open)
}

/// Enters and loads a project. The workspace of runs is `workspace`, or else the project.
pub fn engine(
    host: &CliContext,
    ledger: Ledger,
    project: &Path,
    workspace: Option<&Path>,
) -> Result<ProjectRuntime, Fault> {
    engine_with(host, ledger, project, workspace, sandbox_setup::open)
}

fn engine_with(
    host: &CliContext,
    ledger: Ledger,
    project: &Path,
    workspace: Option<&Path>,
    open: EnforcerFactory,
) -> Result<ProjectRuntime, Fault> {
    let workspace = workspace.map(|path| path.canonicalize().map_err(|error| cannot(path, &error)));
    let workspace = workspace.transpose()?;
    let project = enter_project(project)?;
    let loaded = host.load(Path::new("."), SkillLevel::Extended)?;
    if let Some(fault) = loaded.settings_error().map(Fault::from) {
        return Err(fault.in_a_definition());
    }
    let secrets =
        secret_store::resolve(&host.environment, &loaded.library.settings.config.secrets)?;
    let redactor = Arc::new(secrets.redactor());
    let trusts = AddressTrust::in_ledger(&ledger, &loaded.root)?;
    let known = providers(host, &loaded, &secrets, &redactor, &trusts);
    trusts.warn(&known.untrusted);
    let enforcer = open(&host.environment, loaded.library.settings.sandbox());
    let mut definitions = definitions(host, &loaded, &project, enforcer.level())?;
    definitions.redactor = redactor.clone();
    definitions.workspace = workspace.unwrap_or_else(|| project.clone());
    let spending = loaded.library.settings.config.limits.spending.clone();
    let tools = Arc::new(Toolset::builtin());
    let parts = Host {
        follower: LedgerFollower::new(ledger.clone()),
        ledger,
        spending: SpendingLimiter::new(&spending, known.providers.families()),
        models: HostModels {
            named: model_named(known.servings.clone(), &loaded),
            window: loaded.library.settings.config.limits.window,
            providers: known.providers,
        },
        tools: tool_registry(tools.clone()),
        fetch: FetchRules::default(),
        enforcer,
        env: passed(host, &loaded),
        secrets,
        redactor,
        new_number: new_uuid_number,
        executors: Executors::local(tools),
    };
    Ok(ProjectRuntime {
        parts: Arc::new(parts),
        definitions: Arc::new(definitions),
        loaded,
        project,
        said: known.servings,
        looked: OnceLock::new(),
        weights: known.weights,
    })
}

/// Reads the addresses that the owner trusts in a project; none if there is no ledger.
pub fn address_trust(host: &CliContext, project: &Path) -> Result<AddressTrust, Fault> {
    if has_ledger(host) {
        AddressTrust::in_ledger(&open_ledger(host)?, project)
    } else {
        Ok(AddressTrust::nothing(project))
    }
}

/// Returns all providers of this host and project.
pub fn providers(
    host: &CliContext,
    loaded: &LoadedProject,
    secrets: &SecretRegistry,
    redactor: &Arc<Redactor>,
    trusts: &AddressTrust,
) -> ProviderSet {
    let settings = &loaded.library.settings;
    provider_set(ProviderInput {
        environment: &host.environment,
        settings,
        recording: host.tape(),
        secrets,
        redactor,
        untrusted: untrusted(&host.environment, settings, trusts),
        why_not: &|address| trusts.why_not(address),
    })
}

/// Changes the current directory to a project. Returns its absolute path.
pub fn enter_project(project: &Path) -> Result<PathBuf, Fault> {
    let full = project.canonicalize().map_err(|error| cannot(project, &error))?;
    std::env::set_current_dir(&full).map_err(|error| cannot(&full, &error))?;
    Ok(full)
}

fn cannot(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(Blame::Caller, format!("cannot work in {}: {error}", path.display()))
        .hint("name an existing directory")
}

/// Returns a resolver for models that hooks name; it probes local providers only when called.
fn model_named(servings: ServingList, loaded: &LoadedProject) -> ModelNameResolver {
    let default = loaded.library.settings.config.agent.model.clone();
    Box::new(move |providers, models, name| {
        let wanted =
            ModelPreferences { asked: Some(name), agent: models, default: default.as_deref() };
        let servings = if is_played(name) { Vec::new() } else { servings.probe(providers) };
        choose(&wanted, &servings)
            .map(|choice| choice.model)
            .map_err(|none| none.to_string().lines().next().unwrap_or_default().to_owned())
    })
}

/// Returns the definitions of a project, for processes confined at this level.
pub fn definitions(
    host: &CliContext,
    loaded: &LoadedProject,
    project: &Path,
    level: ConfinementLevel,
) -> Result<Definitions, Fault> {
    Ok(host.loader.definitions(loaded, project, level)?)
}

/// Starts a cache of the definitions of a project, which reloads changed files.
pub fn definition_cache(
    host: &CliContext,
    engine: ProjectRuntime,
    asked: CliSelection,
    confirmation: Confirmation,
) -> Result<DefinitionCache, Fault> {
    // A scripted model has no provider, so none is probed.
    let is_played = asked.model.as_deref().is_some_and(is_played);
    let servings = if is_played { Vec::new() } else { engine.servings().to_vec() };
    let zone = timezone::of(&engine.loaded.library.settings)?;
    let surface = CacheSurface {
        local_time: Box::new(move |now| zone.local(now)),
        describe: |error| Fault::from(error).to_string(),
        notice: log_line,
    };
    let ProjectRuntime { parts, definitions, loaded, project, .. } = engine;
    let (loader, ledger) = (host.loader.duplicate(), parts.ledger.clone());
    let input = CacheInput { loader, loaded, definitions, project, ledger, servings };
    Ok(DefinitionCache::new(input, asked, confirmation, surface)?)
}

/// Warns of confinement that the project and the agent request but do not get.
pub fn warn_left_out(engine: &ProjectRuntime, agent: &Agent) -> Result<(), Fault> {
    let (_, notes) = engine.definitions.confinement(agent).map_err(fault)?;
    for note in notes {
        warn(&note.to_string());
    }
    Ok(())
}

/// Returns the environment variables that the operator passes to commands.
fn passed(host: &CliContext, loaded: &LoadedProject) -> Vec<(String, String)> {
    let names = loaded.library.settings.config.sandbox.env.iter().flatten();
    let given = names.filter_map(|name| host.environment.variable(name).map(|value| (name, value)));
    given.map(|(name, value)| (name.clone(), value)).collect()
}

/// Returns the confinement level that the settings want.
pub fn wanted_level(loaded: &LoadedProject) -> ConfinementLevel {
    match loaded.library.settings.config.sandbox.enabled {
        Some(false) => ConfinementLevel::Off,
        Some(true) | None => ConfinementLevel::Ns,
    }
}

/// Fails if the autonomous mode would run without a sandbox.
pub fn check_mode(level: ConfinementLevel, mode: Mode) -> Result<(), Fault> {
    match (mode, level) {
        (Mode::Autonomous, ConfinementLevel::Off) => Err(Fault::new(
            Blame::Caller,
            "wiggum mode needs the sandbox, which is off: calls would run without approval and without \
             confinement",
        )
        .hint("remove `sandbox.enabled = false` from your settings, or use --mode structured")),
        (
            Mode::Supervised | Mode::Autonomous,
            ConfinementLevel::Ns | ConfinementLevel::Bwrap | ConfinementLevel::Seatbelt | ConfinementLevel::Landlock | ConfinementLevel::Off,
        ) => Ok(()),
    }
}

/// Returns the exit code of a run that ended or paused in this process.
pub fn exit_code(outcome: &RunOutcome) -> u8 {
    match &outcome.end {
        RunExit::Paused(_) => 4,
        RunExit::Ended { ending, .. } => ending_code(*ending),
    }
}

/// Returns the exit code for an ending.
pub fn ending_code(ending: Ending) -> u8 {
    match ending {
        Ending::Done => 0,
        Ending::Failed => 1,
        Ending::Denied => 3,
        Ending::LimitReached => 5,
        Ending::ModelFailed => 6,
        Ending::Cancelled => 7,
    }
}
