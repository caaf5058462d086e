//! An interface that may vanish and be made again: the port outlives it.
//!
//! ```text
//!   present ── the port says that it is gone ──► away ── an interface of this name exists, and opens ──► present
//! ```
//!
//! While it is away the port is [`PortState::Gone`], receives nothing, and drops what it is to send as
//! [`DropReason::PortDown`]. A thread of its own looks for the name ten times a second and opens it, since opening
//! takes milliseconds; the thread that moves packets only looks at a flag. Counters go on from where they were.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use forebay_packet::{Burst, DropReason, Port, PortCounters, PortError, PortState, Readiness};

use crate::{OpenError, primary_name};

/// Time between two looks for an interface that is away.
const LOOK: Duration = Duration::from_millis(100);

/// Looks that are left out after an attempt to open it has failed: an interface that cannot be opened costs little.
const LOOKS_AFTER_FAILURE: u32 = 10;

/// A port in a box.
type Boxed = Box<dyn Port>;

/// Opens the interface again: a port for each share.
type Open = dyn Fn() -> Result<Vec<Boxed>, OpenError> + Send + Sync;

/// A port whose interface comes back, or one worker's share of it. See the module.
pub(crate) struct Returning {
    /// None while it is away.
    present: Option<Boxed>,
    /// What earlier interfaces of the name have carried, and what was dropped without one.
    before: PortCounters,
    share: usize,
    group: Arc<Group>,
}

/// All shares of an interface. It ends when none of them is left.
struct Group {
    name: String,
    open: Box<Open>,
    /// Shares that have noticed that the interface is gone. It is looked for when all have: they are opened together.
    away: AtomicUsize,
    /// Why an interface that is there again could not be opened.
    problem: Mutex<Option<String>>,
    places: Vec<Place>,
}

/// Where the looking thread leaves the port of a share that it has opened.
#[derive(Default)]
struct Place {
    is_there: AtomicBool,
    port: Mutex<Option<Boxed>>,
}

impl Returning {
    /// Around the ports of all shares of the interface called `name`, which `open` opens again.
    pub(crate) fn shares(
        name: &str,
        ports: Vec<Boxed>,
        open: impl Fn() -> Result<Vec<Boxed>, OpenError> + Send + Sync + 'static,
    ) -> Vec<Returning> {
        let group = Arc::new(Group {
            name: name.to_owned(),
            open: Box::new(open),
            away: AtomicUsize::new(0),
            problem: Mutex::new(None),
            places: ports.iter().map(|_| Place::default()).collect(),
        });
        let around = |(share, port)| Returning {
            present: Some(port),
            before: PortCounters::default(),
            share,
            group: Arc::clone(&group),
        };
        ports.into_iter().enumerate().map(around).collect()
    }

    /// The port, if it is there or has just come back. It is given up as soon as another share is gone: they are opened
    /// together, and until then packets of that share would be lost, also while this one is too busy to look.
    #[inline]
    fn present(&mut self) -> Option<&mut Boxed> {
        if self.present.is_some() {
            if self.group.away.load(Ordering::Relaxed) > 0 {
                self.vanish();
            }
        } else {
            let place = &self.group.places[self.share];
            if place.is_there.swap(false, Ordering::Acquire) {
                self.present = place.port.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
        }
        self.present.as_mut()
    }

    /// Gives up the port that has vanished, and starts the search for its interface.
    #[cold]
    fn vanish(&mut self) {
        if let Some(gone) = self.present.take() {
            self.before = self.before + gone.counters();
            drop(gone);
            if self.group.away.fetch_add(1, Ordering::AcqRel) + 1 == self.group.places.len() {
                let group = Arc::downgrade(&self.group);
                // Without a thread it does not come back: the port stays gone, as it says.
                let looking = thread::Builder::new().name(format!("look for {}", self.group.name));
                let _ = looking.spawn(move || look_for(&group));
            }
        }
    }

    /// An interface that has vanished is no error: it is awaited.
    #[inline]
    fn settled<T>(&mut self, result: Result<T, PortError>, nothing: T) -> Result<T, PortError> {
        match result {
            Err(PortError::Gone { .. }) => {
                self.vanish();
                Ok(nothing)
            }
            other => other,
        }
    }
}

/// Looks for an interface until it is opened or no share waits for it any more.
fn look_for(group: &Weak<Group>) {
    let mut pause = 0;
    loop {
        thread::sleep(LOOK);
        let Some(group) = group.upgrade() else { return };
        if pause > 0 {
            pause -= 1;
        } else if primary_name(&group.name).is_some() {
            match (group.open)() {
                Ok(ports) => return group.hand_over(ports),
                Err(error) => {
                    pause = LOOKS_AFTER_FAILURE;
                    group.set_problem(Some(error.to_string()));
                }
            }
        } else {
            group.set_problem(None);
        }
    }
}

impl Group {
    fn set_problem(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    fn hand_over(&self, ports: Vec<Boxed>) {
        self.set_problem(None);
        // Before a share can notice that it is gone again.
        self.away.store(0, Ordering::Release);
        for (place, port) in self.places.iter().zip(ports) {
            *place.port.lock().unwrap_or_else(PoisonError::into_inner) = Some(port);
            place.is_there.store(true, Ordering::Release);
        }
    }
}

impl Port for Returning {
    fn name(&self) -> &str {
        &self.group.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let Some(port) = self.present() else { return Ok(0) };
        let result = port.receive(burst, max, now_ns);
        let received = burst.len() - before;
        self.settled(result, received)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let offered = burst.len() as u64;
        let Some(port) = self.present() else {
            self.before.count_drops(DropReason::PortDown, offered);
            burst.clear();
            return Ok(0);
        };
        let result = port.send(burst, now_ns);
        self.settled(result, 0)
    }

    fn counters(&self) -> PortCounters {
        match &self.present {
            Some(port) => self.before + port.counters(),
            None => self.before,
        }
    }

    fn state(&self) -> PortState {
        self.present.as_ref().map_or(PortState::Gone, |port| port.state())
    }

    fn why_down(&self) -> Option<String> {
        match &self.present {
            Some(port) => port.why_down(),
            None => {
                let problem = self.group.problem.lock().unwrap_or_else(PoisonError::into_inner);
                let problem = problem.as_ref()?;
                Some(format!("an interface of this name cannot be opened: {problem}"))
            }
        }
    }

    fn readiness(&self) -> Readiness {
        // Away: not before the longest wait is over. The flag tells the rest.
        self.present
            .as_ref()
            .map_or(Readiness::At(u64::MAX), |port| port.readiness())
    }

    fn room(&self) -> usize {
        self.present.as_ref().map_or(usize::MAX, |port| port.room())
    }

    fn reads_ids(&self) -> bool {
        self.present.as_ref().is_some_and(|port| port.reads_ids())
    }

    fn flush(&mut self) -> Result<(), PortError> {
        match &mut self.present {
            Some(port) => port.flush(),
            None => Ok(()),
        }
    }
}
