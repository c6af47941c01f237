//! The record of a search for a model, and the explanation of a failed one.
//!
//! Must never: decide; it only describes the decisions.

use std::fmt;

/// The examination of a candidate at one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateAttempt {
    /// The candidate, as written; empty if a provider has none.
    pub candidate: String,
    /// The source of the candidate.
    pub said: CandidateSource,
    /// The provider that was examined.
    pub provider: Option<String>,
    /// The outcome for the candidate.
    pub outcome: CandidateOutcome,
}

/// The source of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateSource {
    /// A person, with `--model`.
    Asked,
    /// The agent's files.
    Agent,
    /// The settings.
    Settings,
    /// The default of a provider; no person or file named it.
    Provider,
}

impl fmt::Display for CandidateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "asked for",
            Self::Agent => "named by the agent",
            Self::Settings => "the default of the settings",
            Self::Provider => "the default of the provider",
        })
    }
}

/// The outcome for a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// It is the chosen model.
    Taken(String),
    /// It is a fallback.
    Fallback(String),
    /// The provider serves it, but is not available now.
    NotReady(String),
    /// The agent may not use it.
    Refused,
    /// It was skipped, for this reason.
    Skipped(String),
}

impl fmt::Display for CandidateOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(model) => write!(f, "taken: {model}"),
            Self::Fallback(model) => write!(f, "asked when the ones before fail: {model}"),
            Self::Refused => f.write_str("the agent may not use it"),
            Self::NotReady(why) | Self::Skipped(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for CandidateAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let candidate = if self.candidate.is_empty() { "any model" } else { &self.candidate };
        write!(f, "{candidate} ({})", self.said)?;
        if let Some(provider) = &self.provider {
            write!(f, ", provider {provider}")?;
        }
        write!(f, ": {}", self.outcome)
    }
}

/// The error if no model was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoiceError {
    /// The reason for the failure.
    pub why: NoModelReason,
    /// All candidates that were considered.
    pub steps: Vec<CandidateAttempt>,
}

/// The reason why no model was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoModelReason {
    /// The agent may not use the requested model.
    Refused {
        /// The name of the model.
        model: String,
        /// The models that it may use.
        may: Vec<String>,
    },
    /// No available provider serves a candidate.
    NoProvider,
}

impl fmt::Display for ModelChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            NoModelReason::Refused { model, .. } => {
                write!(f, "the agent may not use the model `{model}`")?
            }
            NoModelReason::NoProvider => f.write_str("no model can be asked")?,
        }
        for step in &self.steps {
            write!(f, "\n  {step}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelChoiceError {}

impl ModelChoiceError {
    /// Returns advice for the person who can solve the problem.
    pub fn hint(&self) -> String {
        if let NoModelReason::Refused { may, .. } = &self.why {
            return format!("it may use: {}", may.join(", "));
        }
        let not_ready = self.steps.iter().find_map(|step| match &step.outcome {
            CandidateOutcome::NotReady(why) => Some((step.provider.as_deref(), why)),
            CandidateOutcome::Taken(_)
            | CandidateOutcome::Fallback(_)
            | CandidateOutcome::Refused
            | CandidateOutcome::Skipped(_) => None,
        });
        if let Some((Some(provider), why)) = not_ready {
            let key = why.strip_suffix(" is not set");
            let act = match key {
                Some(variable) => format!("set {variable}"),
                None => format!("make the provider `{provider}` ready ({why})"),
            };
            return format!("{act}, or get a model for this machine with `agentry pull`");
        }
        if self.steps.iter().any(|step| step.outcome == CandidateOutcome::Refused) {
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
