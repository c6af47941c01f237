//! `agentry doctor`: tries each sandbox level, and names the command that fixes a failure.
//!
//! Exit 0: a sandbox that the settings allow works, or the sandbox is off. Exit 1: none works.
//!
//! Must never: change anything.

use std::fmt::Write as _;
use std::fs::DirEntry;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::sandbox::SandboxLayers;
use agentry_protocol::confinement::{Attestation, ConfinementLevel};
use agentry_runtime::definitions::tree_reader;
use agentry_runtime::environment::Environment;
use agentry_sandbox::{LEVELS, Sandbox, SandboxSetup};
use clap::Args;
use serde_json::json;

use super::OutputFormat;
use crate::address_trust;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::visible;
use crate::fault::Fault;
use crate::sandbox_setup;

#[derive(Args)]
pub(crate) struct Options {
    /// List every escape that was tried
    #[arg(long, short)]
    verbose: bool,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// Prefix of the directories in which earlier versions passed input to programs.
const OLD_JOBS: &str = "agentry-job-";

/// The result of trying a level; the error says why it does not work.
struct LevelProbe {
    level: ConfinementLevel,
    result: Result<Attestation, String>,
}

/// The level that runs use, and the settings that decide it.
struct LevelSelection {
    /// The strongest level that works and is allowed; None without a sandbox.
    used: Option<ConfinementLevel>,
    minimum: ConfinementLevel,
    /// True if the settings turn the sandbox off.
    off: bool,
}

impl LevelSelection {
    fn of(wanted: &SandboxLayers, tried: &[LevelProbe]) -> Self {
        let minimum = sandbox_setup::minimum(wanted);
        let off = wanted.operator.sandbox.enabled == Some(false);
        let used = tried.iter().find(|one| one.level <= minimum && one.result.is_ok());
        Self { used: used.map(|one| one.level).filter(|_| !off), minimum, off }
    }
}

/// Returns the report as text. `wanted` is the sandbox part of the settings.
pub(crate) fn report(environment: &Environment, wanted: &SandboxLayers) -> String {
    let tried = try_all(&sandbox_setup::setup(environment));
    let selection = LevelSelection::of(wanted, &tried);
    let text = text(&tried, &selection, &MachineFacts::read(), false);
    text + &old_directories_text(&old_directories(environment))
}

/// Returns directories of earlier versions that are no longer used; only the owner removes them.
fn old_directories(environment: &Environment) -> Vec<String> {
    let homes = environment.state.iter().map(|state| state.join("homes"));
    let temporary = std::env::temp_dir();
    let mut entries = std::fs::read_dir(&temporary).into_iter().flatten().flatten();
    let is_job = |entry: &DirEntry| {
        let own = rustix::process::geteuid().as_raw();
        entry.file_name().to_string_lossy().starts_with(OLD_JOBS)
            && entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == own)
    };
    // There may be hundreds, so one pattern stands for all.
    let jobs = entries.any(|entry| is_job(&entry)).then(|| temporary.join(format!("{OLD_JOBS}*")));
    let all = homes.filter(|path| path.is_dir()).chain(jobs);
    all.map(|path| path.display().to_string()).collect()
}

fn old_directories_text(old: &[String]) -> String {
    if old.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\nOld directories\n  Earlier versions created these; they are no longer used. Check their content, then remove them.\n",
    );
    for path in old {
        writeln!(text, "  {}", visible(path)).expect("writing to a string cannot fail");
    }
    text
}

fn try_all(setup: &SandboxSetup) -> Vec<LevelProbe> {
    let one = |level| {
        let result = Sandbox::open_level(setup, level).map(|(_, attestation)| attestation);
        LevelProbe { level, result }
    };
    LEVELS.into_iter().map(one).collect()
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let mut findings = Findings::default();
    let settings = host.settings(&FileTree::new(""), &mut findings);
    let wanted = settings.sandbox();
    let tried = try_all(&sandbox_setup::setup(&host.environment));
    let selection = LevelSelection::of(wanted, &tried);
    let LevelSelection { used, minimum, off } = selection;
    let machine = MachineFacts::read();
    let record = bootstrap::ledger_troubles(host);
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let levels: Vec<_> = tried
                .iter()
                .map(|one| match &one.result {
                    Ok(attestation) => json!({"level": one.level, "works": true, "attestation": attestation}),
                    Err(why) => json!({
                        "level": one.level, "works": false, "why": why, "fix": machine.fix(one.level, why),
                    }),
                })
                .collect();
            let value = json!({
                "used": used, "minimum": minimum, "off": off, "levels": levels, "record": record,
                "old_directories": old_directories(&host.environment),
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        }
        OutputFormat::Text => {
            let text = text(&tried, &selection, &machine, options.verbose);
            write!(out, "{text}")?;
            if !record.is_empty() {
                writeln!(out, "\nLedger")?;
            }
            for trouble in record {
                writeln!(out, "  {}", visible(&trouble))?;
            }
            write!(out, "{}", old_directories_text(&old_directories(&host.environment)))?;
        }
    }
    warn_of_addresses(host)?;
    Ok(ExitCode::from(u8::from(used.is_none() && !off)))
}

/// Warns of providers of the project in this directory that are not used because of missing trust.
fn warn_of_addresses(host: &CliContext) -> Result<(), Fault> {
    let here = Path::new(".");
    // Without a project there are no such providers.
    let Ok(project) = tree_reader::read_project(here, "") else { return Ok(()) };
    let settings = host.settings(&project, &mut Findings::default());
    let trusts = bootstrap::address_trust(host, here)?;
    trusts.warn(&address_trust::untrusted(&host.environment, &settings, &trusts));
    Ok(())
}

