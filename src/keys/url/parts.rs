//! Where the parts of a canonical URL are, and a fast path: most URLs are canonical already, and are read only once.

use super::text::stays;
use crate::slots::host_slot;

/// The hosts of keys: the exact one and four of its suffixes.
pub(super) const HOSTS: usize = 5;
/// The folders of keys: `/` and three deeper ones.
pub(super) const FOLDERS: usize = 4;

/// Where the parts of a canonical form are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) host: usize,
    /// With its slash.
    pub(super) path: usize,
    /// With its question mark; the end if there is none.
    pub(super) query: usize,
    /// Whether the host is an IP address.
    pub(super) address: bool,
    /// Behind the host's last dots, the last one first; 0 where there are fewer, and in an address.
    pub(super) labels: [usize; HOSTS],
    /// Behind the path's first slashes, if the path goes on there; otherwise 0.
    pub(super) folders: [usize; FOLDERS],
    /// The [slots](crate::slots) of the exact host and of its suffixes of 5 to 2 labels.
    pub(super) slots: [u32; HOSTS],
}

impl Parts {
    /// The parts of a canonical form whose host, path and query start there.
    pub(super) fn of(text: &[u8], host: usize, path: usize, query: usize, address: bool) -> Self {
        let mut labels = [0; HOSTS];
        if !address {
            behind(text, (host..path).rev(), b'.', &mut labels);
        }
        let mut folders = [0; FOLDERS];
        behind(text, path..query.saturating_sub(1), b'/', &mut folders);
        let mut slots = slots_of(labels);
        let name = &text[host..path];
        if name.last().is_some_and(u8::is_ascii_digit) || name.contains(&b'[') {
            // A host that looks like an address may not be one, and a name that no browser opens may look like one.
            let [_, second, third, fourth, fifth] = labels;
            for (slot, start) in slots.iter_mut().zip([host, fifth, fourth, third, second]) {
                if start > 0 {
                    *slot = host_slot(&text[start..path]);
                }
            }
        }
        Parts { host, path, query, address, labels, folders, slots }
    }
}

/// Notes the places after the first occurrences of this byte.
fn behind(text: &[u8], places: impl Iterator<Item = usize>, byte: u8, found: &mut [usize]) {
    let places = places.filter(|&at| text.get(at) == Some(&byte));
    for (found, at) in found.iter_mut().zip(places) {
        *found = at + 1;
    }
}

/// The slots of hosts that don't look like an address.
fn slots_of(labels: [usize; HOSTS]) -> [u32; HOSTS] {
    [exact_slot(labels), 3, 2, 1, 0]
}

/// The slot of a host with these labels: the last one for a single label, and for more than five.
#[inline]
pub(super) fn exact_slot(labels: [usize; HOSTS]) -> u32 {
    match labels.iter().position(|&start| start == 0) {
        None | Some(0) => 4,
        Some(dots) => dots as u32 - 1,
    }
}

/// What a byte is in a plain URL. The first three need no further look in a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Byte {
    /// A letter in lower case, a digit or an underscore.
    Plain,
    Hyphen,
    /// Of paths and queries only.
    Upper,
    Dot,
    Slash,
    Question,
    /// Of queries only.
    Backslash,
    Other,
}

static BYTES: [Byte; 256] = {
    let mut bytes = [Byte::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => Byte::Plain,
            b'-' => Byte::Hyphen,
            b'.' => Byte::Dot,
            b'/' => Byte::Slash,
            b'?' => Byte::Question,
            b'\\' => Byte::Backslash,
            byte if stays(byte) => Byte::Upper,
            _ => Byte::Other,
        };
        byte += 1;
    }
    bytes
};

#[inline]
fn class(byte: u8) -> Byte {
    BYTES[usize::from(byte)]
}

/// The host of a plain URL.
pub(super) struct Host {
    pub(super) start: usize,
    /// Where the path begins.
    pub(super) path: usize,
    /// A bit for each of its bytes that is a dot, the lowest one for the last byte.
    dots: u64,
}

impl Host {
    /// The host of a URL, if it is plain: canonical, and neither an address nor an international name.
    #[inline]
    pub(super) fn of(href: &[u8]) -> Option<Self> {
        let start = match href {
            [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
            [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
            _ => return None,
        };
        // One bit per byte is enough to decide. A longer host may be canonical too, but isn't recognised here.
        let (mut dots, mut hyphens) = (0_u64, 0_u64);
        let mut path = start;
        for &byte in href.get(start..)?.iter().take(64) {
            let class = class(byte);
            if !matches!(class, Byte::Plain | Byte::Hyphen | Byte::Dot) {
                break;
            }
            dots = dots << 1 | u64::from(class == Byte::Dot);
            hyphens = hyphens << 1 | u64::from(class == Byte::Hyphen);
            path += 1;
        }
        let is_whole = path > start && href.get(path) == Some(&b'/');
        // An empty label, or one like `xn--`.
        let has_pair = dots & dots << 1 | hyphens & hyphens << 1 != 0;
        let begins_or_ends = dots & 1 == 1 || href.get(start) == Some(&b'.');
        // The last label may be a number if it begins with a digit, and the host an address.
        let last = path - (dots.trailing_zeros() as usize).min(path - start);
        let is_number = href.get(last).is_some_and(u8::is_ascii_digit);
        (is_whole && !has_pair && !begins_or_ends && !is_number).then_some(Host { start, path, dots })
    }

    /// Where the labels behind its last dots start, the last one first.
    #[inline]
    pub(super) fn labels(&self) -> [usize; HOSTS] {
        let mut dots = self.dots;
        [(); HOSTS].map(|()| {
            if dots == 0 {
                return 0;
            }
            let start = self.path - dots.trailing_zeros() as usize;
            dots &= dots - 1;
            start
        })
    }
}

/// The parts of a URL that is plain, so that the WHATWG parser and the rest of this folder would give it back as it is.
pub(super) fn plain_parts(href: &[u8]) -> Option<Parts> {
    let host = Host::of(href)?;
    let mut folders = [0; FOLDERS];
    let mut free = folders.iter_mut();
    let mut query = href.len();
    let mut slash = host.path;
    for (at, &byte) in href.iter().enumerate().skip(slash + 1) {
        let class = class(byte);
        if class <= Byte::Upper {
            continue;
        }
        match class {
            // Empty segments and dot segments.
            Byte::Slash | Byte::Dot if at == slash + 1 => return None,
            Byte::Slash => {
                if let Some(folder) = free.next() {
                    *folder = slash + 1;
                }
                slash = at;
            }
            Byte::Question => {
                query = at;
                break;
            }
            Byte::Backslash | Byte::Other => return None,
            _ => {}
        }
    }
    if slash + 1 < query
        && let Some(folder) = free.next()
    {
        *folder = slash + 1;
    }
    let is_plain = href.get(query..)?.iter().all(|&byte| class(byte) != Byte::Other);
    let labels = host.labels();
    let slots = slots_of(labels);
    is_plain.then_some(Parts {
        host: host.start,
        path: host.path,
        query,
        address: false,
        labels,
        folders,
        slots,
    })
}
