//! Data that compiled code points to: constants that do not fit in registers, and descriptions for the runtime.

use std::any::Any;

/// Keeps data at fixed addresses as long as it lives.
#[derive(Debug, Default)]
pub(crate) struct Pool(Vec<Box<dyn Any + Send + Sync>>);

impl Pool {
    /// Keeps a description.
    pub(crate) fn keep<T: Send + Sync + 'static>(&mut self, data: T) -> *const T {
        let data = Box::new(data);
        let address: *const T = &*data;
        self.0.push(data);
        address
    }

    /// Keeps the words of a constant.
    pub(crate) fn words(&mut self, words: Box<[u64]>) -> *const u64 {
        let address = words.as_ptr();
        self.0.push(Box::new(words));
        address
    }
}
