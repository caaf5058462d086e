//! Numbers of a test file that make no sense.

use crate::device;
use crate::frames;
use crate::setup::{Reader, Target};
use crate::stream::Stream;
use crate::test_file::TestFile;
use forebay_sim::number;

/// The longest test that is taken for meant: a day.
pub(crate) const SECONDS_MAX: f64 = 86_400.0;

/// The shortest time that is measured: a nanosecond.
pub(crate) const SECONDS_MIN: f64 = 1e-9;

/// Frames that are sent at once at most.
const BURST_MAX: usize = 256;

/// The highest rate that is taken for meant: frames a second.
pub(crate) const PPS_MAX: f64 = 1e9;

/// The lowest: a few frames in an hour.
pub(crate) const PPS_MIN: f64 = 1e-3;

/// Numbers that make no sense.
pub(crate) fn check(file: &TestFile, reader: &mut Reader<'_>) {
    let duration = *file.duration_s.get_ref();
    if !(SECONDS_MIN..=SECONDS_MAX).contains(&duration) {
        let message = format!(
            "duration_s is {}; it must be more than 0 (at least {SECONDS_MIN:?}) and at most {SECONDS_MAX}",
            number(duration)
        );
        reader.wrong(file.duration_s.span(), message);
    }
    for (key, value) in [
        ("warm_up_s", file.warm_up_s),
        ("drain_s", file.drain_s),
        ("sample_s", file.sample_s),
    ] {
        if !(0.0..=SECONDS_MAX).contains(&value) {
            let line = reader.key_line(key);
            reader.wrong(line, format!("{key} is {}; it is 0 to {SECONDS_MAX}", number(value)));
        }
    }
    if file.disturbance_us.is_nan() || file.disturbance_us <= 0.0 {
        let line = reader.key_line("disturbance_us");
        reader.wrong(line, "disturbance_us is more than 0");
    }
    let burst = *file.burst.get_ref();
    if !(1..=BURST_MAX).contains(&burst) {
        reader.wrong(file.burst.span(), format!("burst is {burst}; it is 1 to {BURST_MAX}"));
    }
    if *file.trials.get_ref() == 0 {
        reader.wrong(file.trials.span(), "trials is 0; it must be at least 1");
    }
    if *file.device.queue_packets.get_ref() == 0 {
        let message = "queue_packets is 0; a port in memory holds at least 1 frame";
        reader.wrong(file.device.queue_packets.span(), message);
    }
}

/// Numbers of the table `rfc2889` that make no sense.
pub(crate) fn bridge(file: &TestFile, target: Option<&Target>, reader: &mut Reader<'_>) {
    let Some(entry) = &file.rfc2889 else { return };
    let bridge = entry.get_ref();
    let ports = [bridge.learning_port, bridge.test_port, bridge.monitoring_port];
    let least = 14 + crate::tag::TAG_BYTES;
    let rates = [("learning_pps", bridge.learning_pps), ("pps_max", bridge.pps_max)];
    let (key, message) = if ports[0] == ports[1] || ports[1] == ports[2] || ports[0] == ports[2] {
        let message = "learning_port, test_port and monitoring_port are three different ports";
        ("learning_port", message.to_string())
    } else if !(1..=frames::TEMPLATES_MAX as u64).contains(&bridge.addresses_max) {
        (
            "addresses_max",
            format!("addresses_max is 1 to {}", frames::TEMPLATES_MAX),
        )
    } else if let Some((key, rate)) = rates.into_iter().find(|(_, rate)| !(PPS_MIN..=PPS_MAX).contains(rate)) {
        (key, format!("{key} is {}; it is {PPS_MIN} to 10^9", number(rate)))
    } else if !(least..=frames::BYTES_MAX).contains(&bridge.frame_bytes) {
        (
            "frame_bytes",
            format!("frame_bytes is {least} to {}", frames::BYTES_MAX),
        )
    } else if let Some(message) = beyond_mtu(target, ports, bridge.frame_bytes) {
        ("frame_bytes", message)
    } else if !(0.0..=SECONDS_MAX).contains(&bridge.ageing_s) {
        ("ageing_s", format!("ageing_s is 0 to {SECONDS_MAX}"))
    } else if !(bridge.duration_scale > 0.0 && bridge.duration_scale <= 1.0) {
        (
            "duration_scale",
            "duration_scale is more than 0, and at most 1".to_string(),
        )
    } else if let Some(most) = line_pps(target, bridge.frame_bytes).filter(|most| bridge.pps_max > *most) {
        let message = format!(
            "pps_max is {}; a port of the chip carries {most:.0} of these frames a second",
            bridge.pps_max
        );
        ("pps_max", message)
    } else {
        return;
    };
    reader.wrong_key(entry.span(), key, message);
}

