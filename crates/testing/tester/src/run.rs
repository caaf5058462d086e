//! A whole test: self test, trials, searches, results.

use crate::clock::Clock;
use crate::device::Device;
use crate::impairment::Injected;
use crate::line_rate;
use crate::machine::Machine;
use crate::one_by_one;
use crate::reference::Reference;
use crate::results::{FORMAT, Results, StreamResults, TrialResults};
use crate::schedule::Shape;
use crate::search::{
    Confirmation, Goal, LimitedBy, Limits, Measured, Measurer, has_frames, rfc2544, rfc2889, search, search_and_confirm,
};
use crate::self_test::SelfTest;
use crate::setup::{NO_RATE, Target, Test};
use crate::stream::Stream;
use crate::trial::{Plan, Progress, run_trial};
use forebay_sim::{Problem, Recording};
use std::time::{Duration, Instant};

/// How many loads lie between the least and the highest when the file does not name the least.
const SEARCH_RANGE: f64 = 1000.0;

/// The loads of a search, and what their ends mean.
pub struct LoadLimits {
    /// What is searched.
    pub(crate) searched: Limits,
    /// Whether a port is at line rate at the highest load.
    ends_at_line_rate: bool,
    /// Whether the ports are those of a model, so that nothing but line rate keeps the tester from sending.
    line_rate_is_known: bool,
}

impl LoadLimits {
    /// What keeps a load from being higher, given what the search says of it.
    pub(crate) fn limited_by(&self, found: LimitedBy) -> LimitedBy {
        match found {
            LimitedBy::HighestLoad if self.ends_at_line_rate => LimitedBy::LineRate,
            LimitedBy::Tester if self.line_rate_is_known => LimitedBy::LineRate,
            found => found,
        }
    }
}

/// A test that runs.
pub struct Session<'a> {
    test: &'a Test,
    streams: Vec<Stream>,
    device: Device,
    reference: Option<Reference>,
    clock: Clock,
    trials: u64,
    /// What was done on purpose by devices before the present one.
    injected_before: Injected,
    /// Whether what happens to single packets of the first trial is kept, and what was.
    records: bool,
    recording: Option<Recording>,
}

impl<'a> Session<'a> {
    /// Opens the device.
    ///
    /// # Errors
    /// When it cannot be opened, in words.
    pub fn open(test: &'a Test) -> Result<Session<'a>, String> {
        let reference = test.reference(&test.streams)?;
        let device = test.device()?;
        let clock = if device.is_simulated {
            Clock::Simulated(0)
        } else {
            Clock::machine()
        };
        Ok(Session {
            test,
            streams: test.streams.clone(),
            device,
            reference,
            clock,
            trials: 0,
            injected_before: Injected::default(),
            records: false,
            recording: None,
        })
    }

    /// The same test in simulated time, whatever the device: results depend on the seed alone.
    #[must_use]
    pub fn in_simulated_time(mut self) -> Session<'a> {
        self.device = self.device.in_simulated_time();
        self.clock = Clock::Simulated(0);
        self
    }

    /// Keeps what happens to single packets of the first trial of [`Session::run`] inside the device, where that is known: in
    /// a chip.
    pub fn record(&mut self) {
        self.records = true;
    }

    /// What was kept of the first trial.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// Measures the tester itself, with the traffic of the test on a wire in memory. Devices in simulated time need
    /// none.
    ///
    /// # Errors
    /// When a port is out of order, in words.
    pub fn self_test(&self) -> Result<Option<SelfTest>, String> {
        self.self_test_of(&self.streams)
    }

