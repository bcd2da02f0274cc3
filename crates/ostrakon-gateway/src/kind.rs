//! `Kind`: an entity kind that is exposed, with its methods, and the way to call them.

use std::{fmt::Display, mem};

use ostrakon::{MethodList, Methods, Node, Payload};
use serde_json::Value;

use crate::{
    call::{self, Called},
    problem::Problem,
    request::Request,
    shape,
};

/// An entity kind that is exposed.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) methods: Vec<Method>,
    /// Where the types of the kind are known.
    pub(crate) call: fn(&Node, &Method, Request) -> Result<Called, Problem>,
}

/// A method as callers see it.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) docs: &'static str,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) answer: Answer,
}

pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// As JSON Schema.
    pub(crate) shape: Value,
}

/// What comes back, as JSON Schema.
pub(crate) enum Answer {
    Value(Value),
    Outcome { value: Value, error: Value },
    Items(Value),
}

impl Kind {
    pub(crate) fn of<E: Methods>() -> Self {
        let mut list = List::default();
        E::list(&mut list);
        Self {
            name: E::KIND,
            methods: list.methods,
            call: call::call::<E>,
        }
    }

    pub(crate) fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// The names of its methods, for people.
    pub(crate) fn known(&self) -> String {
        let names: Vec<&str> = self.methods.iter().map(|method| method.name).collect();
        names.join(", ")
    }
}

impl Method {
    /// What it takes, for people.
    pub(crate) fn takes(&self) -> String {
        let names: Vec<&str> = self.arguments.iter().map(|taken| taken.name).collect();
        match names.as_slice() {
            [] => format!("`{}` takes no arguments", self.name),
            names => format!("`{}` takes: {}", self.name, names.join(", ")),
        }
    }
}

/// Takes down the methods of a kind.
#[derive(Default)]
struct List {
    methods: Vec<Method>,
    /// Those of the method to come.
    arguments: Vec<Argument>,
}

impl List {
    fn add(&mut self, name: &'static str, docs: &'static str, answer: Answer) {
        let arguments = mem::take(&mut self.arguments);
        self.methods.push(Method {
            name,
            docs: docs.trim(),
            arguments,
            answer,
        });
    }
}

impl MethodList for List {
    fn argument<T: Payload>(&mut self, name: &'static str) {
        let shape = shape::of::<T>();
        self.arguments.push(Argument { name, shape });
    }

    fn value<T: Payload>(&mut self, method: &'static str, docs: &'static str) {
        self.add(method, docs, Answer::Value(shape::of::<T>()));
    }

    fn outcome<T: Payload, F: Payload + Display>(
        &mut self,
        method: &'static str,
        docs: &'static str,
    ) {
        let (value, error) = (shape::of::<T>(), shape::of::<F>());
        self.add(method, docs, Answer::Outcome { value, error });
    }

    fn items<T: Payload>(&mut self, method: &'static str, docs: &'static str) {
        self.add(method, docs, Answer::Items(shape::of::<T>()));
    }
}
