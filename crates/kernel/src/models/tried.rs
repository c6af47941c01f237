//! How a model was searched for, and why none was found, in words.
//!
//! Must never: decide; it tells what was decided.

use std::fmt;

/// One look at a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The candidate, as it was written; empty where a provider has none.
    pub candidate: String,
    /// Who named it.
    pub said: Said,
    /// The provider that was looked at.
    pub provider: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
}

/// Who named a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A person, with `--model`.
    Asked,
    /// The agent's files.
    Agent,
    /// The settings.
    Settings,
    /// Nobody; it is what a provider has.
    Provider,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "asked for",
            Self::Agent => "named by the agent",
            Self::Settings => "the default of the settings",
            Self::Provider => "the default of the provider",
        })
    }
}

/// What came of a look at a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the model.
    Taken(String),
    /// It is asked when those before it fail.
    Fallback(String),
    /// The provider has it, and cannot be asked now.
    NotReady(String),
    /// The agent may not use it.
    Refused,
    /// It was passed over.
    Passed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(model) => write!(f, "taken: {model}"),
            Self::Fallback(model) => write!(f, "asked when the ones before fail: {model}"),
            Self::Refused => f.write_str("the agent may not use it"),
            Self::NotReady(why) | Self::Passed(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let candidate = if self.candidate.is_empty() { "any model" } else { &self.candidate };
        write!(f, "{candidate} ({})", self.said)?;
        if let Some(provider) = &self.provider {
            write!(f, ", provider {provider}")?;
        }
        write!(f, ": {}", self.outcome)
    }
}

/// Why no model was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoChoice {
    /// The reason.
    pub why: Why,
    /// Everything that was looked at.
    pub steps: Vec<Tried>,
}

/// A reason why no model was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The agent may not use the model that was asked for.
    Refused {
        /// The model.
        model: String,
        /// What it may use.
        may: Vec<String>,
    },
    /// Nobody who can be asked serves a candidate.
    Nobody,
}

impl fmt::Display for NoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Refused { model, .. } => write!(f, "the agent may not use the model `{model}`")?,
            Why::Nobody => f.write_str("no model can be asked")?,
        }
        for step in &self.steps {
            write!(f, "\n  {step}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NoChoice {}

impl NoChoice {
    /// What the person who can act can do.
    pub fn hint(&self) -> String {
        if let Why::Refused { may, .. } = &self.why {
            return format!("it may use: {}", may.join(", "));
        }
        let not_ready = self.steps.iter().find_map(|step| match &step.outcome {
            Outcome::NotReady(why) => Some((step.provider.as_deref(), why)),
            Outcome::Taken(_) | Outcome::Fallback(_) | Outcome::Refused | Outcome::Passed(_) => {
                None
            }
        });
        if let Some((Some(provider), why)) = not_ready {
            let key = why.strip_suffix(" is not set");
            let act = match key {
                Some(variable) => format!("set {variable}"),
                None => format!("make the provider `{provider}` ready ({why})"),
            };
            return format!("{act}, or get a model for this machine with `agentry pull`");
        }
        if self.steps.iter().any(|step| step.outcome == Outcome::Refused) {
            return "name a model that the agent may use with --model, or add one to its \
                    `allowed_models`"
                .to_owned();
        }
        let listed = self.steps.iter().filter(|step| !step.candidate.is_empty());
        let place = listed.filter_map(|step| Some((step.provider.as_deref()?, step))).next();
        match place {
            Some((provider, step)) => format!(
                "add `{}` to `model_allowlist` under [providers.{provider}] in agentry.toml, name \
                 another model with --model, or get one for this machine with `agentry pull`",
                step.candidate
            ),
            None => "set the key of a provider, such as ANTHROPIC_API_KEY, OPENAI_API_KEY or \
                     GEMINI_API_KEY, or get a model for this machine with `agentry pull`"
                .to_owned(),
        }
    }
}
