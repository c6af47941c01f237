//! Every attack of the list, how it is set up, and what is expected at each level.
//!
//! Must never: expect less than the list without a reason that the guide gives, too.

use agentry_protocol::confinement::ConfinementLevel;

use crate::attack::{Attack, filesystem as files, network, processes, secrets};
use crate::scene::Plot;

/// One line of the list.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    /// What is run, each in a sandbox of its own; the last one decides.
    pub(crate) calls: Vec<Attack>,
    /// What a person does between the calls.
    pub(crate) between: Option<fn(&Plot)>,
    pub(crate) setting: Setting,
    pub(crate) judged: Judged,
    pub(crate) gaps: Vec<Gap>,
    /// Who succeeds with it when nothing is confined.
    pub(crate) bare: Bare,
}

/// What is not the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Plain,
    /// A second writable directory lies in the first.
    RootInRoot,
    /// There is hardly any time.
    ShortTime,
    /// There are few processes.
    FewProcesses,
    /// There is little room for temporary files.
    SmallDisk,
    /// Some hosts are allowed.
    Hosts,
    /// Something in the workspace is hidden.
    Hidden,
    /// What is hidden is a link.
    HiddenLink,
    /// A program outside listens on a socket in the workspace.
    SocketInside,
    /// Everything may be read but what is hidden, and a program listens on a socket in there.
    Broad,
}

/// How it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// By what it says, and by what is seen outside.
    Said,
    /// By what it read, and for what it wrote by what is seen outside: the same path may be its own.
    Seen,
    /// What is protected is as it was, and what was done to it is reported.
    PutRight,
    /// It was ended by its time, and nothing is left.
    TimedOut,
    /// What it made belongs to the owner of the workspace.
    Owner,
    /// It may do so; the next call works, and nothing is left.
    Survived,
}

/// Who succeeds without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bare {
    NotTried,
    Everybody,
    Root,
}

/// What a level cannot stop.
pub(crate) struct Gap {
    pub(crate) level: ConfinementLevel,
    /// Only an ordinary user, only root, or both.
    pub(crate) root: Option<bool>,
    pub(crate) why: &'static str,
}

/// A line of the list that is shown elsewhere.
pub(crate) struct Note {
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    pub(crate) shown: &'static str,
}

impl Row {
    fn new(id: &'static str, what: &'static str, attack: Attack) -> Self {
        Self {
            id,
            what,
            calls: vec![attack],
            between: None,
            setting: Setting::Plain,
            judged: Judged::Said,
            gaps: Vec::new(),
            bare: Bare::NotTried,
        }
    }

    fn then(mut self, attack: Attack) -> Self {
        self.calls.push(attack);
        self
    }

    fn between(mut self, act: fn(&Plot)) -> Self {
        self.between = Some(act);
        self
    }

    fn with(mut self, setting: Setting) -> Self {
        self.setting = setting;
        self
    }

    fn judged(mut self, judged: Judged) -> Self {
        self.judged = judged;
        self
    }

    fn gap(mut self, level: ConfinementLevel, root: Option<bool>, why: &'static str) -> Self {
        self.gaps.push(Gap { level, root, why });
        self
    }

    fn bare(mut self, bare: Bare) -> Self {
        self.bare = bare;
        self
    }

    /// Why this level does not stop it, if it does not.
    pub(crate) fn gap_at(&self, level: ConfinementLevel, is_root: bool) -> Option<&'static str> {
        let here = |gap: &&Gap| gap.level == level && gap.root.is_none_or(|root| root == is_root);
        self.gaps.iter().find(here).map(|gap| gap.why)
    }
}

