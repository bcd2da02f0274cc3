//! `Wire`: HTTP to the driver of the browser, which is on this host.

use std::{pin::Pin, sync::Arc};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use thirtyfour::{
    error::{WebDriverError, WebDriverResult},
    session::http::{Body, HttpClient},
};
use tokio::net::TcpStream;

/// A connection for each request: there are few, and nothing has to be kept in order.
pub(crate) struct Wire;

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl HttpClient for Wire {
    fn send<'s, 'b, 'a>(
        &'s self,
        request: Request<Body<'b>>,
    ) -> Answer<'a, WebDriverResult<Response<Bytes>>>
    where
        's: 'a,
        'b: 'a,
        Self: 'a,
    {
        let request = request.map(|body| match body {
            Body::Empty => Full::default(),
            Body::Json(json) => Full::from(json.to_string()),
        });
        Box::pin(async move {
            let answer = send(request).await;
            answer.map_err(|error| WebDriverError::RequestFailed(error.to_string()))
        })
    }

    fn new<'s, 'a>(&'s self) -> Answer<'a, Arc<dyn HttpClient>>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(async { Arc::new(Self) as Arc<dyn HttpClient> })
    }
}

async fn send(
    mut request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
    let host = request.uri().authority().ok_or("no address")?.to_string();
    let stream = TcpStream::connect(&host).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = request.uri().path().parse()?;
    *request.uri_mut() = path;
    request.headers_mut().insert(header::HOST, host.parse()?);
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Response::from_parts(head, body))
}
