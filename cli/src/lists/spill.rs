//! Digests on disk, split by shard, so that a list can be larger than memory.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use bloom_wasm::error::Result;
#[cfg(target_os = "wasi")]
use bloom_wasm::internal::append;
use bloom_wasm::internal::reserve;
use bloom_wasm::keys::Input;
use bloom_wasm::keys::entries::Entries;
use bloom_wasm::shards::Sharding;

/// The most files that the digests go to. Each file is later read as a whole.
const FILES: u32 = 64;
/// The bytes of a digest in a file: the number of its shard among those of the file, and the digest.
const RECORD: usize = 10;
/// In the number of a shard, the mark of a parent of the entry before. A file has at most 2^10 shards.
const PARENT: u16 = 1 << 15;

/// Digests in temporary files, which have no name, so they are gone however the program ends.
pub struct Spill {
    files: Vec<BufWriter<Scratch>>,
    /// How many entries each shard has.
    counts: Vec<usize>,
    /// How many digests each file has, and had when a list ended.
    lengths: Vec<usize>,
    ends: Vec<Vec<usize>>,
    error: io::Result<()>,
}

#[cfg(not(target_os = "wasi"))]
type Scratch = std::fs::File;

#[cfg(not(target_os = "wasi"))]
fn scratch(folder: &Path) -> io::Result<Scratch> {
    tempfile::tempfile_in(folder)
}

/// WASI has no files without a name, so there a list can't be larger than memory.
#[cfg(target_os = "wasi")]
type Scratch = Memory;

#[cfg(target_os = "wasi")]
fn scratch(_: &Path) -> io::Result<Scratch> {
    Ok(Scratch::default())
}

/// A file in memory, which is written to its end before it is read. If there is no memory, writing fails.
#[cfg(target_os = "wasi")]
#[derive(Default)]
struct Memory(io::Cursor<Vec<u8>>);

#[cfg(target_os = "wasi")]
impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        append(self.0.get_mut(), bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "wasi")]
impl Read for Memory {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

#[cfg(target_os = "wasi")]
impl Seek for Memory {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.0.seek(place)
    }
}

/// Digests on their way into a [`Spill`]. Each thread fills its own.
pub struct Buffer {
    /// What goes to each file.
    files: Vec<Vec<u8>>,
    each: u32,
    /// The entry on its way there.
    entry: Entries,
}

impl Buffer {
    pub fn new(sharding: &Sharding) -> Self {
        let files = FILES.min(sharding.shards());
        // A chunk of a list has some thousands of keys.
        let room = || Vec::with_capacity(1 << 10);
        let files = (0..files).map(|_| room()).collect();
        Buffer { files, each: sharding.shards() / FILES.min(sharding.shards()), entry: Entries::default() }
    }

    /// Appends an entry with its parents, which are in the same shard. Returns its digest.
    pub fn push_entry(&mut self, sharding: &Sharding, input: &Input) -> Result<u64> {
        let mut entry = std::mem::take(&mut self.entry);
        entry.clear();
        entry.push(sharding.hashing(), input)?;
        let shard = sharding.shard_of(input.own());
        for (key, parents) in entry.iter() {
            self.push(shard, key);
            parents.iter().for_each(|&parent| self.push_record(shard, PARENT, parent));
        }
        let digest = entry.keys()[0];
        self.entry = entry;
        Ok(digest)
    }

    /// Appends the digest of a key of this shard.
    pub fn push(&mut self, shard: u32, digest: u64) {
        self.push_record(shard, 0, digest);
    }

    fn push_record(&mut self, shard: u32, mark: u16, digest: u64) {
        let file = &mut self.files[(shard / self.each) as usize];
        file.extend_from_slice(&((shard % self.each) as u16 | mark).to_le_bytes());
        file.extend_from_slice(&digest.to_le_bytes());
    }
}

/// The entries of a shard, in the order in which they were added, including repeated ones.
#[derive(Default)]
pub struct Shard {
    pub entries: Entries,
    /// Where each list but the first begins.
    starts: Vec<usize>,
}

