//! Whether streams come out where a test file that checks them expects them.
//!
//! With `check`, the reference executor says what comes out where. A `to` that says something else would be ignored,
//! and a stream of which nothing can be measured would pass: both are mistakes of the file, told before anything is
//! sent.

use crate::setup::Reader;
use crate::stream::Stream;
use crate::test_file::TestFile;

/// Notes streams that come out elsewhere than the file says. `reached` has the ports of each stream, `ports` those of
/// the device.
pub(crate) fn check(file: &TestFile, streams: &[Stream], reached: &[Vec<u32>], ports: &[u32], reader: &mut Reader<'_>) {
    for ((entry, stream), reached) in file.traffic.iter().zip(streams).zip(reached) {
        // Messages cannot be checked, which is told of later.
        if stream.messages.is_some() {
            continue;
        }
        let name = &stream.name;
        match &entry.to {
            Some(to) => {
                if let Some(problem) = wrong_port(*to.get_ref(), reached) {
                    let hint = "with check = true the reference says where frames come out, so `to` may be left out";
                    reader.wrong(to.span(), format!("the reference executor {problem} {name}; {hint}"));
                }
            }
            None if !reached.is_empty() && reached.iter().all(|port| !ports.contains(port)) => {
                let message = format!(
                    "the reference executor sends all frames of {name} to {}, which the test does not have; name it in `ports` of [device] or with an interface",
                    listed(reached)
                );
                reader.wrong(entry.from.span(), message);
            }
            None => {}
        }
    }
}

/// What a stream does that is expected at one port, in words; none when it comes out there and nowhere else.
fn wrong_port(to: u32, reached: &[u32]) -> Option<String> {
    match reached {
        [] => Some("drops all frames of".to_string()),
        [only] if *only == to => None,
        others if others.contains(&to) => Some(format!(
            "sends to {}, not to port {to} alone, frames of",
            listed(others)
        )),
        others => Some(format!("sends to {}, not to port {to}, the frames of", listed(others))),
    }
}

fn listed(ports: &[u32]) -> String {
    let numbers: Vec<String> = ports.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        [one] => format!("port {one}"),
        many => format!("ports {}", many.join(", ")),
    }
}
