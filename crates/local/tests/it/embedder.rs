//! The embedder gives the vectors that its makers' own program gives.
//!
//! Must never: depend on the order of texts.

use agentry_local::{Embedder, EngineSettings, GgufEmbedder, LocalError, gguf_of_bert};

use crate::talk::{minilm, tiny};

/// The first eight numbers for `SENTENCE`, computed once with the published model in Python.
const REFERENCE: [f32; 8] =
    [0.04393, 0.05893, 0.04818, 0.07755, 0.02674, -0.03763, -0.00261, -0.05994];
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog.";

fn opened() -> (tempfile::TempDir, GgufEmbedder) {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("minilm.gguf");
    gguf_of_bert(&minilm(), &file).unwrap_or_else(|error| panic!("{error}"));
    let embedder = GgufEmbedder::open(&file, &EngineSettings::default());
    (folder, embedder.unwrap_or_else(|error| panic!("{error}")))
}

fn likeness(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[test]
fn vectors_are_those_of_the_published_model() {
    let (_folder, embedder) = opened();
    let vectors = embedder.embed(&[SENTENCE]).expect("it embeds");
    assert_eq!((embedder.dimensions(), vectors[0].len()), (384, 384));
    for (ours, theirs) in vectors[0].iter().zip(REFERENCE) {
        assert!((ours - theirs).abs() < 1e-2, "{:?}", &vectors[0][..8]);
    }
}

#[test]
fn like_texts_are_near_and_every_vector_has_length_one() {
    let (_folder, embedder) = opened();
    let long = "a very long text ".repeat(400);
    let texts = [
        "How do I read a file?",
        "What is the way to open a document?",
        "The soup needs more salt.",
        "",
        &long,
        "x",
        "y",
        "z",
        "Wie lese ich eine Datei?",
        "last",
    ];
    let vectors = embedder.embed(&texts).expect("it embeds");
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(&vectors) {
        let length = likeness(vector, vector).sqrt();
        assert!((length - 1.0).abs() < 1e-3, "{length} for {text:.20}");
    }
    let (near, far) = (likeness(&vectors[0], &vectors[1]), likeness(&vectors[0], &vectors[2]));
    assert!(near > far + 0.2, "{near} and {far}");
    let alone = embedder.embed(&["last"]).expect("it embeds");
    assert!(likeness(&alone[0], &vectors[9]) > 0.999, "its neighbours changed it");
    assert_eq!(embedder.embed(&[]).expect("nothing is fine"), Vec::<Vec<f32>>::new());
}

#[test]
fn a_chat_model_is_no_embedder_and_a_chat_file_no_source() {
    let error =
        GgufEmbedder::open(&tiny(), &EngineSettings::default()).err().expect("it is another kind");
    assert!(matches!(error, LocalError::WrongKind { .. }), "{error}");
    let folder = tempfile::tempdir().expect("there is room");
    let to = folder.path().join("a.gguf");
    let error = gguf_of_bert(folder.path(), &to).expect_err("the folder is empty");
    assert!(error.to_string().contains("config.json"), "{error}");
    assert!(!to.exists());
}
