//! The machine code of a program. It is made in steps.
//!
//! ```text
//!   loading ──► general code: the graph ► packets can go
//!          └──► specialised code, with a flow cache (a thread) ─► packets go faster
//!                 too many flows: straight (a thread) ─► every packet searches the tables
//!                 and large tables: staged (a thread) ─► they wait for each other at look-ups
//! ```
//!
//! General code is compiled in a few milliseconds. Specialised code contains the program once for each path through
//! its parser. For large programs, compiling it takes ten times as long. Packets need not wait for it, since general
//! code gives the same bytes. Further variants are compiled when a worker requests them.
//!
//! For a program with many paths through its parser, the fast path covers only some of them. When packets take others,
//! workers report these ([`MachineCode::want_paths`]), and the fast path is compiled again: see
//! [`Generations`](crate::generations).

use crate::generations::{Generations, LeftOutPackets};
use crate::layout::Layout;
use crate::load::{BesideWorkers, Engine, FastPath, Options};
use crate::packet::Contents;
use crate::straight::clone_head::Head;
use crate::straight::kept::KeptValues;
use crate::straight::returns::{self, BeforeFrame};
use crate::straight::side_exit::SideExit;
use crate::straight::{self, Refusal, Straight, clones, psa_clones, straight};
use forebay_budget::{Budget, Stop};
use forebay_ir::{Architecture, Location, Program};
use forebay_jit::graph::GraphCode;
use forebay_jit::route::{Obstacle, ObstacleKind, Order, Pass, Route, Stops, Watch};
use forebay_jit::{CompileError, FastPathCode, Forms, compile_fast_path, compile_graph};
use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// The fast path of packets that begin again, if they may take one; compiled when there are such packets.
    returns: Option<(Arc<Generations>, BeforeFrame)>,
    /// The header before the frames of noted clones.
    head: Head,
    frames_of_clones: FramesOfClones,
    /// See [`MachineCode::kept_by_returns`].
    kept_by_returns: KeptValues,
    /// How packets go on that leave the fast path after ingress.
    side_exit: Option<SideExit>,
    /// What keeps packets off the fast path and is known before compilation.
    obstacles: Vec<Obstacle>,
    beside_packets: bool,
    beside_workers: BesideWorkers,
    /// Threads that compile.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What becomes of the frames of noted clones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramesOfClones {
    /// The deparser truncates them.
    OfV1model,
    /// They are truncated before they enter egress.
    EnterEgress,
    /// They are truncated and leave.
    Leave,
}

impl FramesOfClones {
    fn of(architecture: Architecture) -> FramesOfClones {
        match architecture {
            Architecture::V1Model => FramesOfClones::OfV1model,
            Architecture::Psa => FramesOfClones::EnterEgress,
            Architecture::Pna => FramesOfClones::Leave,
        }
    }
}

impl MachineCode {
    /// The code for a program's packets; `None` with the interpreter.
    pub(crate) fn new(
        program: &Program,
        layout: Option<&Layout>,
        options: &Options,
    ) -> Result<Option<MachineCode>, CompileError> {
        if options.engine == Engine::Interpreter {
            return Ok(None);
        }
        let (straight, mut route) = match straight_form(program, layout, options) {
            Ok(straight) => straight,
            Err(refusal) => return MachineCode::of_graph(program, options, refusal.obstacle()).map(Some),
        };
        let has_fast_path = options.fast_path != FastPath::Never;
        let unrolled = has_fast_path.then(|| route.unrolled(&straight)).flatten();
        let unrolled = unrolled.as_ref().unwrap_or(&straight);
        let of_returns = returns::route(unrolled, layout, &route);
        let of_returns = of_returns.filter(|(again, _)| !again.is_blocked(unrolled, options.step_limit));
        if let Some(back) = &mut route.sends_back {
            back.recirculates_fast = of_returns.is_some();
        }
        let (obstacles, is_blocked) = known_obstacles(unrolled, &route, options);
        let head = Head::of(unrolled, &route);
        let kept_by_returns = route.sends_back.as_ref().map_or(&[][..], |back| &back.kept);
        let kept_by_returns = KeptValues::of(unrolled, kept_by_returns);
        let side_exit = SideExit::of(program, unrolled, &route);
        let is_compiled = matches!(options.fast_path, FastPath::BeforePackets | FastPath::BesidePackets);
        let is_wanted = is_compiled && !is_blocked;
        let of_clones = is_wanted.then(|| straight_of_clones(unrolled, layout, &route, options));
        let of_clones = of_clones.flatten();
        let fast_path = is_wanted.then(|| Arc::new(Generations::new(unrolled, route, options.step_limit)));
        let compiling = fast_path
            .as_ref()
            .map(|generations| begin_compiling(generations, options));
        let machine_code = MachineCode {
            general: general(program, options)?,
            takes_bursts: options.fast_path != FastPath::Never,
            fast_path,
            clones: of_clones.map(|path| Arc::new(Generations::new(&path.program, path.route, options.step_limit))),
            returns: of_returns.filter(|_| is_wanted).map(|(again, before_frame)| {
                let generations = Generations::new(unrolled, again, options.step_limit);
                (Arc::new(generations), before_frame)
            }),
            head,
            frames_of_clones: FramesOfClones::of(program.architecture),
            kept_by_returns,
            side_exit,
            obstacles,
            beside_packets: options.fast_path == FastPath::BesidePackets,
            beside_workers: options.beside_workers,
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
            returns: None,
            head: Head::default(),
            frames_of_clones: FramesOfClones::of(program.architecture),
            kept_by_returns: KeptValues::default(),
            side_exit: None,
            obstacles: vec![obstacle],
            beside_packets: false,
            beside_workers: options.beside_workers,
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
    pub(crate) fn first(&self) -> Option<&FastPathCode> {
        self.fast_path.as_ref()?.first()?.as_ref().ok()
    }

    /// All variants of the fast path that are ready, if the first one is.
    #[inline]
    pub(crate) fn forms(&self) -> Option<Forms<'_>> {
        self.fast_path.as_ref()?.forms()
    }

    /// All variants of the clones' fast path that are ready. The first call starts compiling it.
    #[inline]
    pub(crate) fn forms_of_clones(&self) -> Option<Forms<'_>> {
        let clones = self.clones.as_ref()?;
        self.want_of(clones, Order::Cached);
        clones.forms()
    }

