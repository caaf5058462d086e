//! The machine code of a program. It is made in three steps.
//!
//! ```text
//!   loading ──► general code: the graph ► packets can go
//!          └──► specialised code of v1model, with a flow cache (a thread) ─► packets go faster
//!                 too many flows: straight (a thread) ─► every packet searches the tables
//!                 and large tables: staged (a thread) ─► they wait for each other at look-ups
//! ```
//!
//! General code is compiled in a few milliseconds. Specialised code contains the program once for each path through
//! its parser. For large programs, compiling it takes ten times as long. Packets need not wait for it, since general
//! code gives the same bytes. Further variants are compiled when a worker requests them.
//!
//! For a program with many paths through its parser, the fast path covers only some of them. When packets take others,
//! workers report these ([`MachineCode::want_paths`]), and the fast path is compiled again with these paths preferred.
//! The previous code stays, since workers may be executing it. So this is done only a few times, and each time needs
//! more packets than the previous time.

use crate::layout::Layout;
use crate::load::{Engine, FastPath, Options};
use crate::straight::clone_head::Head;
use crate::straight::{self, Straight, clones, straight};
use forebay_ir::{Location, Program};
use forebay_jit::graph::GraphCode;
use forebay_jit::route::{Obstacle, ObstacleKind, Order, PathId, Route, Stops};
use forebay_jit::{CompileError, Forms, ShortCode, compile_fast_path, compile_graph};
use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct MachineCode {
    general: Box<GraphCode>,
    /// Whether bursts may go through general code in their own buffers.
    takes_bursts: bool,
    /// The fast path, if there is one.
    fast_path: Option<Arc<Generations>>,
    /// The fast path of clones, if clones may take one; compiled when there are clones.
    clones: Option<Arc<Generations>>,
    /// The header before the frames of noted clones.
    head: Head,
    /// What keeps packets off the fast path and is known before compilation.
    obstacles: Vec<Obstacle>,
    beside_packets: bool,
    /// Threads that compile.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// How many times the fast path is compiled for the parser paths that packets take.
const GENERATIONS_MAX: usize = 8;

/// The factor by which the packets needed for a further compilation grow.
const GROWTH: u64 = 4;

/// The fast path: compiled once, and again for the parser paths that packets take.
#[derive(Debug)]
struct Generations {
    program: Program,
    route: Route,
    step_limit: u64,
    all: [OnceLock<Compiled>; GENERATIONS_MAX],
    /// The generation that packets use. All generations up to it exist.
    present: AtomicUsize,
    /// Whether the next generation is being compiled.
    compiles: AtomicBool,
    /// How many times workers have requested paths since the current generation was made.
    asked: AtomicU64,
}

/// One generation of the fast path, as far as it has been compiled.
#[derive(Debug, Default)]
struct Compiled {
    /// The preferred paths through the parser, the most preferred first.
    wanted: Vec<PathId>,
    cached: Form,
    straight: Form,
    staged: Form,
}

/// One variant of the fast path.
#[derive(Debug, Default)]
struct Form {
    code: OnceLock<Result<ShortCode, CompileError>>,
    /// Whether it has been requested, or must not be.
    settled: AtomicBool,
}

impl Form {
    /// The code, if it is ready.
    #[inline]
    fn code(&self) -> Option<&ShortCode> {
        self.code.get()?.as_ref().ok()
    }
}

impl MachineCode {
    /// The code for a program's packets; `None` with the interpreter. Sections in which tables are looked up do not
    /// allow packets to be reordered, so programs with such sections, which begin at `sections_with_lookups`, have no
    /// fast path.
    #[allow(clippy::disallowed_methods, reason = "compiles the fast path beside the packets")]
    pub(crate) fn new(
        program: &Program,
        layout: Option<&Layout>,
        options: &Options,
        sections_with_lookups: &[Location],
    ) -> Result<Option<MachineCode>, CompileError> {
        if options.engine == Engine::Interpreter {
            return Ok(None);
        }
        let straight = match layout {
            Some(layout) => Ok(straight::v1model::straight(program, layout)),
            None => straight(program).map(|Straight { program, route }| (Cow::Owned(program), route)),
        };
        let (straight, route) = match straight {
            Ok(straight) => straight,
            Err(refusal) => return MachineCode::of_graph(program, options, refusal.obstacle()).map(Some),
        };
        let has_fast_path = options.fast_path != FastPath::Never;
        let unrolled = has_fast_path.then(|| route.unrolled(&straight)).flatten();
        let unrolled = unrolled.as_ref().unwrap_or(&straight);
        let mut obstacles = match options.fast_path {
            FastPath::Never => Vec::new(),
            _ => obstacles(unrolled, &route, options.step_limit, sections_with_lookups),
        };
        let is_blocked = obstacles.iter().any(|obstacle| obstacle.stops == Stops::All);
        if options.fast_path == FastPath::Planned && !is_blocked {
            obstacles.extend(route.limits(unrolled, options.step_limit));
        }
        let head = Head::of(unrolled, &route);
        let is_compiled = matches!(options.fast_path, FastPath::BeforePackets | FastPath::BesidePackets);
        let is_wanted = is_compiled && !is_blocked;
        let of_clones = layout.filter(|_| is_wanted);
        let of_clones = of_clones.and_then(|layout| clones::straight(unrolled, layout, &route));
        let of_clones = of_clones.filter(|path| !path.route.is_blocked(&path.program, options.step_limit));
        let fast_path = is_wanted.then(|| Arc::new(Generations::new(unrolled, route, options.step_limit)));
        let compiling = fast_path.as_ref().map(|generations| {
            let generations = Arc::clone(generations);
            let budget = forebay_budget::of_thread();
            thread::spawn(move || match budget {
                None => generations.compile(0, Order::Cached),
                // If the budget is exceeded, the program is no longer needed.
                Some(budget) => drop(budget.run(|| generations.compile(0, Order::Cached))),
            })
        });
        let machine_code = MachineCode {
            general: general(program, options)?,
            takes_bursts: options.fast_path != FastPath::Never,
            fast_path,
            clones: of_clones.map(|path| Arc::new(Generations::new(&path.program, path.route, options.step_limit))),
            head,
            obstacles,
            beside_packets: options.fast_path == FastPath::BesidePackets,
            threads: Mutex::new(compiling.into_iter().collect()),
        };
        if !machine_code.beside_packets {
            machine_code.finish();
        }
        Ok(Some(machine_code))
    }

    /// The machine code of a program without specialised code.
    fn of_graph(program: &Program, options: &Options, obstacle: Obstacle) -> Result<MachineCode, CompileError> {
        Ok(MachineCode {
            general: general(program, options)?,
            takes_bursts: options.fast_path != FastPath::Never,
            fast_path: None,
            clones: None,
            head: Head::default(),
            obstacles: vec![obstacle],
            beside_packets: false,
            threads: Mutex::default(),
        })
    }

    /// The code that every packet can use.
    #[inline]
    pub(crate) fn general(&self) -> &GraphCode {
        &self.general
    }

    /// General code, if bursts may go through it.
    #[inline]
    pub(crate) fn general_for_bursts(&self) -> Option<&GraphCode> {
        self.takes_bursts.then_some(&*self.general)
    }

    /// The variant of the fast path that is compiled first, if it is ready.
    #[inline]
    pub(crate) fn first(&self) -> Option<&ShortCode> {
        self.fast_path.as_ref()?.present().cached.code()
    }

    /// All variants of the fast path that are ready, if the first one is.
    #[inline]
    pub(crate) fn forms(&self) -> Option<Forms<'_>> {
        self.fast_path.as_ref()?.present().forms()
    }

    /// All variants of the clones' fast path that are ready. The first call starts compiling it.
    #[inline]
    pub(crate) fn forms_of_clones(&self) -> Option<Forms<'_>> {
        let clones = self.clones.as_ref()?;
        self.want_of(clones, Order::Cached);
        clones.present().forms()
    }

    /// The header before the frames of clones.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Requests another variant.
    #[inline]
    pub(crate) fn want(&self, order: Order) {
        if let Some(generations) = &self.fast_path {
            self.want_of(generations, order);
        }
    }

    /// Requests another variant of the clones' fast path.
    pub(crate) fn want_for_clones(&self, order: Order) {
        if let Some(generations) = &self.clones {
            self.want_of(generations, order);
        }
    }

    #[inline]
    fn want_of(&self, generations: &Arc<Generations>, order: Order) {
        if !generations.present().form(order).settled.load(Ordering::Relaxed) {
            self.compile(generations, order);
        }
    }

    #[cold]
    fn compile(&self, generations: &Arc<Generations>, order: Order) {
        let present = generations.present.load(Ordering::Acquire);
        let form = generations.all[present].get().expect("it is there").form(order);
        if !form.settled.swap(true, Ordering::Relaxed) {
            self.beside(generations, move |generations| generations.compile(present, order));
        }
    }

    /// Reports that packets take these paths through the parser, which the fast path does not cover.
    #[cold]
    pub(crate) fn want_paths(&self, paths: &[PathId]) {
        self.want_paths_of(self.fast_path.as_ref(), paths);
    }

    /// Reports that clones take these paths through their parser, which their fast path does not cover.
    #[cold]
    pub(crate) fn want_paths_for_clones(&self, paths: &[PathId]) {
        self.want_paths_of(self.clones.as_ref(), paths);
    }

    fn want_paths_of(&self, generations: Option<&Arc<Generations>>, paths: &[PathId]) {
        let Some(generations) = generations else { return };
        if generations.begins_next() {
            let paths = paths.to_vec();
            self.beside(generations, move |generations| generations.compile_next(&paths));
        }
    }

    /// Does work in a new thread, or at once if packets are to wait for it.
    #[allow(clippy::disallowed_methods, reason = "compiles the fast path beside the packets")]
    fn beside(&self, generations: &Arc<Generations>, work: impl FnOnce(&Generations) + Send + 'static) {
        if self.beside_packets {
            let generations = Arc::clone(generations);
            let thread = thread::spawn(move || work(&generations));
            self.threads().push(thread);
        } else {
            work(generations);
        }
    }

    /// How many times the fast path has been compiled for the paths that packets take.
    #[inline]
    pub(crate) fn generation(&self) -> usize {
        let generations = self.fast_path.as_ref();
        generations.map_or(0, |generations| generations.present.load(Ordering::Relaxed))
    }

    /// Waits until everything that is being compiled is ready.
    ///
    /// # Panics
    /// If compilation panicked.
    pub(crate) fn finish(&self) {
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    /// What keeps packets off the fast path. The list is complete when the fast path is
    /// [ready](MachineCode::is_compiling), or is only planned.
    pub(crate) fn obstacles(&self) -> Vec<Obstacle> {
        let mut all = self.obstacles.clone();
        let present = self.fast_path.as_ref().map(|generations| generations.present());
        match present.and_then(|compiled| compiled.cached.code.get()) {
            None => {}
            Some(Ok(code)) => all.extend_from_slice(code.obstacles()),
            Some(Err(error)) => all.push(not_compiled(error)),
        }
        all
    }

    /// Whether the fast path is still being compiled, so that packets cannot use it.
    pub(crate) fn is_compiling(&self) -> bool {
        let generations = self.fast_path.as_ref();
        generations.is_some_and(|generations| generations.present().cached.code.get().is_none())
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    /// A first generation, which is not compiled yet.
    fn new(program: &Program, route: Route, step_limit: u64) -> Generations {
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
            asked: AtomicU64::new(0),
        }
    }

    /// The generation that packets use.
    #[inline]
    fn present(&self) -> &Compiled {
        let present = self.present.load(Ordering::Acquire);
        self.all[present].get().expect("it is there")
    }

    fn compile(&self, generation: usize, order: Order) {
        let compiled = self.all[generation].get().expect("it is there");
        let compile = || compile_fast_path(&self.program, &self.route, order, self.step_limit, &compiled.wanted);
        compiled.form(order).code.get_or_init(compile);
    }

    /// Counts a request for paths. Returns whether the caller must now compile the next generation.
    fn begins_next(&self) -> bool {
        let present = self.present.load(Ordering::Acquire);
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let enough = GROWTH.pow(present as u32);
        asked >= enough && present + 1 < GENERATIONS_MAX && !self.compiles.swap(true, Ordering::Acquire)
    }

    /// Compiles the next generation. It prefers these paths, and then those that were preferred before.
    fn compile_next(&self, paths: &[PathId]) {
        let next = self.present.load(Ordering::Acquire) + 1;
        let before = self.present().wanted.iter().filter(|path| !paths.contains(path));
        let wanted = paths.iter().chain(before).copied().collect();
        let compiled = Compiled::new(wanted, self.route.keeps_order(&self.program));
        self.all[next].set(compiled).expect("nothing is there");
        self.compile(next, Order::Cached);
        let is_code = self.all[next]
            .get()
            .is_some_and(|compiled| compiled.cached.code().is_some());
        if is_code {
            self.asked.store(0, Ordering::Relaxed);
            self.present.store(next, Ordering::Release);
            self.compiles.store(false, Ordering::Release);
        }
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

    /// All variants that are ready, if the first one is.
    #[inline]
    fn forms(&self) -> Option<Forms<'_>> {
        Some(Forms {
            first: self.cached.code()?,
            straight: self.straight.code(),
            staged: self.staged.code(),
        })
    }

    fn form(&self, order: Order) -> &Form {
        match order {
            Order::Cached => &self.cached,
            Order::Straight => &self.straight,
            Order::Staged => &self.staged,
        }
    }
}

fn general(program: &Program, options: &Options) -> Result<Box<GraphCode>, CompileError> {
    let graph = program.graph.as_ref().expect("it was attached");
    Ok(Box::new(compile_graph(program, graph, options.step_limit)?))
}

/// The obstacles known before compilation.
fn obstacles(program: &Program, route: &Route, step_limit: u64, sections_with_lookups: &[Location]) -> Vec<Obstacle> {
    let in_section = |location: &Location| Obstacle {
        kind: ObstacleKind::AtomicLookup,
        stops: Stops::All,
        location: *location,
        text: "begins an `@atomic` block in which a table is applied".to_owned(),
    };
    let mut all: Vec<Obstacle> = sections_with_lookups.iter().map(in_section).collect();
    all.extend(route.obstacles(program, step_limit));
    all
}

/// The obstacle of a fast path that could not be compiled.
fn not_compiled(error: &CompileError) -> Obstacle {
    Obstacle {
        kind: ObstacleKind::TooLarge,
        stops: Stops::All,
        location: Location::default(),
        text: error.to_string(),
    }
}
