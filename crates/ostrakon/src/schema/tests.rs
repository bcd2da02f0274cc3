use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroI8, NonZeroU32};
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use super::*;

fn hash<T: DeserializeOwned + 'static>() -> u64 {
    schema_hash::<T>().unwrap()
}

fn refusal<T: DeserializeOwned + 'static>() -> String {
    schema_hash::<T>().unwrap_err().to_string()
}

/// Declares versions of one type, each in a module of its own, as two builds would have them.
macro_rules! versions {
    ($($module:ident: $kind:tt $name:ident $body:tt)*) => {$(
        mod $module {
            #[derive(serde::Deserialize)]
            #[allow(dead_code)]
            pub(super) $kind $name $body
        }
    )*};
}

versions! {
    base: struct Order { id: u32, note: String }
    same: struct Order { id: u32, note: String }
    renamed_type: struct Purchase { id: u32, note: String }
    added: struct Order { id: u32, note: String, paid: bool }
    renamed: struct Order { id: u32, text: String }
    reordered: struct Order { note: String, id: u32 }
    retyped: struct Order { id: u64, note: String }
}

#[test]
fn equal_definitions_have_equal_hashes() {
    assert_eq!(hash::<base::Order>(), hash::<same::Order>());
}

#[test]
fn the_hash_of_a_definition_is_the_same_in_every_build() {
    assert_eq!(hash::<base::Order>(), 14_158_124_407_227_621_554);
}

#[test]
fn every_change_to_a_struct_changes_the_hash() {
    let hashes = BTreeSet::from([
        hash::<base::Order>(),
        hash::<renamed_type::Purchase>(),
        hash::<added::Order>(),
        hash::<renamed::Order>(),
        hash::<reordered::Order>(),
        hash::<retyped::Order>(),
    ]);
    assert_eq!(hashes.len(), 6);
}

versions! {
    v1: enum Event { Started, Moved { to: u8 }, Named(String), Pair(u8, u8) }
    more: enum Event { Started, Moved { to: u8 }, Named(String), Pair(u8, u8), Done }
    swapped: enum Event { Moved { to: u8 }, Started, Named(String), Pair(u8, u8) }
    field: enum Event { Started, Moved { by: u8 }, Named(String), Pair(u8, u8) }
    content: enum Event { Started, Moved { to: u8 }, Named(char), Pair(u8, u8) }
    last: enum Event { Started, Moved { to: u8 }, Named(String), Pair(u8, i8) }
}

#[test]
fn every_change_to_an_enum_changes_the_hash() {
    let hashes = BTreeSet::from([
        hash::<v1::Event>(),
        hash::<more::Event>(),
        hash::<swapped::Event>(),
        hash::<field::Event>(),
        hash::<content::Event>(),
        hash::<last::Event>(),
    ]);
    assert_eq!(hashes.len(), 6);
}

