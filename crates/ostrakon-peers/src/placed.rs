//! `Placed`: a connection that takes one of the port's places for as long as anybody holds it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use ostrakon_tls::Wire;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::OwnedSemaphorePermit,
};

pub(crate) struct Placed {
    wire: Box<dyn Wire>,
    _place: OwnedSemaphorePermit,
}

impl Placed {
    pub(crate) fn boxed(wire: Box<dyn Wire>, place: OwnedSemaphorePermit) -> Box<dyn Wire> {
        Box::new(Self {
            wire,
            _place: place,
        })
    }
}

impl AsyncRead for Placed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(context, into)
    }
}

impl AsyncWrite for Placed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
