//! Converts text to tokens and back, and keeps marks apart from text from outside.
//!
//! Must never: make a control token, or a mark of the format, of text from outside.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;

use crate::dialect::PromptFragment;
use crate::kv_cache::ModelToken;

/// The vocabulary of a model.
pub(crate) struct Tokenizer<'m> {
    model: &'m LlamaModel,
    /// Words that look like marks and that the tokenizer keeps whole even in plain text.
    marks: Vec<String>,
    ends: Vec<bool>,
}

impl<'m> Tokenizer<'m> {
    pub(crate) fn of(model: &'m LlamaModel) -> Self {
        let vocab = model.vocab();
        let mut marks = Vec::new();
        let mut ends = Vec::new();
        for token in vocab.tokens() {
            ends.push(vocab.is_eog(token));
            let attributes = vocab.attr(token);
            if attributes.contains(LlamaTokenAttr::UserDefined) {
                let piece = vocab.token_to_piece(token, true, None);
                if let Ok(text) = String::from_utf8(piece)
                    && is_mark(&text)
                {
                    marks.push(text);
                }
            }
        }
        Self { model, marks, ends }
    }

    /// Returns the tokens of prompt fragments, each one tokenized alone.
    pub(crate) fn tokens(&self, parts: &[PromptFragment]) -> Vec<ModelToken> {
        let mut tokens = Vec::new();
        for part in parts {
            match part {
                PromptFragment::Mark(text) => self.add(text, true, &mut tokens),
                PromptFragment::Text(text) => self.add_text(text, &mut tokens),
            }
        }
        tokens
    }

    /// Returns the tokens of text from outside.
    pub(crate) fn text_tokens(&self, text: &str) -> Vec<ModelToken> {
        let mut tokens = Vec::new();
        self.add_text(text, &mut tokens);
        tokens
    }

    /// Returns the token that begins every prompt, if the model has one.
    pub(crate) fn bos_token(&self) -> Option<ModelToken> {
        let vocab = self.model.vocab();
        vocab.should_add_bos().then(|| vocab.bos().0)
    }

    /// Returns true if a token ends the turn.
    pub(crate) fn is_end_token(&self, token: ModelToken) -> bool {
        usize::try_from(token).is_ok_and(|token| self.ends.get(token) == Some(&true))
    }

    /// Returns the bytes of a token; marks have bytes too.
    pub(crate) fn bytes(&self, token: ModelToken) -> Vec<u8> {
        self.model.vocab().token_to_piece(LlamaToken(token), true, None)
    }

    /// Returns true if a word of the format is a control token of this model.
    pub(crate) fn is_control(&self, mark: &str) -> bool {
        let tokens = self.model.vocab().tokenize(mark.as_bytes(), false, true);
        matches!(tokens.as_slice(), [token] if self.model.vocab().is_control(*token))
    }

    fn add(&self, text: &str, marks: bool, to: &mut Vec<ModelToken>) {
        if !text.is_empty() {
            let tokens = self.model.vocab().tokenize(text.as_bytes(), false, marks);
            to.extend(tokens.into_iter().map(|token| token.0));
        }
    }

    /// Tokenizes text after cutting each word that would become one token.
    fn add_text(&self, text: &str, to: &mut Vec<ModelToken>) {
        for piece in cut(text, &self.marks) {
            self.add(piece, false, to);
        }
    }
}

/// Returns true for words in brackets; others, such as runs of spaces, are text.
fn is_mark(text: &str) -> bool {
    text.len() > 2 && text.starts_with('<') && text.ends_with('>')
}

/// Splits a text into pieces that contain none of the marks.
fn cut<'a>(text: &'a str, marks: &[String]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices('<') {
        if marks.iter().any(|mark| text[at..].starts_with(mark.as_str())) {
            pieces.push(&text[from..=at]);
            from = at + 1;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_inside_every_mark() {
        let marks = ["<tool_call>".to_owned(), "</tool_call>".to_owned()];
        let text = "a <tool_call>b</tool_call> <c><tool_call>";
        let pieces = cut(text, &marks);
        assert_eq!(pieces.concat(), text);
        for piece in &pieces {
            assert!(marks.iter().all(|mark| !piece.contains(mark.as_str())), "{piece}");
        }
        assert_eq!(cut("plain < text >", &marks), ["plain < text >"]);
    }

    #[test]
    fn only_words_in_brackets_are_marks() {
        assert!(is_mark("<tool_call>"));
        for text in ["<>", "  ", "\n\n", "<a", "a>"] {
            assert!(!is_mark(text), "{text:?}");
        }
    }
}
