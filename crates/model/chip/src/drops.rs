//! Packets that the program drops, and where in its source it decides that.

use forebay_ir::{Location, Program};
use forebay_pipeline::{DropPlace, DropReason, Event, Tracer};
use std::cell::Cell;

/// A packet that a program drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramDrop {
    /// Why.
    pub reason: DropReason,
    /// Where in its source the program decided it, if that [is wanted](crate::Observer::wants_locations) and the source
    /// says it anywhere.
    pub location: Option<Location>,
}

/// Hears where a program decides to drop the present packet.
pub(crate) struct DropTracer<'a> {
    program: &'a Program,
    place: Cell<DropPlace>,
}

impl DropTracer<'_> {
    pub(crate) fn new(program: &Program) -> DropTracer<'_> {
        DropTracer {
            program,
            place: Cell::default(),
        }
    }

    /// Another packet is the present one.
    pub(crate) fn begin_packet(&self) {
        self.place.take();
    }

    pub(crate) fn location(&self) -> Option<Location> {
        self.place.get().location()
    }
}

impl Tracer for &DropTracer<'_> {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        let mut place = self.place.get();
        place.hear(self.program, &event);
        self.place.set(place);
    }
}
