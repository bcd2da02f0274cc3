//! ostrakon-core
