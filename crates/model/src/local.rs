//! Placeholder.
use crate::weights::Store;
use crate::{Model, NoModel};
use std::sync::Arc;
/// The models of this machine.
#[derive(Clone, Debug)]
pub struct Locals {
    store: Store,
}
impl Locals {
    /// Those whose weights are here.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
    pub(crate) fn open(&self, name: &str) -> Result<Arc<dyn Model>, NoModel> {
        let _found = self.store.find(name);
        Err(NoModel::NotInstalled { name: name.to_owned() })
    }
}
