//! Events and their descriptions, below each other.

use agentry_protocol::envelope::{EVENT_VERSION, EntrySubject};
use agentry_protocol::{CallId, RunId};

use super::*;

/// Compares a table with the descriptions of its events. Below each event stands its record, then
/// the topic, tone and text of its notice, then the details of the notice.
#[track_caller]
fn check(table: &str) {
    let mut describer = EventDescriber::default();
    let lines: Vec<&str> = table.lines().filter_map(|line| line.get(4..)).collect();
    let is_event = |line: &str| line.starts_with("{\"type\"");
    for block in lines.chunk_by(|_, next| !is_event(next)) {
        let EventDescription { record, notice } = describer.describe(&entry(block[0]));
        let mut described = vec![block[0].to_owned(), format!("  {record}")];
        if let Some(EventNotice { topic, tone, text, details }) = notice {
            described.push(format!("  {topic:?}, {tone:?}: {text}"));
            described.extend(details.iter().map(|line| format!("    {line}")));
        }
        let expected: Vec<&str> =
            block.iter().copied().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(described, expected);
    }
}

fn entry(event: &str) -> Envelope {
    let event: Event = serde_json::from_str(event).expect("the event is complete");
    let about = EntrySubject { run: Some(RunId::new("run_1")), ..EntrySubject::default() };
    let stream = event.stream();
    Envelope { seq: 1, time: 0, cause: None, version: EVENT_VERSION, stream, about, event }
}

#[test]
fn inputs_and_questions_are_recorded_and_not_announced() {
    check(
        r#"
    {"type":"prompt_received","content":"Hello\nthere"}
      prompt: Hello there
    {"type":"steer_received","content":"Hurry"}
      steer: Hurry
    {"type":"cancel_received"}
      cancellation requested
    {"type":"mode_received","mode":"wiggum"}
      mode requested: wiggum
    {"type":"loss_accepted","last":4,"known":7,"hash":"ab"}
      loss of entries 5 to 7 accepted
    {"type":"approval_asked","id":"apr_1","call":{"id":"call_1","tool":"bash","input":{}},"ruling":{"verdict":"ask","findings":[]},"digest":"h"}
      apr_1 requested for bash
    {"type":"approval_answered","approval":"apr_1","answer":{"allow":true,"edit":{"path":"a"},"by":"terminal"}}
      apr_1 answered (by terminal): yes, changed to {"path":"a"}
    {"type":"approval_answered","approval":"apr_1","answer":{"allow":true,"reach":"session"}}
      apr_1 answered: yes, session
    {"type":"approval_answered","approval":"apr_1","answer":{"allow":false,"reason":"not that"}}
      apr_1 answered: no: not that
    {"type":"tool_access_changed","access":{}}
      tool-access.json changed
    {"type":"intake","stage":"unrun","event":"stdio:1","why":"cap"}
      stdio:1 is ignored: too many of this sender wait, and new ones are turned away
    {"type":"intake","stage":"chunk_sent","event":"stdio:1","chunk":0}
      chunk 1 for stdio:1 sent
    {"type":"access","change":"grant_revoked","grant":"grn_1","by":"Mom"}
      grn_1 revoked by Mom
    {"type":"access","change":"entity_removed","entity":"mom"}
      entity mom removed
    {"type":"trust","change":"withdrawn","path":"/p","by":"owner"}
      trust in /p revoked by owner
    {"type":"event_hook","change":"settled","event":"stdio:1"}
      stdio:1: all event hooks have run
    {"type":"job","change":"started","job":"job_1","fence":1}
      job_1 started
    {"type":"session_opened","key":"desk","agent":"builder"}
      session `desk` with builder
    {"type":"input_taken","input":7}
      read entry 7
    "#,
    );
}

#[test]
fn a_run_is_announced_with_its_settings_and_its_commands() {
    check(
        r#"
    {"type":"run_created","agent":"builder","prompt":"go","model":"m","mode":"structured","limits":{"steps_max":1,"calls_max":1,"iterations_max":1},"workspace":"/w","project":"/w","steps":[{"id":"s1","uses":"prompt","agent":"builder"}],"files":{}}
      run of builder with m, structured, 1 step
      Run, Progress: run_1: builder with m, structured
    {"type":"sandbox_opened","attestation":{"level":"ns","kernel":"6","landlock_abi":5,"own_user":true,"limits":[],"escapes":[]}}
      sandbox: ns, 0 escapes tried, all blocked
    {"type":"sandbox_missing","why":"no user namespaces"}
      no sandbox: no user namespaces
      Turn, Warning: no sandbox: no user namespaces
        commands and file tools are refused; `agentry doctor` shows how to fix it
    {"type":"step_started","index":0}
      step 1 starts
    {"type":"turn_started","prompt":"go","charter":{}}
      turn starts: go
    {"type":"turn_started","prompt":"go","charter":{"authority":{"confinement":{"level":"off"}}}}
      turn starts: go
      Run, Warning: the sandbox is off, commands can do everything that you can
    {"type":"turn_ended","ending":"done","hash":"h","usage":{"input_tokens":5,"output_tokens":2},"messages":[]}
      turn ended: done, 5 tokens in, 2 out
    {"type":"step_ended","index":0,"status":"succeeded"}
      step 1 succeeded
    {"type":"run_paused","approvals":["apr_1","apr_2"]}
      run paused, waiting for approval: apr_1, apr_2
      Run, Progress: waiting for approval: apr_1, apr_2
        agentry answer apr_1 yes|no
        agentry answer apr_2 yes|no
        agentry resume run_1
    {"type":"run_resumed"}
      run resumed
      Turn, Progress: run_1: resumed
    "#,
    );
}

