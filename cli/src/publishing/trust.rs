//! Whether a publisher trusts the manifest in its folder, which whoever controls the host may have put there; and what
//! it signs. FEED-FORMAT.md, "What a publisher must do". What a client trusts is in js/feed/trust.ts; here is only the
//! step of it that `feed verify` takes.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, bail, ensure};
use ed25519_dalek::{SigningKey, VerifyingKey};

use super::key;
use super::manifest::{self, Head, Manifest, ManifestPayload};
use super::state::State;
use crate::args::number::now;

/// The highest generation that is trusted or signed. The seconds since 1970 reach it in 34,000 years.
pub const MAX_GENERATION: u64 = 1 << 40;
/// How far a manifest may be ahead of the state.
const MAX_AHEAD: u64 = 1 << 20;

/// Whose manifests are trusted.
#[derive(clap::Args)]
pub struct KeyArgs {
    /// A secret key to sign the manifest with; can be repeated. A manifest that it signed before is trusted
    #[arg(long, value_name = "KEY")]
    sign: Vec<PathBuf>,
    /// The public key of a former signing key; can be repeated. A manifest in the folder that it signed is trusted
    #[arg(long, value_name = "KEY", value_parser = manifest::parse_public_key, allow_hyphen_values = true)]
    without_key: Vec<VerifyingKey>,
    /// Trust the manifest in the folder although it has no signature, to sign the feed for the first time
    #[arg(long, requires = "sign")]
    trust_unsigned: bool,
    /// Publish without a signature, although the feed was signed before
    #[arg(long, conflicts_with = "sign")]
    pub unsigned: bool,
}

/// The keys of a publisher, and what else it trusts.
pub struct Trust {
    /// To sign with.
    pub signers: Vec<SigningKey>,
    known: Vec<VerifyingKey>,
    unsigned: bool,
    /// A publisher without a key trusts the folder, as its clients do.
    everybody: bool,
}

/// The manifest in a folder.
pub enum Live<P> {
    None,
    /// Its text, and its payload.
    Believed(String, P),
    /// The publisher goes on as if there were none, and says why.
    Untrusted(Error),
}

impl KeyArgs {
    /// The files of the secret keys.
    pub fn secret_keys(&self) -> impl Iterator<Item = &Path> {
        self.sign.iter().map(PathBuf::as_path)
    }

    /// For publishing.
    pub fn read(&self) -> Result<Trust> {
        let signers = self.sign.iter().map(|path| key::read(path)).collect::<Result<Vec<_>>>()?;
        // A key rotation that gives one file twice would sign only with the old key.
        let is_twice = signers.iter().enumerate().any(|(i, key)| signers[..i].contains(key));
        ensure!(!is_twice, "--sign names one key twice");
        let most = manifest::MAX_SIGNATURES;
        ensure!(signers.len() <= most, "--sign can be repeated {most} times");
        let own = || signers.iter().map(SigningKey::verifying_key);
        ensure!(
            !own().any(|key| self.without_key.contains(&key)),
            "--sign and --without-key name the same key"
        );
        let known: Vec<_> = own().chain(self.without_key.iter().copied()).collect();
        Ok(Trust { signers, unsigned: self.trust_unsigned, everybody: known.is_empty(), known })
    }
}

impl Trust {
    /// Whose signature a manifest gets, for people.
    pub fn signers_in_words(&self) -> String {
        if self.signers.is_empty() {
            return "no".to_owned();
        }
        let keys = self.signers.iter().map(|key| manifest::public_key(&key.verifying_key()));
        format!("by {}", keys.collect::<Vec<_>>().join(", "))
    }

