//! Why a switch behind interfaces drops packets: the counters that `forebay run --metrics` serves.

use super::Inside;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long the switch may take to answer, in all.
const WAIT: Duration = Duration::from_secs(2);

/// Bytes of an answer that are read at most.
const ANSWER_MAX: u64 = 64 << 20;

/// Packets that a port did not take, or that the switch dropped, by reason.
const DROPPED: &str = "forebay_port_dropped_packets_total{";

/// A counter that every Forebay switch serves.
const OURS: &str = "forebay_received_packets_total";

/// The reason that counts readings that the switch did not answer.
const UNREACHABLE: &str = "metrics_unreachable";

/// A switch that serves its counters.
#[derive(Debug)]
pub(super) struct SwitchMetrics {
    address: String,
    /// What is known of drops: the others of a reading that fails are those of the last one that did not.
    known: RefCell<BTreeMap<String, u64>>,
}

impl SwitchMetrics {
    /// The switch with metrics at `HOST:PORT`; `PORT` is on this machine.
    ///
    /// # Errors
    /// When nothing answers there, or what answers is not Forebay; in words.
    pub(super) fn open(address: &str) -> Result<SwitchMetrics, String> {
        let metrics = SwitchMetrics {
            address: match address.parse::<u16>() {
                Ok(port) => format!("localhost:{port}"),
                Err(_) => address.to_string(),
            },
            known: RefCell::default(),
        };
        let page = metrics.page();
        match page.map_err(|error| format!("cannot read the metrics of the switch at {address}: {error}"))? {
            page if page.contains(OURS) => {
                *metrics.known.borrow_mut() = drops_of(&page);
                Ok(metrics)
            }
            _ => Err(format!(
                "{address} does not serve the metrics of a switch: `forebay run --metrics {address}` does"
            )),
        }
    }

    fn page(&self) -> std::io::Result<String> {
        let mut last = std::io::Error::other("the name has no address");
        // The system knows names of zones, as in `[fe80::1%eth0]:9100`, but no brackets around them.
        let has_zone = self.address.contains('%');
        let bare = has_zone.then(|| self.address.replace(['[', ']'], ""));
        for address in bare.as_ref().unwrap_or(&self.address).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, WAIT) {
                Ok(connection) => return self.ask(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn ask(&self, mut connection: TcpStream) -> std::io::Result<String> {
        connection.set_read_timeout(Some(WAIT))?;
        connection.set_write_timeout(Some(WAIT))?;
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        connection.write_all(request.as_bytes())?;
        let mut page = String::new();
        connection.take(ANSWER_MAX).read_to_string(&mut page)?;
        Ok(page)
    }
}

impl Inside for SwitchMetrics {
    fn work(&mut self, _: u64) {}

    fn drops(&self) -> Vec<(String, u64)> {
        let mut known = self.known.borrow_mut();
        match self.page() {
            Ok(page) => {
                let failures = known.remove(UNREACHABLE);
                *known = drops_of(&page);
                known.extend(failures.map(|count| (UNREACHABLE.to_string(), count)));
            }
            Err(_) => *known.entry(UNREACHABLE.to_string()).or_default() += 1,
        }
        known.clone().into_iter().collect()
    }
}

/// The sums over all ports.
fn drops_of(page: &str) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix(DROPPED)) {
        let Some((labels, count)) = line.rsplit_once("} ") else {
            continue;
        };
        let Some((_, reason)) = labels.split_once("reason=\"") else {
            continue;
        };
        if let Ok(count) = count.trim().parse::<u64>() {
            *drops.entry(reason.trim_end_matches('"').to_string()).or_default() += count;
        }
    }
    drops
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Answers once for each page.
    fn serve(pages: Vec<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        std::thread::spawn(move || {
            for page in pages {
                let (mut connection, _) = listener.accept().expect("a connection");
                let mut request = [0; 1024];
                let _ = connection.read(&mut request).expect("a request");
                connection.write_all(page.as_bytes()).expect("a client");
            }
        });
        address
    }

    #[test]
    fn drops_are_those_of_all_ports_by_reason() {
        let page = "HTTP/1.1 200 OK\r\n\r\n# TYPE forebay_port_dropped_packets_total counter\n\
                    forebay_received_packets_total 9\n\
                    forebay_port_dropped_packets_total{port=\"1\",name=\"a\",by=\"switch\",reason=\"queue_full\"} 3\n\
                    forebay_port_dropped_packets_total{port=\"2\",name=\"b\",by=\"switch\",reason=\"queue_full\"} 4\n\
                    forebay_port_dropped_packets_total{port=\"2\",name=\"b\",by=\"port\",reason=\"too_long\"} 1\n";
        let metrics = SwitchMetrics::open(&serve(vec![page, page])).expect("a switch");
        assert_eq!(
            metrics.drops(),
            [("queue_full".to_string(), 7), ("too_long".to_string(), 1)]
        );
        // The server has ended. Each reading that fails counts, so that a trial between two of them has one, too.
        for failures in 1..3u64 {
            let expected = [(UNREACHABLE, failures), ("queue_full", 7), ("too_long", 1)];
            assert_eq!(
                metrics.drops(),
                expected.map(|(reason, count)| (reason.to_string(), count))
            );
        }
    }

    #[test]
    fn what_is_no_switch_is_named() {
        let address = serve(vec!["HTTP/1.1 200 OK\r\n\r\nup 1\n"]);
        let error = SwitchMetrics::open(&address).expect_err("no switch");
        assert!(error.contains("does not serve the metrics of a switch"), "{error}");
        let error = SwitchMetrics::open("127.0.0.1:1").expect_err("nobody listens");
        assert!(error.contains("refused"), "{error}");
    }
}
