//! `Token`: the secret by which an operator or a program is known that has no certificate.
//!
//! It is compared in a time that does not depend on where a guess is wrong, and it is never shown.

use std::{fmt, hint::black_box, path::Path};

use thiserror::Error;

/// The secret that lets its bearer do what others may not.
#[derive(Clone)]
pub struct Token(String);

/// Why a text is no token. Nothing runs with it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidToken {
    /// It can be guessed.
    #[error(
        "a token needs at least {least} characters, this one has {found}: make one with `openssl rand -hex 32`"
    )]
    TooShort {
        /// The least.
        least: usize,
        /// How many it has.
        found: usize,
    },
    /// It cannot be sent in a header.
    #[error(
        "a token is made of visible ASCII characters without spaces: make one with `openssl rand -hex 32`"
    )]
    BadCharacter,
    /// The file that has it cannot be read.
    #[error("cannot read the token from {file}: {cause}")]
    Unreadable {
        /// Which file.
        file: String,
        /// What the system says.
        cause: String,
    },
}

impl Token {
    /// The fewest characters of a token.
    pub const LEAST: usize = 16;

    /// Checks that it is not too easy to guess. White space around it is no part of it.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken::BadCharacter);
        }
        if text.len() < Self::LEAST {
            let (least, found) = (Self::LEAST, text.len());
            return Err(InvalidToken::TooShort { least, found });
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads it from a file that holds nothing else.
    pub fn read(file: &Path) -> Result<Self, InvalidToken> {
        let text = std::fs::read_to_string(file).map_err(|error| InvalidToken::Unreadable {
            file: file.display().to_string(),
            cause: error.to_string(),
        })?;
        Self::new(&text)
    }

    /// The secret itself, for whoever has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a guess is right. How long the token is may show; nothing else does.
    pub fn is(&self, guess: &str) -> bool {
        let pairs = self.0.bytes().zip(guess.bytes());
        let differing = pairs.fold(0, |differing, (own, other)| {
            black_box(differing | (own ^ other))
        });
        self.0.len() == guess.len() && differing == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_same_text_is_right() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef"));
        for guess in [
            "",
            "0123456789abcde",
            "0123456789abcdeF",
            "0123456789abcdef0",
            "1123456789abcdef",
        ] {
            assert!(!token.is(guess), "{guess}");
        }
    }

    #[test]
    fn what_can_be_guessed_or_not_be_sent_is_refused() {
        assert!(matches!(
            Token::new("0123456789abcde"),
            Err(InvalidToken::TooShort { found: 15, .. })
        ));
        assert!(matches!(
            Token::new(""),
            Err(InvalidToken::TooShort { found: 0, .. })
        ));
        assert!(matches!(
            Token::new("0123456789 abcdef"),
            Err(InvalidToken::BadCharacter)
        ));
        assert!(matches!(
            Token::new("0123456789äbcdef"),
            Err(InvalidToken::BadCharacter)
        ));
    }

    #[test]
    fn it_is_not_shown() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
