//! The loop: the socket of N4, the switch, the clock.

use crate::entry::Entries;
use crate::error::AgentError;
use crate::gtpu::Message;
use crate::link::Synchronised;
use crate::paths::Paths;
use crate::plane::{Happening, Plane};
use crate::settings::Settings;
use forebay_client::ClientOptions;
use forebay_journal::{Store, Sync};
use forebay_pfcp::wire::truncated_ntp;
use forebay_pfcp::{Limits, Node, PORT};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// The longest datagram.
const DATAGRAM_MAX: usize = 65_536;
/// Datagrams that are kept by one write to the disk; the first is answered after the last.
const DATAGRAMS_MAX: usize = 32;
/// How long the socket is waited for before the switch is looked at.
const PATIENCE: Duration = Duration::from_millis(2);
/// Time between looks at what is due by time.
const TICK: Duration = Duration::from_millis(100);
/// Time between attempts to reach the switch.
const RECONNECT: Duration = Duration::from_secs(1);
/// Batches of the journal before it is written anew.
const BATCHES_MAX: usize = 50_000;

/// QERs and URRs in the lower half of the arrays of `functions/upf`, FARs and sessions of its tables.
const LIMITS: Limits = Limits {
    sessions: 65_535,
    fars: 1_048_575,
    qers: 65_535,
    urrs: 65_535,
};

/// What an agent is started with, besides its settings.
#[derive(Clone, Debug)]
pub struct Options {
    /// The switch.
    pub switch: ClientOptions,
    /// The folder in which sessions are kept over a restart; without one a restart ends them.
    pub state: Option<PathBuf>,
    /// Whether what is kept is brought to the disk before a request is answered.
    pub is_synced: bool,
}

/// An agent that speaks PFCP.
pub struct Agent {
    settings: Settings,
    common: Entries,
    node: Node,
    plane: Plane,
    paths: Paths,
    socket: UdpSocket,
    store: Option<Store>,
    batches: usize,
    clock: Clock,
    next_tick: Duration,
    next_usage: Duration,
    next_connect: Duration,
    /// Messages within the present second, and when it ends.
    told: u64,
    next_second: Duration,
    /// Datagrams from unknown addresses, and the time until which no more of them are logged.
    strangers: u64,
    next_minute: Duration,
}

/// The most messages that are logged in a second. Without a limit, any peer that may send requests could fill a disk
/// with refusals.
const TOLD_MAX: u64 = 20;

/// Times since 1970 that never go back.
struct Clock {
    began: Duration,
    since: Instant,
}

impl Clock {
    fn new() -> Clock {
        Clock {
            began: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
            since: Instant::now(),
        }
    }

    fn now(&self) -> Duration {
        self.began + self.since.elapsed()
    }
}

impl Agent {
    /// Opens the socket and the folder, takes up the sessions that are kept, and connects to the switch.
    ///
    /// # Errors
    /// When one of them cannot be had.
    pub fn start(settings: Settings, options: Options, tell: &mut dyn FnMut(&str)) -> Result<Agent, AgentError> {
        let clock = Clock::new();
        let n4 = &settings.n4;
        let mut node = Node::new(forebay_pfcp::Settings {
            node: settings.node(),
            address: n4.address,
            tunnels_at: settings.tunnels_at(),
            pools: settings.pools()?,
            limits: LIMITS,
            recovery: truncated_ntp(clock.now()),
            // Goes once round in 12 days, and by 16 in a second.
            first_sequence: (clock.now().as_millis() / 64) as u32,
            retry: Duration::from_millis(n4.retry_ms),
            attempts: n4.attempts,
            heartbeat: Duration::from_secs(n4.heartbeat_s),
            peers: settings.peers()?,
        });
        let store = open_store(&options, &mut node, tell)?;
        let socket = UdpSocket::bind((n4.address, PORT)).map_err(|error| AgentError::Address(n4.address, error))?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(AgentError::Socket)?;
        let mut agent = Agent {
            common: settings.entries()?,
            plane: Plane::new(options.switch, settings.tunnels_at()),
            paths: Paths::new(Duration::from_secs(n4.echo_s)),
            settings,
            node,
            socket,
            store,
            batches: 0,
            next_tick: Duration::ZERO,
            next_usage: Duration::ZERO,
            next_connect: Duration::ZERO,
            clock,
            told: 0,
            next_second: Duration::ZERO,
            strangers: 0,
            next_minute: Duration::ZERO,
        };
        agent.connect(tell)?;
        Ok(agent)
    }