#[derive(Deserialize)]
#[allow(dead_code)]
enum Outer<T> {
    Nothing,
    Many(Vec<Option<Layer<T>>>),
    Other(BTreeMap<String, (u8, Layer<T>)>),
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Layer<T> {
    first: Result<u8, String>,
    inner: Box<T>,
}

#[test]
fn a_change_deep_inside_changes_the_hash() {
    let hashes = BTreeSet::from([
        hash::<Outer<v1::Event>>(),
        hash::<Outer<more::Event>>(),
        hash::<Outer<last::Event>>(),
        hash::<Outer<Result<v1::Event, u8>>>(),
        hash::<Outer<Result<last::Event, u8>>>(),
    ]);
    assert_eq!(hashes.len(), 5);
    assert_eq!(hash::<Outer<base::Order>>(), hash::<Outer<same::Order>>());
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Page<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Two<A, B>(Page<A>, Page<B>, Result<A, B>, Result<B, A>);

#[test]
fn containers_of_one_name_are_told_apart() {
    assert_ne!(hash::<Two<u8, String>>(), hash::<Two<u8, u64>>());
    assert_ne!(hash::<Two<u8, String>>(), hash::<Two<u8, u8>>());
    assert_ne!(
        hash::<Result<Result<u8, String>, u8>>(),
        hash::<Result<Result<u8, char>, u8>>()
    );
}

#[derive(Deserialize)]
#[allow(dead_code)]
enum Aliased {
    #[serde(alias = "Uno")]
    One,
    Two(u8),
    #[serde(alias = "Tres")]
    Three(v1::Event),
}

#[test]
fn aliases_do_not_hide_variants() {
    let schema = Tracer::default().describe::<Aliased>().unwrap();
    assert!(schema.contains("2 newtype enum \"Event\""), "{schema}");
    assert!(schema.contains("2 newtype str"), "{schema}");
}

#[test]
fn every_kind_of_value_has_a_hash() {
    hash::<()>();
    hash::<(bool, i8, i16, i32, i64, i128, u8, u16, u32, u64, u128)>();
    hash::<(f32, f64, char, String, Box<str>, Vec<u8>, usize, isize)>();
    hash::<(Option<Option<u8>>, [u8; 32], BTreeMap<u8, BTreeSet<char>>)>();
    hash::<PhantomData<u8>>();
    hash::<std::ffi::CString>();
}

#[test]
fn std_types_that_check_their_values_have_a_hash() {
    hash::<(NonZeroU32, NonZeroI8, IpAddr, SocketAddr)>();
    hash::<(Duration, SystemTime, Range<u32>, PathBuf)>();
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Parsed<const WORD: usize>;

impl<const WORD: usize> TryFrom<String> for Parsed<WORD> {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        (WORDS[WORD] == text).then_some(Self).ok_or("not my word")
    }
}

#[derive(Deserialize)]
#[serde(try_from = "(u32, u32)")]
struct Rising;

impl TryFrom<(u32, u32)> for Rising {
    type Error = &'static str;
    fn try_from((low, high): (u32, u32)) -> Result<Self, Self::Error> {
        (low < high).then_some(Self).ok_or("not rising")
    }
}

#[test]
fn types_that_check_their_values_are_offered_others() {
    hash::<Parsed<0>>();
    hash::<Vec<(Parsed<3>, Option<Parsed<15>>, Rising, Parsed<1>)>>();
    hash::<Result<Parsed<14>, (v1::Event, Rising)>>();
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Password;

impl TryFrom<String> for Password {
    type Error = &'static str;
    fn try_from(_: String) -> Result<Self, Self::Error> {
        Err("a password has twelve characters")
    }
}

#[test]
fn a_type_that_refuses_every_sample_is_told_to_use_message_pack() {
    let message = refusal::<(Password, u8)>();
    assert!(
        message.contains("a password has twelve characters"),
        "{message}"
    );
    assert!(
        message.ends_with("use MessagePack for this type"),
        "{message}"
    );
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Tree {
    #[allow(clippy::vec_box)]
    children: Vec<Box<Self>>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
enum Expression {
    Sum(Box<Self>, Box<Self>),
    Number(i64),
}

#[derive(Deserialize)]
#[allow(dead_code)]
#[serde(transparent)]
struct Nest(Vec<Self>);

#[derive(Deserialize)]
#[allow(dead_code)]
enum Ping {
    Stop,
    Go(Option<Pong>),
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Pong(BTreeMap<u8, Ping>);

#[test]
fn recursive_types_are_refused_and_do_not_hang() {
    assert!(refusal::<Tree>().contains("recursive"));
    assert!(refusal::<Expression>().contains("recursive"));
    assert!(refusal::<Nest>().contains("recursive"));
    assert!(refusal::<Ping>().contains("recursive"));
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Empty {}

#[test]
fn sequences_of_nothing_are_refused() {
    assert!(refusal::<Vec<()>>().contains("take no bytes"));
    assert!(refusal::<(u8, Option<Vec<(Empty, [u8; 0])>>)>().contains("take no bytes"));
    hash::<Vec<Option<()>>>();
}

#[derive(Deserialize)]
#[allow(dead_code)]
#[serde(untagged)]
enum Untagged {
    Number(u8),
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Flat {
    #[serde(flatten)]
    order: base::Order,
}

#[derive(Deserialize)]
#[allow(dead_code)]
#[serde(tag = "kind", content = "value")]
enum Tagged {
    This(u8),
}

#[test]
fn types_that_need_a_self_describing_format_are_refused() {
    assert!(refusal::<Untagged>().contains("self-describing"));
    assert!(refusal::<Tagged>().contains("self-describing"));
    assert!(refusal::<Flat>().contains("self-describing"));
}

/// Reads a `T` or nothing, depending on the flag before it.
struct Switch<T>(PhantomData<T>);

#[derive(Deserialize)]
enum Flag {
    Off,
    On,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Switch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, Self(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Switch<T> {
    type Value = Self;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a switch")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        if let Some(Flag::On) = seq.next_element()? {
            seq.next_element::<T>()?;
        }
        Ok(self)
    }
}

#[test]
fn a_shape_that_depends_on_values_is_seen_whole_or_refused() {
    assert_ne!(hash::<Switch<u8>>(), hash::<Switch<u16>>());
    assert!(refusal::<Switch<v1::Event>>().contains("depends on the values"));
}