impl Shard {
    /// The digests of the first list, and of each list that began after a call of [`Spill::end_list`].
    pub fn lists(&self) -> (&[u64], impl ExactSizeIterator<Item = &[u64]>) {
        let all = self.entries.keys();
        let first = self.starts.first().map_or(all, |&end| &all[..end]);
        let end = |list: usize| self.starts.get(list + 1).copied().unwrap_or(all.len());
        (first, self.starts.iter().enumerate().map(move |(list, &start)| &all[start..end(list)]))
    }
}

/// The entries of each of some shards.
pub type Shards = Vec<Shard>;

impl Spill {
    pub fn new(sharding: &Sharding, folder: &Path) -> io::Result<Self> {
        let files = FILES.min(sharding.shards());
        let files =
            (0..files).map(|_| scratch(folder).map(BufWriter::new)).collect::<io::Result<Vec<_>>>()?;
        let (counts, lengths) = (vec![0; sharding.shards() as usize], vec![0; files.len()]);
        Ok(Spill { files, counts, lengths, ends: Vec::new(), error: Ok(()) })
    }

    /// Ends a list: what is added later belongs to the next one.
    pub fn end_list(&mut self) {
        self.ends.push(self.lengths.clone());
    }

    /// Adds digests. [`Spill::parts`] returns the first failure.
    pub fn extend(&mut self, batch: Buffer) {
        let counts = self.counts.chunks_mut(batch.each as usize);
        let files = self.files.iter_mut().zip(&mut self.lengths);
        for (((file, length), counts), records) in files.zip(counts).zip(batch.files) {
            if self.error.is_err() {
                return;
            }
            for record in records.as_chunks().0 {
                let (shard, is_parent, _) = split(record);
                counts[shard] += usize::from(!is_parent);
                *length += 1;
            }
            self.error = file.write_all(&records);
        }
    }

    /// The digests of all shards, in their order and in parts of equally many shards.
    pub fn parts(mut self) -> impl Iterator<Item = io::Result<Shards>> + Send {
        self.end_list();
        // How many shards go to each file.
        let each = self.counts.len() / self.files.len();
        let mut failed = Some(self.error).filter(io::Result::is_err);
        let (counts, ends) = (self.counts, self.ends);
        self.files.into_iter().enumerate().map(move |(number, file)| {
            failed.take().unwrap_or(Ok(()))?;
            let mut file = file.into_inner().map_err(|error| error.into_error())?;
            file.rewind()?;
            let room = |&count| {
                let mut shard = Shard::default();
                shard.entries.reserve(count).map_err(io::Error::other).map(|()| shard)
            };
            let mut part =
                counts[number * each..][..each].iter().map(room).collect::<io::Result<Shards>>()?;
            let mut file = BufReader::with_capacity(1 << 16, file);
            let mut record = [0; RECORD];
            let mut read = 0;
            for (list, ends) in ends.iter().enumerate() {
                if list > 0 {
                    part.iter_mut().for_each(|shard| shard.starts.push(shard.entries.keys().len()));
                }
                while read < ends[number] {
                    file.read_exact(&mut record)?;
                    let (shard, is_parent, digest) = split(&record);
                    let entries = &mut part[shard].entries;
                    let pushed =
                        if is_parent { entries.push_parent(digest) } else { entries.push_key(digest) };
                    pushed.map_err(io::Error::other)?;
                    read += 1;
                }
            }
            Ok(part)
        })
    }
}

/// Digests as they are stored in files: 8 bytes each, little-endian.
pub fn to_bytes(digests: &[u64]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, digests.len().saturating_mul(8))?;
    bytes.extend(digests.iter().flat_map(|digest| digest.to_le_bytes()));
    Ok(bytes)
}

/// The digests of whole files.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<u64>> {
    let mut digests = Vec::new();
    reserve(&mut digests, bytes.len() / 8)?;
    digests.extend(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
    Ok(digests)
}

/// The number of a shard, whether a parent follows, and a digest.
fn split(&[low, high, ref digest @ ..]: &[u8; RECORD]) -> (usize, bool, u64) {
    let shard = u16::from_le_bytes([low, high]);
    ((shard & !PARENT).into(), shard & PARENT != 0, u64::from_le_bytes(*digest))
}
