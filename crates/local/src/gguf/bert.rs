//! Converts a BERT embedder from its published form (safetensors, vocabulary, config) to GGUF.
//!
//! Numbers are copied unchanged, in 32 bits.
//!
//! Must never: guess a size that the config does not have.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::LocalError;
use crate::gguf::safetensors::Tensors;
use crate::gguf::write::{GgufValue, Tensor, write};

/// The tensors of a layer: GGUF name and published name.
const LAYER: [(&str, &str); 8] = [
    ("attn_q", "attention.self.query"),
    ("attn_k", "attention.self.key"),
    ("attn_v", "attention.self.value"),
    ("attn_output", "attention.output.dense"),
    ("attn_output_norm", "attention.output.LayerNorm"),
    ("ffn_up", "intermediate.dense"),
    ("ffn_down", "output.dense"),
    ("layer_output_norm", "output.LayerNorm"),
];
/// The mark of a token that begins a word.
const WORD_BEGINS: char = '\u{2581}';
const MEAN: u32 = 1;
const NORMAL_TOKEN: i32 = 1;
const CONTROL_TOKEN: i32 = 3;

/// Converts `config.json`, `model.safetensors` and `vocab.txt` of a folder to one GGUF file.
pub fn gguf_of_bert(from: &Path, to: &Path) -> Result<(), LocalError> {
    let wrong = |file: &Path, why: String| LocalError::NotConverted { file: file.to_owned(), why };
    let config_file = from.join("config.json");
    let config = read_config(&config_file).map_err(|why| wrong(&config_file, why))?;
    let (vocabulary_file, weights_file) = (from.join("vocab.txt"), from.join("model.safetensors"));
    let words = read_words(&vocabulary_file).map_err(|why| wrong(&vocabulary_file, why))?;
    let tensors = tensors(&weights_file, config.layers).map_err(|why| wrong(&weights_file, why))?;
    let entries = entries(&config, words).map_err(|why| wrong(&vocabulary_file, why))?;
    write(to, &entries, &tensors).map_err(|error| wrong(to, error.to_string()))
}

struct BertConfig {
    layers: u32,
    width: u32,
    inner: u32,
    heads: u32,
    context: u32,
    types: u32,
    epsilon: f32,
}

fn read_config(file: &Path) -> Result<BertConfig, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let config: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if config.get("model_type").and_then(Value::as_str) != Some("bert") {
        return Err("its `model_type` is not `bert`".into());
    }
    let number = |key: &str| {
        let number = config.get(key).and_then(Value::as_u64);
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| format!("it lacks the number `{key}`"))
    };
    let epsilon = config.get("layer_norm_eps").and_then(Value::as_f64);
    #[expect(clippy::cast_possible_truncation, reason = "it is a tiny number")]
    let epsilon = epsilon.ok_or("it lacks the number `layer_norm_eps`")? as f32;
    Ok(BertConfig {
        layers: number("num_hidden_layers")?,
        width: number("hidden_size")?,
        inner: number("intermediate_size")?,
        heads: number("num_attention_heads")?,
        context: number("max_position_embeddings")?,
        types: number("type_vocab_size")?,
        epsilon,
    })
}

fn read_words(file: &PathBuf) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn entries(
    config: &BertConfig,
    words: Vec<String>,
) -> Result<Vec<(&'static str, GgufValue)>, String> {
    let special = |word: &str| {
        let at = words.iter().position(|other| other == word);
        at.and_then(|at| u32::try_from(at).ok()).ok_or_else(|| format!("it has no word `{word}`"))
    };
    let (unknown, separator, padding) = (special("[UNK]")?, special("[SEP]")?, special("[PAD]")?);
    let (class, mask) = (special("[CLS]")?, special("[MASK]")?);
    let is_special = |word: &str| word.starts_with('[') && word.ends_with(']') && word.len() > 2;
    let kinds = words
        .iter()
        .map(|word| if is_special(word) { CONTROL_TOKEN } else { NORMAL_TOKEN })
        .collect();
    let words = words
        .into_iter()
        .map(|word| match word.strip_prefix("##") {
            Some(rest) => rest.to_owned(),
            None if is_special(&word) => word,
            None => format!("{WORD_BEGINS}{word}"),
        })
        .collect();
    Ok(vec![
        ("general.architecture", GgufValue::Text("bert".into())),
        ("general.alignment", GgufValue::Number(32)),
        ("bert.block_count", GgufValue::Number(config.layers)),
        ("bert.context_length", GgufValue::Number(config.context)),
        ("bert.embedding_length", GgufValue::Number(config.width)),
        ("bert.feed_forward_length", GgufValue::Number(config.inner)),
        ("bert.attention.head_count", GgufValue::Number(config.heads)),
        ("bert.attention.layer_norm_epsilon", GgufValue::Float(config.epsilon)),
        ("bert.attention.causal", GgufValue::Bool(false)),
        ("bert.pooling_type", GgufValue::Number(MEAN)),
        ("tokenizer.ggml.model", GgufValue::Text("bert".into())),
        ("tokenizer.ggml.pre", GgufValue::Text("default".into())),
        ("tokenizer.ggml.token_type_count", GgufValue::Number(config.types)),
        ("tokenizer.ggml.tokens", GgufValue::Texts(words)),
        ("tokenizer.ggml.token_type", GgufValue::Numbers(kinds)),
        ("tokenizer.ggml.unknown_token_id", GgufValue::Number(unknown)),
        ("tokenizer.ggml.seperator_token_id", GgufValue::Number(separator)),
        ("tokenizer.ggml.padding_token_id", GgufValue::Number(padding)),
        ("tokenizer.ggml.cls_token_id", GgufValue::Number(class)),
        ("tokenizer.ggml.bos_token_id", GgufValue::Number(class)),
        ("tokenizer.ggml.eos_token_id", GgufValue::Number(separator)),
        ("tokenizer.ggml.mask_token_id", GgufValue::Number(mask)),
    ])
}

fn tensors(file: &Path, layers: u32) -> Result<Vec<Tensor>, String> {
    let from = Tensors::read(file)?;
    // Some files prefix each tensor with the name of the network.
    let prefix =
        if from.find("bert.embeddings.word_embeddings.weight").is_ok() { "bert." } else { "" };
    let mut tensors = Vec::new();
    let mut take = |ours: String, theirs: String| -> Result<(), String> {
        let found = from.find(&format!("{prefix}{theirs}"))?;
        let shape = found.shape.into_iter().rev().collect();
        tensors.push(Tensor { name: ours, shape, numbers: found.numbers });
        Ok(())
    };
    for (ours, theirs) in [
        ("token_embd.weight", "word_embeddings.weight"),
        ("position_embd.weight", "position_embeddings.weight"),
        ("token_types.weight", "token_type_embeddings.weight"),
        ("token_embd_norm.weight", "LayerNorm.weight"),
        ("token_embd_norm.bias", "LayerNorm.bias"),
    ] {
        take(ours.into(), format!("embeddings.{theirs}"))?;
    }
    for layer in 0..layers {
        for (ours, theirs) in LAYER {
            for part in ["weight", "bias"] {
                let theirs = format!("encoder.layer.{layer}.{theirs}.{part}");
                take(format!("blk.{layer}.{ours}.{part}"), theirs)?;
            }
        }
    }
    Ok(tensors)
}