fn text(
    tried: &[LevelProbe],
    selection: &LevelSelection,
    machine: &MachineFacts,
    verbose: bool,
) -> String {
    let LevelSelection { used, minimum, off } = *selection;
    let mut text = String::from("Sandbox\n");
    for one in tried {
        match &one.result {
            Ok(attestation) => {
                let count = attestation.escapes.len();
                let allowed =
                    if one.level <= minimum { "" } else { ", not allowed by sandbox.minimum" };
                writeln!(
                    text,
                    "  {:<9} works: {count} escapes tried, all blocked{allowed}",
                    one.level
                )
            }
            Err(why) => writeln!(text, "  {:<9} does not work: {why}", one.level),
        }
        .expect("writing to a string cannot fail");
    }
    if off {
        text.push_str(
            "  The sandbox is off in your settings: commands can do everything that you can, and every call needs approval.\n",
        );
        return text;
    }
    let attestation = used.and_then(|used| {
        tried.iter().find(|one| one.level == used).and_then(|one| one.result.as_ref().ok())
    });
    match attestation {
        Some(attestation) => text.push_str(&worth(attestation, verbose)),
        None => text.push_str(&missing(tried, minimum, machine)),
    }
    text
}

fn worth(attestation: &Attestation, verbose: bool) -> String {
    let mut text = format!(
        "  Agents run at level {}. Kernel {}, Landlock {}{}.\n\nLimits\n",
        attestation.level,
        attestation.kernel,
        attestation.landlock_abi,
        if attestation.own_user { ", as a separate user because you are root" } else { "" },
    );
    for limit in &attestation.limits {
        let worth = if limit.hard { "hard" } else { "soft" };
        writeln!(text, "  {:<9} {worth}: {}", limit.limit, limit.by)
            .expect("writing to a string cannot fail");
    }
    if verbose {
        text.push_str("\nEscapes\n");
        for escape in &attestation.escapes {
            let mark = if escape.stopped { "blocked" } else { "ESCAPED" };
            writeln!(text, "  {mark}  {}: {}", escape.attempt, escape.answer)
                .expect("writing to a string cannot fail");
        }
    }
    text
}

fn missing(tried: &[LevelProbe], minimum: ConfinementLevel, machine: &MachineFacts) -> String {
    let mut text = String::from(
        "  Agents cannot run commands here: no allowed sandbox works.\n\nHow to fix it\n",
    );
    for one in tried {
        let Err(why) = &one.result else { continue };
        if let Some(fix) = machine.fix(one.level, why) {
            writeln!(text, "  {:<9} {fix}", one.level).expect("writing to a string cannot fail");
        }
    }
    let weaker = tried.iter().find(|one| one.level > minimum && one.result.is_ok());
    if let Some(weaker) = weaker {
        writeln!(
            text,
            "  or accept the weaker level: set sandbox.minimum = \"{}\" in your own settings (no network, softer limits)",
            weaker.level
        )
        .expect("writing to a string cannot fail");
    }
    text
}

/// The facts about this machine that decide which fix helps.
struct MachineFacts {
    distribution: String,
    restricts_user_namespaces: bool,
    user_namespaces_off: bool,
    user_namespaces_none: bool,
}

impl MachineFacts {
    fn read() -> Self {
        let setting = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
            text.trim().to_owned()
        };
        Self {
            distribution: std::fs::read_to_string("/etc/os-release").unwrap_or_default(),
            restricts_user_namespaces: setting("kernel/apparmor_restrict_unprivileged_userns")
                == "1",
            user_namespaces_off: setting("kernel/unprivileged_userns_clone") == "0",
            user_namespaces_none: setting("user/max_user_namespaces") == "0",
        }
    }

    /// Returns the command that makes a level work, or None if there is no known fix.
    fn fix(&self, level: ConfinementLevel, why: &str) -> Option<String> {
        match level {
            ConfinementLevel::Ns if self.user_namespaces_none => {
                Some("sudo sysctl -w user.max_user_namespaces=15000".to_owned())
            }
            ConfinementLevel::Ns if self.user_namespaces_off => {
                Some("sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned())
            }
            ConfinementLevel::Ns if self.restricts_user_namespaces => Some(
                "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".to_owned(),
            ),
            ConfinementLevel::Ns if why.contains("namespaces") => Some(
                "in a container: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …"
                    .to_owned(),
            ),
            ConfinementLevel::Bwrap if why.contains("not installed") => Some(self.install("bubblewrap")),
            ConfinementLevel::Landlock if why.contains("Landlock") => {
                Some("start a kernel 6.2 or newer with lsm=landlock,… on its command line".to_owned())
            }
            ConfinementLevel::Ns | ConfinementLevel::Bwrap | ConfinementLevel::Seatbelt | ConfinementLevel::Landlock | ConfinementLevel::Off => None,
        }
    }

    fn install(&self, package: &str) -> String {
        let is = |name: &str| {
            let lines = self.distribution.lines();
            let mut values = lines.filter_map(|line| {
                line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE="))
            });
            values.any(|value| value.trim_matches('"').split(' ').any(|word| word == name))
        };
        let commands = [
            (&["debian", "ubuntu"][..], "sudo apt-get install"),
            (&["fedora", "rhel", "centos"], "sudo dnf install"),
            (&["arch"], "sudo pacman -S"),
            (&["alpine"], "sudo apk add"),
            (&["suse", "opensuse"], "sudo zypper install"),
            (&["nixos"], "nix-env -iA nixos."),
        ];
        let found = commands.iter().find(|(names, _)| names.iter().any(|name| is(name)));
        match found {
            Some((_, command)) if command.ends_with('.') => format!("{command}{package}"),
            Some((_, command)) => format!("{command} {package}"),
            None => format!("install the package {package}"),
        }
    }
}
