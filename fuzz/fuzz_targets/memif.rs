//! Any messages to a memif port of either role, and anything in the memory that it shares: answered, refused or
//! carried, and nothing else.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| forebay_ports::exercise_memif(data));
