//! The class `Filter`: a filter of any kind, and what doesn't depend on how its keys get here.

use std::cell::{Ref, RefCell, RefMut};

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
    /// Borrowed for a change only while it is made. If a call is cut off before or after that, the filter is whole, and
    /// otherwise it stays borrowed.
    pub(super) inner: RefCell<filter::Filter>,
}

impl Filter {
    pub(super) fn new(inner: filter::Filter) -> Result<Self> {
        headroom()?;
        Ok(Filter { inner: RefCell::new(inner) })
    }

    /// The filter, to read it.
    #[inline]
    pub(super) fn inner(&self) -> Ref<'_, filter::Filter> {
        self.inner.try_borrow().unwrap_or_else(|_| cut_off())
    }

    /// The filter, to change it.
    pub(super) fn change(&self) -> RefMut<'_, filter::Filter> {
        self.inner.try_borrow_mut().unwrap_or_else(|_| cut_off())
    }

    fn combine(&self, other: &Filter, union: bool) -> Result<()> {
        // A clone, because both may be one filter.
        let other = other.inner().try_clone()?;
        self.change().combine(&other, union)
    }
}

/// Throws for a filter that can't be used any more. Not a panic, on which WebAssembly would end without a message.
#[cold]
fn cut_off() -> ! {
    wasm_bindgen::throw_str("a call was cut off while it used this filter")
}

#[wasm_bindgen]
impl Filter {
    /// The kind of filter: `bloom`, `counting`, `scalable`, `cuckoo`, `ribbon`, or the format of other software.
    #[wasm_bindgen(getter, unchecked_return_type = "FilterInfo[\"kind\"]")]
    pub fn kind(&self) -> JsString {
        self.inner().stack().base().name().into()
    }

    /// What the keys are: `raw`, `url` or `password`.
    #[wasm_bindgen(getter, unchecked_return_type = "FilterInfo[\"profile\"]")]
    pub fn profile(&self) -> JsString {
        self.inner().profile().name().into()
    }

    /// A description: a plain object that can go into JSON.
    #[wasm_bindgen(unchecked_return_type = "FilterInfo")]
    pub fn info(&self) -> Result<JsValue> {
        serialize(&self.inner().info()?)
    }

    /// The chance that a key which was never added is "maybe present", 0 to 1, from the present fill.
    #[wasm_bindgen(getter, js_name = estimatedFpr)]
    pub fn estimated_fpr(&self) -> f64 {
        self.inner().stack().estimated_fpr()
    }

    /// About how many different keys the filter holds; infinite when it is too full to tell.
    #[wasm_bindgen(getter, js_name = estimatedCount)]
    pub fn estimated_count(&self) -> f64 {
        self.inner().stack().estimated_count()
    }

    /// The blob: `decode` reads it.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        to_js(&self.inner().encode()?)
    }

    /// Whether both have equal profiles, parameters and contents.
    pub fn equals(&self, other: &Filter) -> Result<bool> {
        self.inner().equals(&other.inner())
    }

    /// An independent copy.
    #[wasm_bindgen(js_name = clone)]
    pub fn copy(&self) -> Result<Filter> {
        Filter::new(self.inner().try_clone()?)
    }

    /// Removes all keys. Throws `wrong_kind` or `layered` for a filter that is read-only.
    pub fn clear(&self) -> Result<()> {
        self.change().stack_mut().base_mut()?.clear()
    }

    /// Adds every key of another Bloom or counting filter, of the same shape and seed.
    pub fn union(&self, other: &Filter) -> Result<()> {
        self.combine(other, true)
    }

    /// Keeps the keys that are in both filters, which must have the same shape and seed.
    pub fn intersect(&self, other: &Filter) -> Result<()> {
        self.combine(other, false)
    }

    /// The Bloom filter of a counting filter's keys.
    #[wasm_bindgen(js_name = toBloom)]
    pub fn to_bloom(&self) -> Result<Filter> {
        let inner = self.inner();
        match inner.stack().base_alone()? {
            AnyFilter::Counting(filter) => {
                let mut bloom = filter::Filter::new(inner.profile(), Stack::new(filter.to_bloom()?)?);
                bloom.describe(inner.name().map(str::to_owned), inner.created_at())?;
                Filter::new(bloom)
            }
            other => Err(Error::WrongKind { kind: other.name() }),
        }
    }
}
