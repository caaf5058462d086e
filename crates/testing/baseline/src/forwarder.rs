//! The loop around a network function: bursts from ports, through the function, to ports.

use forebay_packet::{Burst, DEFAULT_BURST, Packet, Port};

/// Ports have numbers below this; it is also the number that stands for "drop" in v1model.
pub const DROP_PORT: u16 = 511;

/// Why a packet was dropped. The labels are those of the compiled programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// By what stands in ingress of the program.
    Ingress,
    /// By what stands in egress.
    Egress,
    /// It ends in the middle of a header.
    TooShort,
    /// A header field has a value that it cannot have.
    InvalidArgument,
    /// An N-packet whose lengths are not those of its messages.
    IotBadLength,
    /// Its multicast group is empty.
    NoMulticastMember,
    /// Its output port does not exist.
    NoSuchPort,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [DropReason; 7] = [
        DropReason::Ingress,
        DropReason::Egress,
        DropReason::TooShort,
        DropReason::InvalidArgument,
        DropReason::IotBadLength,
        DropReason::NoMulticastMember,
        DropReason::NoSuchPort,
    ];

    /// The name in statistics.
    pub fn label(self) -> &'static str {
        match self {
            DropReason::Ingress => "ingress_drop",
            DropReason::Egress => "egress_drop",
            DropReason::TooShort => "parser_error.PacketTooShort",
            DropReason::InvalidArgument => "parser_error.ParserInvalidArgument",
            DropReason::IotBadLength => "parser_error.IotBadLength",
            DropReason::NoMulticastMember => "no_multicast_member",
            DropReason::NoSuchPort => "no_such_port",
        }
    }
}

/// What is to become of a packet of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(u16);

impl Verdict {
    /// A drop for the reason in the low bits.
    const DROP: u16 = 0x8000;

    /// It leaves by this port, or is dropped in ingress when that is [`DROP_PORT`].
    #[inline(always)]
    pub fn ingress(port: u16) -> Verdict {
        if port == DROP_PORT {
            return Verdict::drop(DropReason::Ingress);
        }
        Verdict(port)
    }

    /// Whether the packet goes nowhere.
    #[inline(always)]
    pub fn is_drop(self) -> bool {
        self.0 & Verdict::DROP != 0
    }

    /// The port by which the packet leaves; none when it is dropped.
    #[inline(always)]
    pub fn port(self) -> Option<u16> {
        (!self.is_drop()).then_some(self.0)
    }

    /// It is dropped.
    #[inline(always)]
    pub fn drop(reason: DropReason) -> Verdict {
        Verdict(Verdict::DROP | reason as u16)
    }
}

/// A verdict for each packet of a burst.
pub type Verdicts = [Verdict; DEFAULT_BURST];

/// Verdicts to be written over.
pub const UNDECIDED: Verdicts = [Verdict(Verdict::DROP); DEFAULT_BURST];

/// A network function.
pub trait Function: Send {
    /// Takes a burst of at most [`DEFAULT_BURST`] packets that came by one port, in order, and hands what leaves to
    /// `outputs`.
    fn process(&mut self, burst: &mut Burst, ingress_port: u16, outputs: &mut Outputs);

