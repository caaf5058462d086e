//! Opens the ports of a configuration: a location is an interface, or the number of a port in memory.

use crate::engine::{Devices, Opened};
use forebay_ports::PortSpec;
use forebay_tester::device::{self, Device};
use std::cmp::Reverse;

/// A location is an interface: `veth0`, `packet:veth0`, `tap:tap0`.
pub struct Interfaces;

impl Devices for Interfaces {
    fn open(&mut self, locations: &[String]) -> Result<Opened, (usize, String)> {
        let mut specs = Vec::new();
        for (index, location) in locations.iter().enumerate() {
            let spec = format!("{}@{location}", index + 1);
            let parsed = PortSpec::parse_all([spec.as_str()]);
            let parsed = parsed.map_err(|error| (index, format!("{location:?} is no interface: {error}")))?;
            if locations[..index].contains(location) {
                return Err((index, format!("{location:?} is the location of another port, too")));
            }
            specs.extend(parsed);
        }
        let opened = device::interfaces(&specs);
        let device = opened.map_err(|error| (fault(&error.to_string(), locations), error.to_string()))?;
        Ok(Opened {
            device,
            ports: (0..locations.len()).collect(),
        })
    }
}

/// The location that an error names, else the first. Of several it is the one that stands first; of `veth1` and `veth10`
/// at one place the longer.
fn fault(error: &str, locations: &[String]) -> usize {
    let named = |(index, location): (usize, &String)| {
        let name = location.rsplit(':').next().unwrap_or(location);
        Some((error.find(name)?, Reverse(name.len()), index))
    };
    let first = locations.iter().enumerate().filter_map(named).min();
    first.map_or(0, |(_, _, index)| index)
}

/// A location is the number of a port of a device in memory.
pub struct Memory<F>(
    /// Makes the device with ports of these numbers.
    pub F,
);

impl<F: FnMut(&[u32]) -> Result<Device, String> + Send + 'static> Devices for Memory<F> {
    fn open(&mut self, locations: &[String]) -> Result<Opened, (usize, String)> {
        let mut numbers: Vec<u32> = Vec::new();
        for (index, location) in locations.iter().enumerate() {
            let number = location.parse().ok().filter(|number| *number < 511);
            let number = number.ok_or_else(|| {
                (
                    index,
                    format!("{location:?} is no port; a number from 0 to 510 is expected"),
                )
            })?;
            if numbers.contains(&number) {
                return Err((index, format!("port {number} is the location of another port, too")));
            }
            numbers.push(number);
        }
        let device = (self.0)(&numbers).map_err(|message| (0, message))?;
        let ports = numbers
            .iter()
            .map(|number| device.ports.iter().position(|port| port.number == *number));
        let ports: Option<Vec<usize>> = ports.collect();
        let ports = ports.ok_or((0, "the device has not all of these ports".to_string()))?;
        Ok(Opened { device, ports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_interface_that_they_name() {
        let locations = ["veth1", "packet:veth10", "veth2"].map(str::to_string);
        for (error, index) in [
            ("there is no interface `veth10` here; did you mean `veth1`?", 1),
            ("there is no interface `veth1` here; did you mean `veth10`?", 0),
            ("veth2: no link", 2),
            ("no rights", 0),
        ] {
            assert_eq!(fault(error, &locations), index, "{error}");
        }
    }
}
