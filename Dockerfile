# docker build -t bloom-wasm .
# docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" bloom-wasm build list.txt -o list.bloom
# docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" bloom-wasm feed publish
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package bloom-wasm-cli
FROM debian:bookworm-slim
COPY --from=build /src/target/release/bloom-wasm /usr/local/bin/
WORKDIR /work
ENTRYPOINT ["bloom-wasm"]