    fn self_test_of(&self, streams: &[Stream]) -> Result<Option<SelfTest>, String> {
        if self.device.is_simulated {
            return Ok(None);
        }
        let found = SelfTest::measure(streams, &self.test.ports, self.test.plan(), &mut Clock::machine())?;
        Ok(Some(found))
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// When a port is out of order, in words.
    pub fn trial(&mut self, plan: Plan, progress: &mut dyn Progress) -> Result<TrialResults, String> {
        self.trials += 1;
        let plan = Plan {
            number: self.trials,
            ..plan
        };
        let reference = self.reference.as_ref();
        let trial = run_trial(
            &self.streams,
            &mut self.device,
            reference,
            plan,
            &mut self.clock,
            progress,
        );
        let mut trial = trial.map_err(|error| error.to_string())?;
        Ok(TrialResults::new(
            &self.streams,
            &self.test.ports,
            &mut trial,
            reference,
        ))
    }

    /// Runs all trials of the file, after a self test.
    ///
    /// # Errors
    /// When a port is out of order, in words.
    pub fn run(&mut self, progress: &mut dyn Progress) -> Result<Results, String> {
        self.test.rates_fit().map_err(|problem| problem.message)?;
        self.test
            .lengths_fit(&self.streams)
            .map_err(|problem| problem.message)?;
        let mut results = self.results()?;
        if self.records {
            self.device.record();
        }
        for _ in 0..*self.test.file.trials.get_ref() {
            let mut trial = self.trial(self.test.plan(), progress)?;
            self.recording = self.recording.take().or_else(|| self.device.take_recording());
            if trial.lost() > 0 {
                trial.doubts.extend(self.test.too_long_to_come_back(&self.streams));
                self.send_one_by_one(&mut trial);
            }
            let was_stopped = trial.was_stopped;
            results.trials.push(trial);
            if was_stopped {
                break;
            }
        }
        Ok(self.finished(results))
    }

    /// Sends the frames of streams that have lost some once more, each alone, where the device says why it drops. Frames that
    /// an impairment loses, or that wait for others as messages do, would say nothing.
    fn send_one_by_one(&mut self, trial: &mut TrialResults) {
        if trial.was_stopped || !self.device.counts_drops() || !self.test.file.impairment.is_empty() {
            return;
        }
        let plan = one_by_one::plan(self.test.plan(), !matches!(self.test.target, Target::Interfaces(_)));
        let lost = |(stream, found): (&Stream, &StreamResults)| {
            stream.messages.is_none() && found.paths.iter().any(|path| path.lost > 0)
        };
        let streams = self.streams.iter().zip(&trial.streams);
        let lossy: Vec<usize> = streams
            .enumerate()
            .filter(|(_, both)| lost(*both))
            .map(|(index, _)| index)
            .collect();
        // The next trial has the next number, whatever is sent here: numbers begin sequences of random numbers.
        let plan = Plan {
            number: self.trials,
            ..plan
        };
        let mut limit = one_by_one::Limit {
            frames: (one_by_one::FRAMES_MAX / lossy.len().max(1)).max(1),
            until: (!self.clock.is_simulated()).then(|| Instant::now() + one_by_one::TIME_MAX),
            before: 0,
        };
        for index in lossy {
            let reference = self.reference.as_ref();
            let stream = (index, &self.streams[index]);
            let found = one_by_one::send(stream, &mut self.device, reference, plan, &mut self.clock, limit);
            limit.before += found.tried;
            trial.one_by_one.push(found);
        }
    }

    /// Runs the search of the file, after a self test. One that is stopped, or whose interfaces lose their links, has what
    /// was known by then, marked as incomplete: [`Results::ended_by`].
    ///
    /// # Errors
    /// When the file does not say enough for a search, or a trial cannot be run, in words.
    pub fn search(&mut self, progress: &mut dyn Progress) -> Result<Results, String> {
        self.search_with(None, progress)
    }

    /// The same; a load that is found is then offered in `trials` more trials, each as long as one of [`Session::run`].
    ///
    /// # Errors
    /// As those of [`Session::search`].
    pub fn search_and_confirm(&mut self, trials: u32, progress: &mut dyn Progress) -> Result<Results, String> {
        let seconds = *self.test.file.duration_s.get_ref();
        self.search_with(Some(Confirmation { trials, seconds }), progress)
    }

    fn search_with(
        &mut self,
        confirmation: Option<Confirmation>,
        progress: &mut dyn Progress,
    ) -> Result<Results, String> {
        let goals = self.test.goals()?;
        let limits = self.limits(&goals)?;
        self.test
            .lengths_fit(&self.streams)
            .map_err(|problem| problem.message)?;
        let mut results = self.results()?;
        let mut measurer = self.measurer(progress)?;
        results.searches = match confirmation {
            Some(confirmation) => search_and_confirm(&goals, limits.searched, confirmation, &mut measurer)?,
            None => search(&goals, limits.searched, &mut measurer)?,
        };
        results.ended_by = measurer.ended_by();
        drop(measurer);
        for found in &mut results.searches {
            found.limited_by = limits.limited_by(found.limited_by);
        }
        Ok(self.finished(results))
    }

    /// Runs the tests of RFC 2544, after a self test, for all frame sizes of the file. One that ends early has what was
    /// measured by then, which may have taken hours: [`Results::ended_by`]. A size of which no frame comes back does not end
    /// the tests of the others.
    ///
    /// # Errors
    /// As [`Session::search`], before anything is known of the first size; and when no frame of any size comes back.
    pub fn rfc2544(&mut self, progress: &mut dyn Progress) -> Result<Results, String> {
        let sizes = self.test.rfc2544_sizes();
        self.test.rfc2544_lengths_fit().map_err(|problem| problem.message)?;
        let mut results = self.results()?;
        for (at, size) in sizes.iter().enumerate() {
            let (in_part, why) = match self.rfc2544_of(*size, progress) {
                Ok(found) => {
                    let why = found
                        .ended_by
                        .clone()
                        .filter(|why| found.search.silence().as_ref() != Some(why));
                    results.rfc2544.push(found);
                    (1, why)
                }
                Err(error) if at == 0 => return Err(error),
                Err(error) => (0, Some(error)),
            };
            if let Some(why) = why {
                let (part, left) = sizes[at..].split_at(in_part);
                results.ended_by = Some(rfc2544_ended_by(&why, part, left));
                return Ok(self.finished(results));
            }
        }
        // Of one size it may be what the device does with such frames; of all, it is no device.
        let silences: Option<Vec<String>> = results.rfc2544.iter().map(|size| size.search.silence()).collect();
        match silences.as_deref() {
            Some([first, ..]) => Err(format!("frames of {} bytes: {first}", sizes[0])),
            _ => Ok(self.finished(results)),
        }
    }

    fn rfc2544_of(&mut self, size: usize, progress: &mut dyn Progress) -> Result<rfc2544::SizeResults, String> {
        let scale = self.test.file.search.duration_scale;
        self.streams = self.test.resized(size)?;
        self.reference = self.test.reference(&self.streams)?;
        let goals = rfc2544::goals(scale);
        let limits = self.limits(&goals)?;
        rfc2544::test_size(self, size, &goals, &limits, scale, progress)
    }

    /// Runs the tests of RFC 2889 for a bridge that learns, after a self test. Those that end early have what was known by then:
    /// [`Results::ended_by`].
    ///
    /// # Errors
    /// When the file has no table `[rfc2889]`, or the first trial cannot be run, in words.
    pub fn rfc2889(&mut self, progress: &mut dyn Progress) -> Result<Results, String> {
        let entry = self.test.file.rfc2889.as_ref();
        let entry = entry
            .ok_or("the tests of RFC 2889 need a table [rfc2889] in the file")?
            .get_ref();
        let mut results = self.results_of(&[rfc2889::test_stream(entry)])?;
        let found = rfc2889::test(self, entry, progress)?;
        results.ended_by = found.ended_by.clone();
        results.rfc2889 = Some(found);
        Ok(self.finished(results))
    }

    /// Makes the device forget: one in this process is made anew, another is given time.
    ///
    /// # Errors
    /// When it cannot be made, or the caller stops the test, in words.
    pub(crate) fn renew(&mut self, ageing_s: f64, progress: &mut dyn Progress) -> Result<(), String> {
        if matches!(self.test.target, Target::Interfaces(_)) {
            return wait(Duration::from_secs_f64(ageing_s), progress);
        }
        let is_simulated = self.device.is_simulated;
        self.injected_before = self.injected_before.plus(self.device.injected());
        self.device = self.test.device()?;
        self.device.is_simulated |= is_simulated;
        if self.device.is_simulated {
            self.clock = Clock::Simulated(0);
        }
        Ok(())
    }

    /// What is sent from now on, without a reference.
    pub(crate) fn set_streams(&mut self, streams: Vec<Stream>) {
        (self.streams, self.reference) = (streams, None);
    }

    /// How many ports the device has.
    pub(crate) fn port_count(&self) -> usize {
        self.device.ports.len()
    }

    /// What loads are tried: none above line rate, where that is known. The warm-up is as long as the first trials.
    fn limits(&self, goals: &[Goal]) -> Result<LoadLimits, String> {
        let entry = &self.test.file.search;
        let asked_pps = match &entry.max_pps {
            Some(max) => *max.get_ref(),
            None => self.total_pps()?,
        };
        let line = self.device.line_rate;
        let line_scale = line.and_then(|line| line_rate::scale_max(&self.streams, line));
        let line_pps = line_scale.map_or(f64::INFINITY, |scale| scale * self.total_pps().unwrap_or(0.0));
        let max_pps = asked_pps.min(line_pps);
        let min_pps = entry
            .min_pps
            .as_ref()
            .map_or(max_pps / SEARCH_RANGE, |min| *min.get_ref());
        if !(min_pps > 0.0 && min_pps < max_pps) {
            return Err(format!(
                "min_pps is {min_pps}; it must be more than 0 and less than max_pps, which is {max_pps}"
            ));
        }
        let searched = Limits {
            min_pps,
            max_pps,
            warm_up_s: goals.iter().map(|goal| goal.initial_trial_s).fold(0.0, f64::max),
            trials_s_max: entry
                .time_limit_s
                .as_ref()
                .map_or(f64::INFINITY, |limit| *limit.get_ref()),
        };
        Ok(LoadLimits {
            searched,
            ends_at_line_rate: asked_pps >= line_pps,
            line_rate_is_known: line.is_some(),
        })
    }

    /// Frames a second of all streams at the rates of the file.
    fn total_pps(&self) -> Result<f64, String> {
        self.sum_of(Stream::mean_pps)
    }

    /// The sum over all streams.
    fn sum_of(&self, pps: impl Fn(&Stream) -> Option<f64>) -> Result<f64, String> {
        let total: Option<f64> = self.streams.iter().map(pps).sum();
        total.ok_or_else(|| NO_RATE.to_string())
    }

    /// A trial with this many frames a second of all streams together, on average over the measured time: of a shape it
    /// may see a part only.
    ///
    /// # Errors
    /// When a stream has no rate, or all are silent in that time.
    pub fn plan_at(&self, pps: f64, seconds: f64) -> Result<Plan, String> {
        let plan = Plan {
            duration_ns: (seconds * 1e9) as u64,
            ..self.test.plan()
        };
        let flat = Shape::flat();
        let own_pps = self.sum_of(|stream| {
            if stream.shape == flat {
                stream.mean_pps()
            } else {
                plan.intended_pps(stream)
            }
        })?;
        if own_pps > 0.0 {
            Ok(Plan {
                scale: pps / own_pps,
                ..plan
            })
        } else {
            Err(format!(
                "no frame is due in a trial of {seconds} s: the shapes of all streams are silent then"
            ))
        }
    }

    /// Trials for a search.
    ///
    /// # Errors
    /// When a stream has no rate.
    pub fn measurer<'s>(&'s mut self, progress: &'s mut dyn Progress) -> Result<impl Measurer + use<'s, 'a>, String> {
        self.total_pps()?;
        Ok(SessionMeasurer {
            session: self,
            progress,
            ended_by: None,
        })
    }

