//! Each delivery while a turn runs, while it is compacted and while nothing runs; overflow, stops, restarts.

use agentry_kernel::limits::MAILBOX_WAITING_MAX;
use agentry_kernel::mailbox::{Mailbox, MailboxAction, MailboxInput};
use agentry_protocol::TurnId;
use agentry_protocol::event::Ending;

use super::dialogue::{Dialogue, check, item, said, sender};

#[test]
fn an_idle_session_takes_every_delivery_at_once() {
    for mode in ["steer", "followup", "collect", "interrupt"] {
        check(&format!("0 a1 ann@tg {mode} -> start a1 (idle)"));
    }
}

#[test]
fn steer_reaches_the_running_turn() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 a2 ann@tg steer -> steer a2
        3 taken a2 ->
        4 ended ->
        ",
    );
}

#[test]
fn a_steer_that_fails_follows_up_in_its_place() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 a2 ann@tg steer -> steer a2
        3 a3 ann@tg followup ->
        4 failed a2 ->
        5 a4 ann@tg steer ->
        6 ended -> start a2 (followup)
        7 started ->
        8 ended -> start a3 (followup)
        9 started ->
        9 ended -> start a4 (followup)
        ",
    );
}

#[test]
fn a_steer_that_nobody_answered_follows_up_when_the_turn_ends() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 a2 ann@tg steer -> steer a2
        3 a3 ann@tg steer -> steer a3
        4 taken a2 ->
        5 ended -> start a3 (followup)
        ",
    );
}

#[test]
fn a_steer_that_was_taken_after_all_has_no_turn_of_its_own() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 a2 ann@tg followup ->
        3 a3 ann@tg steer -> steer a3
        4 ended -> start a2 (followup)
        5 taken a3 ->
        6 started ->
        7 ended ->
        ",
    );
}

#[test]
fn no_steer_before_the_turn_began_while_it_is_compacted_or_stopped() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        0 a2 ann@tg steer ->
        1 started ->
        2 compacting ->
        3 b1 ann@tg steer ->
        4 compacted ->
        5 abort -> drop a2 (aborted); drop b1 (aborted); cancel (abort)
        6 c1 ann@tg steer ->
        7 ended -> start c1 (followup)
        ",
    );
}

#[test]
fn follow_ups_have_a_turn_each_in_order() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 started ->
        2 a2 ann@tg followup ->
        3 a3 ann@tg followup ->
        4 ended -> start a2 (followup)
        5 started ->
        6 ended -> start a3 (followup)
        ",
    );
}

#[test]
fn a_collection_waits_for_quiet_and_each_item_restarts_the_wait() {
    check(
        "
        0 a1 ann@tg collect -> start a1 (idle)
        1 started ->
        2 a2 ann@tg collect ->
        100 ended -> wake 1002
        500 a3 ann@tg collect -> wake 1500
        1002 tick -> wake 1500
        1500 tick -> start a2+a3 (collected)
        1501 started ->
        1502 ended ->
        ",
    );
}

#[test]
fn a_collection_that_was_quiet_for_long_starts_when_the_turn_ends() {
    check(
        "
        0 a1 ann@tg collect -> start a1 (idle)
        1 started ->
        2 a2 ann@tg collect ->
        3 a3 ann@tg collect ->
        9000 ended -> start a2+a3 (collected)
        ",
    );
}

#[test]
fn a_full_collection_does_not_wait_for_ever() {
    check(
        "
        0 a1 ann@tg collect cap=2 -> start a1 (idle)
        1 started ->
        2 a2 ann@tg collect cap=2 ->
        3 ended -> wake 1002
        4 a3 ann@tg collect cap=2 -> start a2+a3 (collected)
        ",
    );
}

#[test]
fn a_collection_is_of_one_place_and_one_authority_in_the_order_things_came() {
    check(
        "
        0 a1 ann@tg collect -> start a1 (idle)
        1 started ->
        2 a2 ann@tg collect ->
        3 a3 ann@tg collect ->
        4 b1 ann@mail collect ->
        5 c1 bob@tg collect ->
        6 a4 ann@tg collect ->
        7 a5 ann@tg followup ->
        8 ended -> start a2+a3 (collected)
        8 started ->
        8 ended -> start b1 (collected)
        8 started ->
        8 ended -> start c1 (collected)
        8 started ->
        8 ended -> start a4 (collected)
        8 started ->
        8 ended -> start a5 (followup)
        ",
    );
}

#[test]
fn nobody_steers_a_turn_of_another_authority_or_place() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 b1 bob@tg steer ->
        3 a2 ann@mail steer ->
        4 ended -> start b1 (followup)
        5 started ->
        6 ended -> start a2 (followup)
        ",
    );
}