    /// Whether a publisher trusts the manifest in its folder. `found` is what was read, and `state` what the publisher
    /// remembers, if anything.
    ///
    /// # Errors
    /// If it can't go on: the manifest isn't trusted, and no state says what was published; or its generation is much
    /// too high.
    pub fn judge<P: ManifestPayload>(
        &self,
        found: Result<Option<Vec<u8>>>,
        state: Option<&State>,
    ) -> Result<Live<P>> {
        let last = state.map(State::last::<P>).transpose()?.flatten();
        let was_signed = last.map(|manifest| manifest.is_signed());
        ensure!(
            was_signed != Some(false) || self.signers.is_empty() || self.unsigned,
            "the feed had no signature until now; --trust-unsigned signs it all the same"
        );
        const SIGNED: &str = "the feed is signed already, so --trust-unsigned would only help an attacker";
        ensure!(was_signed != Some(true) || !self.unsigned, SIGNED);
        let known = found.and_then(|bytes| {
            let Some(bytes) = bytes else { return Ok(None) };
            let manifest = Manifest::<P>::parse(&bytes)?;
            self.require_known(&manifest, was_signed != Some(true))?;
            Ok(Some((bytes, manifest)))
        });
        let (bytes, manifest) = match known {
            Ok(Some(known)) => known,
            Ok(None) => return Ok(Live::None),
            // Somebody who can put a file there must not be able to stop a feed that has a state to go on from.
            Err(why) if !self.everybody && state.is_some_and(|state| !state.manifest.is_empty()) => {
                return Ok(Live::Untrusted(why));
            }
            Err(why) => return Err(why),
        };
        ensure!(!self.unsigned || !manifest.is_signed(), SIGNED);
        let payload = manifest.payload()?;
        let Head { identity, generation, .. } = payload.head();
        let another = state.is_some_and(|state| state.identity.feed_id != identity.feed_id);
        ensure!(!another, "this is another feed, not the state's");
        next(*generation)?;
        if let Some(state) = state {
            ensure!(
                *generation <= state.signed.saturating_add(MAX_AHEAD),
                "generation {generation} is much too high after generation {} of the state; if the state is that old, \
                 publish with a new one",
                state.signed
            );
        }
        Ok(Live::Believed(String::from_utf8(bytes)?, payload))
    }

    /// Whether one of the keys has signed a manifest.
    pub fn knows<P: ManifestPayload>(&self, manifest: &Manifest<P>) -> bool {
        self.known.iter().any(|key| manifest.is_signed_by(key))
    }

    /// Whether every signer of a manifest is among the keys.
    pub fn knows_all_signers<P: ManifestPayload>(&self, manifest: &Manifest<P>) -> bool {
        manifest.is_signed_only_by(&self.known)
    }

    /// Fails for a manifest that isn't trusted. `unsigned` says that it may have had no signature before.
    fn require_known<P: ManifestPayload>(&self, manifest: &Manifest<P>, unsigned: bool) -> Result<()> {
        if self.everybody || self.knows(manifest) {
            return Ok(());
        }
        match (manifest.is_signed(), self.known.is_empty()) {
            (false, _) if self.unsigned => Ok(()),
            (false, _) if unsigned => {
                bail!("nobody has signed it; if it is yours all the same, give --trust-unsigned")
            }
            (false, _) => bail!("nobody has signed it"),
            (true, true) => bail!("to go on with it, give the key that signed it: --sign or --without-key"),
            (true, false) => {
                bail!(
                    "none of the given keys has signed it; if another one of yours has, give its public key with \
                     --without-key"
                )
            }
        }
    }
}

/// The generation after this one.
pub fn next(generation: u64) -> Result<u64> {
    ensure!(
        generation < MAX_GENERATION,
        "generation {generation} is much too high: the feed may have been taken over; docs/feeds.md says how to go on"
    );
    Ok(generation + 1)
}

/// Fails for what no publisher may sign. Each manifest passes here right before it is signed.
pub fn require_signable(head: &Head) -> Result<()> {
    let Head { generation, .. } = head;
    ensure!(*generation <= MAX_GENERATION, "generation {generation} is more than {MAX_GENERATION}, the last");
    Ok(())
}

/// Whether step 6 of "What a client must do" refuses a manifest.
pub fn is_over(head: &Head, now: u64) -> bool {
    head.expires <= now
}

/// The lowest generation to go on from if there is no state. A host can replay an old manifest, and so set the
/// generations back, but not the clock.
pub fn least_generation() -> Result<u64> {
    Ok(now()? / 1000)
}

#[cfg(test)]
mod tests {
    use bloom_wasm::Profile;
    use bloom_wasm::hash::Hashing;

    use super::super::manifest::{Identity, People};
    use super::*;

    #[test]
    fn no_generation_above_2_to_the_40_is_signed() {
        let identity = Identity::new("0".repeat(32), People::default(), Profile::Raw, 0.1, &Hashing::from(0));
        let head = Head { version: 1, identity, generation: 1, created_at: 0, expires: 0, count: 0 };
        for (generation, may) in [(1, true), (1 << 40, true), ((1 << 40) + 1, false)] {
            assert_eq!(require_signable(&Head { generation, ..head.clone() }).is_ok(), may, "{generation}");
        }
    }
}
