//! The well-known providers, with their addresses and the variables of their keys.
//!
//! Must never: name a variable that another provider's key may be in.

use agentry_kernel::provider_keys::KeyHome;
use agentry_model::Protocol;

/// A provider with a well-known address and key variable.
pub(crate) struct WellKnownProvider {
    /// Its address, and the variables that may hold its key.
    pub(crate) home: KeyHome,
    /// The protocol that it speaks.
    pub(crate) protocol: Protocol,
    /// The variable that overrides its address.
    pub(crate) base_variable: Option<&'static str>,
    /// The default model; None if a model must be named.
    pub(crate) default_model: Option<&'static str>,
}

/// The well-known providers, by descending preference.
pub(crate) const USUAL: [WellKnownProvider; 7] = [
    WellKnownProvider {
        home: KeyHome {
            id: "anthropic",
            variables: &["ANTHROPIC_API_KEY"],
            base_url: "https://api.anthropic.com",
        },
        protocol: Protocol::Anthropic,
        base_variable: Some("ANTHROPIC_BASE_URL"),
        default_model: Some("claude-sonnet-4-5"),
    },
    WellKnownProvider {
        home: KeyHome {
            id: "openai",
            variables: &["OPENAI_API_KEY"],
            base_url: "https://api.openai.com/v1",
        },
        protocol: Protocol::Openai,
        base_variable: Some("OPENAI_BASE_URL"),
        default_model: Some("gpt-5"),
    },
    WellKnownProvider {
        home: KeyHome {
            id: "gemini",
            variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            base_url: "https://generativelanguage.googleapis.com",
        },
        protocol: Protocol::Gemini,
        base_variable: Some("GEMINI_BASE_URL"),
        default_model: Some("gemini-2.5-pro"),
    },
    WellKnownProvider {
        home: KeyHome {
            id: "openrouter",
            variables: &["OPENROUTER_API_KEY"],
            base_url: "https://openrouter.ai/api/v1",
        },
        protocol: Protocol::OpenaiChat,
        base_variable: None,
        default_model: Some("anthropic/claude-sonnet-4.5"),
    },
    WellKnownProvider {
        home: KeyHome {
            id: "groq",
            variables: &["GROQ_API_KEY"],
            base_url: "https://api.groq.com/openai/v1",
        },
        protocol: Protocol::OpenaiChat,
        base_variable: None,
        default_model: None,
    },
    WellKnownProvider {
        home: KeyHome {
            id: "mistral",
            variables: &["MISTRAL_API_KEY"],
            base_url: "https://api.mistral.ai/v1",
        },
        protocol: Protocol::OpenaiChat,
        base_variable: None,
        default_model: None,
    },
    WellKnownProvider {
        home: KeyHome {
            id: "deepseek",
            variables: &["DEEPSEEK_API_KEY"],
            base_url: "https://api.deepseek.com/v1",
        },
        protocol: Protocol::OpenaiChat,
        base_variable: None,
        default_model: None,
    },
];

/// Returns the well-known provider with this id.
pub(crate) fn usual(id: &str) -> Option<&'static WellKnownProvider> {
    USUAL.iter().find(|usual| usual.home.id == id)
}

/// Returns the address and variables of each well-known provider.
pub(crate) fn homes() -> [KeyHome; 7] {
    USUAL.each_ref().map(|usual| usual.home)
}
