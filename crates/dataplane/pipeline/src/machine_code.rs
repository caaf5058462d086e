//! The program as machine code, which is made in three steps.
//!
//! ```text
//!   loading ──► general code: the graph ► packets can go
//!          └──► specialised code of v1model, with a flow cache (a thread) ─► packets go faster
//!                 too many flows: straight (a thread) ─► every packet searches the tables
//!                 and large tables: staged (a thread) ─► they wait for each other at look-ups
//! ```
//!
//! General code is compiled in a few milliseconds. Specialised code is the program once more for each way through its parser,
//! which takes ten times as long for large programs; packets need not wait for it, since general code gives the same bytes. Its
//! further forms are made when a worker would like to have them.

use crate::layout::Layout;
use crate::load::{Engine, FastPath, Options};
use crate::straight::{Straight, straight};
use crate::v1model;
use forebay_ir::{Location, Program};
use forebay_jit::graph::GraphCode;
use forebay_jit::route::{Obstacle, ObstacleKind, Order, Route, Stops};
use forebay_jit::{CompileError, Forms, ShortCode, compile_fast_path, compile_graph};
use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct MachineCode {
    general: Box<GraphCode>,
    /// Whether bursts may go through it in their own buffers.
    takes_bursts: bool,
    /// The fast path, if there is one.
    fast_path: Option<Arc<Compiled>>,
    /// What keeps packets off it, as far as it is known before it is compiled.
    obstacles: Vec<Obstacle>,
    beside_packets: bool,
    /// Threads that compile.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The fast path, as far as it has been compiled.
#[derive(Debug)]
struct Compiled {
    program: Program,
    route: Route,
    step_limit: u64,
    cached: Form,
    straight: Form,
    staged: Form,
}

/// One of the forms of the fast path.
#[derive(Debug, Default)]
struct Form {
    code: OnceLock<Result<ShortCode, CompileError>>,
    /// Whether anybody has asked for it, or must not.
    settled: AtomicBool,
}

impl Form {
    /// Its code, if it is ready.
    #[inline]
    fn code(&self) -> Option<&ShortCode> {
        self.code.get()?.as_ref().ok()
    }
}

impl MachineCode {
    /// What packets of the program need; nothing with the interpreter. Sections in which tables are looked up, which begin at
    /// `sections_with_lookups`, do not allow that packets change places: such programs have no fast path.
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
            Some(layout) => Ok((Cow::Borrowed(program), v1model::route(program, layout))),
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
        let is_compiled = matches!(options.fast_path, FastPath::BeforePackets | FastPath::BesidePackets);
        let is_wanted = is_compiled && !is_blocked;
        let fast_path = is_wanted.then(|| Arc::new(Compiled::new(unrolled, route, options.step_limit)));
        let compiling = fast_path.as_ref().map(|compiled| {
            let compiled = Arc::clone(compiled);
            let budget = forebay_budget::of_thread();
            thread::spawn(move || match budget {
                None => compiled.compile(Order::Cached),
                // When the budget is exceeded the program is not wanted any more.
                Some(budget) => drop(budget.run(|| compiled.compile(Order::Cached))),
            })
        });
        let machine_code = MachineCode {
            general: general(program, options)?,
            takes_bursts: options.fast_path != FastPath::Never,
            fast_path,
            obstacles,
            beside_packets: options.fast_path == FastPath::BesidePackets,
            threads: Mutex::new(compiling.into_iter().collect()),
        };
        if !machine_code.beside_packets {
            machine_code.finish();
        }
        Ok(Some(machine_code))
    }

    /// Machine code of a program for which there is no specialised code.
    fn of_graph(program: &Program, options: &Options, obstacle: Obstacle) -> Result<MachineCode, CompileError> {
        Ok(MachineCode {
            general: general(program, options)?,
            takes_bursts: options.fast_path != FastPath::Never,
            fast_path: None,
            obstacles: vec![obstacle],
            beside_packets: false,
            threads: Mutex::default(),
        })
    }

    /// The code that every packet can take.
    #[inline]
    pub(crate) fn general(&self) -> &GraphCode {
        &self.general
    }

    /// The same, if bursts may go through it.
    #[inline]
    pub(crate) fn general_for_bursts(&self) -> Option<&GraphCode> {
        self.takes_bursts.then_some(&*self.general)
    }

    /// The fast path in the form that is compiled first, if it is ready.
    #[inline]
    pub(crate) fn first(&self) -> Option<&ShortCode> {
        self.fast_path.as_ref()?.cached.code()
    }

    /// The fast path in all forms that are ready, if the first one is.
    #[inline]
    pub(crate) fn forms(&self) -> Option<Forms<'_>> {
        let compiled = self.fast_path.as_ref()?;
        Some(Forms {
            first: compiled.cached.code()?,
            straight: compiled.straight.code(),
            staged: compiled.staged.code(),
        })
    }

    /// Says that another form would be of use.
    #[inline]
    pub(crate) fn want(&self, order: Order) {
        let Some(compiled) = &self.fast_path else { return };
        if !compiled.form(order).settled.load(Ordering::Relaxed) {
            self.compile(compiled, order);
        }
    }

    #[cold]
    #[allow(clippy::disallowed_methods, reason = "compiles the fast path beside the packets")]
    fn compile(&self, compiled: &Arc<Compiled>, order: Order) {
        if compiled.form(order).settled.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.beside_packets {
            let compiled = Arc::clone(compiled);
            let thread = thread::spawn(move || compiled.compile(order));
            self.threads().push(thread);
        } else {
            compiled.compile(order);
        }
    }

    /// Waits for everything that is being compiled.
    ///
    /// # Panics
    /// When compiling did.
    pub(crate) fn finish(&self) {
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    /// What keeps packets off the fast path; all of it once that is [ready](MachineCode::is_compiling), or when it is only planned.
    pub(crate) fn obstacles(&self) -> Vec<Obstacle> {
        let mut all = self.obstacles.clone();
        match self.fast_path.as_ref().and_then(|compiled| compiled.cached.code.get()) {
            None => {}
            Some(Ok(code)) => all.extend_from_slice(code.obstacles()),
            Some(Err(error)) => all.push(not_compiled(error)),
        }
        all
    }

    /// Whether the fast path is being compiled, and packets cannot take it yet.
    pub(crate) fn is_compiling(&self) -> bool {
        let compiled = self.fast_path.as_ref();
        compiled.is_some_and(|compiled| compiled.cached.code.get().is_none())
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compiled {
    /// Nothing is compiled yet.
    fn new(program: &Program, route: Route, step_limit: u64) -> Compiled {
        let staged = Form::default();
        staged.settled.store(route.keeps_order(program), Ordering::Relaxed);
        Compiled {
            program: program.clone(),
            route,
            step_limit,
            cached: Form::default(),
            straight: Form::default(),
            staged,
        }
    }

    fn form(&self, order: Order) -> &Form {
        match order {
            Order::Cached => &self.cached,
            Order::Straight => &self.straight,
            Order::Staged => &self.staged,
        }
    }

    fn compile(&self, order: Order) {
        let compile = || compile_fast_path(&self.program, &self.route, order, self.step_limit);
        self.form(order).code.get_or_init(compile);
    }
}

fn general(program: &Program, options: &Options) -> Result<Box<GraphCode>, CompileError> {
    let graph = program.graph.as_ref().expect("it was attached");
    Ok(Box::new(compile_graph(program, graph, options.step_limit)?))
}

/// What is known before anything is compiled.
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

/// The fast path could not be compiled.
fn not_compiled(error: &CompileError) -> Obstacle {
    Obstacle {
        kind: ObstacleKind::TooLarge,
        stops: Stops::All,
        location: Location::default(),
        text: error.to_string(),
    }
}
