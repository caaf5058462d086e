//! What a plan leaves out because the program is too large, or because copies cannot be made.

use super::Route;
use super::obstacles::{Obstacle, ObstacleKind, Stops};
use super::plan::{LEAVES_MAX, NODES_MAX, PATH_STATEMENTS_MAX, Plan, STATEMENTS_MAX};
use forebay_ir::{Location, Program};

/// The numbers of points of a [`Plan`] at which packets take the slow path, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Paths through the parser that are compiled.
    pub(super) paths: usize,
    /// Branches of the parser's tree beyond [`NODES_MAX`].
    pub(super) nodes_left_out: usize,
    /// Paths through the parser beyond [`LEAVES_MAX`].
    pub(super) paths_left_out: usize,
    /// Paths through the parser left out after [`STATEMENTS_MAX`] statements.
    pub(super) paths_without_statements: usize,
    /// Paths through the parser behind which there are more than [`PATH_STATEMENTS_MAX`] statements.
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
        let limits = self;
        let parser = route.place_of_parser(program);
        let compiled = self.paths;
        let mut found = Vec::new();
        let mut too_large = |count: usize, text: String| {
            if count > 0 {
                found.push(self.too_large(parser, text));
            }
        };
        too_large(
            limits.paths_left_out,
            format!(
                "{} paths through the parser of at most {LEAVES_MAX}; others are compiled when packets take them",
                compiled + limits.paths_left_out
            ),
        );
        too_large(
            limits.paths_without_statements,
            format!(
                "more than {STATEMENTS_MAX} statements on {compiled} of {} paths through the parser; others are compiled when \
                 packets take them, if there are no more than {PATH_STATEMENTS_MAX} statements behind each",
                compiled + limits.paths_without_statements + limits.paths_left_out
            ),
        );
        too_large(
            limits.paths_too_large,
            match limits.paths_too_large {
                1 => format!("more than {PATH_STATEMENTS_MAX} statements behind a path through the parser"),
                several => format!(
                    "more than {PATH_STATEMENTS_MAX} statements behind each of {several} paths through the parser"
                ),
            },
        );
        too_large(
            limits.nodes_left_out,
            format!(
                "{} branches of the parser of at most {NODES_MAX}",
                NODES_MAX + limits.nodes_left_out
            ),
        );
        too_large(
            limits.endless_paths,
            "a loop of the parser that does not end".to_owned(),
        );
        found.extend((limits.paths_that_miss > 0).then(|| self.misses(program, route)));
        found.extend((limits.paths_without_copies > 0).then(|| self.copies(program, route, false)));
        found.extend((limits.paths_with_state_and_copies > 0).then(|| self.copies(program, route, true)));
        found
    }

    fn too_large(&self, location: Location, what: String) -> Obstacle {
        let stops = match self.paths {
            0 => Stops::All,
            _ => Stops::Some,
        };
        Obstacle {
            kind: ObstacleKind::TooLarge,
            stops,
            location,
            text: format!("program too large for the fast path: {what}"),
        }
    }

    fn misses(&self, program: &Program, route: &Route) -> Obstacle {
        Obstacle {
            kind: ObstacleKind::StateAndCopies,
            stops: match self.paths {
                0 => Stops::All,
                _ => Stops::Some,
            },
            location: route.place_of_misses(program),
            text: "reads more than the headers that were emitted, in a program that has changed state before"
                .to_owned(),
        }
    }

    /// Copies that cannot be made; `after_state` for the paths that are not compiled for this reason.
    fn copies(&self, program: &Program, route: &Route, after_state: bool) -> Obstacle {
        let (location, why) = match route.obstacle_to_copies(program) {
            Some((location, why)) => (
                location,
                format!("{why}, so copies for a multicast group are not made in place"),
            ),
            None => {
                let why = "chooses a multicast group, and its copies have headers whose places are not known";
                (route.place_of_group(program), why.to_owned())
            }
        };
        if !after_state {
            return Obstacle {
                kind: ObstacleKind::Copies,
                stops: Stops::Some,
                location,
                text: why,
            };
        }
        Obstacle {
            kind: ObstacleKind::StateAndCopies,
            stops: match self.paths {
                0 => Stops::All,
                _ => Stops::Some,
            },
            location,
            text: format!("{why}, in a program whose ingress changes registers or meters before"),
        }
    }
}
