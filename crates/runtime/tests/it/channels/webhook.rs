//! Calls over HTTP without HTTP: ids, signatures, limits.

use agentry_runtime::channel::webhook::{Source, WebhookError, inbound};
use agentry_runtime::limits::WEBHOOK_BODY_BYTES_MAX;
use secrecy::SecretString;

fn headers(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn open() -> Source<'static> {
    Source { name: "github", secret: None }
}

#[test]
fn the_same_delivery_is_the_same_event() {
    let given =
        headers(&[("X-GitHub-Delivery", "d-1"), ("X-GitHub-Event", "push"), ("Cookie", "c")]);
    let event = inbound(&open(), &given, b"{\"a\":1}", 7).unwrap();
    assert_eq!(event.event_id.as_str(), "webhook:github:d-1");
    assert_eq!(event.sender.sender_id, "github");
    assert_eq!(event.place.channel, "webhook");
    assert_eq!(event.body.content, "{\"a\":1}");
    assert_eq!(event.timestamp, 7);
    assert_eq!(event.event_type.as_deref(), Some("webhook"));
    let metadata = serde_json::to_string(&event.metadata).unwrap();
    assert_eq!(metadata, r#"{"a":1,"x-github-event":"push","source":"github"}"#);
    let own = headers(&[("x-agentry-delivery", "mine"), ("x-github-delivery", "d-1")]);
    let event = inbound(&open(), &own, b"", 7).unwrap();
    assert_eq!(event.event_id.as_str(), "webhook:github:mine");
}

/// A hook for a charge looks at its kind and its amount; what the caller says about us it does not get to say.
#[test]
fn plain_fields_of_a_json_body_can_set_hooks_off_and_order_nothing() {
    let body = br#"{"kind": "charge", "amount": 20000, "live": true, "card": {"a": 1}, "tags": [],
        "source": "other", "x-github-event": "other", "target": {"session": "main"},
        "run": {"mode": "wiggum"}, "delivery": "interrupt", "program": true, "none": null}"#;
    let event = inbound(&open(), &headers(&[("X-GitHub-Event", "push")]), body, 7).unwrap();
    let expected =
        r#"{"kind":"charge","amount":20000,"live":true,"source":"github","x-github-event":"push"}"#;
    assert_eq!(
        serde_json::Value::Object(event.metadata),
        serde_json::from_str::<serde_json::Value>(expected).unwrap()
    );
    let long = format!(r#"{{"text": "{}"}}"#, "x".repeat(2_000));
    for body in [long.as_str(), "[1]", "no JSON", ""] {
        assert_eq!(inbound(&open(), &[], body.as_bytes(), 7).unwrap().metadata.len(), 1, "{body}");
    }
}

#[test]
fn without_an_id_the_body_is_the_id() {
    let id = |body: &[u8]| inbound(&open(), &[], body, 7).unwrap().event_id.to_string();
    assert_eq!(
        id(b"hello"),
        "webhook:github:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    );
    assert_ne!(id(b"hello"), id(b"hello "));
}

#[test]
fn a_source_with_a_secret_takes_only_what_is_signed_with_it() {
    // The example of the documentation of GitHub's webhooks.
    let secret = SecretString::from("It's a Secret to Everybody");
    let right = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let signed = Source { name: "github", secret: Some(&secret) };
    let call = |all: &[(&str, &str)], body: &[u8]| inbound(&signed, &headers(all), body, 7).err();
    let hub = format!("sha256={right}");
    let body = b"Hello, World!";
    assert_eq!(call(&[("X-Hub-Signature-256", &hub)], body), None);
    assert_eq!(call(&[("x-agentry-signature", right)], body), None);
    assert_eq!(call(&[], body), Some(WebhookError::Unsigned));
    let wrong = Some(WebhookError::WrongSignature { name: "github".to_owned() });
    assert_eq!(call(&[("X-Hub-Signature-256", &hub)], b"Hello, World?"), wrong);
    let long = format!("{right}00");
    for said in ["", "sha256=", "sha256=zz", "é", &right[..62], &long] {
        assert_eq!(call(&[("X-Hub-Signature-256", said)], body), wrong, "{said}");
    }
    let both = [("X-Hub-Signature-256", hub.as_str()), ("X-Agentry-Signature", "00")];
    assert_eq!(call(&both, body), wrong);
}

#[test]
fn what_is_too_large_not_text_or_oddly_named_is_refused() {
    let full = vec![b'x'; WEBHOOK_BODY_BYTES_MAX];
    assert!(inbound(&open(), &[], &full, 7).is_ok());
    let large = vec![b'x'; WEBHOOK_BODY_BYTES_MAX + 1];
    let error = inbound(&open(), &[], &large, 7).unwrap_err();
    assert_eq!(error, WebhookError::TooLarge { bytes: WEBHOOK_BODY_BYTES_MAX + 1 });
    assert_eq!(inbound(&open(), &[], b"\xff", 7).unwrap_err(), WebhookError::NotText);
    let odd = headers(&[("X-GitHub-Delivery", "a b")]);
    let error = inbound(&open(), &odd, b"x", 7).unwrap_err();
    assert!(matches!(error, WebhookError::Delivery { header: "x-github-delivery", .. }), "{error}");
    let foreign = Source { name: "a:b", secret: None };
    let error = inbound(&foreign, &[], b"x", 7).unwrap_err();
    assert_eq!(error, WebhookError::Source { name: "a:b".to_owned() });
    let long = headers(&[("User-Agent", &"x".repeat(1025))]);
    assert!(!inbound(&open(), &long, b"x", 7).unwrap().metadata.contains_key("user-agent"));
}