    /// What it has counted itself, by the names that the program's counters have (`messages[0]`), and `digests`.
    fn counts(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// An array of counters with their names, for [`Function::counts`].
pub(crate) fn named(array: &str, counters: &[u64]) -> Vec<(String, u64)> {
    let counters = counters.iter().enumerate();
    counters
        .map(|(index, count)| (format!("{array}[{index}]"), *count))
        .collect()
}

/// A port with the packets that wait for it.
struct Output {
    port: Box<dyn Port>,
    waiting: Burst,
}

/// The ports by their numbers, and what was counted.
pub struct Outputs {
    ports: Vec<Option<Output>>,
    numbers: Vec<u16>,
    drops: [u64; DropReason::ALL.len()],
    transmitted: u64,
    now_ns: u64,
}

impl Outputs {
    /// Hands over a burst by the verdicts on its packets; the burst is empty afterwards.
    #[inline]
    pub fn dispatch(&mut self, burst: &mut Burst, verdicts: &Verdicts) {
        let verdicts = &verdicts[..burst.len()];
        let Some(first) = verdicts.first() else { return };
        if !first.is_drop() && verdicts.iter().all(|verdict| verdict == first) {
            return self.send_burst(first.0, burst);
        }
        for (packet, verdict) in burst.iter_mut().zip(verdicts) {
            self.settle(packet, *verdict);
        }
        burst.clear();
    }

    /// A packet leaves, and a spare buffer takes its place, or it is dropped.
    #[inline]
    pub fn settle(&mut self, packet: &mut Packet, verdict: Verdict) {
        match verdict.port() {
            Some(port) => self.send(port, packet),
            None => self.settle_copies(verdict, 1),
        }
    }

    /// Counts packets that go nowhere.
    #[inline]
    pub fn settle_copies(&mut self, verdict: Verdict, packets: u64) {
        debug_assert!(verdict.is_drop(), "{verdict:?}");
        self.drops[usize::from(verdict.0 & !Verdict::DROP)] += packets;
    }

    /// The whole burst leaves by one port.
    #[inline]
    pub fn send_burst(&mut self, port: u16, burst: &mut Burst) {
        let Some(Some(output)) = self.ports.get_mut(usize::from(port)) else {
            self.drop(DropReason::NoSuchPort, burst.len() as u64);
            return burst.clear();
        };
        self.transmitted += output.flush(self.now_ns) + transmit(&mut *output.port, burst, self.now_ns);
    }

    /// A packet leaves; a spare buffer takes its place.
    #[inline]
    pub fn send(&mut self, port: u16, packet: &mut Packet) {
        let Some(Some(output)) = self.ports.get_mut(usize::from(port)) else {
            return self.drop(DropReason::NoSuchPort, 1);
        };
        if !output.waiting.push_exchange(packet) {
            self.transmitted += output.flush(self.now_ns);
            output.waiting.push_exchange(packet);
        }
    }

    /// An empty packet that will leave by the port; nothing, and a counted drop, when that does not exist.
    #[inline]
    pub fn allocate(&mut self, port: u16) -> Option<&mut Packet> {
        let Some(Some(output)) = self.ports.get_mut(usize::from(port)) else {
            self.drops[DropReason::NoSuchPort as usize] += 1;
            return None;
        };
        if output.waiting.is_full() {
            self.transmitted += output.flush(self.now_ns);
        }
        output.waiting.allocate()
    }

    /// Counts dropped packets.
    #[inline]
    pub fn drop(&mut self, reason: DropReason, packets: u64) {
        self.drops[reason as usize] += packets;
    }

    fn flush(&mut self) {
        for number in 0..self.numbers.len() {
            let slot = &mut self.ports[usize::from(self.numbers[number])];
            let output = slot.as_mut().expect("a port has each of these numbers");
            self.transmitted += output.flush(self.now_ns);
        }
    }
}

impl Output {
    #[inline]
    fn flush(&mut self, now_ns: u64) -> u64 {
        if self.waiting.is_empty() {
            return 0;
        }
        transmit(&mut *self.port, &mut self.waiting, now_ns)
    }
}

/// # Panics
/// When the port is out of order: the ports of a measurement are in memory.
fn transmit(port: &mut dyn Port, burst: &mut Burst, now_ns: u64) -> u64 {
    port.send(burst, now_ns).expect("ports in memory do not fail") as u64
}

/// A network function between ports.
pub struct Forwarder<F> {
    function: F,
    outputs: Outputs,
    received: Burst,
}

impl<F: Function> Forwarder<F> {
    /// A function between ports with these numbers, below [`DROP_PORT`].
    pub fn new(function: F, ports: Vec<(u16, Box<dyn Port>)>) -> Forwarder<F> {
        let mut outputs = Outputs {
            ports: (0..DROP_PORT).map(|_| None).collect(),
            numbers: ports.iter().map(|(number, _)| *number).collect(),
            drops: [0; DropReason::ALL.len()],
            transmitted: 0,
            now_ns: 0,
        };
        for (number, port) in ports {
            let waiting = Burst::new(DEFAULT_BURST);
            outputs.ports[usize::from(number)] = Some(Output { port, waiting });
        }
        Forwarder {
            function,
            outputs,
            received: Burst::new(DEFAULT_BURST),
        }
    }

    /// Takes a burst from each port through the function; how many packets came.
    ///
    /// # Panics
    /// When a port is out of order: the ports of a measurement are in memory.
    pub fn poll(&mut self, now_ns: u64) -> u64 {
        let Forwarder {
            function,
            outputs,
            received,
        } = self;
        outputs.now_ns = now_ns;
        let mut count = 0;
        for index in 0..outputs.numbers.len() {
            let number = outputs.numbers[index];
            let slot = &mut outputs.ports[usize::from(number)];
            let port = &mut slot.as_mut().expect("a port has each of these numbers").port;
            let came = port.receive(received, DEFAULT_BURST, now_ns);
            let came = came.expect("ports in memory do not fail");
            if came > 0 {
                count += came as u64;
                function.process(received, number, outputs);
                received.clear();
            }
        }
        outputs.flush();
        count
    }

    /// What the function has counted: [`Function::counts`].
    pub fn counts(&self) -> Vec<(String, u64)> {
        self.function.counts()
    }

    /// Packets that left.
    pub fn transmitted(&self) -> u64 {
        self.outputs.transmitted
    }

    /// Packets dropped, by reason, of the reasons that occurred.
    pub fn drops(&self) -> Vec<(&'static str, u64)> {
        let drops = DropReason::ALL
            .into_iter()
            .map(|reason| (reason.label(), self.outputs.drops[reason as usize]));
        drops.filter(|(_, count)| *count > 0).collect()
    }
}