/// All that are run.
pub(crate) fn rows() -> Vec<Row> {
    [
        reading(),
        changing(),
        protected(),
        hidden(),
        broad(),
        odd_files(),
        lives(),
        looks(),
        kernel(),
        reach(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn row(id: &'static str, what: &'static str, attack: Attack) -> Row {
    Row::new(id, what, attack)
}

fn reading() -> Vec<Row> {
    let all = Bare::Everybody;
    vec![
        row("F1a", "read an absolute path outside", files::absolute).bare(all),
        row("F1b", "read a path with .. in it", files::relative).bare(all),
        row("F1c", "read /etc/shadow", files::passwords).bare(Bare::Root),
        row("F1d", "list the home of root", files::home_of_root).bare(Bare::Root),
        row("F1e", "list a directory outside", files::listing).bare(all),
        row("F2a", "read through a link", files::link_read).bare(all),
        row("F2b", "write through a link", files::link_write).judged(Judged::Seen).bare(all),
        row("F2c", "swap a writable root for a link, then use it", files::root_to_link)
            .then(files::root_used)
            .with(Setting::RootInRoot)
            .judged(Judged::Seen)
            .bare(all),
        row("F3", "swap a link 10000 times while it is read", files::swapped).bare(all),
        row("F5a", "hard link to a file outside", files::hard_link).bare(all),
        row("F5b", "move a file in", files::move_in).bare(all),
        row("F5c", "exchange a file with one outside", files::exchange).bare(all),
        row("F5d", "move or link a file out", files::move_out).bare(all),
        row("F6a", "by /proc/self/root", files::by_self_root).bare(all),
        row("F6b", "by /proc/1/root", files::by_first_root),
        row("F6c", "by /proc/self/cwd/..", files::by_parent_directory).bare(all),
        row("F6d", "by a handle, /proc/self/fd and /dev/fd", files::by_handle).bare(all),
        row("F6e", "by a handle that is only a place", files::by_place).bare(all),
        row("F6f", "by root, cwd and fd of other processes", files::by_other_processes).bare(all),
    ]
}

fn changing() -> Vec<Row> {
    let all = Bare::Everybody;
    let metadata = "Landlock does not bound metadata of files of the same user";
    let gap = |row: Row| row.gap(ConfinementLevel::Landlock, Some(false), metadata).bare(all);
    vec![
        row("F10a", "write the files of a shell", files::shell_files)
            .judged(Judged::Seen)
            .bare(all),
        row("F10b", "write timetables and units of the system", files::timetables),
        row("F10c", "write units, autostart and keys of the user", files::started_at_login)
            .judged(Judged::Seen)
            .bare(all),
        row("F10d", "write programs of the system", files::system_program),
        row("F10e", "write settings of the kernel", files::kernel_settings).bare(Bare::Root),
        gap(row("F14a", "change the mode of a file outside", files::mode_outside)),
        gap(row("F14b", "change the times of a file outside", files::times_outside)),
        gap(row("F14c", "set an attribute of a file outside", files::attribute_outside)),
        row("F14d", "look at size and times of a file outside", files::look_outside)
            .gap(ConfinementLevel::Landlock, None, "Landlock does not bound looking at metadata")
            .bare(all),
        row("F15a", "set-user bits, five ways", files::set_user).bare(all),
        row("F15b", "make a device", files::device).bare(Bare::Root),
        row("F22", "whose are files that are made", files::make_file).judged(Judged::Owner).gap(
            ConfinementLevel::Landlock,
            Some(true),
            "files cannot be lent: they belong to the user of the sandbox",
        ),
        row("F23", "look into the quarantine", files::quarantine).judged(Judged::Seen).bare(all),
    ]
}

fn protected() -> Vec<Row> {
    let row = |id, what, attack| Row::new(id, what, attack).judged(Judged::PutRight);
    vec![
        row("F7a", "make .git/hooks/pre-commit", files::plant_hook),
        row("F7b", "make .mcp.json", files::plant_servers),
        row("F7c", "make a policy file", files::plant_policy),
        row("F7d", "make an .envrc", files::plant_environment),
        row("F7e", "rename a directory to .git", files::plant_by_rename),
        row("F7f", "make 10050 protected names and a repository", files::plant_flood),
        row("F7g", "make a repository 131 directories deep", files::plant_deep),
        row("F7h", "move it up in the next call", files::plant_deep).then(files::lift_deep),
        row("F7i", "make files that define an agent", files::plant_agent),
        row("F7j", "make files that other programs obey", files::plant_obeyed),
        row("F7k", "make a repository without .git", files::plant_bare),
        row("F7l", "make a repository in an unreadable directory", files::plant_dark),
        row("F8a", "move .git away and make another", files::replace_repository),
        row("F8b", "move a directory away that holds something protected", files::replace_around),
        row("F10f", "write tasks of an editor", files::plant_tasks),
        row("F15c", "a pipe in place of a file that is read", files::pipe_for_reader),
    ]
}

fn hidden() -> Vec<Row> {
    let hidden = |row: Row| row.with(Setting::Hidden);
    vec![
        hidden(row("F11a", "write into what is hidden", files::write_hidden)),
        hidden(row("F11b", "read what is hidden", files::read_hidden)).bare(Bare::Everybody),
        hidden(row("F11c", "link or move what is hidden", files::link_to_hidden)),
        hidden(
            row("F11d", "move what is around it, read in the next call", files::move_around_hidden)
                .then(files::read_moved),
        )
        .bare(Bare::Everybody),
        hidden(
            row("F12a", "read what came to be hidden after the first call", files::read_late)
                .then(files::read_late)
                .between(Plot::hide_more),
        ),
        row("F12b", "read what is hidden through a link", files::read_linked)
            .with(Setting::HiddenLink),
    ]
}

/// Where all of the machine is seen.
fn broad() -> Vec<Row> {
    vec![
        row("F24a", "read what is hidden of the machine", files::absolute).with(Setting::Broad),
        row("F24b", "write what can only be read", files::shell_files).with(Setting::Broad),
        row("F24c", "connect to a socket that can be seen", processes::socket_seen)
            .with(Setting::Broad)
            .bare(Bare::Everybody),
        row("F24d", "change what can only be read", files::mode_outside).with(Setting::Broad),
        row("F24e", "write the system", files::system_program).with(Setting::Broad),
        row("F24f", "look into other processes", processes::look_at_environment)
            .with(Setting::Broad),
    ]
}

fn odd_files() -> Vec<Row> {
    let no_bound = "without a file system of its own only the size of each file is bounded";
    vec![
        row("F16a", "a sparse file of 1 TiB", files::sparse),
        row("F16b", "very many small files", files::many_files)
            .with(Setting::SmallDisk)
            .gap(ConfinementLevel::Landlock, None, no_bound)
            .gap(ConfinementLevel::Bwrap, None, "bubblewrap bounds their bytes, not their number"),
        row("F16c", "directories 1100 deep with names of 255 bytes", files::deep)
            .judged(Judged::Survived),
        row("F18", "run a program from memory", files::from_memory),
    ]
}

fn lives() -> Vec<Row> {
    let timed = |id, what, attack| {
        Row::new(id, what, attack).judged(Judged::TimedOut).with(Setting::ShortTime)
    };
    vec![
        row("K1", "stay behind as a daemon", processes::daemon),
        row("K2a", "make processes without end", processes::many_processes)
            .with(Setting::FewProcesses),
        row("K2b", "make threads without end", processes::many_threads).with(Setting::FewProcesses),
        timed("K3a", "listen to no request to end, in many sessions", processes::deaf),
        timed("K3b", "stop itself", processes::stopped),
        timed("K3c", "run away through processes", processes::runner),
    ]
}

fn looks() -> Vec<Row> {
    let all = Bare::Everybody;
    vec![
        row("K5a", "trace supervisor, helper and sibling", processes::trace),
        row("K5b", "read their memory by a call", processes::read_memory).bare(all),
        row("K5c", "take a handle of theirs", processes::take_handle).bare(all),
        row("K5d", "open their mem", processes::look_at_memory).bare(all),
        row("K5e", "read their environ", processes::look_at_environment).bare(all),
        row("K5f", "read their maps", processes::look_at_maps).bare(all),
        row("K5g", "list their fd", processes::look_at_handles).bare(all),
        row("K5h", "look into the first process of the own sandbox", processes::trace_first),
        row("K5i", "read their arguments", processes::look_at_arguments)
            .gap(ConfinementLevel::Landlock, None, "the process table of the machine can be read")
            .bare(all),
        row("K5j", "signal them", processes::signal).bare(all),
        row("K5k", "signal them by a handle", processes::signal_by_handle).bare(all),
        row("K5l", "kill the first process of the own sandbox", processes::kill_first),
        row("K5m", "make them slow", processes::make_slow).bare(all),
        row("K5n", "change their limits", processes::limit_others).bare(all),
        row("K14a", "connect to a socket with a name only", processes::named_socket).bare(all),
        row("K14b", "connect to a socket file outside", processes::socket_file).bare(all),
        row("K14c", "connect to a socket of another in the workspace", processes::socket_inside)
            .with(Setting::SocketInside)
            .gap(ConfinementLevel::Ns, None, "what is in the workspace can be used, also a socket")
            .gap(
                ConfinementLevel::Bwrap,
                None,
                "what is in the workspace can be used, also a socket",
            )
            .bare(all),
        row("K18", "find a handle that was left open", processes::handles),
        row("K21a", "read shared memory by its number", processes::shared_memory).bare(all),
        row("K21b", "read shared memory by its name", processes::shared_files).bare(all),
        row("K22", "type into a terminal", processes::terminal),
        row("S1a", "find a secret in the environment", secrets::environment).bare(all),
        row("S1b", "find a dump of a crash", secrets::crash),
    ]
}

fn kernel() -> Vec<Row> {
    vec![
        row("K7a", "unshare", processes::new_namespace),
        row("K7b", "clone and clone3 with a namespace", processes::new_namespace_by_clone)
            .bare(Bare::Everybody),
        row("K7c", "setns", processes::enter_namespace).bare(Bare::Root),
        row("K8a", "mount, fsopen, open_tree, move_mount, pivot_root", processes::mounts),
        row("K8b", "unmount a mask", processes::unmount_mask).bare(Bare::Root),
        row("K8c", "chroot", processes::change_root).bare(Bare::Root),
        row("K9", "io_uring", processes::ring).bare(Bare::Everybody),
        row("K10a", "the interface of 32 bits", processes::old_interface),
        row("K10b", "the interface x32", processes::other_interface),
        row("K11", "keys, bpf, perf, userfaultfd, file handles, fanotify", processes::kernel_parts)
            .bare(Bare::Everybody),
        row("K13a", "setuid, setgid, capabilities", processes::become_root).bare(Bare::Root),
        row("K13b", "programs that change the user", processes::set_user_programs),
        row("K23", "clock, host name, modules, restart", processes::machine_settings)
            .bare(Bare::Root),
    ]
}

fn reach() -> Vec<Row> {
    let all = Bare::Everybody;
    vec![
        row("N1a", "TCP to the machine", network::tcp).bare(all),
        row("N1b", "TCP by IPv6 to the machine", network::tcp6),
        row("N1c", "UDP to the machine", network::udp),
        row("N1d", "ICMP and raw", network::icmp).bare(Bare::Root),
        row("N1e", "SCTP, MPTCP, DCCP, UDP-Lite", network::other_protocols),
        row("N1f", "TCP Fast Open", network::early),
        row("N1g", "addresses far away", network::far),
        row("N2", "go past the proxy", network::without_proxy).bare(all),
        row("N3a", "resolve a name", network::names),
        row("N3b", "ask a name server", network::name_server),
        row("N3c", "a name that is not listed, by the proxy", network::proxy_any_host)
            .with(Setting::Hosts),
        row("N4", "anything by the proxy with an empty list", network::proxy_any_host),
        row("N7", "listed names that lead inward", network::proxy_rebound).with(Setting::Hosts),
        row("N8", "requests that say two things", network::proxy_confused).with(Setting::Hosts),
        row("N11", "vsock, netlink, packet, alg, bluetooth and others", network::families)
            .bare(Bare::Everybody),
    ]
}

/// What is shown elsewhere.
pub(crate) const NOTES: &[Note] = &[
    Note {
        id: "F1-F3",
        what: "the same by the file tools",
        shown: "see test no_path_that_leads_out_is_read_written_or_edited (tools)",
    },
    Note {
        id: "F3",
        what: "the same by the file tools",
        shown: "see test a_directory_that_is_swapped_for_a_link_meanwhile_leads_nowhere (tools)",
    },
    Note {
        id: "F19",
        what: "searches in odd trees",
        shown: "see tests no_search_goes_outside, a_walk_ends_at_its_limit_of_entries_and_says_so (tools)",
    },
    Note {
        id: "F21",
        what: "a working directory outside",
        shown: "see test no_shell_starts_outside_unless_that_is_allowed (tools)",
    },
    Note { id: "K16", what: "memory", shown: "see tests of bombs (sandbox)" },
    Note {
        id: "K19",
        what: "the supervisor is killed",
        shown: "see test nothing_is_left_when_the_supervisor_is_killed (sandbox)",
    },
    Note {
        id: "K20",
        what: "the helper is killed",
        shown: "see test a_command_runs_confined_or_not_at_all_when_the_helper_is_killed (sandbox)",
    },
    Note {
        id: "N7-N8",
        what: "the proxy itself",
        shown: "see tests egress::names, egress::tunnel, egress::http (sandbox)",
    },
    Note {
        id: "N10",
        what: "redirects",
        shown: "see test a_server_that_sends_us_on_to_a_private_address_gains_nothing (tools); the proxy follows none",
    },
    Note {
        id: "N13",
        what: "fetching",
        shown: "see tests only_the_web_is_fetched_from, the_limit_counts_what_comes_out_of_a_compressed_body (tools)",
    },
    Note {
        id: "N14",
        what: "exfiltration by rendering",
        shown: "not here: it is about what is shown, not about a process",
    },
    Note {
        id: "N16",
        what: "many connections and bytes",
        shown: "see tests egress::caps (sandbox)",
    },
    Note {
        id: "S2-S3",
        what: "secrets in output, arguments and errors",
        shown: "see tests a_canary_that_a_tool_prints_in_any_form_is_in_no_artefact, a_canary_in_what_fails_is_in_no_artefact (app)",
    },
    Note { id: "S5", what: "erasure", shown: "not here: it is about what the ledger keeps" },
    Note {
        id: "S7",
        what: "another endpoint gets the key",
        shown: "not here: it is about providers",
    },
];
