//! The executor that the settings name is chosen, or none.

use std::collections::BTreeMap;

use agentry_kernel::executor_choice::{
    ExecutorCapability, ExecutorChoiceError, ExecutorFacts, ExecutorPolicy, LOCAL_EXECUTOR,
    WorkRequirements, choose,
};
use agentry_protocol::AgentId;
use agentry_protocol::confinement::ConfinementProfile;

const TRUSTED: ExecutorCapability = ExecutorCapability::Profile(ConfinementProfile::Trusted);

fn executor(name: &str, capabilities: &[ExecutorCapability]) -> ExecutorFacts {
    ExecutorFacts { name: name.to_owned(), capabilities: capabilities.to_vec() }
}

fn registered() -> [ExecutorFacts; 2] {
    [
        executor(LOCAL_EXECUTOR, &ExecutorCapability::ALL),
        executor("build-1", &[ExecutorCapability::ToolCalls, TRUSTED]),
    ]
}

fn policy(agents: &[(&str, &str)]) -> ExecutorPolicy {
    let agents = agents.iter().map(|(agent, name)| (AgentId::new(*agent), (*name).to_owned()));
    ExecutorPolicy { agents: agents.collect(), ..ExecutorPolicy::default() }
}

#[track_caller]
fn chosen(
    policy: &ExecutorPolicy,
    agent: &str,
    capabilities: &[ExecutorCapability],
) -> Result<String, String> {
    let work = WorkRequirements { agent: &AgentId::new(agent), capabilities };
    let registered = registered();
    let chosen = choose(policy, &registered, &work);
    chosen.map(|one| one.name.clone()).map_err(|error| error.to_string())
}

#[test]
fn without_settings_all_work_is_local() {
    let policy = ExecutorPolicy::default();
    assert_eq!(chosen(&policy, "coder", &ExecutorCapability::ALL).unwrap(), LOCAL_EXECUTOR);
}

#[test]
fn an_agent_with_an_executor_uses_it_and_no_other_agent_does() {
    let policy = policy(&[("coder", "build-1")]);
    let call = [ExecutorCapability::ToolCalls, TRUSTED];
    assert_eq!(chosen(&policy, "coder", &call).unwrap(), "build-1");
    assert_eq!(chosen(&policy, "writer", &call).unwrap(), LOCAL_EXECUTOR);
    assert_eq!(chosen(&policy, "", &call).unwrap(), LOCAL_EXECUTOR);
    let all = ExecutorPolicy { default: "build-1".to_owned(), agents: BTreeMap::new() };
    assert_eq!(chosen(&all, "writer", &call).unwrap(), "build-1");
}

#[test]
fn work_that_the_named_executor_cannot_do_is_refused_and_never_done_elsewhere() {
    let policy = policy(&[("coder", "build-1"), ("writer", "gone")]);
    for missing in ExecutorCapability::ALL {
        if missing == ExecutorCapability::ToolCalls || missing == TRUSTED {
            continue;
        }
        let needed = [ExecutorCapability::ToolCalls, missing];
        let error = chosen(&policy, "coder", &needed).unwrap_err();
        assert_eq!(error, format!("the executor `build-1` does not support {missing}"));
    }
    let error = chosen(&policy, "writer", &[]).unwrap_err();
    assert_eq!(error, "the executor `gone` is not registered; registered: local, build-1");
}

#[test]
fn without_any_executor_nothing_is_chosen() {
    let none: [ExecutorFacts; 0] = [];
    let work = WorkRequirements { agent: &AgentId::new("coder"), capabilities: &[] };
    let name = LOCAL_EXECUTOR.to_owned();
    assert_eq!(
        choose(&ExecutorPolicy::default(), &none, &work),
        Err(ExecutorChoiceError::Unregistered { name, registered: Vec::new() })
    );
}
