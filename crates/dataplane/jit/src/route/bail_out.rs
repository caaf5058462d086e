//! The reasons for which compiled code leaves a packet to the slow path.

use super::named::named;
use std::fmt;

named! {
    /// Why compiled code leaves a packet to the slow path. The number is part of the packet's verdict; the words say what
    /// happened to such packets.
    BailOut {
        /// The parser rejects the packet: it is too short, no case matches, or the program says so.
        ParserError = "parser_error", "rejected by the parser";
        /// The packet reached a part of the program that is beyond what is compiled.
        TooLarge = "too_large", "beyond what is compiled of the program";
        /// The packet is copied for a multicast group, and its copies cannot be made in place.
        Copies = "copies", "multicast";
        /// The egress parser reads other headers than ingress emitted.
        EgressParser = "egress_parser", "parsed otherwise after the queue";
        /// The packet is cloned.
        Clone = "clone", "cloned";
        /// The packet is resubmitted or recirculated.
        SentBack = "sent_back", "resubmitted or recirculated";
        /// The packet sends a digest.
        Digest = "digest", "with a digest";
    }
}

impl BailOut {
    /// The reason with this number.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn of_number(number: u32) -> BailOut {
        BailOut::ALL[number as usize]
    }
}

impl fmt::Display for BailOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
