//! Calls over HTTP without HTTP: ids, signatures, limits.

use agentry_runtime::channel::webhook::{WebhookError, WebhookSource, inbound};
use agentry_runtime::limits::WEBHOOK_BODY_BYTES_MAX;
use secrecy::SecretString;
use serde_json::json;

fn headers(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn open() -> WebhookSource<'static> {
    WebhookSource { name: "github", secret: None }
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
        serde_json::to_value(&event.metadata).unwrap(),
        serde_json::from_str::<serde_json::Value>(expected).unwrap()
    );
    let long = format!(r#"{{"text": "{}"}}"#, "x".repeat(2_000));
    for body in [long.as_str(), "[1]", "no JSON", ""] {
        let metadata = inbound(&open(), &[], body.as_bytes(), 7).unwrap().metadata;
        assert_eq!(serde_json::to_value(&metadata).unwrap(), json!({"source": "github"}), "{body}");
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
    let signed = WebhookSource { name: "github", secret: Some(&secret) };
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
    let foreign = WebhookSource { name: "a:b", secret: None };
    let error = inbound(&foreign, &[], b"x", 7).unwrap_err();
    assert_eq!(error, WebhookError::Source { name: "a:b".to_owned() });
    let long = headers(&[("User-Agent", &"x".repeat(1025))]);
    assert_eq!(inbound(&open(), &long, b"x", 7).unwrap().metadata.get("user-agent"), None);
}

#[test]
fn what_the_signature_does_not_cover_makes_no_new_event() {
    let secret = SecretString::from("It's a Secret to Everybody");
    let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let signed = WebhookSource { name: "github", secret: Some(&secret) };
    let id = |delivery: (&str, &str)| {
        let given = headers(&[("X-Hub-Signature-256", right), delivery]);
        inbound(&signed, &given, b"Hello, World!", 7).unwrap().event_id.to_string()
    };
    let first = id(("X-GitHub-Delivery", "a"));
    for delivery in ["x-github-delivery", "webhook-id", "x-agentry-delivery", "idempotency-key"] {
        assert_eq!(id((delivery, "b")), first, "{delivery}");
    }
    assert!(first.starts_with("webhook:github:dffd6021bb2bd5b0af67"), "{first}");
}

#[test]
fn standard_webhooks_sign_the_id_and_the_time() {
    // The example of the specification.
    let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let body = br#"{"test": 2432232314}"#;
    let source = WebhookSource { name: "std", secret: Some(&secret) };
    let at = 1_614_265_330_000;
    let call = |id: &str, time: &str, said: &str, now: u64| {
        let given = [("Webhook-Id", id), ("Webhook-Timestamp", time), ("Webhook-Signature", said)];
        inbound(&source, &headers(&given), body, now).map(|event| event.event_id.to_string())
    };
    let (id, time) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330");
    assert_eq!(call(id, time, right, at).unwrap(), format!("webhook:std:{id}"));
    let several = format!("v1,AAAA v1a,BBBB {right}");
    assert!(call(id, time, &several, at + 299_000).is_ok());
    let wrong = WebhookError::WrongSignature { name: "std".to_owned() };
    assert_eq!(call("msg_other", time, right, at), Err(wrong.clone()));
    assert_eq!(call(id, "1614265331", right, at), Err(wrong.clone()));
    assert_eq!(call(id, time, "v1,", at), Err(wrong));
    for (now, off_s) in [(at + 301_000, 301), (at - 301_000, 301)] {
        let stale = WebhookError::Stale { header: "webhook-timestamp", off_s };
        assert_eq!(call(id, time, right, now), Err(stale));
    }
}

#[test]
fn signed_times_of_slack_and_stripe_are_looked_at() {
    let at = 1_531_420_618_000;
    let slack = SecretString::from("8f742231b10e8888abcd99yyyzzz85a5");
    let source = WebhookSource { name: "slack", secret: Some(&slack) };
    let call = |time: &str, now: u64| {
        let said = "v0=3eeaac3070533b0f5536145f88159d8e50277d9f01e4865f87e2d749f4789397";
        let given = headers(&[("X-Slack-Request-Timestamp", time), ("X-Slack-Signature", said)]);
        inbound(&source, &given, b"token=x", now).map(|event| event.event_id.to_string())
    };
    assert!(call("1531420618", at).is_ok());
    assert!(matches!(call("1531420618", at + 600_000), Err(WebhookError::Stale { .. })));
    assert!(matches!(call("1531420619", at), Err(WebhookError::WrongSignature { .. })));
    let stripe = SecretString::from("stripe-secret");
    let source = WebhookSource { name: "stripe", secret: Some(&stripe) };
    let call = |said: &str, now: u64| {
        let given = headers(&[("Stripe-Signature", said)]);
        inbound(&source, &given, br#"{"a":1}"#, now).map(|event| event.event_id.to_string())
    };
    let right = "44c5d7157e1f641dad6bd842046f2c65760b90df5926230f7b23145a5f2e3a78";
    assert!(call(&format!("t=1531420618,v1={right},v0=zz"), at).is_ok());
    assert!(call(&format!("t=1531420618,v1=00,v1={right}"), at).is_ok());
    let stale = call(&format!("t=1531420618,v1={right}"), at + 600_000);
    assert!(matches!(stale, Err(WebhookError::Stale { .. })));
    for said in
        [format!("t=1531420619,v1={right}"), format!("v1={right}"), "t=1531420618".to_owned()]
    {
        assert!(matches!(call(&said, at), Err(WebhookError::WrongSignature { .. })), "{said}");
    }
    let two = format!("t=1531420618,t=1531429999,v1={right}");
    assert!(matches!(call(&two, at), Err(WebhookError::WrongSignature { .. })));
}
