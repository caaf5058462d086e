//! The fast path of a program, compiled again for the parser paths that packets take.
//!
//! A program with many paths through its parser is larger than what is compiled, so its code leaves paths out. Workers
//! [report](Generations::report) what share of the packets the code leaves out, and on which paths. The program is then
//! compiled again: paths that more packets take are preferred. What is compiled for one path leaves less room for
//! others, so a later generation can leave out more packets than an earlier one. Packets therefore use the one that has
//! left out the smallest share. All generations stay, since workers may be executing them; there are only a few, and
//! each needs more reports than the previous one.

use forebay_ir::Program;
use forebay_jit::route::{Order, PathId, Route};
use forebay_jit::{CompileError, FastPathCode, Forms, compile_fast_path};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How many times a fast path is compiled.
const GENERATIONS_MAX: usize = 8;

/// The factor by which the reports needed for a further compilation grow.
const GROWTH: u64 = 4;

/// The reports after which a generation is compared with others.
const ENOUGH_TO_COMPARE: u64 = 16;

/// A share of packets: of 65,536.
pub(crate) type Share = u32;

/// All packets.
pub(crate) const ALL_PACKETS: u64 = 65_536;

/// What a worker has seen of the packets that a fast path leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOutPackets {
    /// The [number](FastPathCode::number) of the code that left them out.
    pub(crate) code: u64,
    /// How many they are of all packets that tried this code.
    pub(crate) share: Share,
    /// The paths that many of them take, each with its packets.
    pub(crate) paths: Vec<(PathId, Share)>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Generations {
    program: Program,
    route: Route,
    step_limit: u64,
    all: [OnceLock<Compiled>; GENERATIONS_MAX],
    /// The generation that packets use.
    present: AtomicUsize,
    /// Whether the next generation is being compiled.
    compiles: AtomicBool,
    reported: Mutex<Reported>,
}

/// What workers have reported.
#[derive(Debug)]
struct Reported {
    /// The number of generations that are ready.
    made: usize,
    /// The number of reports since the last generation was made.
    reports: u64,
    /// The number of reports about the present generation.
    of_present: u64,
    /// By path: the share of packets that took it when it was left out.
    paths: BTreeMap<PathId, Share>,
    /// By generation: the share of packets that it left out.
    left_out: [Option<Share>; GENERATIONS_MAX],
}

/// One generation, as far as it has been compiled.
#[derive(Debug, Default)]
struct Compiled {
    /// The preferred paths through the parser, the most preferred first.
    wanted: Vec<PathId>,
    cached: Form,
    straight: Form,
    staged: Form,
}

/// One variant of a fast path.
#[derive(Debug, Default)]
struct Form {
    code: OnceLock<Result<FastPathCode, CompileError>>,
    /// Whether it has been requested, or must not be.
    settled: AtomicBool,
}

impl Form {
    /// The code, if it is ready.
    #[inline]
    fn code(&self) -> Option<&FastPathCode> {
        self.code.get()?.as_ref().ok()
    }
}

impl Generations {
    /// A first generation, which is not compiled yet.
    pub(crate) fn new(program: &Program, route: Route, step_limit: u64) -> Generations {
        let first = Compiled::new(Vec::new(), route.keeps_order(program));
        let all: [OnceLock<Compiled>; GENERATIONS_MAX] = Default::default();
        all[0].set(first).expect("nothing is there");
        Generations {
            program: program.clone(),
            route,
            step_limit,
            all,
            present: AtomicUsize::new(0),
            compiles: AtomicBool::new(false),
            reported: Mutex::default(),
        }
    }