    /// Results without trials, after a self test with the streams of the file.
    fn results(&self) -> Result<Results, String> {
        self.results_of(&self.streams)
    }

    /// Results without trials, after a self test with these streams.
    fn results_of(&self, streams: &[Stream]) -> Result<Results, String> {
        Ok(Results {
            format: FORMAT.to_string(),
            description: self.test.file.description.clone(),
            device: self.device.description.clone(),
            seed: self.test.file.seed,
            machine: (!self.device.is_simulated).then(Machine::now),
            self_test: self.self_test_of(streams)?,
            trials: Vec::new(),
            searches: Vec::new(),
            rfc2544: Vec::new(),
            rfc2889: None,
            ended_by: None,
            injected: None,
            chip: self.test.chip(),
        })
    }

    /// Results with what is known at the end.
    fn finished(&self, mut results: Results) -> Results {
        results.injected = self.injected();
        if let Some(machine) = &mut results.machine {
            machine.finish();
        }
        results
    }

    fn injected(&self) -> Option<Injected> {
        (!self.test.file.impairment.is_empty()).then(|| self.injected_before.plus(self.device.injected()))
    }
}

/// The time between two calls that let the caller end the run while nothing happens.
const ASKED_EACH: Duration = Duration::from_millis(100);

/// Lets time pass, unless the caller stops the test.
fn wait(time: Duration, progress: &mut dyn Progress) -> Result<(), String> {
    let begin = Instant::now();
    while let Some(left) = time.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        let share = begin.elapsed().as_secs_f64() / time.as_secs_f64();
        if !progress.at(share, 0, 0) {
            return Err("the test was stopped".to_string());
        }
        std::thread::sleep(left.min(ASKED_EACH));
    }
    Ok(())
}