    /// Speaks PFCP until `stop` says so. Everything that is worth telling goes to `tell`.
    ///
    /// # Errors
    /// When the socket or the folder is of no use any more.
    pub fn run(&mut self, stop: &dyn Fn() -> bool, tell: &mut dyn FnMut(&str)) -> Result<(), AgentError> {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while !stop() {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    self.receive(from, &buffer[..length]);
                    self.receive_waiting(&mut buffer)?;
                }
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(AgentError::Socket(error)),
            }
            self.look_at_switch(tell);
            self.look_at_clock(tell);
            self.flush(tell)?;
        }
        Ok(())
    }

    fn receive(&mut self, from: SocketAddr, datagram: &[u8]) {
        let now = self.clock.now();
        self.node.receive(now, from, datagram, &mut self.plane);
    }

    /// Takes datagrams that have come meanwhile, so that one write to the disk keeps what all of them change.
    fn receive_waiting(&mut self, buffer: &mut [u8]) -> Result<(), AgentError> {
        if self.store.is_none() {
            return Ok(());
        }
        self.socket.set_nonblocking(true).map_err(AgentError::Socket)?;
        for _ in 1..DATAGRAMS_MAX {
            match self.socket.recv_from(buffer) {
                Ok((length, from)) => self.receive(from, &buffer[..length]),
                Err(error) if is_nothing(&error) => break,
                Err(error) => return Err(AgentError::Socket(error)),
            }
        }
        self.socket.set_nonblocking(false).map_err(AgentError::Socket)
    }

    /// Takes packets that the switch has sent.
    fn look_at_switch(&mut self, tell: &mut dyn FnMut(&str)) {
        let now = self.clock.now();
        let node = &self.node;
        let mut happenings = Vec::new();
        let polled = self.plane.poll(|seid| node.session(seid), &mut happenings);
        for happening in happenings {
            self.take(now, happening, tell);
        }
        if let Err(error) = polled {
            tell(&format!("switch: {error}; it is tried again"));
        }
    }

    fn take(&mut self, now: Duration, happening: Happening, tell: &mut dyn FnMut(&str)) {
        match happening {
            Happening::Buffered { seid, pdr } => self.node.downlink_data(now, seid, pdr),
            Happening::Gtpu(Message::ErrorIndication(tunnel)) => self.node.error_indication(now, &tunnel),
            Happening::Gtpu(Message::EchoResponse(peer)) => {
                if self.paths.answered(peer) {
                    tell(&format!("{peer}: the path is there again"));
                    self.node.path_changed(now, peer, true);
                }
            }
            Happening::Gtpu(Message::EndMarker | Message::Other) => {}
        }
    }

    /// Does what is due by time.
    fn look_at_clock(&mut self, tell: &mut dyn FnMut(&str)) {
        let now = self.clock.now();
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        self.look_at_messages(now, tell);
        self.node.tick(now);
        if !self.plane.is_connected() && now >= self.next_connect && self.reconnect(tell) {
            return;
        }
        if now >= self.next_usage {
            self.next_usage = now + Duration::from_millis(self.settings.n4.usage_ms);
            self.node.report_usage(now, &mut self.plane);
        }
        // Requests that cannot be sent say nothing of a path.
        if self.plane.is_connected() && self.paths.is_due(now) {
            let (asked, down) = self.paths.ask(now, &self.node.gtpu_peers());
            for (peer, sequence) in asked {
                self.plane.send_echo_request(peer, sequence);
            }
            for peer in down {
                tell(&format!("{peer}: the path is down"));
                self.node.path_changed(now, peer, false);
            }
        }
    }

    fn connect(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), AgentError> {
        self.next_connect = self.clock.now() + RECONNECT;
        let done = self.plane.connect(&self.common, self.node.sessions())?;
        self.connected(done, tell);
        Ok(())
    }

    /// Connects again, beside everything else. Whether an attempt has ended.
    fn reconnect(&mut self, tell: &mut dyn FnMut(&str)) -> bool {
        match self.plane.connect_beside(&self.common, self.node.sessions()) {
            Ok(None) => return false,
            Ok(Some(done)) => self.connected(done, tell),
            Err(error) => tell(&format!("switch: {error}")),
        }
        self.next_connect = self.clock.now() + RECONNECT;
        true
    }

    fn connected(&mut self, done: Synchronised, tell: &mut dyn FnMut(&str)) {
        self.node.counters_restarted(&mut self.plane);
        let (right, written, deleted) = (done.right, done.written, done.deleted);
        tell(&format!(
            "switch: connected; {right} entries are right, {written} written, {deleted} deleted"
        ));
    }

    /// Saves what has changed, then sends what waits: no answer leaves before what it says is kept.
    fn flush(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), AgentError> {
        self.save()?;
        while let Some((to, datagram)) = self.node.next_output() {
            // Datagrams may be lost: requests are repeated, and so are answers when they are asked for again.
            if let Err(error) = self.socket.send_to(&datagram, to) {
                self.tell_some(&format!("{to}: {error}"), tell);
            }
        }
        while let Some(event) = self.node.next_event() {
            self.tell_some(&event.to_string(), tell);
        }
        Ok(())
    }

    /// Logs a message of which peers may cause any number.
    fn tell_some(&mut self, message: &str, tell: &mut dyn FnMut(&str)) {
        if self.told < TOLD_MAX {
            tell(message);
        }
        self.told += 1;
    }

    /// Logs once a second how many messages were suppressed, and once a minute that datagrams come from addresses that
    /// are not those of SMFs.
    fn look_at_messages(&mut self, now: Duration, tell: &mut dyn FnMut(&str)) {
        if now >= self.next_second {
            self.next_second = now + Duration::from_secs(1);
            let more = std::mem::take(&mut self.told).saturating_sub(TOLD_MAX);
            if more > 0 {
                tell(&format!("and {more} more messages like these within a second"));
            }
        }
        let strangers = self.node.counters().not_allowed;
        if strangers > self.strangers && now >= self.next_minute {
            let more = strangers - std::mem::replace(&mut self.strangers, strangers);
            self.next_minute = now + Duration::from_secs(60);
            tell(&format!("{more} datagrams from outside of n4.peers were passed over"));
        }
    }

    fn save(&mut self) -> Result<(), AgentError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let Some(changes) = self.node.save_changes() else {
            return Ok(());
        };
        self.batches += 1;
        if self.batches > BATCHES_MAX || !store.takes_batches() || store.append(&changes).is_err() {
            store.snapshot(&self.node.save())?;
            self.batches = 0;
        }
        Ok(())
    }

    /// What has happened, as names and numbers.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let associations = self.node.associations().count() as u64;
        let lost = self.node.associations().filter(|(_, one)| one.is_lost).count() as u64;
        let mut named = vec![
            ("sessions", self.node.sessions().count() as u64),
            ("associations", associations),
            ("associations_lost", lost),
            ("buffered", self.plane.buffer.len() as u64),
            ("buffer_dropped", self.plane.buffer.dropped),
            ("connected", u64::from(self.plane.is_connected())),
        ];
        named.extend(self.node.counters().named());
        named
    }
}

/// Opens the folder and takes up what is in it.
fn open_store(options: &Options, node: &mut Node, tell: &mut dyn FnMut(&str)) -> Result<Option<Store>, AgentError> {
    let Some(folder) = &options.state else {
        return Ok(None);
    };
    let sync = if options.is_synced { Sync::Disk } else { Sync::System };
    let (mut store, recovered) = Store::open(folder, sync)?;
    if let Some(recovered) = recovered {
        node.restore(&recovered.snapshot, &recovered.batches)?;
        tell(&format!("{} sessions were kept", node.sessions().count()));
    }
    store.snapshot(&node.save())?;
    Ok(Some(store))
}

/// Whether a receive has ended without a datagram: after its time, by a signal, or by an ICMP error to something sent
/// earlier.
fn is_nothing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{
        ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, TimedOut, WouldBlock,
    };
    matches!(
        error.kind(),
        WouldBlock | TimedOut | Interrupted | ConnectionRefused | HostUnreachable | NetworkUnreachable
    )
}
