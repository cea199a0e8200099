//! Digests on disk, sorted by shard: so a list may be longer than memory.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use rayon::slice::ParallelSliceMut;

use crate::shards::Sharding;

/// Into how many files the digests go. Each is then read as a whole.
const FILES: u32 = 64;

/// Digests with their shards, in temporary files that have no name, so they are gone however the program ends.
pub struct Spill {
    files: Vec<BufWriter<Scratch>>,
    /// How many shards each file has.
    each: u32,
    error: io::Result<()>,
}

#[cfg(not(target_os = "wasi"))]
type Scratch = std::fs::File;

#[cfg(not(target_os = "wasi"))]
fn scratch(folder: &Path) -> io::Result<Scratch> {
    tempfile::tempfile_in(folder)
}

/// WASI has no files without a name, and no list there is longer than memory.
#[cfg(target_os = "wasi")]
type Scratch = io::Cursor<Vec<u8>>;

#[cfg(target_os = "wasi")]
fn scratch(_: &Path) -> io::Result<Scratch> {
    Ok(Scratch::default())
}

/// The shard of a key, and its digest.
pub type Placed = (u32, u64);

impl Spill {
    pub fn new(sharding: &Sharding, folder: &Path) -> io::Result<Self> {
        let count = FILES.min(sharding.shards());
        let files = (0..count).map(|_| scratch(folder).map(BufWriter::new)).collect::<io::Result<_>>()?;
        Ok(Spill { files, each: sharding.shards() / count, error: Ok(()) })
    }

    /// Adds digests. The first failure comes with [`Spill::parts`].
    pub fn extend(&mut self, digests: impl IntoIterator<Item = Placed>) {
        for (shard, digest) in digests {
            if self.error.is_err() {
                return;
            }
            let mut record = [0; 10];
            record[..2].copy_from_slice(&(shard as u16).to_le_bytes());
            record[2..].copy_from_slice(&digest.to_le_bytes());
            self.error = self.files[(shard / self.each) as usize].write_all(&record);
        }
    }

    /// The digests of some shards at a time, in order: first those of the shards from 0 to [`Spill::each`], and so on.
    /// Each part is sorted, and has each digest of a shard once.
    pub fn parts(self) -> impl Iterator<Item = io::Result<Vec<Placed>>> {
        let mut failed = Some(self.error).filter(io::Result::is_err);
        self.files.into_iter().map(move |file| {
            failed.take().unwrap_or(Ok(()))?;
            let mut file = file.into_inner().map_err(|error| error.into_error())?;
            file.rewind()?;
            let mut part = read(BufReader::with_capacity(1 << 16, file))?;
            part.par_sort_unstable();
            part.dedup();
            Ok(part)
        })
    }

    /// How many shards a part has.
    pub fn each(&self) -> u32 {
        self.each
    }
}

fn read(mut file: impl Read) -> io::Result<Vec<Placed>> {
    let mut part = Vec::new();
    let mut record = [0; 10];
    loop {
        match file.read_exact(&mut record) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(part),
            read => read?,
        }
        let (shard, digest) = record.split_at(2);
        let digest = digest.try_into().map(u64::from_le_bytes).unwrap_or_default();
        part.push((shard.try_into().map(u16::from_le_bytes).unwrap_or_default().into(), digest));
    }
}

/// The digests of a shard, out of a part.
pub fn of_shard(part: &[Placed], shard: u32) -> impl ExactSizeIterator<Item = u64> {
    let start = part.partition_point(|&(other, _)| other < shard);
    let end = part.partition_point(|&(other, _)| other <= shard);
    part[start..end].iter().map(|&(_, digest)| digest)
}