/// Why the tests of RFC 2544 ended, which frame sizes they measured in part, and which not at all.
fn rfc2544_ended_by(why: &str, in_part: &[usize], not_measured: &[usize]) -> String {
    let mut text = why.to_string();
    for (sizes, what) in [(in_part, "measured in part"), (not_measured, "not measured")] {
        if !sizes.is_empty() {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            text.push_str(&format!("; frames of {} bytes were {what}", sizes.join(", ")));
        }
    }
    text
}

struct SessionMeasurer<'s, 'a> {
    session: &'s mut Session<'a>,
    progress: &'s mut dyn Progress,
    ended_by: Option<String>,
}

impl Measurer for SessionMeasurer<'_, '_> {
    fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
        let plan = self.session.plan_at(pps, seconds)?;
        let trial = self.session.trial(plan, self.progress)?;
        self.ended_by = trial.why_void("search");
        if let Some(why) = &self.ended_by {
            return Err(why.clone());
        }
        has_frames(&trial, pps, seconds)?;
        let expected = trial.expected();
        Ok(Measured {
            intended: expected + trial.unsent(),
            sent: expected,
            lost: trial.lost(),
            is_disturbed: trial.is_disturbed(),
            is_late: trial.is_late(),
            backlog: trial.backlog,
        })
    }

    fn ended_by(&self) -> Option<String> {
        self.ended_by.clone()
    }
}

