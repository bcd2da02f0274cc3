use ostrakon::entity;

macro_rules! account {
    ($($name:ident)*) => {$(
        struct $name;
    )*};
}

account!(A B C D E F);

#[entity(kid = "account")]
impl A {
    async fn look(&self) {}
}

#[entity(kind = 5)]
impl B {
    async fn look(&self) {}
}

#[entity("account")]
impl C {
    async fn look(&self) {}
}

#[entity(codec = "xml")]
impl D {
    async fn look(&self) {}
}

#[entity(kind)]
impl E {
    async fn look(&self) {}
}

#[entity(kind = "f", kind = "g")]
impl F {
    async fn look(&self) {}
}

fn main() {}