    /// All variants of the fast path of packets that begin again, if the first one is ready, and what is before the
    /// frames of these packets. The first call starts compiling it.
    #[inline]
    pub(crate) fn forms_of_returns(&self) -> Option<(Forms<'_>, &BeforeFrame)> {
        let (generations, before_frame) = self.returns.as_ref()?;
        self.want_of(generations, Order::Cached);
        Some((generations.forms()?, before_frame))
    }

    /// What becomes of the frames of noted clones.
    pub(crate) fn frames_of_clones(&self) -> FramesOfClones {
        self.frames_of_clones
    }

    /// The header before the frames of clones.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// What packets that begin again may keep, as the fast path notes it.
    pub(crate) fn kept_by_returns(&self) -> &KeptValues {
        &self.kept_by_returns
    }

    /// Restores what a packet that begins again keeps, for a pass on the slow path.
    pub(crate) fn restore_kept(&self, packet: &mut Contents) {
        let values = self.kept_by_returns.read(&packet.kept_bytes);
        packet.preserved.0.extend(values);
        packet.kept_bytes.clear();
    }

    /// How packets go on that leave the fast path after ingress.
    pub(crate) fn side_exit(&self) -> Option<&SideExit> {
        self.side_exit.as_ref()
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

    /// Requests another variant of the fast path of packets that begin again.
    pub(crate) fn want_for_returns(&self, order: Order) {
        if let Some((generations, _)) = &self.returns {
            self.want_of(generations, order);
        }
    }

    #[inline]
    fn want_of(&self, generations: &Arc<Generations>, order: Order) {
        if !generations.is_settled(order) {
            self.compile(generations, order);
        }
    }

    #[cold]
    fn compile(&self, generations: &Arc<Generations>, order: Order) {
        if let Some(generation) = generations.settle(order) {
            self.beside(generations, move |generations| generations.compile(generation, order));
        }
    }

    /// Reports packets that the fast path leaves out.
    #[cold]
    pub(crate) fn want_paths(&self, left_out: &LeftOutPackets) {
        self.want_paths_of(self.fast_path.as_ref(), left_out);
    }

    /// Reports clones that their fast path leaves out.
    #[cold]
    pub(crate) fn want_paths_for_clones(&self, left_out: &LeftOutPackets) {
        self.want_paths_of(self.clones.as_ref(), left_out);
    }

    /// Reports packets that begin again and that their fast path leaves out.
    #[cold]
    pub(crate) fn want_paths_for_returns(&self, left_out: &LeftOutPackets) {
        let generations = self.returns.as_ref().map(|(generations, _)| generations);
        self.want_paths_of(generations, left_out);
    }

    fn want_paths_of(&self, generations: Option<&Arc<Generations>>, left_out: &LeftOutPackets) {
        let Some(generations) = generations else { return };
        if generations.report(left_out) {
            self.beside(generations, Generations::compile_next);
        }
    }

    /// Does work in a new thread, or at once if packets are to wait for it.
    #[allow(clippy::disallowed_methods, reason = "compiles the fast path beside the packets")]
    fn beside(&self, generations: &Arc<Generations>, work: impl FnOnce(&Generations) + Send + 'static) {
        if self.beside_packets {
            let generations = Arc::clone(generations);
            let BesideWorkers(begin) = self.beside_workers;
            let thread = thread::spawn(move || {
                begin();
                work(&generations);
            });
            self.threads().push(thread);
        } else {
            work(generations);
        }
    }

    /// The [generation](Generations) of the fast path that packets use.
    #[inline]
    pub(crate) fn generation(&self) -> usize {
        let generations = self.fast_path.as_ref();
        generations.map_or(0, |generations| generations.index())
    }

    /// The [generation](Generations) of the fast path of packets that begin again.
    pub(crate) fn generation_of_returns(&self) -> usize {
        let returns = self.returns.as_ref();
        returns.map_or(0, |(generations, _)| generations.index())
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
        match self.fast_path.as_ref().and_then(|generations| generations.first()) {
            None => {}
            Some(Ok(code)) => all.extend_from_slice(code.obstacles()),
            Some(Err(error)) => all.push(not_compiled(error)),
        }
        all
    }

    /// Whether the fast path is still being compiled, so that packets cannot use it.
    pub(crate) fn is_compiling(&self) -> bool {
        let generations = self.fast_path.as_ref();
        generations.is_some_and(|generations| generations.first().is_none())
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What keeps packets off the fast path and is known before compilation, and whether no packet can take it.
fn known_obstacles(program: &Program, route: &Route, options: &Options) -> (Vec<Obstacle>, bool) {
    let mut obstacles = match options.fast_path {
        FastPath::Never => Vec::new(),
        _ => route.obstacles(program, options.step_limit),
    };
    let is_blocked = obstacles.iter().any(|obstacle| obstacle.stops == Stops::All);
    if options.fast_path == FastPath::Planned && !is_blocked {
        obstacles.extend(route.limits(program, options.step_limit));
    }
    (obstacles, is_blocked)
}

/// The path of clones, if they may take a fast path.
fn straight_of_clones(
    program: &Program,
    layout: Option<&Layout>,
    route: &Route,
    options: &Options,
) -> Option<Straight> {
    let path = match (layout, program.architecture) {
        (Some(layout), _) => clones::straight(program, layout, route),
        (None, Architecture::Psa) => psa_clones::straight(program, route),
        (None, _) => None,
    };
    path.filter(|path| !path.route.is_blocked(&path.program, options.step_limit))
}

/// Starts a thread that compiles the first variant.
#[allow(clippy::disallowed_methods, reason = "compiles the fast path beside the packets")]
fn begin_compiling(generations: &Arc<Generations>, options: &Options) -> JoinHandle<()> {
    let generations = Arc::clone(generations);
    let budget = forebay_budget::of_thread();
    let beside_packets = options.fast_path == FastPath::BesidePackets;
    let BesideWorkers(begin) = options.beside_workers;
    thread::spawn(move || {
        if beside_packets {
            begin();
        }
        compile_first(&generations, budget);
    })
}

/// Compiles the variant that is compiled first, within the budget of the thread that loads the program.
fn compile_first(generations: &Generations, budget: Option<Arc<Budget>>) {
    let Some(budget) = budget else {
        generations.compile(0, Order::Cached);
        return;
    };
    let compiled = budget.run(|| generations.compile(0, Order::Cached));
    // When it is ended for another reason, the program is no longer needed.
    if let Err(stop @ Stop::Memory(_)) = compiled {
        generations.give_up(stop.to_string());
    }
}

/// The program of the fast path, and how a packet goes through it; a refusal if the program has none.
fn straight_form<'a>(
    program: &'a Program,
    layout: Option<&Layout>,
    options: &Options,
) -> Result<(Cow<'a, Program>, Route), Refusal> {
    // What specialised code does around the bodies follows from the architecture.
    if program.graph.is_some() && !forebay_arch::has_own_graph(program) {
        return Err(Refusal::new(
            Location::default(),
            "has another graph than its architecture",
        ));
    }
    let (straight, mut route) = match layout {
        Some(layout) => straight::v1model::straight(program, layout),
        None => straight(program).map(|Straight { program, route }| (Cow::Owned(program), route))?,
    };
    route.without = options.without_passes;
    Ok((straight, route))
}

/// Specialised code as text; `None` if the program has none.
pub(crate) fn specialised_text(program: &Program, options: &Options) -> Option<String> {
    let layout = Layout::of(program).ok()?;
    let (straight, route) = straight_form(program, layout.as_ref(), options).ok()?;
    let unrolled = route.unrolled(&straight);
    route.text(unrolled.as_ref().unwrap_or(&straight), options.step_limit)
}

/// Compiles specialised code once more, and lets `watch` know after each step which one it was. `None` if the program has
/// none; a program that turns out to be too large has made the steps all the same.
pub(crate) fn watch_passes(program: &Program, options: &Options, watch: &mut Watch<'_>) -> Option<()> {
    let layout = Layout::of(program).ok()?;
    let (straight, route) = straight_form(program, layout.as_ref(), options).ok()?;
    watch("architecture");
    let unrolled = route.unrolled(&straight);
    watch(Pass::Unrolling.name());
    let straight = unrolled.as_ref().unwrap_or(&straight);
    if route.is_blocked(straight, options.step_limit) {
        return None;
    }
    drop(compile_fast_path(
        straight,
        &route,
        Order::Cached,
        options.step_limit,
        &[],
        watch,
    ));
    Some(())
}

fn general(program: &Program, options: &Options) -> Result<Box<GraphCode>, CompileError> {
    let graph = program.graph.as_ref().expect("it was attached");
    Ok(Box::new(compile_graph(program, graph, options.step_limit)?))
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
