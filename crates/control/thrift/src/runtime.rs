//! The state that BMv2's interface has and P4Runtime has not: handles, multicast nodes.

use crate::codes::{Declared, Failure, Family};
use crate::handles::Handles;
use crate::profiles::FreeNumbers;
use crate::replication::Replication;
use crate::switch::Switch;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{Entity, MeterConfig, Update};
use forebay_shell::Catalog;
use forebay_shell::catalog::{Named, find};
use std::collections::HashMap;
use std::sync::Arc;

/// Serves BMv2's calls and commands with a switch.
pub struct Runtime<S> {
    pub(crate) switch: Arc<S>,
    program_number: Option<u64>,
    pub(crate) catalog: Catalog,
    pub(crate) handles: HashMap<u32, Handles>,
    pub(crate) free_members: FreeNumbers,
    pub(crate) free_groups: FreeNumbers,
    pub(crate) replication: Replication,
    /// By table: the rates that all meters of its entries have got, those of later entries included.
    pub(crate) rates_of_entries: HashMap<u32, MeterConfig>,
}

impl<S: Switch> Runtime<S> {
    /// Does not call the switch yet.
    pub fn new(switch: S) -> Runtime<S> {
        Runtime {
            switch: Arc::new(switch),
            program_number: None,
            catalog: Catalog::default(),
            handles: HashMap::new(),
            free_members: FreeNumbers::default(),
            free_groups: FreeNumbers::default(),
            replication: Replication::default(),
            rates_of_entries: HashMap::new(),
        }
    }

    /// What the interface is to.
    pub fn switch(&self) -> &S {
        &self.switch
    }

    /// Takes note of the program that runs: handles are of one program. To be called before every call and command.
    pub(crate) fn look_at_program(&mut self) {
        let number = self.switch.program_number();
        if self.program_number == Some(number) {
            return;
        }
        let info = self.switch.program().and_then(|program| program.p4info);
        self.catalog = Catalog::new(info.unwrap_or_default());
        self.handles.clear();
        self.free_members.clear();
        self.free_groups.clear();
        self.replication = Replication::default();
        self.rates_of_entries.clear();
        self.program_number = Some(number);
    }

    /// The object of this name, which may be shortened.
    pub(crate) fn named<T: Named + Clone>(&self, name: &str, objects: &[T], missing: Declared) -> Result<T, Failure> {
        find(name, objects).cloned().map_err(|mistake| missing.because(mistake))
    }

    pub(crate) fn write(&self, family: Family, updates: &[Update]) -> Result<(), Failure> {
        let written = self.switch.write(updates);
        written.map_err(|error| Failure::refused(family, &error))
    }

    pub(crate) fn write_one(&self, family: Family, how: Type, kind: Kind) -> Result<(), Failure> {
        self.write(family, &[update(how, kind)])
    }

    pub(crate) fn read(&self, family: Family, wanted: Kind) -> Result<Vec<Kind>, Failure> {
        let read = self.switch.read(&[Entity { entity: Some(wanted) }]);
        let entities = read.map_err(|error| Failure::refused(family, &error))?;
        Ok(entities.into_iter().filter_map(|entity| entity.entity).collect())
    }
}

pub(crate) fn update(how: Type, kind: Kind) -> Update {
    Update {
        r#type: how as i32,
        entity: Some(Entity { entity: Some(kind) }),
    }
}
