//! Serving and pushing metrics, beside whatever they are about.

use crate::family::Family;
use crate::http::{Pages, serve};
use crate::push::{self, Batch, Pusher};
use crate::target::Identity;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;
use tokio::time::MissedTickBehavior;

/// Reads the metrics now. It may wait some milliseconds.
pub type Source = Arc<dyn Fn() -> Vec<Family> + Send + Sync>;

/// What `/ready` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPage {
    /// Whether what the metrics are of can do its work.
    pub is_ready: bool,
    /// For people: what is lacking.
    pub text: String,
    /// The same for programs.
    pub json: String,
}

/// Finds out what `/ready` answers. It may wait a second.
pub type Ready = Arc<dyn Fn() -> ReadyPage + Send + Sync>;

/// How long the last batches may take when an exporter ends.
const END: Duration = Duration::from_secs(3);

/// What serves and pushes: sockets that were opened, targets, and once started a thread. Dropping it ends everything.
pub struct Exporter {
    listener: Option<TcpListener>,
    ready: Option<Ready>,
    pushers: Vec<Arc<Pusher>>,
    interval: Duration,
    runtime: Option<Runtime>,
    scrapes: Arc<AtomicU64>,
    identity: Identity,
}

impl Exporter {
    /// One that pushes every `interval`, under the name of an instance. Scrapers name instances themselves.
    pub fn new(interval: Duration, instance: &str) -> Exporter {
        Exporter {
            listener: None,
            ready: None,
            pushers: Vec::new(),
            interval,
            runtime: None,
            scrapes: Arc::default(),
            identity: Identity {
                instance: instance.to_string(),
                start_ns: now_ns(),
            },
        }
    }

    /// Serves `/metrics` on `HOST:PORT`; `PORT` is on this machine, `:PORT` on all interfaces. Returns the address.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn listen(&mut self, address: &str) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(&*socket_addresses(address)?)?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        self.listener = Some(listener);
        Ok(bound)
    }

    /// Serves `/ready` too.
    pub fn serve_ready(&mut self, ready: Ready) {
        self.ready = Some(ready);
    }

    /// Pushes metrics to a target.
    pub fn push(&mut self, pusher: Arc<Pusher>) {
        self.pushers.push(pusher);
    }

    /// The pushers whose targets take lines of InfluxDB's protocol.
    pub fn databases(&self) -> Vec<Arc<Pusher>> {
        let takes_lines = |pusher: &&Arc<Pusher>| pusher.target().takes_lines();
        self.pushers.iter().filter(takes_lines).cloned().collect()
    }

    /// Whether there is anything to do.
    pub fn is_idle(&self) -> bool {
        self.listener.is_none() && self.pushers.is_empty()
    }

    /// Starts to serve and to push what `source` reads, and metrics of its own.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(&mut self, source: Source) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(4)
            .thread_name("telemetry")
            .enable_all()
            .build()?;
        let source = self.with_own(source);
        let inside = runtime.enter();
        if let Some(listener) = self.listener.take() {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let pages = Pages {
                source: Arc::clone(&source),
                ready: self.ready.clone(),
                scrapes: Arc::clone(&self.scrapes),
            };
            runtime.spawn(serve(listener, Arc::new(pages)));
        }
        for pusher in &self.pushers {
            runtime.spawn(Arc::clone(pusher).run());
        }
        if !self.pushers.is_empty() {
            runtime.spawn(tick(self.pushers.clone(), source, self.interval, self.identity.clone()));
        }
        drop(inside);
        self.runtime = Some(runtime);
        Ok(())
    }

    /// Adds metrics of the process, of scrapes and of pushers.
    fn with_own(&self, source: Source) -> Source {
        let (pushers, scrapes, start_ns) = (self.pushers.clone(), Arc::clone(&self.scrapes), self.identity.start_ns);
        Arc::new(move || {
            let mut families = crate::switch::process(start_ns);
            families.extend(source());
            let served = Family::counter("forebay_scrapes_total", "Requests for metrics.");
            families.push(served.of(scrapes.load(Ordering::Relaxed)));
            if !pushers.is_empty() {
                families.extend(push::families(&pushers));
            }
            families
        })
    }

    /// Pushes the metrics of `source` once more, and waits a few seconds at most until all that waits is delivered.
    pub fn finish(&mut self, source: &Source) {
        if self.runtime.is_none() || self.pushers.is_empty() {
            return;
        }
        offer(&self.pushers, &self.with_own(Arc::clone(source))(), &self.identity);
        let end = std::time::Instant::now() + END;
        let is_done = |pusher: &Arc<Pusher>| pusher.is_done();
        while std::time::Instant::now() < end && !self.pushers.iter().all(is_done) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Offers metrics to all pushers again and again.
async fn tick(pushers: Vec<Arc<Pusher>>, source: Source, interval: Duration, identity: Identity) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let source = Arc::clone(&source);
        if let Ok(families) = tokio::task::spawn_blocking(move || source()).await {
            offer(&pushers, &families, &identity);
        }
    }
}

fn offer(pushers: &[Arc<Pusher>], families: &[Family], identity: &Identity) {
    let rows = families.iter().map(|family| family.samples.len() as u64).sum();
    let time_ns = now_ns();
    for pusher in pushers {
        let body = pusher.target().encode(families, identity, time_ns);
        pusher.offer(Batch { body, rows });
    }
}

/// Nanoseconds since the Unix epoch.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn socket_addresses(address: &str) -> io::Result<Vec<SocketAddr>> {
    let everywhere = address.strip_prefix(':').and_then(|port| port.parse::<u16>().ok());
    Ok(match (address.parse::<u16>(), everywhere) {
        (Ok(port), _) => vec![(Ipv4Addr::LOCALHOST, port).into()],
        // The first that the system has.
        (_, Some(port)) => vec![
            (Ipv6Addr::UNSPECIFIED, port).into(),
            (Ipv4Addr::UNSPECIFIED, port).into(),
        ],
        _ => resolve(address)?,
    })
}

/// The addresses that `HOST:PORT` or `[IPV6]:PORT` names, also with a zone: `[fe80::1%eth0]:9100`.
///
/// # Errors
/// When the system knows no such host.
pub fn resolve(address: &str) -> io::Result<Vec<SocketAddr>> {
    if address.contains('%') {
        // The system knows names of zones, but no brackets.
        return Ok(address.replace(['[', ']'], "").to_socket_addrs()?.collect());
    }
    Ok(address.to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddrV6;

    #[test]
    fn a_port_alone_is_of_this_machine() {
        let addresses = |address| socket_addresses(address).expect("an address");
        assert_eq!(addresses("9100"), [SocketAddr::from(([127, 0, 0, 1], 9100))]);
        assert_eq!(addresses(":9100")[1], SocketAddr::from(([0, 0, 0, 0], 9100)));
        assert!(socket_addresses("nowhere").is_err());
        assert_eq!(addresses("[::]:80"), [SocketAddr::from(([0u16; 8], 80))]);
        let link_local = SocketAddrV6::new("fe80::1".parse().expect("an address"), 80, 0, 1);
        assert_eq!(addresses("[fe80::1%lo]:80"), [SocketAddr::V6(link_local)]);
    }
}
