//! What models cost: whole numbers, rounded up, and nothing that is not known.

use agentry_model::prices::{PriceTableError, Prices};
use agentry_protocol::message::Usage;

fn usage(input: u64, output: u64, cached: u64, written: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
        cache_write_tokens: written,
        estimated: false,
    }
}

fn table(entry: &str) -> Result<Prices, PriceTableError> {
    Prices::read(&format!("dated = \"2026-01-01\"\n[[models]]\n{entry}"))
}

const SONNET: &str = "claude-sonnet-4-20250514";

#[test]
fn our_own_table_is_read_and_knows_its_day() {
    assert_eq!(Prices::built_in().dated().len(), "2026-11-16".len());
    let card = Prices::built_in().entry("anthropic", SONNET).unwrap();
    assert_eq!((card.window, card.output_max, card.images), (Some(200_000), Some(64_000), true));
}

#[test]
fn each_kind_of_token_has_its_price() {
    let prices = Prices::built_in();
    let cost = |usage: Usage| prices.cost_nano_usd("anthropic", SONNET, &usage).unwrap();
    assert_eq!(cost(usage(100, 0, 0, 0)), 300_000);
    assert_eq!(cost(usage(0, 100, 0, 0)), 1_500_000);
    assert_eq!(cost(usage(100, 0, 100, 0)), 30_000);
    assert_eq!(cost(usage(100, 0, 0, 100)), 375_000);
    // 10 plain, 60 that it had, 30 that it keeps.
    assert_eq!(cost(usage(100, 1, 60, 30)), 30_000 + 18_000 + 112_500 + 15_000);
}

#[test]
fn a_long_request_has_the_price_of_a_long_one_from_the_first_token() {
    let prices = Prices::built_in();
    let cost = |input| prices.cost_nano_usd("gemini", "gemini-2.5-pro", &usage(input, 0, 0, 0));
    assert_eq!(cost(200_000), Some(200_000 * 1250));
    assert_eq!(cost(200_001), Some(200_001 * 2500));
}

#[test]
fn what_costs_less_than_the_smallest_unit_costs_one() {
    let prices = table("families=['x']\nnames=['m']\ninput=0.0001\noutput=0.0125").unwrap();
    let cost = |usage: Usage| prices.cost_nano_usd("x", "m", &usage).unwrap();
    assert_eq!(cost(usage(0, 0, 0, 0)), 0);
    assert_eq!(cost(usage(1, 0, 0, 0)), 1);
    assert_eq!(cost(usage(0, 1, 0, 0)), 13);
    assert_eq!(cost(usage(0, 2, 0, 0)), 25);
}

