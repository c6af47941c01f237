//! The dialect of models whose template has no tools: the system prompt describes them, calls have
//! the form of Hermes, and the turn separators come from the file's own template.
//!
//! Must never: pretend that such a model was trained to call.

use crate::dialect::hermes::Hermes;
use crate::dialect::separators::TurnSeparators;
use crate::model_summary::DialectName;

/// Returns the dialect with the turn separators of the file.
pub(crate) fn plain(frame: TurnSeparators) -> Hermes {
    Hermes::framed(DialectName::Plain, frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, DialectRole, flat_prompt, render};
    use crate::toolset::sample;

    #[test]
    fn tools_and_results_are_told_in_the_frame_of_the_file() {
        let mut frame = TurnSeparators::chatml();
        frame.user_to_model = " [/INST] ".into();
        let dialect = plain(frame);
        let tools = sample::offered(&dialect);
        let prompt = flat_prompt(&render(&dialect, &sample::talk(), &tools));
        assert!(prompt.contains("<tool_response>\nhello\n</tool_response>\nIf "), "{prompt}");
        assert!(prompt.ends_with(" [/INST] "), "{prompt}");
        assert!(prompt.contains("\"name\": \"read_file\", \"description\""), "{prompt}");
        assert_eq!(dialect.name(), DialectName::Plain);
        assert_eq!(dialect.between(Some(DialectRole::User), DialectRole::Model), " [/INST] ");
    }
}
