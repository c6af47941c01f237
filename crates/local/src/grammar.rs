//! The grammars of calls, compiled once for a set of tools.
//!
//! A schema that the engine does not accept becomes a looser grammar; the toolset's check of the
//! finished call stays as strict as the tool's own schema.
//!
//! Must never: drop a tool in silence.

use std::rc::Rc;

use agentry_protocol::tool_call::ToolSpec;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llguidance::api::TopLevelGrammar;
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{Matcher, ParserFactory};
use serde_json::Value;

use crate::dialect::Dialect;
use crate::error::LocalError;
use crate::limits::TOOLSETS_MAX;
use crate::schema;
use crate::toolset::RequestTools;

/// The cache of compiled grammars.
pub(crate) struct Grammars {
    factory: ParserFactory,
    kept: Vec<(Vec<ToolSpec>, Rc<CallGrammar>)>,
}

/// The tools of a request and the grammar of their calls.
pub(crate) struct CallGrammar {
    pub(crate) toolset: RequestTools,
    matcher: Matcher,
}

impl CallGrammar {
    /// Returns a new matcher for one call.
    pub(crate) fn matcher(&self) -> Matcher {
        self.matcher.deep_clone()
    }
}

impl Grammars {
    /// Builds the cache for a model; reads its whole vocabulary, which takes a moment.
    pub(crate) fn of(model: &LlamaModel) -> Result<Self, LocalError> {
        let words = LlamaSampler::llguidance_tok_env(model);
        let slices = SlicedBiasComputer::general_slices();
        let mut factory = ParserFactory::new(&words, InferenceCapabilities::default(), &slices)
            .map_err(|error| LocalError::Engine(error.to_string()))?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Self { factory, kept: Vec::new() })
    }

    /// Returns the grammar for these tools, compiled or from the cache.
    pub(crate) fn calls(
        &mut self,
        tools: &[ToolSpec],
        dialect: &dyn Dialect,
    ) -> Result<Rc<CallGrammar>, LocalError> {
        if let Some(at) = self.kept.iter().position(|(kept, _)| kept == tools) {
            let found = self.kept.remove(at);
            self.kept.push(found);
        } else {
            let calls = Rc::new(self.made(tools, dialect)?);
            self.kept.push((tools.to_vec(), calls));
            if self.kept.len() > TOOLSETS_MAX {
                self.kept.remove(0);
            }
        }
        Ok(Rc::clone(&self.kept.last().expect("it was just put there").1))
    }

    fn made(&self, tools: &[ToolSpec], dialect: &dyn Dialect) -> Result<CallGrammar, LocalError> {
        let mut toolset = RequestTools::of(tools, dialect)?;
        for tool in &mut toolset.offered {
            tool.bounded = self
                .taken(&tool.bounded)
                .or_else(|_| self.taken(&tool.parameters))
                .map_err(|why| LocalError::Schema { tool: tool.tool.clone(), why })?;
        }
        let grammar = dialect
            .grammar(&toolset.offered)
            .map_err(|(tool, why)| LocalError::Schema { tool, why })?;
        let matcher = self.matcher(TopLevelGrammar::from_lark(grammar)).map_err(|why| {
            let tool = toolset.offered.iter().map(|tool| tool.tool.as_str());
            LocalError::Schema { tool: tool.collect::<Vec<_>>().join("`, `"), why }
        })?;
        Ok(CallGrammar { toolset, matcher })
    }

    /// Returns the schema in a form that the engine accepts: unchanged, or looser.
    fn taken(&self, bounded: &Value) -> Result<Value, String> {
        let strict = schema::with_guidance_options(bounded, false);
        if self.matcher(TopLevelGrammar::from_json_schema(strict.clone())).is_ok() {
            return Ok(strict);
        }
        let loose = schema::with_guidance_options(bounded, true);
        self.matcher(TopLevelGrammar::from_json_schema(loose.clone())).map(|_| loose)
    }

    fn matcher(&self, grammar: TopLevelGrammar) -> Result<Matcher, String> {
        let parser = self.factory.create_parser(grammar).map_err(|error| first_line(&error))?;
        let mut matcher = Matcher::new(Ok(parser));
        // Some faults appear only when the grammar is used.
        match matcher.compute_mask() {
            Ok(_) => Ok(matcher),
            Err(error) => Err(first_line(&error)),
        }
    }
}

fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
