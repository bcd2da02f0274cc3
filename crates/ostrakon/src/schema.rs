//! The schema hash that guards [`Codec::Postcard`](crate::codec::Codec::Postcard).
//!
//! A type's `Deserialize` is run against invented values while everything it asks for is written
//! down: container names, field and variant names in order, primitives, nesting. Two builds with
//! the same hash therefore read the same bytes the same way. An enum shows one variant per run,
//! so the type is run until every variant of every enum in it has been seen.
//!
//! Nothing here looks at a real message. A type for which the guard would have a hole is refused,
//! and so is one that malformed bytes could turn into endless work: a recursive type, and a
//! sequence whose elements take no bytes.

use std::any::{TypeId, type_name};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Display, Write as _};
use std::mem;

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer as _, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

use crate::{codec::CodecError, wire};

/// Deeper than any message nests by design, shallow enough for a small thread's stack.
const MAX_DEPTH: usize = 64;
/// Runs in a row that a type may refuse before it counts as impossible to sample.
const MAX_REFUSALS: usize = 2_000;

/// Strings for types that parse theirs: numbers, dates, times, versions, addresses, identifiers.
const WORDS: [&str; 16] = [
    "a",
    "",
    "1",
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00",
    "1970-01-01",
    "00:00:00",
    "UTC",
    "+00:00",
    "1.0.0",
    "127.0.0.1",
    "127.0.0.1:80",
    "http://host.example/",
    "user@host.example",
    "00000000-0000-4000-8000-000000000000",
    "EUR",
];
/// Byte strings in the lengths that identifiers, addresses, digests and keys have.
const BLOBS: [&[u8]; 9] = [
    &[1; 16],
    &[],
    &[1; 1],
    &[1; 4],
    &[1; 8],
    &[1; 12],
    &[1; 20],
    &[1; 32],
    &[1; 64],
];

thread_local! {
    static HASHES: RefCell<HashMap<TypeId, Result<u64, CodecError>>> = RefCell::default();
}

/// A 64-bit hash of how `T` reads itself, the same in every build with the same definition.
pub(crate) fn schema_hash<T: DeserializeOwned + 'static>() -> Result<u64, CodecError> {
    let id = TypeId::of::<T>();
    if let Some(known) = HASHES.with_borrow(|hashes| hashes.get(&id).cloned()) {
        return known;
    }
    // The cache is not borrowed meanwhile: a `Deserialize` may itself decode a message.
    // Nor is the message that is being encoded: the replies in invented values belong to nobody.
    let hash = match wire::outside(|| Tracer::default().describe::<T>()) {
        Ok(schema) => Ok(ostrakon_core::stable_hash(&schema)),
        Err(cause) => Err(CodecError::Schema {
            type_name: type_name::<T>(),
            cause,
        }),
    };
    HASHES.with_borrow_mut(|hashes| hashes.insert(id, hash.clone()));
    hash
}

/// A place in a type: which child of which child, counted from the root.
type Path = Vec<usize>;

/// The deserializer that invents values and writes down what it was asked for.
#[derive(Default)]
struct Tracer {
    /// What the current run has been asked for so far.
    shape: String,
    path: Path,
    /// Things seen in this run that take at least one byte in a message.
    wide: usize,
    /// Whether a later run will see something new below the current place.
    pending: bool,
    enums: Vec<Enum>,
    /// By visitor, not by name: `Page<A>` and `Page<B>` are both called `Page`.
    enum_ids: HashMap<(&'static str, &'static [&'static str]), usize>,
    /// Enums whose current variant this run shows completely.
    shown: BTreeSet<usize>,
    /// Which sample each place gets; the first unless it was refused.
    choices: HashMap<Path, usize>,
    /// The places that got a sample in this run, and how many there are to choose from.
    sampled: Vec<(Path, usize)>,
}

/// How far an enum has been seen.
struct Enum {
    next: usize,
    count: usize,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    /// The type refuses a value; another one may do.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unsupported(&'static str),
    /// The run learnt something that makes it worth repeating.
    #[error("the schema has to be traced again")]
    Again,
}

impl serde::de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::Refused(message.to_string())
    }
}

