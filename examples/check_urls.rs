//! Turns a list into a blob, reads it back and checks URLs.
//!
//!     cargo run --example check_urls -- LIST URL...

use std::{env, fs};

use bloom_wasm::{Builder, Filter, Profile};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = env::args().skip(1);
    let list = fs::read_to_string(args.next().ok_or("usage: check_urls LIST URL...")?)?;

    // The server: a list of URLs, hosts, adblock rules or a hosts file.
    let filter = Builder::new(Profile::Url)
        .fpr(1e-6)
        .keys(list.lines())
        .on_skip(|line, why| eprintln!("skipped, {}: {}", why.words(), String::from_utf8_lossy(line)))
        .build()?;
    // What was skipped may have been an error page instead of a list.
    if filter.info()?.count == Some(0) {
        return Err("the list gives no key".into());
    }
    let blob = filter.encode()?;
    println!("a blob of {} bytes", blob.len());

    // The client: it has the blob, and not the list.
    let filter = Filter::decode(blob)?;
    for url in args {
        match filter.match_url(&url)? {
            Some(key) => println!("{url}: maybe listed, by {key}"),
            None => println!("{url}: definitely not listed"),
        }
    }
    Ok(())
}