#[test]
fn sums_that_are_too_large_stay_at_the_largest() {
    let prices = table("families=['x']\nnames=['*']\ninput=1000000\noutput=1000000").unwrap();
    let most = usage(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
    let largest = i64::MAX.cast_unsigned();
    assert_eq!(prices.cost_nano_usd("x", "m", &most), Some(largest));
    assert_eq!(prices.ceiling_nano_usd("x", "m", u64::MAX, u64::MAX), Some(largest));
}

#[test]
fn more_kept_tokens_than_tokens_do_not_make_it_cheaper_than_their_price() {
    let prices = Prices::built_in();
    let cost = prices.cost_nano_usd("anthropic", SONNET, &usage(10, 0, 100, 0));
    assert_eq!(cost, Some(30_000));
}

#[test]
fn an_unknown_model_has_no_price_and_a_free_family_costs_nothing() {
    let prices = Prices::built_in();
    let some = usage(1000, 1000, 0, 0);
    for (family, model) in [
        ("anthropic", "claude-9"),
        ("openai", "gpt-4.1-maxi"),
        ("nobody", SONNET),
        ("groq", "gpt-4.1"),
        ("anthropic", ""),
    ] {
        assert_eq!(prices.cost_nano_usd(family, model, &some), None, "{family} {model}");
        assert_eq!(prices.ceiling_nano_usd(family, model, 10, 10), None);
    }
    for family in ["local", "ollama", "scripted"] {
        assert_eq!(prices.cost_nano_usd(family, "any", &some), Some(0));
        assert_eq!(prices.ceiling_nano_usd(family, "any", u64::MAX, 9), Some(0));
        assert!(prices.entry(family, "any").unwrap().free);
    }
}

#[test]
fn a_whole_name_wins_over_a_beginning_and_the_longer_beginning_over_the_shorter() {
    let entry = |name: &str, price: u32| {
        format!("[[models]]\nfamilies=['x']\nnames=['{name}']\ninput={price}\noutput=0\n")
    };
    let text = [entry("a*", 1), entry("abc", 2), entry("abc*", 3), entry("ab*", 4)].concat();
    let prices = Prices::read(&format!("dated=''\n{text}")).unwrap();
    let cost = |model| prices.cost_nano_usd("x", model, &usage(1, 0, 0, 0)).map(|cost| cost / 1000);
    let costs = ["a", "ab", "abc", "abcd", "b"].map(cost);
    assert_eq!(costs, [Some(1), Some(4), Some(2), Some(3), None]);
}

#[test]
fn a_ceiling_is_never_below_the_cost_of_what_was_sent() {
    let prices = Prices::built_in();
    for (family, model) in
        [("anthropic", SONNET), ("openai", "gpt-4.1"), ("gemini", "gemini-2.5-pro")]
    {
        for bytes in [1_u64, 3, 4, 3000, 900_000] {
            let ceiling = prices.ceiling_nano_usd(family, model, bytes, 50).unwrap();
            let tokens = bytes.div_ceil(3);
            for spent in [usage(tokens, 50, 0, 0), usage(tokens, 50, 0, tokens), usage(1, 50, 1, 0)]
            {
                assert!(prices.cost_nano_usd(family, model, &spent).unwrap() <= ceiling);
            }
        }
    }
}

#[test]
fn the_users_table_wins_and_the_rest_stays() {
    let own = "dated = '2027-01-01'\n[[models]]\nfamilies=['anthropic']\nnames=['claude-sonnet-*']\n\
               input=1.0\noutput=1.0\n";
    let prices = Prices::built_in().with(own).unwrap();
    assert_eq!(prices.dated(), "2027-01-01");
    assert_eq!(prices.cost_nano_usd("anthropic", SONNET, &usage(1, 0, 0, 0)), Some(1000));
    assert_eq!(prices.cost_nano_usd("openai", "gpt-4.1", &usage(1, 0, 0, 0)), Some(2000));
}

#[test]
fn a_table_that_makes_no_sense_is_refused_with_its_entry() {
    for wrong in [
        "families=['x']\nnames=['m']\ninput=-1\noutput=1",
        "families=['x']\nnames=['m']\ninput=nan\noutput=1",
        "families=['x']\nnames=['m']\ninput=inf\noutput=1",
        "families=['x']\nnames=['m']\ninput=1000001\noutput=1",
        "families=['x']\nnames=['m']\ninput=1",
        "families=['x']\nnames=['m']",
        "families=['x']\nnames=['m']\nfree=true\ninput=1\noutput=1",
        "families=[]\nnames=['m']\nfree=true",
        "families=['x']\nnames=['m']\ninput=1\noutput=1\nlong={over=5,input=1,output=-1}",
    ] {
        let error = table(wrong).unwrap_err();
        assert!(
            matches!(&error, PriceTableError::Entry { name, .. } if name == "m"),
            "{wrong}: {error}"
        );
    }
    for unread in ["names=['m']\nfree=true", "families=['x']\nnames=['m']\nfree=true\nprize=1"] {
        assert!(matches!(table(unread), Err(PriceTableError::Text(_))), "{unread}");
    }
    let long = " ".repeat(agentry_model::limits::PRICES_BYTES_MAX + 1);
    assert!(matches!(Prices::read(&long), Err(PriceTableError::TooLarge)));
}
