//! A sample of a list's keys, to tell whether a name has the keys that another name had: those with the lowest digests,
//! so that the same keys are in the samples of all lists that have them (Broder 1997, "On the resemblance and containment
//! of documents").

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many keys are in a sample.
const SIZE: usize = 64;
/// Fewer keys to compare tell nothing.
const LEAST: usize = 16;

/// The lowest digests of a list, in their order, each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sketch(Vec<u64>);

impl Sketch {
    /// That of these keys.
    pub fn of(digests: impl IntoIterator<Item = u64>) -> Self {
        let mut sketch = Sketch::default();
        digests.into_iter().for_each(|digest| sketch.add(digest));
        sketch
    }

    pub fn add(&mut self, digest: u64) {
        let Sketch(lowest) = self;
        if lowest.len() == SIZE && *lowest.last().expect("it has some") <= digest {
            return;
        }
        if let Err(place) = lowest.binary_search(&digest) {
            lowest.insert(place, digest);
            lowest.truncate(SIZE);
        }
    }

    /// Adds those of other keys.
    pub fn merge(&mut self, Sketch(other): &Sketch) {
        other.iter().for_each(|digest| self.add(*digest));
    }

    /// Whether most keys of this list are in the other one, as far as the samples tell.
    pub fn is_mostly_in(&self, other: &Sketch) -> bool {
        self.share_in(other) == Some(true)
    }

    /// Whether the samples tell that most of them aren't.
    pub fn is_mostly_not_in(&self, other: &Sketch) -> bool {
        self.share_in(other) == Some(false)
    }

    /// Whether most keys of this list are in the other one; none if too few can be compared.
    fn share_in(&self, other: &Sketch) -> Option<bool> {
        // Up to here, each of them has all keys.
        let [own, theirs] = [self, other]
            .map(|Sketch(lowest)| if lowest.len() == SIZE { lowest[SIZE - 1] } else { u64::MAX });
        let compared = self.0.iter().filter(|digest| **digest <= own.min(theirs));
        let (all, same) = compared.fold((0, 0), |(all, same), digest| {
            (all + 1, same + usize::from(other.0.binary_search(digest).is_ok()))
        });
        (all >= LEAST).then_some(same * 2 > all)
    }
}

impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<_> = self.0.iter().flat_map(|digest| digest.to_be_bytes()).collect();
        serializer.serialize_str(&Base64UrlUnpadded::encode_string(&bytes))
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = Base64UrlUnpadded::decode_vec(&text).ok();
        let digests = bytes.filter(|bytes| bytes.len() % 8 == 0 && bytes.len() <= 8 * SIZE);
        let digests = digests.ok_or_else(|| de::Error::custom("a bad sample of a list"))?;
        Ok(Sketch::of(digests.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(range: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
        range.map(crate::rates::random)
    }

    #[test]
    fn whose_keys_a_list_has() {
        let of = |range| Sketch::of(digests(range));
        let list = of(0..10_000);
        for (range, expected) in [
            (0..10_000, true),
            // Grown by a tenth, shrunk by one, changed by a fifth.
            (0..11_000, true),
            (0..9_000, true),
            (2_000..12_000, true),
            // A part of it, whose sample reaches further.
            (0..4_000, true),
            (8_000..18_000, false),
            (10_000..20_000, false),
            // Too few to tell.
            (0..10, false),
            (0..0, false),
        ] {
            let sketch = of(range.clone());
            assert_eq!(sketch.is_mostly_in(&list), expected, "{range:?}");
            assert_eq!(sketch.is_mostly_not_in(&list), !expected && range.end > 10, "{range:?}");
        }
        // Small lists are whole in their samples.
        assert!(of(0..20).is_mostly_in(&of(5..30)) && !of(0..20).is_mostly_in(&of(11..30)));
    }

    #[test]
    fn it_has_the_lowest_digests_once() {
        let mut all: Vec<_> = digests(0..1000).collect();
        let sketch = Sketch::of(all.iter().chain(&all).copied());
        all.sort_unstable();
        assert_eq!(sketch.0, all[..SIZE]);
        let text = serde_json::to_string(&sketch).unwrap();
        assert_eq!(serde_json::from_str::<Sketch>(&text).unwrap(), sketch);
        assert_eq!(serde_json::from_str::<Sketch>("\"\"").unwrap(), Sketch::default());
        for text in ["\"x\"", "\"AAAA\"", "3"] {
            assert!(serde_json::from_str::<Sketch>(text).is_err(), "{text}");
        }
    }
}
