# syntax=docker/dockerfile:1
#
#   docker build -t ostrakon:0.1.0 .                                        the `ostrakon` command
#   docker build -t ostrakon-http-counter:0.1.0 --target http-counter .     the example service that deploy/kubernetes runs
#
# The programs are started as they are, without a shell between: process 1 is ours, and SIGTERM comes to it.

FROM rust:1.95-bookworm AS source
WORKDIR /src
COPY . .

FROM source AS build-http-counter
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,id=target-http-counter \
    cargo build --release --locked -p http-counter \
    && install -D target/release/http-counter /out/http-counter

FROM source AS build-ostrakon
# PostgreSQL is where several managers keep their log, and Kubernetes knows whether a node is dead.
ARG FEATURES=postgres,kubernetes
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,id=target-ostrakon \
    cargo build --release --locked -p ostrakon-cli --features "$FEATURES" \
    && install -D target/release/ostrakon /out/ostrakon

# The C library, the certificates of public authorities, and no shell.
FROM gcr.io/distroless/cc-debian12:nonroot AS runtime
USER 65532:65532

FROM runtime AS http-counter
COPY --from=build-http-counter /out/http-counter /usr/local/bin/http-counter
ENTRYPOINT ["/usr/local/bin/http-counter"]

# The last one is what is built unless another is asked for.
FROM runtime AS ostrakon
COPY --from=build-ostrakon /out/ostrakon /usr/local/bin/ostrakon
ENTRYPOINT ["/usr/local/bin/ostrakon"]
CMD ["help"]
