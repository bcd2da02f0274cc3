//! `Token`: the secret that lets its bearer call entities.
//!
//! It is never shown, and how long a wrong guess takes to refuse says nothing about where it is wrong.

use std::{fmt, hint::black_box, path::Path};

use thiserror::Error;

/// The secret that lets its bearer call entities.
#[derive(Clone)]
pub struct Token(String);

/// Why a text is no token. Nothing is served with it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidToken {
    /// It can be guessed.
    #[error(
        "a gateway's token has at least {least} characters, this one has {found}: `openssl rand -hex 32` makes a good one"
    )]
    TooShort {
        /// The fewest.
        least: usize,
        /// How many it has.
        found: usize,
    },
    /// It cannot travel in a header.
    #[error(
        "a gateway's token is visible ASCII without spaces: `openssl rand -hex 32` makes a good one"
    )]
    BadCharacter,
    /// The file that should hold it cannot be read.
    #[error("the gateway's token cannot be read from {file}: {cause}")]
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

    /// Takes a text that is hard enough to guess. White space around it does not count.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken::BadCharacter);
        }
        match text.len() {
            found if found < Self::LEAST => Err(InvalidToken::TooShort {
                least: Self::LEAST,
                found,
            }),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// Reads it from a file that holds nothing else.
    pub fn read(file: &Path) -> Result<Self, InvalidToken> {
        match std::fs::read_to_string(file) {
            Ok(text) => Self::new(&text),
            Err(error) => Err(InvalidToken::Unreadable {
                file: file.display().to_string(),
                cause: error.to_string(),
            }),
        }
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, guess: &str) -> bool {
        let (own, guess) = (self.0.as_bytes(), guess.as_bytes());
        let mut wrong = u8::from(own.len() != guess.len());
        for (own, guess) in own.iter().zip(guess) {
            wrong = black_box(wrong | (own ^ guess));
        }
        wrong == 0
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

    const TEXT: &str = "fedcba9876543210";

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::new(&format!("{TEXT}\n")).unwrap();
        assert!(token.is(TEXT));
        for wrong in [
            "",
            "f",
            &TEXT[1..],
            &TEXT.to_uppercase(),
            &format!("{TEXT}0"),
        ] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_is_short_or_cannot_be_sent_is_refused() {
        for short in ["", " \n", &TEXT[1..]] {
            let refused = Token::new(short).unwrap_err();
            assert!(matches!(refused, InvalidToken::TooShort { .. }), "{short}");
        }
        for bad in [format!("{TEXT} {TEXT}"), format!("{TEXT}é")] {
            let refused = Token::new(&bad).unwrap_err();
            assert!(matches!(refused, InvalidToken::BadCharacter), "{bad}");
        }
        let refused = Token::read("/no/such/file".as_ref()).unwrap_err();
        assert!(refused.to_string().contains("/no/such/file"));
    }

    #[test]
    fn it_does_not_show_itself() {
        assert!(!format!("{:?}", Token::new(TEXT).unwrap()).contains(TEXT));
    }
}