#[test]
fn an_ending_is_announced_unless_the_run_is_done() {
    check(
        r#"
    {"type":"run_ended","ending":"done"}
      run ended: done
    {"type":"run_ended","ending":"cancelled"}
      run ended: cancelled
      Turn, Progress: run ended: cancelled
    {"type":"run_ended","ending":"limit_reached","message":"10 tokens"}
      run ended: stopped at a limit: 10 tokens
      Turn, Error: stopped at a limit: 10 tokens
    {"type":"run_ended","ending":"denied"}
      run ended: every call was denied
      Turn, Error: every call was denied
    "#,
    );
}

#[test]
fn a_compaction_is_announced_at_its_start_and_end() {
    check(
        r#"
    {"type":"turn_started","prompt":"go","charter":{},"compaction":{"reason":"window","summarized_through":"trn_2","tokens_before":9,"tokens_kept":2}}
      compaction starts (the model's window is almost full): turns through trn_2 are summarized
      Turn, Progress: compaction: the model's window is almost full
    {"type":"turn_ended","ending":"done","hash":"h","usage":{},"messages":[],"context":{"compaction":{"summary":"We talked.","summarized_through":"trn_2","first_kept":"trn_3","tokens_before":9,"tokens_after":4}}}
      compaction ended: 9 → 4 tokens; summarized through trn_2, kept from trn_3 on: We talked.
      Turn, Progress: compaction ended: 9 → 4 tokens; summarized through trn_2, kept from trn_3 on
    "#,
    );
}

#[test]
fn failures_of_models_and_hooks_are_announced_as_warnings() {
    check(
        r#"
    {"type":"model_asked","step":1,"request":"h","bytes":9}
      the model is called (request 1, 9 bytes)
    {"type":"model_asked","step":2,"request":"h","bytes":9,"check":true}
      the model is asked if the work is done (request 2, 9 bytes)
    {"type":"model_retried","step":1,"attempt":1,"failure":{"kind":"overloaded","message":"529"},"wait_ms":1500}
      attempt 1 failed: 529; retry in 2 s
      Turn, Warning: attempt 1 failed: 529; retry in 2 s
    {"type":"model_replaced","step":1,"from":"one/m","to":"two/m","failure":{"kind":"timeout","message":"no answer"}}
      one/m failed: no answer; two/m is called instead
      Turn, Warning: one/m failed: no answer; two/m is called instead
    {"type":"model_failed","step":1,"failure":{"kind":"timeout","message":"no answer"}}
      the model failed: no answer
    {"type":"hook","change":"finished","number":1,"moment":"before_inference","program":"h.sh","report":{"result":{"kind":"failed","why":"exit 1"}}}
      hook before_inference (h.sh): failed, so the static config is used: exit 1
      Turn, Warning: hook before_inference (h.sh): failed, so the static config is used: exit 1
    {"type":"hook","change":"finished","number":1,"moment":"PreToolUse","program":"g.sh","report":{"result":{"kind":"gated","answer":{}}}}
      hook PreToolUse (g.sh): no objection
    "#,
    );
}

#[test]
fn a_call_is_announced_and_named_by_its_outcome() {
    check(
        r#"
    {"type":"model_replied","step":1,"reply":{"text":"Look.","calls":[{"id":"call_1","tool":"bash","input":{"command":"echo hi"}}]}}
      the model replies with 1 call: Look.
    {"type":"call_proposed","call":{"id":"call_1","tool":"bash","input":{"command":"echo hi"}},"ruling":{"verdict":"allow","findings":[{"stage":"rules","verdict":"allow","why":"","rule":"AGENT.md:3"}]}}
      call_1: bash {"command":"echo hi"} → allow (AGENT.md:3)
      Call, Proposal: bash echo hi
    {"type":"call_started","call":"call_1","by":{"kind":"rule","rule":"AGENT.md:3"}}
      call_1 starts (sandbox: off), allowed by the rule AGENT.md:3
    {"type":"connection_ended","call":"call_1","connection":{"host":"a.example","port":443,"bytes_out":1,"bytes_in":2}}
      call_1 reached a.example:443: 1 bytes out, 2 in
    {"type":"connection_ended","call":"call_1","connection":{"host":"b.example","port":443,"refused":"not listed","bytes_out":0,"bytes_in":0}}
      call_1: no connection to b.example:443: not listed
      Turn, Outcome(Refused): bash: no connection to b.example:443: not listed
    {"type":"call_stopped","call":"call_1"}
      call_1 is stopped
    {"type":"call_finished","call":"call_1","outcome":{"status":"done","text":"\n hi \nmore","measured":{"redacted":2}}}
      call_1 (bash) done (2 secrets hidden):   hi  more
      Call, Outcome(Done): bash: hi (2 secrets hidden)
    "#,
    );
}

#[test]
fn parallel_calls_of_a_tool_are_told_apart_by_their_arguments() {
    check(
        r#"
    {"type":"model_replied","step":1,"reply":{"calls":[{"id":"call_1","tool":"bash","input":{"command":"echo hi"}},{"id":"call_2","tool":"bash","input":{"command":"rm -rf /"}},{"id":"call_3","tool":"glob","input":{"pattern":"*"}}]}}
      the model replies with 3 calls
    {"type":"call_finished","call":"call_3","outcome":{"status":"failed","text":"no"}}
      call_3 (glob) failed: no
      Call, Outcome(Failed): glob: no
    {"type":"call_refused","call":"call_2","why":"Refused\nIt is dangerous."}
      call_2 (bash) refused: Refused It is dangerous.
      Call, Outcome(Refused): bash rm -rf /: Refused
        It is dangerous.
    {"type":"call_withheld","call":"call_1","facts":{"changes":[{"kind":"file","name":"a.sh","was":"1","is":"2"},{"kind":"tool","name":"bash"}]}}
      call_1 is not run yet, and is ruled on again: the file `a.sh` changed: 1 became 2; the tool `bash` cannot be read
      Turn, Progress: bash echo hi is not run yet, and is ruled on again
        the file `a.sh` changed: 1 became 2
        the tool `bash` cannot be read
    {"type":"model_replied","step":2,"reply":{"text":"Done."}}
      the model replies with 0 calls: Done.
    {"type":"call_finished","call":"call_1","outcome":{"status":"uncertain","text":"lost"}}
      call_1 uncertain: lost
      Call, Outcome(Uncertain): call_1: lost
    "#,
    );
}

#[test]
fn a_check_is_announced_with_its_outcome() {
    check(
        r#"
    {"type":"iteration_counted","count":2}
      iteration 2
      Turn, Progress: iteration 2
    {"type":"check_started","iteration":1,"command":"cargo test"}
      check 1: cargo test
      Turn, Progress: check 1: cargo test
    {"type":"check_finished","iteration":1,"outcome":{"status":"failed","text":"it broke\nthere"}}
      check 1 failed
      Turn, Outcome(Failed): check 1: it broke
    "#,
    );
}

#[test]
fn no_text_from_outside_controls_a_terminal_or_fakes_a_line() {
    check(
        r#"
    {"type":"model_replied","step":1,"reply":{"calls":[{"id":"call_1","tool":"x\u001b[2J","input":{"command":"a\n\u202eb"}}]}}
      the model replies with 1 call
    {"type":"call_proposed","call":{"id":"call_1","tool":"x\u001b[2J","input":{"command":"a\n\u202eb"}},"ruling":{"verdict":"ask","findings":[]}}
      call_1: x\u{1b}[2J {"command":"a\n\u{202e}b"} → ask
      Call, Proposal: x\u{1b}[2J a \u{202e}b
    {"type":"call_finished","call":"call_1","outcome":{"status":"done","text":"\u001b[31mred\r"}}
      call_1 (x\u{1b}[2J) done: \u{1b}[31mred\u{d}
      Call, Outcome(Done): x\u{1b}[2J: \u{1b}[31mred
    {"type":"run_ended","ending":"failed","message":"bad\nerror: \u0007fake"}
      run ended: failed: bad error: \u{7}fake
      Turn, Error: failed: bad
        error: \u{7}fake
    "#,
    );
}

#[test]
fn long_texts_are_cut() {
    let mut describer = EventDescriber::default();
    let text = "\u{7}".repeat(10_000);
    let outcome = format!(
        r#"{{"type":"call_finished","call":"call_1","outcome":{{"status":"done","text":{}}}}}"#,
        serde_json::to_string(&text).expect("a text is JSON")
    );
    let described = describer.describe(&entry(&outcome));
    assert_eq!(described.record.chars().count(), RECORD_LINE_CHARS_MAX + 1);
    let notice = described.notice.expect("an outcome is announced");
    let shown = "\\u{7}".repeat(crate::limits::NOTICE_CHARS_MAX);
    assert_eq!(notice.text, format!("{}: {shown}…", CallId::new("call_1")));
}
