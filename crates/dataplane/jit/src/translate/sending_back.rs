//! The fast path: packets that are sent back to ingress: see [`crate::route::SendsBack`]. What such a packet keeps for
//! its next pass is noted, and the packet's verdict has the number of the note.

use super::Translator;
use crate::packet_context::verdict;
use crate::route::Route;
use crate::route::facts::Facts;
use crate::runtime;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::SlotId;

impl Translator<'_, '_, '_> {
    /// After ingress: ends the packet if it is resubmitted, after its clone was noted. The burst ends with it, because
    /// it begins again before the next packet.
    pub(super) fn resubmit_if_asked(&mut self, route: &Route, facts: &Facts) {
        let Some(asked) = self.asked_to_send_back(route.resubmits(facts)) else {
            return;
        };
        self.end_when(asked, |translator| {
            translator.note_clone_from_ingress(route, facts);
            let note = translator.note_sent_back(route, asked);
            let verdict = translator.verdict_with(verdict::RESUBMITTED, note);
            translator.end_burst_with(verdict);
        });
    }

    /// Before the deparser: a packet or a copy that is recirculated leaves for its note in place of its port.
    pub(super) fn recirculate_if_asked(&mut self, route: &Route, facts: &Facts) {
        let Some(asked) = self.asked_to_send_back(route.recirculates(facts)) else {
            return;
        };
        let port = match self.copy_loop() {
            Some(copies) => copies.port,
            None => self.on_path().egress_port,
        };
        self.when_rarely(asked, |translator| {
            let note = translator.note_sent_back(route, asked);
            let instead = translator.verdict_with(verdict::RECIRCULATED, note);
            translator.builder.def_var(port, instead);
        });
    }

    fn asked_to_send_back(&mut self, slot: Option<SlotId>) -> Option<ir::Value> {
        let slot = slot.filter(|slot| !self.is_known_zero(*slot))?;
        Some(self.word_of_slot(slot))
    }

    /// Notes what the packet may keep. `asked` is the value of a slot of [`crate::route::SendsBack`].
    fn note_sent_back(&mut self, route: &Route, asked: ir::Value) -> ir::Value {
        let back = route.sends_back.as_ref().expect("it has such a slot");
        let (head, end) = self.store_slots(&back.kept, 0);
        let bytes = self.ins().isub(end, head);
        self.call_for_result(runtime::NOTE_SENT_BACK, &[self.context, head, bytes, asked])
    }
}
