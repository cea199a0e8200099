//! The class `Filter`: a filter of any kind, and what doesn't depend on how its keys get here.

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use super::{headroom, serialize, to_js};
use crate::error::{Error, Result};
use crate::filter;
use crate::filters::AnyFilter;
use crate::layers::Stack;

/// A filter of any kind.
#[wasm_bindgen]
pub struct Filter {
    pub(super) inner: filter::Filter,
}

impl Filter {
    pub(super) fn new(inner: filter::Filter) -> Result<Self> {
        headroom()?;
        Ok(Filter { inner })
    }
}

#[wasm_bindgen]
impl Filter {
    /// The kind of filter: `bloom`, `counting`, `scalable`, `cuckoo`, `ribbon`, or the format of other software.
    #[wasm_bindgen(getter, unchecked_return_type = "FilterInfo[\"kind\"]")]
    pub fn kind(&self) -> JsString {
        self.inner.stack().base().name().into()
    }

    /// What the keys are: `raw`, `url` or `password`.
    #[wasm_bindgen(getter, unchecked_return_type = "FilterInfo[\"profile\"]")]
    pub fn profile(&self) -> JsString {
        self.inner.profile().name().into()
    }

    /// A description: a plain object that can go into JSON.
    #[wasm_bindgen(unchecked_return_type = "FilterInfo")]
    pub fn info(&self) -> Result<JsValue> {
        serialize(&self.inner.info()?)
    }

    /// The chance that a key which was never added is "maybe present", 0 to 1, from the present fill.
    #[wasm_bindgen(getter, js_name = estimatedFpr)]
    pub fn estimated_fpr(&self) -> f64 {
        self.inner.stack().estimated_fpr()
    }

    /// About how many different keys the filter holds; infinite when it is too full to tell.
    #[wasm_bindgen(getter, js_name = estimatedCount)]
    pub fn estimated_count(&self) -> f64 {
        self.inner.stack().estimated_count()
    }

    /// The blob: `decode` reads it.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        to_js(&self.inner.encode()?)
    }

    /// Whether both have equal profiles, parameters and contents.
    pub fn equals(&self, other: &Filter) -> Result<bool> {
        self.inner.equals(&other.inner)
    }

    /// An independent copy.
    #[wasm_bindgen(js_name = clone)]
    pub fn copy(&self) -> Result<Filter> {
        Filter::new(self.inner.try_clone()?)
    }

    /// Removes all keys. Throws `wrong_kind` or `layered` for a filter that is read-only.
    pub fn clear(&mut self) -> Result<()> {
        self.inner.stack_mut().base_mut()?.clear()
    }

    /// Adds every key of another Bloom or counting filter, of the same shape and seed.
    pub fn union(&mut self, other: &Filter) -> Result<()> {
        self.inner.combine(&other.inner, true)
    }

    /// Keeps the keys that are in both filters, which must have the same shape and seed.
    pub fn intersect(&mut self, other: &Filter) -> Result<()> {
        self.inner.combine(&other.inner, false)
    }

    /// The Bloom filter of a counting filter's keys.
    #[wasm_bindgen(js_name = toBloom)]
    pub fn to_bloom(&self) -> Result<Filter> {
        match self.inner.stack().base_alone()? {
            AnyFilter::Counting(filter) => {
                let mut bloom = filter::Filter::new(self.inner.profile(), Stack::new(filter.to_bloom()?)?);
                bloom.describe(self.inner.name().map(str::to_owned), self.inner.created_at())?;
                Filter::new(bloom)
            }
            other => Err(Error::WrongKind { kind: other.name() }),
        }
    }
}
