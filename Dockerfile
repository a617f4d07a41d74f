# syntax=docker/dockerfile:1
# The one image for every role: `axle serve --roles …`, `axle migrate up`.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The caches keep dependencies between builds; the binary is copied out of the one that vanishes.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin axle && cp target/release/axle /usr/local/bin/axle

# Debian's slim image holds the C library that the binary needs and no more is installed in it.
FROM debian:bookworm-slim
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/bin/axle /usr/local/bin/axle
# No name is needed for an account that owns nothing.
USER 10001:10001
ENV AXLE_LISTEN=0.0.0.0:8080
EXPOSE 8080
# Asks the admin listener, which has a thread of its own and never waits behind work.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["axle", "healthcheck"]
ENTRYPOINT ["axle"]
CMD ["serve"]
