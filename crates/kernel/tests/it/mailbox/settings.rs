//! Spellings, directives and who is asked first.

use agentry_kernel::limits::{MAILBOX_CAP_MAX, MAILBOX_DEBOUNCE_MS_MAX};
use agentry_kernel::mailbox::directive::{Directive, ParsedMessage, read};
use agentry_kernel::mailbox::settings::{DeliveryLevels, settings};
use agentry_protocol::access::Delivery;
use agentry_protocol::intake::{OverflowPolicy, QueuePreferences, QueueSettings, SenderKind};

#[test]
fn every_documented_spelling_is_read() {
    let table = [
        (Delivery::Steer, "steer Steering queue queued steer-backlog steer+backlog steer_backlog"),
        (Delivery::Followup, "followup follow-up followups follow-ups FOLLOWUP follow_up"),
        (Delivery::Collect, "collect coalesce"),
        (Delivery::Interrupt, "interrupt interrupts abort"),
    ];
    for (delivery, spellings) in table {
        for spelling in spellings.split(' ') {
            assert_eq!(spelling.parse(), Ok(delivery), "{spelling}");
        }
        assert_eq!(delivery.as_str().parse(), Ok(delivery));
        assert_eq!(serde_json::to_value(delivery).unwrap(), delivery.as_str());
    }
    assert!("later".parse::<Delivery>().is_err());
    for (policy, spellings) in [
        (OverflowPolicy::Old, "old oldest"),
        (OverflowPolicy::New, "new Newest"),
        (OverflowPolicy::Summarize, "summarize summary"),
    ] {
        for spelling in spellings.split(' ') {
            assert_eq!(spelling.parse(), Ok(policy), "{spelling}");
        }
    }
    assert!("any".parse::<OverflowPolicy>().is_err());
}

#[test]
fn the_nearest_level_that_says_something_wins_for_each_part() {
    let mut levels = DeliveryLevels::default();
    let now = |levels: &DeliveryLevels| settings(SenderKind::Timer, levels);
    let default = QueueSettings {
        mode: Delivery::Followup,
        debounce_ms: 1_000,
        cap: 20,
        drop: OverflowPolicy::Summarize,
    };
    assert_eq!(now(&levels), default);
    levels.global = QueuePreferences {
        mode: Some(Delivery::Collect),
        cap: Some(5),
        ..QueuePreferences::default()
    };
    assert_eq!(now(&levels), QueueSettings { mode: Delivery::Collect, cap: 5, ..default });
    levels.channel =
        QueuePreferences { mode: Some(Delivery::Steer), ..QueuePreferences::default() };
    assert_eq!(now(&levels), QueueSettings { mode: Delivery::Steer, cap: 5, ..default });
    levels.session = QueuePreferences {
        mode: Some(Delivery::Followup),
        cap: Some(6),
        ..QueuePreferences::default()
    };
    assert_eq!(now(&levels), QueueSettings { cap: 6, ..default });
    levels.inline = QueuePreferences {
        mode: Some(Delivery::Interrupt),
        debounce_ms: Some(7),
        drop: Some(OverflowPolicy::New),
        ..QueuePreferences::default()
    };
    let all = QueueSettings {
        mode: Delivery::Interrupt,
        debounce_ms: 7,
        cap: 6,
        drop: OverflowPolicy::New,
    };
    assert_eq!(now(&levels), all);
}

#[test]
fn nobody_asks_for_more_than_there_is() {
    let wish = QueuePreferences {
        cap: Some(usize::MAX),
        debounce_ms: Some(u64::MAX),
        ..QueuePreferences::default()
    };
    let all =
        settings(SenderKind::Agent, &DeliveryLevels { inline: wish, ..DeliveryLevels::default() });
    assert_eq!((all.cap, all.debounce_ms), (MAILBOX_CAP_MAX, MAILBOX_DEBOUNCE_MS_MAX));
    let none = QueuePreferences { cap: Some(0), ..QueuePreferences::default() };
    assert_eq!(
        settings(SenderKind::Agent, &DeliveryLevels { inline: none, ..DeliveryLevels::default() })
            .cap,
        1
    );
}

#[test]
fn without_a_word_the_kind_of_sender_decides() {
    let of = |source| settings(source, &DeliveryLevels::default()).mode;
    assert_eq!(of(SenderKind::Person), Delivery::Steer);
    assert_eq!(of(SenderKind::Agent), Delivery::Followup);
    assert_eq!(of(SenderKind::Timer), Delivery::Followup);
    assert_eq!(of(SenderKind::Program), Delivery::Followup);
}

#[track_caller]
fn check(text: &str, left: &str, directive: Option<Directive>) {
    assert_eq!(read(text), Ok(ParsedMessage { text: left.to_owned(), directive }));
}

#[test]
fn a_directive_is_taken_off_the_message() {
    let collect = QueuePreferences { mode: Some(Delivery::Collect), ..QueuePreferences::default() };
    let all = QueuePreferences {
        debounce_ms: Some(2_000),
        cap: Some(25),
        drop: Some(OverflowPolicy::Old),
        ..collect
    };
    let steer = QueuePreferences { mode: Some(Delivery::Steer), ..QueuePreferences::default() };
    let cap = QueuePreferences { cap: Some(3), ..QueuePreferences::default() };
    check("/queue collect look at this", "look at this", Some(Directive::Message(collect)));
    check(
        "  /Queue collect\nline one\nline two ",
        "line one\nline two",
        Some(Directive::Message(collect)),
    );
    check("/queue collect debounce:2s cap:25 drop:oldest hi", "hi", Some(Directive::Message(all)));
    check("/queue cap:3", "", Some(Directive::Session(cap)));
    check("/queue collect", "", Some(Directive::Session(collect)));
    check("/queue default", "", Some(Directive::Default));
    check("/steer use the other file", "use the other file", Some(Directive::Message(steer)));
    check("/queue collect note: this stays", "note: this stays", Some(Directive::Message(collect)));
}

#[test]
fn what_is_no_directive_stays_as_it_is() {
    for text in [
        "",
        " hello ",
        "see /queue collect",
        "/queued up",
        "/steering",
        "/steer",
        "> /queue collect",
    ] {
        check(text, text, None);
    }
}

#[test]
fn a_directive_that_cannot_be_read_names_the_word() {
    for (text, word) in [
        ("/queue later hello", "does not know `later`"),
        ("/queue", "stands alone"),
        ("/queue collect cap:none hello", "does not know `cap:none`"),
        ("/queue collect cap:0 hello", "does not know `cap:0`"),
        ("/queue collect debounce:2h hello", "does not know `debounce:2h`"),
        ("/queue collect debounce:99999999999999999999s x", "does not know `debounce:9999"),
        ("/queue drop:all", "does not know `drop:all`"),
        ("/queue default hello", "does not know `hello`"),
    ] {
        let said = read(text).unwrap_err().to_string();
        assert!(said.starts_with(&format!("/queue {word}")), "{text}: {said}");
    }
}
