//! The program as machine code, which is made in three steps.
//!
//! ```text
//!   loading ──► both sides of the traffic manager ► packets can go the long way
//!          └──► short way, straight (a thread) ─► packets go the short way
//!                        large tables: staged (a thread) ─► they wait for each other at look-ups
//! ```
//!
//! A function for each side is compiled in a few milliseconds. The short way is the program once more for each way through its parser,
//! which takes ten times as long for large programs; packets need not wait for it, since the long way gives the same bytes. Its
//! staged form is made when tables have become so large that it is worth while.

use crate::layout::Layout;
use crate::load::{Engine, Options, ShortWay};
use crate::v1model;
use forebay_ir::Program;
use forebay_jit::route::{Order, Route};
use forebay_jit::{Code, CompileError, ShortCode, compile, compile_short_way};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct MachineCode {
    bodies: Code,
    /// The short way, or why there is none.
    short_way: Result<Arc<Forms>, String>,
    beside_packets: bool,
    /// Threads that compile.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The short way, as far as it has been compiled.
#[derive(Debug)]
struct Forms {
    program: Program,
    route: Route,
    step_limit: u64,
    straight: OnceLock<Result<ShortCode, CompileError>>,
    staged: OnceLock<Result<ShortCode, CompileError>>,
    /// Whether anybody has asked for the staged form, or must not.
    staged_settled: AtomicBool,
}

impl MachineCode {
    /// What packets of the program need; nothing with the interpreter. A section in which tables are looked up does not
    /// allow that packets change places: such programs have no short way.
    pub(crate) fn new(
        program: &Program,
        layout: &Layout,
        options: &Options,
        looks_up_in_sections: bool,
    ) -> Result<Option<MachineCode>, CompileError> {
        if options.engine == Engine::Interpreter {
            return Ok(None);
        }
        let short_way = match options.short_way {
            ShortWay::Never => Err("it is not wanted".to_owned()),
            _ if looks_up_in_sections => Err("tables are looked up in an `@atomic` block".to_owned()),
            _ => Forms::new(program, layout, options.step_limit).map(Arc::new),
        };
        let compiling = short_way.as_ref().ok().map(|forms| {
            let forms = Arc::clone(forms);
            thread::spawn(move || forms.compile(Order::Straight))
        });
        let machine_code = MachineCode {
            bodies: compile(program, Some(&v1model::halves(program, layout)), options.step_limit)?,
            short_way,
            beside_packets: options.short_way == ShortWay::BesidePackets,
            threads: Mutex::new(compiling.into_iter().collect()),
        };
        if !machine_code.beside_packets {
            machine_code.finish();
        }
        Ok(Some(machine_code))
    }

    /// The functions of both sides, and of some bodies.
    pub(crate) fn bodies(&self) -> &Code {
        &self.bodies
    }

    /// The straight form of the short way, if it is ready.
    #[inline]
    pub(crate) fn straight(&self) -> Option<&ShortCode> {
        self.short_way.as_ref().ok()?.straight.get()?.as_ref().ok()
    }

    /// The staged form, if it is ready.
    #[inline]
    pub(crate) fn staged(&self) -> Option<&ShortCode> {
        self.short_way.as_ref().ok()?.staged.get()?.as_ref().ok()
    }

    /// Says that the staged form would be of use.
    #[inline]
    pub(crate) fn want_staged(&self) {
        let Ok(forms) = &self.short_way else { return };
        if !forms.staged_settled.load(Ordering::Relaxed) {
            self.compile_staged(forms);
        }
    }

    #[cold]
    fn compile_staged(&self, forms: &Arc<Forms>) {
        if forms.staged_settled.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.beside_packets {
            let forms = Arc::clone(forms);
            let thread = thread::spawn(move || forms.compile(Order::Staged));
            self.threads().push(thread);
        } else {
            forms.compile(Order::Staged);
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

    /// Why packets do not take the short way, for people; nothing when they do, or will as soon as it is ready.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match &self.short_way {
            Err(obstacle) => Some(obstacle.clone()),
            Ok(forms) => forms.straight.get()?.as_ref().err().map(ToString::to_string),
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Forms {
    /// Nothing is compiled yet. Fails with the obstacle.
    fn new(program: &Program, layout: &Layout, step_limit: u64) -> Result<Forms, String> {
        let route = v1model::route(program, layout);
        if let Some(obstacle) = route.obstacle(program, step_limit) {
            return Err(obstacle.to_string());
        }
        Ok(Forms {
            staged_settled: AtomicBool::new(route.keeps_order(program)),
            program: program.clone(),
            route,
            step_limit,
            straight: OnceLock::new(),
            staged: OnceLock::new(),
        })
    }

    fn compile(&self, order: Order) {
        let place = match order {
            Order::Straight => &self.straight,
            Order::Staged => &self.staged,
        };
        place.get_or_init(|| compile_short_way(&self.program, &self.route, order, self.step_limit));
    }
}
