//! Reads images for prompts.
//!
//! Must never: send a file that is not an image, even if its name says so.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use agentry_protocol::message::Image;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::fault::{Blame, Fault};
use crate::limits::IMAGE_BYTES_MAX;

/// The first bytes of the formats that providers accept.
const KINDS: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// Reads an image from a file. Fails if it is too large or of another format.
pub fn read(path: &Path) -> Result<Image, Fault> {
    let fault = |why: String| Fault::new(Blame::Caller, format!("{}: {why}", path.display()));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| fault(error.to_string()))?;
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        let text = format!("the image is larger than {} MiB", IMAGE_BYTES_MAX >> 20);
        return Err(fault(text).hint("use a smaller image"));
    }
    of_bytes(&bytes).ok_or_else(|| {
        fault("this is not an image that models accept".to_owned())
            .hint("use PNG, JPEG, GIF or WebP")
    })
}

fn of_bytes(bytes: &[u8]) -> Option<Image> {
    let (_, media_type) = KINDS.iter().find(|(first, _)| bytes.starts_with(first))?;
    if *media_type == "image/webp" && bytes.get(8..12) != Some(b"WEBP") {
        return None;
    }
    Some(Image { media_type: (*media_type).to_owned(), data: STANDARD.encode(bytes) })
}

/// Decodes an image from base64; its bytes decide the format.
pub fn of_base64(data: &str) -> Result<Image, String> {
    if data.len() as u64 > IMAGE_BYTES_MAX / 3 * 4 + 4 {
        return Err(format!("an image is larger than {} MiB", IMAGE_BYTES_MAX >> 20));
    }
    let bytes =
        STANDARD.decode(data).map_err(|error| format!("an image is not base64: {error}"))?;
    of_bytes(&bytes).ok_or_else(|| "an image is not PNG, JPEG, GIF or WebP".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_say_what_it_is() {
        let kind = |bytes: &[u8]| of_bytes(bytes).map(|image| image.media_type);
        assert_eq!(kind(b"\x89PNG\r\n\x1a\nrest").as_deref(), Some("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0").as_deref(), Some("image/jpeg"));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 ").as_deref(), Some("image/webp"));
        assert_eq!(kind(b"RIFF\0\0\0\0WAVEfmt "), None);
        assert_eq!(kind(b"#!/bin/sh"), None);
    }

    #[test]
    fn what_a_program_hands_in_is_looked_at_too() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\nrest");
        assert_eq!(of_base64(&png).unwrap().data, png);
        assert!(of_base64("no base64!").unwrap_err().starts_with("an image is not base64"));
        assert!(of_base64("aGVsbG8=").is_err());
        let long = "A".repeat(usize::try_from(IMAGE_BYTES_MAX).unwrap() * 2);
        assert!(of_base64(&long).unwrap_err().contains("larger than"));
    }
}
