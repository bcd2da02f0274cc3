//! ostrakon