#[test]
fn an_interrupt_drops_what_waits_stops_the_turn_and_is_next() {
    check(
        "
        0 a1 ann@tg interrupt -> start a1 (idle)
        1 started ->
        2 a2 ann@tg followup ->
        3 a3 ann@mail collect ->
        4 a4 ann@tg interrupt -> drop a2 (interrupted); drop a3 (interrupted); cancel (interrupt)
        5 a5 ann@tg interrupt -> drop a4 (interrupted)
        6 ended -> start a5 (interrupt)
        ",
    );
}

#[test]
fn an_interrupt_takes_steers_with_it_that_were_under_way() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 a2 ann@tg steer -> steer a2
        3 a3 ann@tg interrupt -> cancel (interrupt)
        4 failed a2 -> drop a2 (interrupted)
        5 ended -> start a3 (interrupt)
        ",
    );
}

#[test]
fn an_interrupt_stops_a_turn_that_has_not_begun() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 a2 ann@tg interrupt -> cancel (interrupt)
        2 start failed -> start a2 (interrupt)
        ",
    );
}

#[test]
fn an_interrupt_neither_stops_nor_drops_what_is_another_s() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 started ->
        2 a2 ann@tg followup ->
        3 b1 bob@tg followup ->
        4 b2 bob@tg interrupt -> drop b1 (interrupted)
        5 ended -> start a2 (followup)
        6 started ->
        7 ended -> start b2 (interrupt)
        ",
    );
}

#[test]
fn while_a_session_is_compacted_everything_waits() {
    check(
        "
        0 compacting ->
        1 a1 ann@tg steer ->
        2 b1 bob@tg followup ->
        3 a2 ann@tg collect ->
        4 c1 cy@tg interrupt ->
        5 compacted -> start a1 (followup)
        6 started ->
        7 ended -> start b1 (followup)
        8 started ->
        9 ended -> start a2 (collected)
        9 started ->
        9 ended -> start c1 (interrupt)
        ",
    );
}

#[test]
fn while_a_turn_is_compacted_every_delivery_but_an_interrupt_waits() {
    check(
        "
        0 a1 ann@tg steer -> start a1 (idle)
        1 started ->
        2 compacting ->
        3 a2 ann@tg steer ->
        4 a3 ann@tg followup ->
        5 a4 ann@tg collect ->
        6 compacted ->
        7 ended -> start a2 (followup)
        8 started ->
        8 compacting ->
        9 a5 ann@tg interrupt -> drop a3 (interrupted); drop a4 (interrupted); cancel (interrupt)
        10 ended -> start a5 (interrupt)
        ",
    );
}

#[test]
fn a_heartbeat_that_meets_a_busy_session_is_dropped() {
    check(
        "
        0 h1 system@clock followup heartbeat -> start h1 (idle)
        1 h2 system@clock followup heartbeat -> drop h2 (busy)
        2 started ->
        3 h3 system@clock followup heartbeat -> drop h3 (busy)
        4 a1 ann@tg collect ->
        5 ended -> wake 1004
        6 h4 system@clock followup heartbeat -> drop h4 (busy); wake 1004
        ",
    );
}

#[test]
fn the_same_item_again_does_nothing_wherever_it_is() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 a1 ann@tg followup -> repeated a1
        1 started ->
        2 a2 ann@tg followup ->
        2 a2 ann@tg interrupt -> repeated a2
        3 a3 ann@tg steer -> steer a3
        4 a3 ann@tg steer -> repeated a3
        5 taken a3 ->
        6 a3 ann@tg steer -> repeated a3
        7 ended -> start a2 (followup)
        ",
    );
}

#[test]
fn old_drops_the_oldest_of_the_sender_and_new_turns_the_newest_away() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 started ->
        2 b1 bob@tg followup ->
        3 a2 ann@tg followup cap=2 drop=old ->
        4 a3 ann@tg followup cap=2 drop=old ->
        5 a4 ann@tg followup cap=2 drop=old -> drop a2 (overflow)
        6 a5 ann@tg followup cap=2 drop=new -> reject a5 (cap)
        7 a5 ann@mail followup cap=2 drop=new ->
        8 ended -> start b1 (followup)
        ",
    );
}

#[test]
fn a_mailbox_holds_so_many_and_then_turns_everybody_away() {
    let mut dialogue = Dialogue::new(Mailbox::default());
    dialogue.hold("0 x ann@tg followup -> start x (idle)");
    for number in 0..MAILBOX_WAITING_MAX {
        dialogue.hold(&format!("0 a{number} p{number}@tg followup ->"));
    }
    dialogue.hold(
        "
        0 one-more ann@tg followup -> reject one-more (full)
        0 stop ann@tg interrupt -> reject stop (full)
        0 same p0@tg interrupt -> drop a0 (interrupted)
        ",
    );
    assert_eq!(dialogue.mailbox.waiting().len(), MAILBOX_WAITING_MAX);
}