/// Why an interface of one of these ports does not take frames of this length; none when all do.
fn beyond_mtu(target: Option<&Target>, ports: [u32; 3], bytes: usize) -> Option<String> {
    let Some(Target::Interfaces(specs)) = target else {
        return None;
    };
    let frame = [vec![0; bytes]];
    let mut used = specs.iter().filter(|spec| ports.contains(&spec.number));
    used.find_map(|spec| device::frames_fit(spec, &frame).err())
}

/// Frames of a length that a port of the target carries in a second, where that is known.
fn line_pps(target: Option<&Target>, bytes: usize) -> Option<f64> {
    let Some(Target::Chip(chip)) = target else { return None };
    let line = device::line_rate(&chip.spec)?;
    Some(line.bits_per_second as f64 / (8.0 * line.framing.wire_bytes(bytes as u32) as f64))
}

/// Numbers of the table `search` that make no sense, and goals that do not exist.
pub(crate) fn search(file: &TestFile, streams: &[Stream], reader: &mut Reader<'_>) {
    goals(file, reader);
    let scale = file.search.duration_scale;
    if !(scale > 0.0 && scale <= 1.0) {
        let message = format!(
            "duration_scale is {}; it must be more than 0 and at most 1",
            number(scale)
        );
        reader.wrong_key(reader.table("[search]"), "duration_scale", message);
    }
    if let Some(limit) = &file.search.time_limit_s
        && !(*limit.get_ref() > 0.0 && limit.get_ref().is_finite())
    {
        reader.wrong(
            limit.span(),
            format!("time_limit_s is {}; it must be more than 0", number(*limit.get_ref())),
        );
    }
    loads(file, streams, reader);
    sizes(file, reader);
}

/// Goals that do not exist, and those whose name another has: results are told apart by it.
fn goals(file: &TestFile, reader: &mut Reader<'_>) {
    let mut names: Vec<String> = Vec::new();
    for entry in &file.search.goals {
        let goals = match entry.get_ref().resolved() {
            Ok(goals) => goals,
            Err(message) => {
                reader.wrong(entry.span(), message);
                continue;
            }
        };
        for goal in goals {
            if goal.name.trim().is_empty() {
                reader.wrong(entry.span(), "a goal has a name, by which results call it");
            } else if goal.name.contains(char::is_control) {
                reader.wrong(
                    entry.span(),
                    "the name of a goal is one line, without control characters",
                );
            } else if names.contains(&goal.name) {
                let message = format!("the goal {:?} is there already; leave one out", goal.name);
                reader.wrong(entry.span(), message);
            }
            names.push(goal.name);
        }
    }
}

/// The least and the highest load.
fn loads(file: &TestFile, streams: &[Stream], reader: &mut Reader<'_>) {
    let entry = &file.search;
    for (key, load) in [("min_pps", &entry.min_pps), ("max_pps", &entry.max_pps)] {
        let Some(load) = load else { continue };
        let value = *load.get_ref();
        if !(PPS_MIN..=PPS_MAX).contains(&value) {
            let message = format!(
                "{key} is {}; it must be more than 0 (at least {PPS_MIN}), and at most 10^9",
                number(value)
            );
            return reader.wrong(load.span(), message);
        }
    }
    let Some(min) = &entry.min_pps else { return };
    if streams.len() < file.traffic.len() {
        return;
    }
    let of_streams: Option<f64> = streams.iter().map(Stream::mean_pps).sum();
    let (max, which) = match &entry.max_pps {
        Some(max) => (Some(*max.get_ref()), "max_pps"),
        None => (of_streams, "the sum of the rates of all streams"),
    };
    if let Some(max) = max.filter(|max| min.get_ref() >= max) {
        let message = format!(
            "min_pps is {}; it must be less than {which}, which is {max}",
            min.get_ref()
        );
        reader.wrong(min.span(), message);
    }
}

/// Lengths of frames for the tests of RFC 2544. Results are told apart by them.
fn sizes(file: &TestFile, reader: &mut Reader<'_>) {
    let sizes = &file.search.frame_bytes;
    for (at, size) in sizes.iter().enumerate() {
        if sizes[..at].iter().any(|other| other.get_ref() == size.get_ref()) {
            let message = format!("frame_bytes has {} already; leave one out", size.get_ref());
            return reader.wrong(size.span(), message);
        }
        for entry in &file.traffic {
            // Frames of captures and messages have lengths of their own, which the test itself says.
            let Some(frame) = entry.frame.get_ref().resized(*size.get_ref()) else {
                continue;
            };
            if frame.parser.is_some() {
                continue;
            }
            if let Err(message) = frames::frames(&frame, None, file.seed) {
                reader.wrong(size.span(), format!("{}: {message}", entry.name.get_ref()));
                return;
            }
        }
    }
}
