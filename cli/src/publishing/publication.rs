//! What feeds and sharded filters have in common: the manifest in a folder, whether it is to be believed, and the next
//! one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, ensure};

use super::manifest::{self, Manifest, ManifestPayload};
use super::state::State;
use super::trust::{Live, Trust, require_signable};
use crate::files::write::{self, Cleaner};
use crate::streams::{Streams, unless_closed};

/// What becomes of printing the report. If that fails, the error says that the generation is there all the same.
pub fn reported(printed: Result<()>, generation: u64, published: bool) -> Result<()> {
    let printed = unless_closed(printed);
    if published { printed.with_context(|| format!("generation {generation} is published")) } else { printed }
}

/// A folder that is published.
pub struct Publication<P> {
    dir: PathBuf,
    /// The place of its manifest.
    path: PathBuf,
    trust: Trust,
    /// The manifest in the folder as it lies there, and its payload, if it is to be believed.
    live: Option<(String, P)>,
    /// In milliseconds since 1970.
    pub now: u64,
}

impl<P: ManifestPayload> Publication<P> {
    /// Reads the manifest in the folder, and clears away what runs left that were killed. Also returns why the manifest
    /// isn't to be believed, if the state says how to go on without it.
    pub fn open(
        dir: &Path,
        trust: Trust,
        state: Option<&State>,
        now: u64,
        streams: &mut Streams,
    ) -> Result<(Self, Option<Error>)> {
        let path = dir.join(P::FILE);
        let name = || path.display().to_string();
        write::check_place(&path)?;
        let (live, strange) =
            match trust.judge::<P>(manifest::read_bytes::<P>(dir), state).with_context(name)? {
                Live::None => (None, None),
                Live::Believed(text, live) => (Some((text, live)), None),
                Live::Untrusted(why) => (None, Some(why.context(name()))),
            };
        Cleaner::default().delete_temporary(dir, streams)?;
        Ok((Publication { dir: dir.to_owned(), path, trust, live, now }, strange))
    }

    /// What the manifest in place says.
    pub fn live(&self) -> Option<&P> {
        self.live.as_ref().map(|(_, live)| live)
    }

    /// Whether this manifest lies in the folder now, whatever was there before.
    pub fn is_there(&self, text: &str) -> Result<bool> {
        Ok(manifest::read_bytes::<P>(&self.dir)?.is_some_and(|bytes| bytes == text.as_bytes()))
    }

    /// Whether this manifest is in place.
    pub fn is_live(&self, text: &str) -> bool {
        self.live.as_ref().is_some_and(|(live, _)| live == text)
    }

    /// Whether the next manifest will be signed.
    pub fn signs(&self) -> bool {
        !self.trust.signers.is_empty()
    }

    /// Says on standard error what it means if nobody signs.
    pub fn print_hint(&self, streams: &mut Streams) {
        if !self.signs() {
            streams.warn(
                "nobody has signed this, so whoever can write to the host can change the list: --sign prevents that, \
                 with a key of `feed keygen`",
            );
        }
    }

    pub fn signers_in_words(&self) -> String {
        self.trust.signers_in_words()
    }

    fn manifest(&self) -> Result<Option<Manifest<P>>> {
        self.live.as_ref().map(|(text, _)| Manifest::parse(text.as_bytes())).transpose()
    }

    /// Fails if clients expect a signature that the next manifest won't have. `last` is the manifest that the state
    /// remembers, and `unsigned` says that no signature is meant.
    pub fn require_signature(&self, what: &str, last: Option<Manifest<P>>, unsigned: bool) -> Result<()> {
        // A state that was lost knows no manifest, but the folder has one.
        let manifests: Vec<_> = self.manifest()?.into_iter().chain(last).collect();
        let was_signed = manifests.iter().any(Manifest::is_signed);
        ensure!(
            !was_signed || self.signs() || unsigned,
            "the {what} was signed until now, and clients expect it: give --sign; with --unsigned they would refuse it"
        );
        // The newest one. Of two with one generation it is that of the state, since a host can add signatures to its own.
        let mut newest = None;
        for manifest in manifests {
            let generation = manifest.payload()?.head().generation;
            if newest.as_ref().is_none_or(|(newest, _)| *newest <= generation) {
                newest = Some((generation, manifest));
            }
        }
        ensure!(
            !self.signs() || newest.is_none_or(|(_, newest)| self.trust.knows_all_signers(&newest)),
            "another key has signed the {what} until now, and clients may know only that one: sign with both; if \
             the other is lost, or no client needs it any more, give its public key with --public-key"
        );
        Ok(())
    }

    /// Whether the manifest in place lasts for half of its time yet, and is signed by just these keys.
    pub fn is_fresh(&self, expires_in: u64) -> Result<bool> {
        let Some(live) = self.live() else { return Ok(false) };
        let is_signed = self.manifest()?.is_some_and(|manifest| manifest.has_signers(&self.trust.signers));
        Ok(is_signed && live.head().is_fresh(self.now, expires_in))
    }

    /// The manifest that says this, signed.
    pub fn sign(&self, payload: &P) -> Result<String> {
        require_signable(payload.head())?;
        Manifest::sign(payload, &self.trust.signers)?.text()
    }

    /// Puts a manifest in place. `check` runs right before.
    pub fn put(&mut self, text: String, payload: P, check: impl FnOnce() -> Result<()>) -> Result<()> {
        write::publish(&self.path, text.as_bytes(), check)?;
        self.live = Some((text, payload));
        Ok(())
    }
}
