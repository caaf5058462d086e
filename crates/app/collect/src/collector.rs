//! Datagrams on their way through analysis, store and points.

use crate::analysis::{Analysis, BurstThresholds, Event, Sequences};
use crate::metrics::Counts;
use crate::points::Points;
use crate::report::{self, INT_PORT, Report};
use crate::store::{Rotation, Store, StoreError};
use forebay_telemetry::{Family, Pusher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Time between two looks at what is due, in nanoseconds.
const LOOK_NS: u64 = 200_000_000;

/// Time after which points are sent, in nanoseconds.
const POINTS_NS: u64 = 1_000_000_000;

/// What a collector does with reports.
pub struct Settings {
    /// The UDP port of INT in packets.
    pub int_port: u16,
    /// The folder of the store; none to keep nothing.
    pub store: Option<PathBuf>,
    /// When files are written.
    pub rotation: Rotation,
    /// From when on a queue has a microburst.
    pub bursts: BurstThresholds,
    /// Databases that get every report.
    pub databases: Vec<Arc<Pusher>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            int_port: INT_PORT,
            store: None,
            rotation: Rotation::default(),
            bursts: BurstThresholds::default(),
            databases: Vec::new(),
        }
    }
}

/// A collector. Time is an argument: nanoseconds since the Unix epoch, which may not go back.
pub struct Collector {
    settings: Settings,
    store: Option<Store>,
    /// Why the newest files of the store cannot be read.
    unread: Vec<StoreError>,
    sequences: Sequences,
    analysis: Analysis,
    points: Points,
    counts: Arc<Mutex<Counts>>,
    reports: Vec<Report>,
    events: Vec<Event>,
    next_look_ns: u64,
    next_points_ns: u64,
}

impl Collector {
    /// A collector that goes on where the files of its store end: those that can be read.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn new(settings: Settings) -> Result<Collector, StoreError> {
        let store = settings
            .store
            .as_ref()
            .map(|folder| Store::open(folder, settings.rotation));
        let store = store.transpose()?;
        let (sequences, unread) = match &store {
            Some(store) => store.sequences()?,
            None => Default::default(),
        };
        let mut counts = Counts::default();
        counts.store = store.as_ref().map(|_| Default::default());
        Ok(Collector {
            store,
            unread,
            sequences,
            analysis: Analysis::new(settings.bursts),
            points: Points::default(),
            counts: Arc::new(Mutex::new(counts)),
            reports: Vec::new(),
            events: Vec::new(),
            next_look_ns: 0,
            next_points_ns: 0,
            settings,
        })
    }

    /// Reads the metrics, beside a collector that works.
    pub fn metrics(&self) -> impl Fn() -> Vec<Family> + Send + Sync + use<> {
        let counts = Arc::clone(&self.counts);
        move || lock(&counts).families()
    }

    /// Why the newest files of the store cannot be read: what nodes have sent after the others were written may be counted
    /// as missing though it arrived.
    pub fn unread(&self) -> &[StoreError] {
        &self.unread
    }

    /// Why the store cannot be written, if it cannot.
    pub fn problem(&self) -> Option<&str> {
        self.store.as_ref()?.counts().problem.as_deref()
    }

    /// Reports that are not in the store because it could not be written.
    pub fn lost_reports(&self) -> u64 {
        self.store.as_ref().map_or(0, |store| store.counts().lost_reports)
    }

    /// Takes a datagram. Returns what the analysis has found.
    pub fn receive(&mut self, datagram: &[u8], now_ns: u64) -> &[Event] {
        self.events.clear();
        self.reports.clear();
        let counts = Arc::clone(&self.counts);
        let mut counts = lock(&counts);
        counts.datagram(datagram.len());
        if let Ok(group) = report::group(datagram) {
            counts.group(group.reporter.node, self.sequences.see(&group));
        }
        let parsed = report::parse(datagram, self.settings.int_port, |report| self.reports.push(report));
        if let Err(malformed) = parsed {
            counts.malformed(malformed);
        }
        let reports = std::mem::take(&mut self.reports);
        for report in &reports {
            counts.report(report);
            self.analysis.see(report, now_ns, &mut self.events);
            if let Some(store) = &mut self.store {
                store.add(report, now_ns);
                if store.is_full() {
                    store.time_passes(now_ns, &self.sequences);
                }
            }
            if !self.settings.databases.is_empty() {
                self.points.report(report, now_ns);
            }
        }
        self.reports = reports;
        self.note_events(&mut counts, now_ns);
        drop(counts);
        self.offer_points(false);
        &self.events
    }

    /// Does what is due. To be called several times a second; returns what the analysis has found.
    pub fn time_passes(&mut self, now_ns: u64) -> &[Event] {
        self.events.clear();
        if now_ns < self.next_look_ns {
            return &self.events;
        }
        self.next_look_ns = now_ns + LOOK_NS;
        self.analysis.time_passes(now_ns, &mut self.events);
        if let Some(store) = &mut self.store {
            store.time_passes(now_ns, &self.sequences);
        }
        let counts = Arc::clone(&self.counts);
        self.note_events(&mut lock(&counts), now_ns);
        if now_ns >= self.next_points_ns {
            self.next_points_ns = now_ns + POINTS_NS;
            self.offer_points(true);
        }
        &self.events
    }

    /// Waits until a file that is being written is complete.
    pub fn settle(&mut self, now_ns: u64) {
        if let Some(store) = &mut self.store {
            store.wait(now_ns);
        }
    }

    /// Writes and offers all that waits: the end.
    pub fn finish(&mut self, now_ns: u64) -> &[Event] {
        self.events.clear();
        self.analysis.finish(&mut self.events);
        if let Some(store) = &mut self.store {
            store.finish(now_ns, &self.sequences);
        }
        let counts = Arc::clone(&self.counts);
        self.note_events(&mut lock(&counts), now_ns);
        self.offer_points(true);
        &self.events
    }

    /// Counts events, and brings what is told of the store up to date.
    fn note_events(&mut self, counts: &mut Counts, now_ns: u64) {
        for event in &self.events {
            counts.event(event);
            if !self.settings.databases.is_empty() {
                self.points.event(event, now_ns);
            }
        }
        counts.store = self
            .store
            .as_ref()
            .map(|store| (store.counts().clone(), store.waiting()));
    }

    fn offer_points(&mut self, everything: bool) {
        if let Some(batch) = self.points.take(everything) {
            for database in &self.settings.databases {
                database.offer(batch.clone());
            }
        }
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
