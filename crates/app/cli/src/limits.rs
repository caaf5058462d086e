//! What a switch spends at most: memory for a program's state, time and memory for programs that are pushed, room for
//! controllers.

use forebay_server::Limits;
use std::path::Path;
use std::time::Duration;

/// The most connections that can be allowed: more than a machine has. The server counts them by a semaphore, which has a
/// limit.
const CONNECTIONS_MAX: u64 = 1 << 24;

/// Memory of the program's state.
#[derive(clap::Args, Clone, Debug)]
pub struct MemoryOptions {
    /// Memory for registers, counters, meters and table entries, for example 512M; without it, half of what there is
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,
}

impl MemoryOptions {
    /// Bytes that the state of a program may need; none when the amount of memory is unknown.
    pub fn limit(&self) -> Option<u64> {
        self.memory_limit.or_else(|| Some(memory_of_machine()? / 2))
    }
}

/// What the server spends on controllers.
#[derive(clap::Args, Clone, Debug)]
pub struct ServerLimits {
    /// How long a program that a controller pushes may take to be compiled and loaded
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = crate::numbers::seconds)]
    push_time: f64,
    /// Memory that compiling it may take; without it, as much as --memory-limit
    #[arg(long, value_name = "SIZE", value_parser = size)]
    push_memory: Option<u64>,
    /// Connections at a time
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections as u64, value_parser = clap::value_parser!(u64).range(1..=CONNECTIONS_MAX))]
    grpc_connections: u64,
    /// Calls of one connection at a time
    #[arg(long, value_name = "N", default_value_t = Limits::default().calls_per_connection, value_parser = clap::value_parser!(u32).range(1..))]
    grpc_calls: u32,
    /// The largest message from a controller
    #[arg(long, value_name = "SIZE", default_value = "128M", value_parser = size)]
    grpc_message: u64,
    /// All messages from controllers together that are under way: received in part, or being served
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size)]
    grpc_memory: u64,
    /// How long a message may take to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = crate::numbers::seconds)]
    grpc_message_time: f64,
    /// How long a connection may stay without a call
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, value_parser = crate::numbers::seconds)]
    grpc_idle_time: f64,
    /// Messages that wait for a controller that does not read its stream; what has no room is dropped
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size)]
    grpc_queue: u64,
}

impl ServerLimits {
    /// As the server knows them.
    pub fn limits(&self, memory: &MemoryOptions) -> Limits {
        let bytes = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        Limits {
            push_time: Duration::from_secs_f64(self.push_time),
            push_memory: self.push_memory.or(memory.limit()).map(bytes),
            connections: self.grpc_connections as usize,
            calls_per_connection: self.grpc_calls,
            message_bytes: bytes(self.grpc_message),
            messages_bytes: bytes(self.grpc_memory),
            message_time: Duration::from_secs_f64(self.grpc_message_time),
            idle_time: Duration::from_secs_f64(self.grpc_idle_time),
            stream_bytes: bytes(self.grpc_queue),
            ..Limits::default()
        }
    }
}

/// Reads a number of bytes: `4096`, `64k`, `512M`, `2G`, of 1024 each.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        "t" | "tb" | "tib" => Some(40),
        _ => None,
    };
    let number = digits.parse::<u64>().ok().zip(shift);
    let bytes = number.and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a size, for example 512M or 2G".to_string())
}

/// Bytes of memory that this process may hope for: those of the machine, or of the control group that it is in.
fn memory_of_machine() -> Option<u64> {
    let limits = [machine(), group()];
    limits.into_iter().flatten().min()
}

fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The least limit of the control group and those around it.
fn group() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let folder = Path::new(root).join(path);
        let folders = folder.ancestors().take_while(|folder| folder.starts_with(root));
        let of_folder = |folder: &Path| {
            std::fs::read_to_string(folder.join(file))
                .ok()?
                .trim()
                .parse::<u64>()
                .ok()
        };
        folders.filter_map(of_folder).min()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("512MB"), Ok(512 << 20));
        assert_eq!(size("2G"), Ok(2 << 30));
        for bad in ["", "0", "G", "-1", "1.5G", "2 G", "1Q", "99999999999T"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(memory_of_machine().is_none_or(|bytes| bytes > 1 << 20));
    }
}
