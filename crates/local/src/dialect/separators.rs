//! The texts between the turns of a conversation.
//!
//! They are learned from a template without tools: it renders a conversation of placeholders, and
//! the texts between the placeholders are the separators.
//!
//! Must never: contain text of a conversation.

use crate::dialect::DialectRole;

/// The texts between turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnSeparators {
    /// The text before the system prompt.
    pub(crate) starts: String,
    /// The text before the first user message, if there is no system prompt.
    pub(crate) starts_with_user: String,
    pub(crate) system_to_user: String,
    pub(crate) user_to_user: String,
    pub(crate) user_to_model: String,
    pub(crate) model_to_user: String,
    pub(crate) model_to_model: String,
}

/// Placeholders that appear in no template and no message.
const PLACES: [&str; 5] =
    ["\u{f8ff}one", "\u{f8ff}two", "\u{f8ff}three", "\u{f8ff}four", "\u{f8ff}five"];

impl TurnSeparators {
    /// Returns the separators of ChatML.
    pub(crate) fn chatml() -> Self {
        let turn = |role: &str| format!("<|im_start|>{role}\n");
        let next = |role: &str| format!("<|im_end|>\n<|im_start|>{role}\n");
        Self {
            starts: turn("system"),
            starts_with_user: turn("user"),
            system_to_user: next("user"),
            user_to_user: next("user"),
            user_to_model: next("assistant"),
            model_to_user: next("user"),
            model_to_model: next("assistant"),
        }
    }

    /// Extracts the separators; `rendered` renders a conversation, given as role and text.
    pub(crate) fn from_template(
        mut rendered: impl FnMut(&[(&str, &str)], bool) -> Option<String>,
    ) -> Option<Self> {
        let [system, first, second, answer, third] = PLACES;
        let talk = [
            ("system", system),
            ("user", first),
            ("user", second),
            ("assistant", answer),
            ("user", third),
        ];
        let whole = rendered(&talk, true)?;
        let mut rest = whole.as_str();
        let mut gaps = Vec::new();
        for place in PLACES {
            let (before, after) = rest.split_once(place)?;
            gaps.push(before.to_owned());
            rest = after;
        }
        let [starts, system_to_user, user_to_user, user_to_model, model_to_user] =
            <[String; 5]>::try_from(gaps).ok()?;
        if rest != user_to_model {
            return None;
        }
        let alone = rendered(&[("user", first)], true)?;
        let (starts_with_user, _) = alone.split_once(first)?;
        let model_to_model = format!("{model_to_user}{user_to_model}");
        Some(Self {
            starts,
            starts_with_user: starts_with_user.to_owned(),
            system_to_user,
            user_to_user,
            user_to_model,
            model_to_user,
            model_to_model,
        })
    }

    /// Returns the text between two turns; outcomes have the role of a user.
    pub(crate) fn between(&self, from: Option<DialectRole>, to: DialectRole) -> String {
        use DialectRole::{Model, Results, System, User};
        match (from, to) {
            (None, System) | (Some(System), System) => self.starts.clone(),
            (None, User | Results) => self.starts_with_user.clone(),
            (None, Model) => format!("{}{}", self.starts_with_user, self.user_to_model),
            (Some(System), User | Results) => self.system_to_user.clone(),
            (Some(System), Model) => format!("{}{}", self.system_to_user, self.user_to_model),
            (Some(User | Results), User | Results) => self.user_to_user.clone(),
            (Some(User | Results), Model) => self.user_to_model.clone(),
            (Some(Model), User | Results) => self.model_to_user.clone(),
            (Some(Model), Model) => self.model_to_model.clone(),
            (Some(User | Results | Model), System) => self.starts.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders a conversation as the template of ChatML does.
    fn chatml(talk: &[(&str, &str)], answer: bool) -> Option<String> {
        let mut text: String = talk
            .iter()
            .map(|(role, said)| format!("<|im_start|>{role}\n{said}<|im_end|>\n"))
            .collect();
        if answer {
            text.push_str("<|im_start|>assistant\n");
        }
        Some(text)
    }

    #[test]
    fn a_frame_is_learned_from_what_a_template_makes_of_placeholders() {
        let learned =
            TurnSeparators::from_template(chatml).expect("this template keeps what is said");
        let known = TurnSeparators::chatml();
        assert_eq!(learned.starts, known.starts);
        assert_eq!(learned.system_to_user, known.system_to_user);
        assert_eq!(learned.user_to_user, known.user_to_user);
        assert_eq!(learned.user_to_model, known.user_to_model);
        assert_eq!(learned.model_to_user, known.model_to_user);
    }

    #[test]
    fn a_template_that_puts_the_system_prompt_into_the_first_turn_is_learned_too() {
        let gemma = |talk: &[(&str, &str)], answer: bool| {
            let mut text = String::new();
            let mut system = String::new();
            for (role, said) in talk {
                match *role {
                    "system" => system = format!("{said}\n\n"),
                    role => {
                        let role = if role == "assistant" { "model" } else { role };
                        let system = std::mem::take(&mut system);
                        text += &format!("<start_of_turn>{role}\n{system}{said}<end_of_turn>\n");
                    }
                }
            }
            if answer {
                text += "<start_of_turn>model\n";
            }
            Some(text)
        };
        let frame = TurnSeparators::from_template(gemma).expect("this template keeps what is said");
        assert_eq!(frame.starts, "<start_of_turn>user\n");
        assert_eq!(frame.system_to_user, "\n\n");
        assert_eq!(frame.model_to_user, "<end_of_turn>\n<start_of_turn>user\n");
    }

    #[test]
    fn a_template_that_drops_what_is_said_is_not_learned() {
        assert_eq!(TurnSeparators::from_template(|_, _| Some("nothing".into())), None);
        assert_eq!(TurnSeparators::from_template(|_, _| None), None);
    }
}
