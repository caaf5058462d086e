//! What a plan leaves out because the program is too large, or because copies cannot be made.

use super::Route;
use super::obstacles::{Obstacle, ObstacleKind, Stops};
use super::plan::{NODES_MAX, PATH_STATEMENTS_MAX, Plan, STATEMENTS_MAX};
use forebay_ir::{Location, Program};

/// The numbers of points of a [`Plan`] at which packets take the slow path, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Paths through the parser that are compiled.
    pub(super) paths: usize,
    /// Branches of the parser's tree beyond [`NODES_MAX`].
    pub(super) nodes_left_out: usize,
    /// Paths through the parser beyond [`LEAVES_MAX`](super::plan::LEAVES_MAX).
    pub(super) paths_left_out: usize,
    /// Paths through the parser left out after [`STATEMENTS_MAX`] statements.
    pub(super) paths_without_statements: usize,
    /// Paths through the parser after which there are more than [`PATH_STATEMENTS_MAX`] statements.
    pub(super) paths_too_large: usize,
    /// Paths through the parser that reach the step limit.
    pub(super) endless_paths: usize,
    /// Paths on which it may become unknown how packets continue after they have changed state.
    pub(super) paths_that_miss: usize,
    /// Paths on which packets may be copied for a group, but copies cannot be made: these packets bail out.
    pub(super) paths_without_copies: usize,
    /// Those of them that are not compiled, because a packet cannot bail out after ingress has changed state.
    pub(super) paths_with_state_and_copies: usize,
}

impl Route {
    /// What keeps packets off the fast path because the program is too large, or because copies cannot be made.
    /// Computing it compiles nothing.
    pub fn limits(&self, program: &Program, step_limit: u64) -> Vec<Obstacle> {
        Plan::outline(program, self, step_limit).obstacles(program, self)
    }
}

impl Limits {
    /// What was left out, in words for the user.
    pub(crate) fn obstacles(&self, program: &Program, route: &Route) -> Vec<Obstacle> {
        let parser = route.place_of_parser(program);
        let never = self.never_compiled().into_iter();
        let never = never.map(|what| format!("program too large for the fast path: {what}"));
        let too_large = self.compiled_later().into_iter().chain(never);
        let too_large = too_large.map(|what| self.obstacle(ObstacleKind::TooLarge, parser, what));
        let mut found: Vec<Obstacle> = too_large.collect();
        if self.paths_that_miss > 0 {
            let why = "reads the port of each copy, or more than the headers that were emitted, in a program that has \
                       changed state before";
            let location = route.place_of_misses(program);
            found.push(self.obstacle(ObstacleKind::StateAndCopies, location, why.to_owned()));
        }
        if self.paths_without_copies > 0 {
            let (location, text) = without_copies(program, route);
            found.push(Obstacle {
                stops: Stops::Some,
                ..self.obstacle(ObstacleKind::Copies, location, text)
            });
        }
        if self.paths_with_state_and_copies > 0 {
            let (location, why) = without_copies(program, route);
            let text = format!("{why}, in a program whose ingress changes registers or meters before");
            found.push(self.obstacle(ObstacleKind::StateAndCopies, location, text));
        }
        found
    }

    /// What is compiled when packets come, in words for the user.
    fn compiled_later(&self) -> Vec<String> {
        let compiled = self.paths;
        let all = compiled + self.paths_left_out + self.paths_without_statements + self.paths_too_large;
        let paths = |why: &str, condition: &str| {
            let first = match compiled {
                0 => format!("none of the {all} paths through the parser is"),
                1 => format!("1 of the {all} paths through the parser is"),
                several => format!("{several} of the {all} paths through the parser are"),
            };
            let others = match compiled {
                0 => "each when packets take it",
                _ => "the others when packets take them",
            };
            format!("{first} compiled at the start{why}, {others}{condition}")
        };
        let mut said = Vec::new();
        if self.paths_left_out > 0 {
            said.push(paths("", ""));
        }
        if self.paths_without_statements > 0 {
            said.push(paths(
                &format!(" with more than {STATEMENTS_MAX} statements"),
                &format!(" if no more than {PATH_STATEMENTS_MAX} statements follow on each"),
            ));
        }
        if self.nodes_left_out > 0 {
            said.push(format!(
                "{NODES_MAX} of the {} branches on all paths through the parser are compiled at the start, the others when \
                 packets take them",
                NODES_MAX + self.nodes_left_out
            ));
        }
        said
    }

    /// What is too large to be compiled at any time.
    fn never_compiled(&self) -> Vec<String> {
        let statements = match self.paths_too_large {
            0 => None,
            1 => Some(format!(
                "more than {PATH_STATEMENTS_MAX} statements after a path through the parser"
            )),
            several => Some(format!(
                "more than {PATH_STATEMENTS_MAX} statements after each of {several} paths through the parser"
            )),
        };
        let endless = (self.endless_paths > 0).then(|| "a loop of the parser that does not end".to_owned());
        statements.into_iter().chain(endless).collect()
    }

    /// The packets on paths that are not compiled: all of them if no path is.
    fn stops(&self) -> Stops {
        match self.paths {
            0 => Stops::All,
            _ => Stops::Some,
        }
    }

    fn obstacle(&self, kind: ObstacleKind, location: Location, text: String) -> Obstacle {
        Obstacle {
            kind,
            stops: self.stops(),
            location,
            text,
        }
    }
}

/// The location of copies that cannot be made, so that packets bail out, and the reason.
fn without_copies(program: &Program, route: &Route) -> (Location, String) {
    match route.obstacle_to_copies(program) {
        Some((location, why)) => (
            location,
            format!("{why}, so copies for a multicast group are not made in place"),
        ),
        None => {
            let why = "chooses a multicast group, and its copies may have a varbit field, or headers that have no whole \
                       bytes or are emitted on a condition";
            (route.place_of_group(program), why.to_owned())
        }
    }
}