impl Tracer {
    fn describe<T: DeserializeOwned>(mut self) -> Result<String, String> {
        let mut schema = String::new();
        let mut first_refusal = None;
        let mut refusals = 0;
        loop {
            self.start_run();
            match T::deserialize(&mut self) {
                Ok(_) => {
                    schema.push_str(&self.shape);
                    schema.push('\n');
                    (first_refusal, refusals) = (None, 0);
                    self.shown.iter().for_each(|&id| self.enums[id].next += 1);
                    if !self.pending {
                        return self.finish(schema);
                    }
                }
                Err(Fault::Again) => {}
                Err(Fault::Unsupported(cause)) => return Err(cause.to_owned()),
                Err(Fault::Refused(cause)) => {
                    let first = first_refusal.get_or_insert(cause);
                    refusals += 1;
                    if refusals > MAX_REFUSALS || !self.choose_other_samples() {
                        return Err(format!("it refuses every sample value ({first})"));
                    }
                }
            }
        }
    }

    fn start_run(&mut self) {
        self.shape.clear();
        self.path.clear();
        self.wide = 0;
        self.pending = false;
        self.shown.clear();
        self.sampled.clear();
    }

    fn finish(self, schema: String) -> Result<String, String> {
        if self.enums.iter().any(|seen| seen.next < seen.count) {
            return Err("its shape depends on the values in it".to_owned());
        }
        Ok(schema)
    }

    /// Counts up like an odometer whose last wheel is the sample handed out last: that is the one
    /// a type most likely refused.
    fn choose_other_samples(&mut self) -> bool {
        while let Some((path, count)) = self.sampled.pop() {
            let choice = self.choices.entry(path).or_default();
            *choice += 1;
            if *choice < count {
                return true;
            }
            *choice = 0;
        }
        false
    }

    fn sample<T: Copy>(&mut self, samples: &[T]) -> T {
        self.sampled.push((self.path.clone(), samples.len()));
        self.wide += 1;
        samples[self.choices.get(&self.path).copied().unwrap_or_default()]
    }

    fn note(&mut self, part: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.shape.write_fmt(part);
    }

    fn below<R>(
        &mut self,
        index: usize,
        read: impl FnOnce(&mut Self) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        if self.path.len() >= MAX_DEPTH {
            return Err(Fault::Unsupported(
                "it is recursive, and a malformed message could nest it until the stack overflows",
            ));
        }
        self.path.push(index);
        let value = read(self);
        self.path.pop();
        self.shape.push(' ');
        value
    }

    fn children<'de, V: Visitor<'de>>(
        &mut self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.shape.push('(');
        let value = visitor.visit_seq(Children {
            tracer: self,
            next: 0,
            count,
        })?;
        self.shape.push(')');
        Ok(value)
    }

    fn enum_id(&mut self, visitor: &'static str, variants: &'static [&'static str]) -> usize {
        *self.enum_ids.entry((visitor, variants)).or_insert_with(|| {
            self.enums.push(Enum {
                next: 0,
                count: variants.len(),
            });
            self.enums.len() - 1
        })
    }
}

macro_rules! primitives {
    ($($method:ident $visit:ident $shape:literal $samples:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.shape.push_str($shape);
            visitor.$visit(self.sample(&$samples))
        }
    )*};
}

