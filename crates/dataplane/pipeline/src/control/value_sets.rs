//! Parser value sets.

use crate::control::Batch;
use crate::control::convert;
use crate::control::names::resolve;
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use forebay_ir::EntryMatch;
use std::sync::Arc;

impl Pipeline {
    /// Replaces the elements of a parser value set. Each element has one match per component.
    ///
    /// # Errors
    /// When there is no such value set, it holds fewer elements, or an element does not suit its components.
    pub fn set_value_set(&self, set: &str, elements: &[Vec<EntryMatch>]) -> Result<(), ControlError> {
        self.batch(|batch| batch.set_value_set(set, elements))
    }

    /// The elements of a parser value set.
    ///
    /// # Errors
    /// When there is no such value set.
    pub fn value_set(&self, set: &str) -> Result<Vec<Vec<EntryMatch>>, ControlError> {
        let index = self.value_set_index(set)?;
        let components = &self.program.value_sets[index].components;
        let snapshot = self.snapshot();
        let element = |element: &Vec<forebay_tables::KeyMatch>| {
            let pairs = components.iter().zip(element);
            pairs
                .map(|(component, given)| convert::condition_to_control(given, component.width))
                .collect()
        };
        Ok(snapshot.value_sets[index].iter().map(element).collect())
    }

    fn value_set_index(&self, name: &str) -> Result<usize, ControlError> {
        let names = self.program.value_sets.iter().map(|set| set.name.as_str());
        resolve(ObjectKind::ValueSet, name, names)
    }
}

impl Batch<'_> {
    /// See [`Pipeline::set_value_set`].
    pub fn set_value_set(&mut self, set: &str, elements: &[Vec<EntryMatch>]) -> Result<(), ControlError> {
        let index = self.pipeline.value_set_index(set)?;
        let declared = &self.pipeline.program.value_sets[index];
        if elements.len() as u64 > declared.size {
            return Err(ControlError::Full {
                name: declared.name.clone(),
                size: declared.size,
            });
        }
        let converted = elements.iter().map(|element| value_set_element(declared, element));
        let converted = Arc::new(converted.collect::<Result<Vec<_>, _>>()?);
        self.change(|snapshot| snapshot.value_sets[index] = converted);
        Ok(())
    }
}

fn value_set_element(
    declared: &forebay_ir::ValueSet,
    element: &[EntryMatch],
) -> Result<Vec<forebay_tables::KeyMatch>, ControlError> {
    let expected = declared.components.len();
    if element.len() != expected {
        let what = "components";
        return Err(ControlError::WrongCount {
            name: declared.name.clone(),
            what,
            expected,
            given: element.len(),
        });
    }
    let pairs = declared.components.iter().zip(element);
    pairs
        .map(|(component, given)| convert::condition(&declared.name, &component.name, component.width, given))
        .collect()
}
