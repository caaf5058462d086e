//! Any messages to a vhost-user port, and anything in the guest's memory: answered, refused or carried, and nothing
//! else.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| forebay_ports::exercise_vhost_user(data));
