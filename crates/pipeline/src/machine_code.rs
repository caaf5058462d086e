//! The program as machine code, which is made in three steps.
//!
//! ```text
//!   loading ──► both sides of the traffic manager ► packets can go the long way
//!          └──► short way, with a flow cache (a thread) ─► packets go the short way
//!                 too many flows: straight (a thread) ─► every packet searches the tables
//!                 and large tables: staged (a thread) ─► they wait for each other at look-ups
//! ```
//!
//! A function for each side is compiled in a few milliseconds. The short way is the program once more for each way through its parser,
//! which takes ten times as long for large programs; packets need not wait for it, since the long way gives the same bytes. Its
//! further forms are made when a worker would like to have them.

use crate::layout::Layout;
use crate::load::{Engine, Options, ShortWay};
use crate::v1model;
use forebay_ir::Program;
use forebay_jit::route::{Order, Route};
use forebay_jit::{Code, CompileError, Forms, ShortCode, compile, compile_short_way};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct MachineCode {
    bodies: Code,
    /// The short way, or why there is none.
    short_way: Result<Arc<Compiled>, String>,
    beside_packets: bool,
    /// Threads that compile.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The short way, as far as it has been compiled.
#[derive(Debug)]
struct Compiled {
    program: Program,
    route: Route,
    step_limit: u64,
    cached: Form,
    straight: Form,
    staged: Form,
}

/// One of the forms of the short way.
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
            _ => Compiled::new(program, layout, options.step_limit).map(Arc::new),
        };
        let compiling = short_way.as_ref().ok().map(|compiled| {
            let compiled = Arc::clone(compiled);
            let budget = forebay_budget::of_thread();
            thread::spawn(move || match budget {
                None => compiled.compile(Order::Cached),
                // When the budget is exceeded the program is not wanted any more.
                Some(budget) => drop(budget.run(|| compiled.compile(Order::Cached))),
            })
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

    /// The short way in the form that is compiled first, if it is ready.
    #[inline]
    pub(crate) fn first(&self) -> Option<&ShortCode> {
        self.short_way.as_ref().ok()?.cached.code()
    }

    /// The short way in all forms that are ready, if the first one is.
    #[inline]
    pub(crate) fn forms(&self) -> Option<Forms<'_>> {
        let compiled = self.short_way.as_ref().ok()?;
        Some(Forms {
            first: compiled.cached.code()?,
            straight: compiled.straight.code(),
            staged: compiled.staged.code(),
        })
    }

    /// Says that another form would be of use.
    #[inline]
    pub(crate) fn want(&self, order: Order) {
        let Ok(compiled) = &self.short_way else { return };
        if !compiled.form(order).settled.load(Ordering::Relaxed) {
            self.compile(compiled, order);
        }
    }

    #[cold]
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

    /// Why packets do not take the short way, for people; nothing when they do, or will as soon as it is ready.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match &self.short_way {
            Err(obstacle) => Some(obstacle.clone()),
            Ok(compiled) => compiled.cached.code.get()?.as_ref().err().map(ToString::to_string),
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compiled {
    /// Nothing is compiled yet. Fails with the obstacle.
    fn new(program: &Program, layout: &Layout, step_limit: u64) -> Result<Compiled, String> {
        let route = v1model::route(program, layout);
        if let Some(obstacle) = route.obstacle(program, step_limit) {
            return Err(obstacle.to_string());
        }
        let staged = Form::default();
        staged.settled.store(route.keeps_order(program), Ordering::Relaxed);
        Ok(Compiled {
            program: program.clone(),
            route,
            step_limit,
            cached: Form::default(),
            straight: Form::default(),
            staged,
        })
    }

    fn form(&self, order: Order) -> &Form {
        match order {
            Order::Cached => &self.cached,
            Order::Straight => &self.straight,
            Order::Staged => &self.staged,
        }
    }

    fn compile(&self, order: Order) {
        let compile = || compile_short_way(&self.program, &self.route, order, self.step_limit);
        self.form(order).code.get_or_init(compile);
    }
}
