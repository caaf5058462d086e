//! A network of chips inside a simulation of others: frames are submitted with their times, and time passes as far as
//! it is told.
//!
//! ```text
//!   other simulator          CoSimulation
//!   ───────────────          ────────────
//!   submit(port, frame, t) ─► coming ─► network ─► leaving ─► take() ─► frame, port, time
//!   next_event() ◄─────────── the earliest of all three
//!   advance(t) ─────────────► everything up to t
//! ```
//!
//! Two ways of keeping time fit:
//! * **Events** (ns-3, OMNeT++): the other simulator has one queue of events. After each call it schedules one at
//!   `next_event()`, which advances to its time and takes what has left.
//! * **Promises** (SimBricks): the other simulator promises that it sends nothing before a time; the network advances
//!   as far. Both give the same frames at the same times.

use crate::parameters::{Case, expand};
use crate::scenario::Problem;
use crate::setup::{Library, Setup, find_place};
use forebay_chip::{Loss, Network, Observer, Picos, Place, ProgramDrop, Stop};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A frame at a time. Those of one time are in the order in which they were made.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    time: Picos,
    order: u64,
    place: Place,
    tag: u64,
    frame: Vec<u8>,
}

/// A frame that has left by a port that leads outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// By which port.
    pub place: Place,
    /// When its last byte was out, in picoseconds.
    pub time: Picos,
    /// The tag of the submitted frame that it was made of.
    pub tag: u64,
    /// Its bytes.
    pub frame: Vec<u8>,
}

/// A frame was submitted for a time that is past: the present time, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past(pub Picos);

/// Collects what the network tells.
#[derive(Default)]
struct Leaving {
    frames: BinaryHeap<Reverse<Timed>>,
    order: u64,
    ends: BTreeMap<String, u64>,
    /// By chip: its name, and the names of the program's errors.
    chips: Vec<(String, Vec<String>)>,
}

/// Chips and links whose time is another simulator's.
pub struct CoSimulation {
    setup: Setup,
    network: Network,
    coming: BinaryHeap<Reverse<Timed>>,
    order: u64,
    leaving: Leaving,
}

impl CoSimulation {
    /// Reads a scenario that has chips and links, but no traffic; its `duration_us` has no meaning here.
    ///
    /// # Errors
    /// Everything that is wrong; several values for a parameter are too.
    pub fn new(text: &str, library: &dyn Library, seed: Option<u64>) -> Result<CoSimulation, Vec<Problem>> {
        let cases = expand(text, &[]).map_err(|problem| vec![problem])?;
        let setup = Setup::of_cosimulation(only(&cases)?, library)?;
        let network = setup.network(seed.unwrap_or(setup.scenario.seed));
        let network = network.unwrap_or_else(|(_, error)| panic!("was loaded before: {error}"));
        let chips = setup.chips.iter();
        let chips = chips.map(|chip| (chip.name.clone(), chip.program.errors.clone()));
        Ok(CoSimulation {
            leaving: Leaving {
                chips: chips.collect(),
                ..Leaving::default()
            },
            setup,
            network,
            coming: BinaryHeap::new(),
            order: 0,
        })
    }

    /// The port with this name: `chip:port`.
    ///
    /// # Errors
    /// When there is none; the message says which there are.
    pub fn port(&self, name: &str) -> Result<Place, String> {
        find_place(&self.setup.chips, name)
    }

    /// Whether there is such a port.
    pub fn has_port(&self, place: Place) -> bool {
        let chip = self.setup.chips.get(usize::from(place.chip));
        chip.is_some_and(|chip| place.port < chip.spec.ports.count)
    }

    /// The present time.
    pub fn now(&self) -> Picos {
        self.network.now()
    }

    /// The last byte of a frame comes to a port at a time that is not past. The tag goes with the frame and all that is
    /// made of it.
    ///
    /// # Errors
    /// When the time is past. Nothing was changed.
    pub fn submit(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) -> Result<(), Past> {
        if time < self.now() {
            return Err(Past(self.now()));
        }
        self.order += 1;
        self.coming.push(Reverse(Timed {
            time,
            order: self.order,
            place,
            tag,
            frame: frame.to_vec(),
        }));
        Ok(())
    }

    /// When something happens next if no frame is submitted before: a submitted frame comes, something happens inside,
    /// or a frame that has not been taken leaves. None when nothing will.
    pub fn next_event(&self) -> Option<Picos> {
        let coming = self.coming.peek().map(|Reverse(coming)| coming.time);
        let leaving = self.leaving.frames.peek().map(|Reverse(leaving)| leaving.time);
        [coming, self.network.next_event(), leaving].into_iter().flatten().min()
    }

    /// Lets everything happen up to a time, this one included. A time that is past changes nothing.
    pub fn advance(&mut self, until: Picos) {
        while let Some(Reverse(next)) = self.coming.peek()
            && next.time <= until
        {
            let time = next.time;
            self.pass_time(time);
            if let Some(Reverse(Timed { place, tag, frame, .. })) = self.coming.pop() {
                self.network.arrive(place, &frame, tag, &mut self.leaving);
            }
        }
        self.pass_time(until);
    }

    /// Lets the network's time pass. Hosts of the scenario are silent here: what comes to them has left.
    fn pass_time(&mut self, until: Picos) {
        while self.network.advance(until, &mut self.leaving) == Stop::Host {
            while self.network.take_host_event().is_some() {}
        }
    }

    /// The next frame that has left up to now, in the order of leaving.
    pub fn take(&mut self) -> Option<Left> {
        let Reverse(first) = self.leaving.frames.peek()?;
        if first.time > self.now() {
            return None;
        }
        let Reverse(Timed {
            time,
            place,
            tag,
            frame,
            ..
        }) = self.leaving.frames.pop()?;
        Some(Left {
            place,
            time,
            tag,
            frame,
        })
    }

    /// Packets that have ended inside: where and why, and how many.
    pub fn ends(&self) -> &BTreeMap<String, u64> {
        &self.leaving.ends
    }
}

fn only(cases: &[Case]) -> Result<&Case, Vec<Problem>> {
    match cases {
        [case] => Ok(case),
        _ => Err(vec![Problem::new(
            None,
            format!(
                "the parameters have {} combinations of values; a co-simulation has one",
                cases.len()
            ),
        )]),
    }
}

impl Leaving {
    fn end(&mut self, place: Place, what: &str, why: &str) {
        let (chip, _) = &self.chips[usize::from(place.chip)];
        let end = format!("{what} at {chip}:{}: {why}", place.port);
        *self.ends.entry(end).or_default() += 1;
    }
}

impl Observer for Leaving {
    fn departed(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        self.order += 1;
        self.frames.push(Reverse(Timed {
            time,
            order: self.order,
            place,
            tag,
            frame: frame.to_vec(),
        }));
    }

    fn lost(&mut self, place: Place, loss: Loss, _tag: u64, _time: Picos) {
        self.end(place, "lost", loss.name());
    }

    fn dropped(&mut self, place: Place, drop: ProgramDrop, _tag: u64, _time: Picos) {
        let (_, errors) = &self.chips[usize::from(place.chip)];
        let reason = drop.reason.label(errors);
        self.end(place, "dropped by the program", &reason);
    }
}