macro_rules! unsupported {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
            Err(Fault::Unsupported(
                "it needs a self-describing format (untagged, tagged or flattened)",
            ))
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Tracer {
    type Error = Fault;

    // One before zero: more types refuse zero than one.
    primitives! {
        deserialize_bool visit_bool "bool" [false, true];
        deserialize_i8 visit_i8 "i8" [1, 0, 2, 10, 100];
        deserialize_i16 visit_i16 "i16" [1, 0, 2, 10, 100];
        deserialize_i32 visit_i32 "i32" [1, 0, 2, 10, 100];
        deserialize_i64 visit_i64 "i64" [1, 0, 2, 10, 100];
        deserialize_i128 visit_i128 "i128" [1, 0, 2, 10, 100];
        deserialize_u8 visit_u8 "u8" [1, 0, 2, 10, 100];
        deserialize_u16 visit_u16 "u16" [1, 0, 2, 10, 100];
        deserialize_u32 visit_u32 "u32" [1, 0, 2, 10, 100];
        deserialize_u64 visit_u64 "u64" [1, 0, 2, 10, 100];
        deserialize_u128 visit_u128 "u128" [1, 0, 2, 10, 100];
        deserialize_f32 visit_f32 "f32" [1.0, 0.0, 0.5, 10.0, 100.0];
        deserialize_f64 visit_f64 "f64" [1.0, 0.0, 0.5, 10.0, 100.0];
        deserialize_char visit_char "char" ['a', 'A', '1'];
        deserialize_str visit_str "str" WORDS;
        deserialize_string visit_str "str" WORDS;
        deserialize_bytes visit_bytes "bytes" BLOBS;
        deserialize_byte_buf visit_bytes "bytes" BLOBS;
    }

    unsupported! { deserialize_any deserialize_identifier deserialize_ignored_any }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.shape.push_str("option ");
        self.wide += 1;
        self.below(0, |tracer| visitor.visit_some(tracer))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.shape.push_str("unit");
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.note(format_args!("unit {name:?}"));
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.note(format_args!("newtype {name:?} "));
        self.below(0, |tracer| visitor.visit_newtype_struct(tracer))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.shape.push_str("seq (");
        let value = visitor.visit_seq(Items::new(self))?;
        self.shape.push(')');
        Ok(value)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.shape.push_str("map (");
        let value = visitor.visit_map(Items::new(self))?;
        self.shape.push(')');
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.note(format_args!("tuple {len}"));
        self.children(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.note(format_args!("tuple {name:?} {len}"));
        self.children(len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.note(format_args!("struct {name:?} {fields:?}"));
        self.children(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let id = self.enum_id(type_name::<V>(), variants);
        let Enum { next, count } = self.enums[id];
        let index = if next < count { next } else { 0 };
        self.note(format_args!("enum {name:?} {variants:?} {index} "));
        self.wide += 1;
        let pending_before = mem::take(&mut self.pending);
        let value = self.below(index, |tracer| {
            visitor.visit_enum(Variant { tracer, id, index })
        })?;
        if next < count && !self.pending {
            self.shown.insert(id);
            self.pending = next + 1 < count;
        }
        self.pending |= pending_before;
        Ok(value)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A fixed number of values, one after the other: fields.
struct Children<'a> {
    tracer: &'a mut Tracer,
    next: usize,
    count: usize,
}

impl<'de> SeqAccess<'de> for Children<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        if self.next == self.count {
            return Ok(None);
        }
        self.next += 1;
        self.tracer
            .below(self.next - 1, |tracer| seed.deserialize(tracer))
            .map(Some)
    }
}

/// Any number of values of one shape; one of them, unless the type wants more.
struct Items<'a> {
    tracer: &'a mut Tracer,
    left: usize,
    wide_before: usize,
}

impl<'a> Items<'a> {
    fn new(tracer: &'a mut Tracer) -> Self {
        let left = tracer.sample(&[1, 2, 3, 4, 0]);
        let wide_before = tracer.wide;
        Self {
            tracer,
            left,
            wide_before,
        }
    }

    /// A length prefix may promise any number of elements that take no bytes, and reading them
    /// would never run out of input.
    fn refuse_empty_items(&mut self) -> Result<(), Fault> {
        if self.tracer.wide == self.wide_before {
            return Err(Fault::Unsupported(
                "it holds a sequence of values that take no bytes, so nothing bounds its length",
            ));
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let value = self.tracer.below(0, |tracer| seed.deserialize(tracer))?;
        self.refuse_empty_items()?;
        Ok(Some(value))
    }
}

impl<'de> MapAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.tracer
            .below(0, |tracer| seed.deserialize(tracer))
            .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let value = self.tracer.below(1, |tracer| seed.deserialize(tracer))?;
        self.refuse_empty_items()?;
        Ok(value)
    }
}

/// The variant of an enum that the current run shows.
struct Variant<'a> {
    tracer: &'a mut Tracer,
    id: usize,
    index: usize,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let index = u32::try_from(self.index).map_err(|_| Fault::Unsupported("it is too big"))?;
        let tag: U32Deserializer<Fault> = index.into_deserializer();
        match seed.deserialize(tag) {
            Ok(tag) => Ok((tag, self)),
            Err(_) if self.index == 0 => Err(Fault::Unsupported("an enum in it has no variant 0")),
            // The list of names also holds aliases, so it can be longer than the list of variants.
            Err(_) => {
                self.tracer.enums[self.id].count = self.index;
                Err(Fault::Again)
            }
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        self.tracer.shape.push_str("unit");
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        self.tracer.shape.push_str("newtype ");
        self.tracer.below(0, |tracer| seed.deserialize(tracer))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.tracer.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.tracer.note(format_args!("struct {fields:?}"));
        self.tracer.children(fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests;