    /// The index of the generation that packets use.
    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.present.load(Ordering::Acquire)
    }

    #[inline]
    fn present(&self) -> &Compiled {
        self.generation(self.index())
    }

    #[inline]
    fn generation(&self, index: usize) -> &Compiled {
        self.all[index].get().expect("it is there")
    }

    /// The variant that is compiled first: nothing while it is being compiled, or why it could not be.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Result<FastPathCode, CompileError>> {
        self.present().cached.code.get()
    }

    /// All variants that are ready, if the first one is.
    #[inline]
    pub(crate) fn forms(&self) -> Option<Forms<'_>> {
        let present = self.present();
        Some(Forms {
            first: present.cached.code()?,
            straight: present.straight.code(),
            staged: present.staged.code(),
        })
    }

    /// Whether a variant of the present generation has been requested, or must not be.
    #[inline]
    pub(crate) fn is_settled(&self, order: Order) -> bool {
        self.present().form(order).settled.load(Ordering::Relaxed)
    }

    /// Settles a variant of the present generation. Returns this generation if the caller must now
    /// [compile](Generations::compile) the variant.
    pub(crate) fn settle(&self, order: Order) -> Option<usize> {
        let index = self.index();
        let was_settled = self.generation(index).form(order).settled.swap(true, Ordering::Relaxed);
        (!was_settled).then_some(index)
    }

    /// Compiles a variant.
    pub(crate) fn compile(&self, generation: usize, order: Order) {
        let compiled = self.generation(generation);
        let (program, route, wanted) = (&self.program, &self.route, &compiled.wanted);
        let compile = || compile_fast_path(program, route, order, self.step_limit, wanted, &mut |_| ());
        compiled.form(order).code.get_or_init(compile);
    }

    /// Records that there was not enough memory to compile the first generation: this reason.
    pub(crate) fn give_up(&self, reason: String) {
        let code = &self.generation(0).form(Order::Cached).code;
        code.get_or_init(|| Err(CompileError::Memory(reason)));
    }

    /// Takes note of a worker's report. Returns whether the caller must now [compile](Generations::compile_next) the
    /// next generation.
    pub(crate) fn report(&self, left_out: &LeftOutPackets) -> bool {
        let present = self.index();
        if !self.generation(present).has(left_out.code) {
            return false;
        }
        let mut reported = self.reported();
        if let Some(best) = reported.note(present, left_out) {
            self.present.store(best, Ordering::Release);
        }
        let enough = reported.reports >= GROWTH.pow(reported.made as u32 - 1) && reported.made < GENERATIONS_MAX;
        enough && !self.compiles.swap(true, Ordering::Acquire)
    }

    /// Compiles the next generation, unless its paths are those of another one.
    pub(crate) fn compile_next(&self) {
        let (next, wanted) = {
            let mut reported = self.reported();
            reported.reports = 0;
            (reported.made, reported.wanted())
        };
        let is_known = (0..next).any(|index| self.generation(index).wanted == wanted);
        if !is_known {
            let compiled = Compiled::new(wanted, self.route.keeps_order(&self.program));
            self.all[next].set(compiled).expect("nothing is there");
            self.compile(next, Order::Cached);
            if self.generation(next).cached.code().is_none() {
                return; // It cannot be compiled, and will not be tried again.
            }
            let mut reported = self.reported();
            reported.made += 1;
            (reported.reports, reported.of_present) = (0, 0);
            self.present.store(next, Ordering::Release);
        }
        self.compiles.store(false, Ordering::Release);
    }

    fn reported(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Reported {
    fn default() -> Reported {
        Reported {
            made: 1,
            reports: 0,
            of_present: 0,
            paths: BTreeMap::new(),
            left_out: [None; GENERATIONS_MAX],
        }
    }
}

impl Reported {
    /// Takes note of a report about the present generation. Returns another generation if that one has left out fewer
    /// packets, by more than an eighth.
    fn note(&mut self, present: usize, left_out: &LeftOutPackets) -> Option<usize> {
        self.reports += 1;
        self.of_present += 1;
        self.paths.extend(left_out.paths.iter().copied());
        self.left_out[present] = Some(left_out.share);
        if self.of_present < ENOUGH_TO_COMPARE {
            return None;
        }
        let known = (0..self.made).filter_map(|index| Some((self.left_out[index]?, index)));
        let (share, best) = known.min()?;
        let is_better = best != present && share + share / 8 < left_out.share;
        if is_better {
            self.of_present = 0;
        }
        is_better.then_some(best)
    }

    /// The paths of the next generation. Shares decay a little, because traffic changes.
    fn wanted(&mut self) -> Vec<PathId> {
        let mut paths: Vec<(PathId, Share)> = self.paths.iter().map(|(path, share)| (*path, *share)).collect();
        paths.sort_by_key(|(path, share)| (Reverse(*share), *path));
        self.paths.values_mut().for_each(|share| *share -= *share / 8);
        paths.into_iter().map(|(path, _)| path).collect()
    }
}

impl Compiled {
    /// A generation that is not compiled yet.
    fn new(wanted: Vec<PathId>, keeps_order: bool) -> Compiled {
        let staged = Form::default();
        staged.settled.store(keeps_order, Ordering::Relaxed);
        Compiled {
            wanted,
            staged,
            ..Compiled::default()
        }
    }

    /// Whether one of its variants has this [number](FastPathCode::number).
    fn has(&self, number: u64) -> bool {
        let forms = [&self.cached, &self.straight, &self.staged];
        forms
            .iter()
            .any(|form| form.code().is_some_and(|code| code.number() == number))
    }

    fn form(&self, order: Order) -> &Form {
        match order {
            Order::Cached => &self.cached,
            Order::RunToCompletion => &self.straight,
            Order::Staged => &self.staged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(share: Share) -> LeftOutPackets {
        LeftOutPackets {
            code: 0,
            share,
            paths: Vec::new(),
        }
    }

    /// Reports until another generation is found to be better, or as often as is needed for a comparison.
    fn note(reported: &mut Reported, present: usize, left_out: Share) -> Option<usize> {
        (0..ENOUGH_TO_COMPARE).find_map(|_| reported.note(present, &share(left_out)))
    }

    #[test]
    fn packets_return_to_the_generation_that_leaves_out_fewest() {
        let mut reported = Reported::default();
        assert_eq!(note(&mut reported, 0, 20_000), None);
        (reported.made, reported.of_present) = (2, 0);
        assert_eq!(note(&mut reported, 1, 5_000), None, "it is better");
        (reported.made, reported.of_present) = (3, 0);
        assert_eq!(reported.note(2, &share(30_000)), None, "not enough has been seen of it");
        assert_eq!(note(&mut reported, 2, 30_000), Some(1));
        assert_eq!(note(&mut reported, 1, 5_600), None, "about as many");
    }

    #[test]
    fn traffic_that_changes_is_noticed() {
        let mut reported = Reported {
            made: 2,
            ..Reported::default()
        };
        assert_eq!(note(&mut reported, 0, 2_000), None);
        reported.of_present = 0;
        assert_eq!(note(&mut reported, 1, 3_000), Some(0));
        assert_eq!(note(&mut reported, 0, 9_000), Some(1));
    }
}
