//! `Probe`: the deserializer that writes down what it is asked for.

use std::cell::Cell;

use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
        MapAccess, SeqAccess, VariantAccess, Visitor,
        value::{Error, StrDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Value, json};

/// What a type asks for.
pub(super) enum Found {
    /// Something without parts.
    Plain(Value),
    /// Its only part.
    Same,
    Option,
    Sequence,
    Map,
    Tuple(usize),
    Fields(&'static [&'static str]),
    Variants(&'static [&'static str]),
}

/// Runs `T` and returns what it asks for at the end of the path.
pub(super) fn find<T: DeserializeOwned>(path: &[usize]) -> Option<Found> {
    let found = Cell::new(None);
    // It fails in any case: nothing is ever given to it.
    let _ = T::deserialize(Probe {
        path,
        found: &found,
    });
    found.into_inner()
}

#[derive(Clone, Copy)]
struct Probe<'p> {
    path: &'p [usize],
    found: &'p Cell<Option<Found>>,
}

impl<'p> Probe<'p> {
    /// Where the path goes on, and what is looked at there; writes down what was found at its end.
    fn further(self, here: impl FnOnce() -> Found) -> Result<(usize, Self), Error> {
        let Some((first, rest)) = self.path.split_first() else {
            self.found.set(Some(here()));
            return Err(refused());
        };
        Ok((*first, Self { path: rest, ..self }))
    }

    fn plain<T>(self, shape: Value) -> Result<T, Error> {
        self.further(|| Found::Plain(shape))?;
        Err(refused())
    }
}

fn refused() -> Error {
    Error::custom("nothing is given here")
}

macro_rules! plain {
    ($($method:ident $shape:tt)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            self.plain(json!($shape))
        }
    )*};
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    plain! {
        deserialize_any {}
        deserialize_bool {"type": "boolean"}
        deserialize_i8 {"type": "integer"}
        deserialize_i16 {"type": "integer"}
        deserialize_i32 {"type": "integer"}
        deserialize_i64 {"type": "integer"}
        deserialize_i128 {"type": "integer"}
        deserialize_u8 {"type": "integer", "minimum": 0}
        deserialize_u16 {"type": "integer", "minimum": 0}
        deserialize_u32 {"type": "integer", "minimum": 0}
        deserialize_u64 {"type": "integer", "minimum": 0}
        deserialize_u128 {"type": "integer", "minimum": 0}
        deserialize_f32 {"type": "number"}
        deserialize_f64 {"type": "number"}
        deserialize_char {"type": "string", "minLength": 1, "maxLength": 1}
        deserialize_str {"type": "string"}
        deserialize_string {"type": "string"}
        deserialize_unit {"type": "null"}
    }

    forward_to_deserialize_any! { bytes byte_buf identifier ignored_any }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (_, part) = self.further(|| Found::Option)?;
        visitor.visit_some(part)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (_, part) = self.further(|| Found::Same)?;
        visitor.visit_newtype_struct(part)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (_, part) = self.further(|| Found::Sequence)?;
        visitor.visit_seq(One(part))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, _: V) -> Result<V::Value, Error> {
        self.further(|| Found::Tuple(length))?;
        Err(refused())
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (_, part) = self.further(|| Found::Map)?;
        // Any key will do; a type that does not take this one does not show its values.
        visitor.visit_map(Entry { key: "1", part })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (index, part) = self.further(|| Found::Fields(fields))?;
        let key = fields.get(index).ok_or_else(refused)?;
        visitor.visit_map(Entry { key, part })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (index, part) = self.further(|| Found::Variants(variants))?;
        let name = variants.get(index).ok_or_else(refused)?;
        visitor.visit_enum(Variant { name, part })
    }
}

/// A sequence that begins with what is looked at.
struct One<'p>(Probe<'p>);

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        seed.deserialize(self.0).map(Some)
    }
}

/// An object that begins with what is looked at.
struct Entry<'p> {
    key: &'static str,
    part: Probe<'p>,
}

impl<'de> MapAccess<'de> for Entry<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let key: StrDeserializer<'_, Error> = self.key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.part)
    }
}

/// A variant, and a look at what it holds.
struct Variant<'p> {
    name: &'static str,
    part: Probe<'p>,
}

impl<'de, 'p> EnumAccess<'de> for Variant<'p> {
    type Error = Error;
    type Variant = Probe<'p>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Probe<'p>), Error> {
        let name: StrDeserializer<'_, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.part))
    }
}

impl<'de> VariantAccess<'de> for Probe<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.plain(Value::Null)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_struct("", fields, visitor)
    }
}