impl Test {
    /// Frame sizes of the tests of RFC 2544: those of the file, or of the RFC.
    pub fn rfc2544_sizes(&self) -> Vec<usize> {
        let sizes = &self.file.search.frame_bytes;
        if sizes.is_empty() {
            rfc2544::SIZES.to_vec()
        } else {
            sizes.iter().map(|size| *size.get_ref()).collect()
        }
    }

    /// Whether the device takes frames of all sizes of the tests of RFC 2544, as far as that is known before they are
    /// sent.
    ///
    /// # Errors
    /// Which are too long, or that a stream cannot have such frames.
    pub fn rfc2544_lengths_fit(&self) -> Result<(), Problem> {
        let (Target::Interfaces(_), Some(longest)) = (&self.target, self.rfc2544_sizes().into_iter().max()) else {
            return Ok(());
        };
        let streams = self.resized(longest);
        self.lengths_fit(&streams.map_err(|message| Problem::new(None, message))?)
    }

    /// Seconds that the tests of RFC 2544 take at least; 0 in simulated time.
    pub fn rfc2544_seconds_min(&self) -> f64 {
        match &self.target {
            Target::Chip(_) => 0.0,
            Target::Wire | Target::Program | Target::Interfaces(_) => {
                self.rfc2544_sizes().len() as f64 * rfc2544::seconds_min(self.file.search.duration_scale)
            }
        }
    }

    /// What the file searches.
    ///
    /// # Errors
    /// When a goal has no such name, or contradictory numbers, in words.
    pub fn goals(&self) -> Result<Vec<Goal>, String> {
        self.file.search.resolved()
    }
}
