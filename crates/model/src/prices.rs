//! Prices and limits of models, from a dated table in a data file.
//!
//! All sums are whole numbers, rounded up; a model that is not in the table has no known price.
//!
//! Must never: guess a price, or treat a model as free that the table does not call free.

use std::sync::LazyLock;

use agentry_protocol::message::Usage;
use serde::Deserialize;

use crate::limits::{COST_NANO_USD_MAX, PRICE_USD_MAX, PRICED_MODELS_MAX, PRICES_BYTES_MAX};

/// The smallest number of bytes of a request per token.
const TOKEN_BYTES_MIN: u64 = 3;
/// One dollar per million tokens, in picodollars per token.
const PICO_PER_TOKEN: f64 = 1_000_000.0;
const PICO_PER_NANO: u128 = 1000;

static BUILT_IN: LazyLock<Prices> = LazyLock::new(|| {
    Prices::read(include_str!("../data/prices.toml")).expect("our own table is read by a test")
});

/// A table of prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    dated: String,
    /// The layers of entries; later ones win.
    layers: Vec<Vec<PriceEntry>>,
}

/// The price and the limits of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceEntry {
    /// True if the model costs nothing.
    pub free: bool,
    /// The context window, in tokens.
    pub window: Option<u64>,
    /// The longest answer, in tokens.
    pub output_max: Option<u64>,
    /// True if the model accepts images.
    pub images: bool,
    families: Vec<String>,
    names: Vec<String>,
    rates: TokenRates,
    long: Option<(u64, TokenRates)>,
}

/// Prices per token, in picodollars (a thousandth of a billionth of a dollar).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TokenRates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// The reason why a table of prices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceTableError {
    /// The text is no TOML, or has unknown fields.
    #[error("the table of prices cannot be read: {0}")]
    Text(#[from] toml::de::Error),
    /// The table has too many bytes or models.
    #[error(
        "the table of prices is too large: at most {PRICES_BYTES_MAX} bytes and {PRICED_MODELS_MAX} models are read"
    )]
    TooLarge,
    /// An entry is invalid.
    #[error("the table of prices, `{name}`: {why}")]
    Entry {
        /// The first name of the entry.
        name: String,
        /// The defect of the entry.
        why: &'static str,
    },
}

impl Prices {
    /// Returns the built-in table.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Parses a table.
    pub fn read(text: &str) -> Result<Self, PriceTableError> {
        if text.len() > PRICES_BYTES_MAX {
            return Err(PriceTableError::TooLarge);
        }
        let table: PriceFile = toml::from_str(text)?;
        if table.models.len() > PRICED_MODELS_MAX {
            return Err(PriceTableError::TooLarge);
        }
        let cards =
            table.models.into_iter().map(PriceEntry::from_written).collect::<Result<_, _>>()?;
        Ok(Self { dated: table.dated, layers: vec![cards] })
    }

    /// Returns this table with another on top, whose entries win.
    pub fn with(&self, text: &str) -> Result<Self, PriceTableError> {
        let mut other = Self::read(text)?;
        let mut layers = self.layers.clone();
        layers.append(&mut other.layers);
        Ok(Self { dated: other.dated, layers })
    }

    /// Returns the date of the prices.
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// Returns the entry of a model; `None` if the table has none.
    pub fn entry(&self, family: &str, model: &str) -> Option<&PriceEntry> {
        self.layers.iter().rev().find_map(|cards| {
            let fitting = cards.iter().filter(|card| card.families.iter().any(|one| one == family));
            let fitting = fitting.filter_map(|card| Some((card.fit(model)?, card)));
            fitting.max_by_key(|(fit, _)| *fit).map(|(_, card)| card)
        })
    }

    /// Returns the names under which a family's prices are listed; a final `*` matches any rest.
    pub fn names(&self, family: &str) -> Vec<String> {
        let cards = self.layers.iter().flatten();
        let cards = cards.filter(|card| card.families.iter().any(|one| one == family));
        cards.flat_map(|card| card.names.iter().cloned()).collect()
    }

    /// Returns the cost in billionths of a dollar; `None` if the price is unknown.
    pub fn cost_nano_usd(&self, family: &str, model: &str, usage: &Usage) -> Option<u64> {
        Some(self.entry(family, model)?.cost(usage))
    }

