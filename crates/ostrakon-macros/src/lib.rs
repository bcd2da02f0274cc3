//! ostrakon-macros
