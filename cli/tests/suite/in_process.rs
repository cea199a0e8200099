//! Runs the tool in this process.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use base64ct::{Base64UrlUnpadded, Encoding};
use bloom_wasm_cli::{Streams, run};
use serde_json::Value;
use tempfile::TempDir;

/// The key of RFC 8037, appendix A.1, as OpenSSL writes it, and its public key from A.2.
pub const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
pub const PUBLIC_KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/// The arguments. After an @, also in NAME=@FILE, stands a file in the folder; `{}` is the folder of other software's filters.
pub fn arguments(folder: &TempDir, args: &str) -> Vec<String> {
    let vectors = format!("{}/../tests/interop", env!("CARGO_MANIFEST_DIR"));
    let path = |arg: &str| match arg.split_once('@') {
        Some((option, file)) if option.is_empty() || option.ends_with('=') => {
            format!("{option}{}", folder.path().join(file).display())
        }
        _ => arg.replace("{}", &vectors),
    };
    ["bloom-wasm".to_owned()].into_iter().chain(args.split_whitespace().map(path)).collect()
}

/// Returns the exit code.
pub fn tool_on(
    folder: &TempDir,
    args: &str,
    input: &mut (dyn Read + Send),
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    run(arguments(folder, args), &mut Streams { input, out, err, terminal: false })
}

/// Calls a function when the tool writes here, or reads from here. There is nothing to read.
pub struct Hook<F>(pub F);

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for Hook<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Read for Hook<F> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        (self.0)(&[]).map(|()| 0)
    }
}

/// Returns the exit code and what was printed.
pub fn tool_with(folder: &TempDir, args: &str, mut input: &[u8]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = tool_on(folder, args, &mut input, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (code, text(out), text(err))
}

pub fn tool(folder: &TempDir, args: &str) -> (u8, String, String) {
    tool_with(folder, args, b"")
}

/// Fails unless the tool does it. Returns what it printed.
pub fn done(folder: &TempDir, args: &str) -> String {
    let (code, out, err) = tool(folder, args);
    assert_eq!(code, 0, "{args}: {out}{err}");
    out
}

/// Fails unless the tool does it. Returns what it printed as JSON.
pub fn told(folder: &TempDir, args: &str) -> Value {
    serde_json::from_str(&done(folder, &format!("{args} --json"))).unwrap()
}

/// Fails unless the tool refuses it, in one line with these words.
pub fn refused(folder: &TempDir, args: &str, words: &str) {
    let (code, _, err) = tool(folder, args);
    assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {code} {err}");
}

pub fn write(folder: &TempDir, file: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.path().join(file), text).unwrap();
}

/// Writes feed.toml: an id, these lines, and these lists.
pub fn declare(folder: impl AsRef<Path>, above: &str, lists: &str) {
    let text = format!("id = \"00112233445566778899aabbccddeeff\"\n{above}\n[lists]\n{lists}\n");
    fs::write(folder.as_ref().join("feed.toml"), text).unwrap();
}

pub fn read(folder: &TempDir, file: &str) -> Vec<u8> {
    fs::read(folder.path().join(file)).unwrap()
}

/// What a manifest says.
pub fn payload(manifest: &[u8]) -> Value {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    serde_json::from_slice(&Base64UrlUnpadded::decode_vec(manifest["payload"].as_str().unwrap()).unwrap())
        .unwrap()
}

/// Gives a lock the time of a run that was killed this many seconds ago.
pub fn age(lock: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::options().write(true).open(lock).unwrap().set_modified(then).unwrap();
}