    /// Returns the highest cost that a request can have, to be reserved before it is sent.
    pub fn ceiling_nano_usd(
        &self,
        family: &str,
        model: &str,
        input_bytes: u64,
        max_output: u64,
    ) -> Option<u64> {
        let card = self.entry(family, model)?;
        let tokens = input_bytes.div_ceil(TOKEN_BYTES_MIN);
        let rates = card.rates_for(tokens);
        let input = u128::from(tokens) * u128::from(rates.input.max(rates.cache_write));
        Some(nano(input.saturating_add(u128::from(max_output) * u128::from(rates.output))))
    }
}

impl PriceEntry {
    /// Returns the cost in billionths of a dollar.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let rates = self.rates_for(usage.input_tokens);
        let kept = usage.cached_tokens.saturating_add(usage.cache_write_tokens);
        let parts = [
            (usage.input_tokens.saturating_sub(kept), rates.input),
            (usage.cached_tokens, rates.cache_read),
            (usage.cache_write_tokens, rates.cache_write),
            (usage.output_tokens, rates.output),
        ];
        let pico = parts.map(|(tokens, rate)| u128::from(tokens) * u128::from(rate));
        nano(pico.into_iter().fold(0, u128::saturating_add))
    }

    fn rates_for(&self, input_tokens: u64) -> TokenRates {
        match self.long {
            Some((over, rates)) if input_tokens > over => rates,
            Some(_) | None => self.rates,
        }
    }

    /// Returns the rank of a match: a whole name first, then the longest prefix.
    fn fit(&self, model: &str) -> Option<(bool, usize)> {
        let fits = self.names.iter().filter_map(|name| match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning).then_some((false, beginning.len())),
            None => (name == model).then_some((true, name.len())),
        });
        fits.max()
    }

    fn from_written(written: PriceFileEntry) -> Result<Self, PriceTableError> {
        let name = written.names.first().cloned().unwrap_or_default();
        let bad = |why| PriceTableError::Entry { name: name.clone(), why };
        if written.families.is_empty() || written.names.is_empty() {
            return Err(bad("it needs `families` and `names`"));
        }
        let kept = [written.cache_read, written.cache_write];
        let priced = written.long.is_some() || kept.iter().any(Option::is_some);
        let rates = match (written.free, written.input, written.output) {
            (true, None, None) if !priced => TokenRates::default(),
            (true, _, _) => return Err(bad("it is `free` and has a price")),
            (false, Some(input), Some(output)) => {
                TokenRates::checked([input, output], kept).map_err(bad)?
            }
            (false, _, _) => return Err(bad("it needs `input` and `output`, or `free = true`")),
        };
        let long = match written.long {
            None => None,
            Some(LongRequestPrices { over, input, output, cache_read, cache_write }) => {
                let rates = TokenRates::checked([input, output], [cache_read, cache_write]);
                Some((over, rates.map_err(bad)?))
            }
        };
        Ok(Self {
            free: written.free,
            window: written.window,
            output_max: written.output_max,
            images: written.images,
            families: written.families,
            names: written.names,
            rates,
            long,
        })
    }
}

fn nano(pico: u128) -> u64 {
    u64::try_from(pico.div_ceil(PICO_PER_NANO)).unwrap_or(COST_NANO_USD_MAX).min(COST_NANO_USD_MAX)
}

/// The table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    dated: String,
    #[serde(default)]
    models: Vec<PriceFileEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFileEntry {
    families: Vec<String>,
    names: Vec<String>,
    #[serde(default)]
    free: bool,
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    window: Option<u64>,
    output_max: Option<u64>,
    #[serde(default)]
    images: bool,
    long: Option<LongRequestPrices>,
}

/// The prices of longer requests, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRequestPrices {
    over: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl TokenRates {
    /// Checks the prices of input, output, and reads and writes of the provider's cache.
    fn checked(
        [input, output]: [f64; 2],
        [cache_read, cache_write]: [Option<f64>; 2],
    ) -> Result<Self, &'static str> {
        Ok(Self {
            input: rate(input)?,
            output: rate(output)?,
            cache_read: rate(cache_read.unwrap_or(input))?,
            cache_write: rate(cache_write.unwrap_or(input))?,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn rate(price: f64) -> Result<u64, &'static str> {
    if (0.0..=PRICE_USD_MAX).contains(&price) {
        Ok((price * PICO_PER_TOKEN).round() as u64)
    } else {
        Err("a price is not a number between 0 and 1000000 dollars")
    }
}
