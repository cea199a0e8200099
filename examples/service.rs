//! A service that loads a blob once and answers on many connections: each line that it gets is a URL.
//!
//!     cargo run --example service -- list.bloom 127.0.0.1:7878
//!     printf 'https://www.evil.example/page\n' | nc -q1 127.0.0.1 7878

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::{env, fs, thread};

use bloom_wasm::Filter;

fn answer(filter: &Filter, stream: TcpStream) -> io::Result<()> {
    let mut out = stream.try_clone()?;
    for url in BufReader::new(stream).lines() {
        match filter.match_url(&url?) {
            Ok(Some(key)) => writeln!(out, "maybe {key}")?,
            Ok(None) => writeln!(out, "absent")?,
            Err(error) => writeln!(out, "error {}", error.code())?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = env::args().skip(1);
    let usage = "usage: service BLOB ADDRESS";
    let filter = Arc::new(Filter::decode(fs::read(args.next().ok_or(usage)?)?)?);
    let listener = TcpListener::bind(args.next().ok_or(usage)?)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let filter = filter.clone();
        thread::spawn(move || {
            if let Err(error) = stream.and_then(|stream| answer(&filter, stream)) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}