#[test]
fn an_abort_cancels_what_waits_first_and_then_what_runs() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 started ->
        2 a2 ann@tg followup ->
        3 b1 bob@tg collect ->
        4 a3 ann@tg steer -> steer a3
        5 abort -> drop a2 (aborted); drop b1 (aborted); cancel (abort)
        6 abort ->
        7 failed a3 -> drop a3 (aborted)
        8 a4 ann@tg followup ->
        9 ended -> start a4 (followup)
        ",
    );
}

#[test]
fn an_abort_of_one_leaves_the_others() {
    check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 started ->
        2 a2 ann@tg followup ->
        3 b1 bob@tg followup ->
        4 abort bob -> drop b1 (aborted)
        5 abort ann -> drop a2 (aborted); cancel (abort)
        6 ended ->
        ",
    );
}

#[test]
fn an_abort_stops_a_compaction() {
    check(
        "
        0 compacting ->
        1 a1 ann@tg followup ->
        2 abort -> drop a1 (aborted); cancel (abort)
        3 compacted ->
        ",
    );
}

#[test]
fn after_a_restart_what_waited_waits_and_what_ran_goes_on() {
    let kept = |id, settings: &[&str]| item(id, "ann@tg", settings, 5);
    let waiting = vec![
        kept("a3", &["steer"]),
        kept("a4", &["collect"]),
        kept("a4", &["collect"]),
        kept("a5", &["collect"]),
    ];
    let dropped = [kept("a2", &["collect"])];
    let running = Some((Some(TurnId::from_number(0)), sender("ann@tg")));
    let (mailbox, acts) = Mailbox::restored(waiting, &dropped, running);
    assert_eq!(said(&acts), ["repeated a4"]);
    let acts = Dialogue::new(mailbox).hold(
        "
        2000 tick ->
        2001 a2 ann@tg followup -> repeated a2
        2003 ended -> start a3 (followup)
        2004 started ->
        2005 ended -> start a4+a5 (collected)
        ",
    );
    let MailboxAction::Start { prompt, .. } = &acts[1] else { panic!("{acts:?}") };
    let note = "[Queue overflow] Dropped 1 message due to cap.";
    assert!(prompt.starts_with(note), "{prompt}");
}

#[test]
fn a_mailbox_is_the_same_after_it_was_written_down() {
    let mut dialogue = Dialogue::new(Mailbox::default());
    dialogue.hold(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        1 started ->
        2 a2 ann@tg steer -> steer a2
        3 a3 ann@tg collect cap=1 ->
        4 a4 ann@tg collect cap=1 -> drop a3 (summarized)
        ",
    );
    let written = serde_json::to_string(&dialogue.mailbox).unwrap();
    assert_eq!(serde_json::from_str::<Mailbox>(&written).unwrap(), dialogue.mailbox);
}

/// A session's branch as its mailbox makes it: each turn hangs under the head at its start.
#[derive(Default)]
struct Branch {
    head: Option<u32>,
    parents: Vec<(u32, Option<u32>)>,
}

impl Branch {
    fn turn(&mut self, mailbox: &mut Mailbox, number: u32, ending: Ending) {
        let turn = TurnId::from_number(u128::from(number));
        let sender = sender("ann@tg");
        mailbox.tell(MailboxInput::TurnStarted { turn: turn.clone(), sender }, 0);
        self.parents.push((number, self.head));
        if ending.moves_head() {
            self.head = Some(number);
        }
        mailbox.tell(MailboxInput::TurnEnded(turn), 0);
    }
}

#[test]
fn three_that_waited_make_a_chain_and_a_failed_turn_leaves_the_head() {
    let mut mailbox = Mailbox::default();
    for id in ["a1", "a2", "a3", "a4"] {
        mailbox.tell(MailboxInput::Arrived(item(id, "ann@tg", &["followup"], 0)), 0);
    }
    let mut branch = Branch::default();
    let endings = [Ending::Done, Ending::Cancelled, Ending::ModelFailed, Ending::Done];
    for (ending, number) in endings.into_iter().zip(1..) {
        branch.turn(&mut mailbox, number, ending);
    }
    assert_eq!(branch.parents, [(1, None), (2, Some(1)), (3, Some(2)), (4, Some(2))]);
    assert_eq!(mailbox.waiting().len(), 0);
}

#[test]
fn what_is_told_at_the_wrong_time_changes_nothing() {
    check(
        "
        0 ended ->
        0 start failed ->
        0 compacted ->
        0 taken zz ->
        0 failed zz ->
        0 abort ->
        0 a1 ann@tg followup -> start a1 (idle)
        0 ended ->
        1 a2 ann@tg followup ->
        2 started ->
        3 start failed ->
        4 ended -> start a2 (followup)
        ",
    );
}
