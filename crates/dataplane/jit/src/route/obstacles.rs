//! What keeps packets of a program off the fast path: one sentence for each source line.
//!
//! There are two kinds of obstacle. One that [stops](Stops::All) all packets leaves the program without a fast path.
//! One that stops [some](Stops::Some) leaves the packets that reach it to the slow path, before anything has been
//! changed for them.

use super::Route;
use super::changes::{Change, Changes};
use super::named::named;
use crate::analysis::longest_path;
use forebay_ir::{Block, Body, BodyId, Location, Op, Program, SlotId, Table, TableId, Terminator, Walk};
use std::collections::BTreeSet;

/// A reason why packets take the slow path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The kind; its name is stable.
    pub kind: ObstacleKind,
    /// The packets that it keeps off the fast path.
    pub stops: Stops,
    /// The source location; line 0 when it is not known.
    pub location: Location,
    /// What the program does there, as the end of a sentence that begins with the location: "sends a digest".
    pub text: String,
}

/// Which packets an obstacle keeps off the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stops {
    /// Every packet of the program.
    All,
    /// The packets that reach this operation.
    Some,
}

named! {
    /// The kinds of obstacles.
    ObstacleKind {
        /// The program writes a value that the fast path assumes to be fixed.
        WritesFixed = "writes_fixed";
        /// A loop, or a control so long that it could reach the step limit.
        Steps = "steps";
        /// A packet that is copied or reported restarts on the slow path, which repeats changes of state.
        StateAndCopies = "state_and_copies";
        /// The parser does more than parse.
        Parser = "parser";
        /// A packet is cloned, sent back or reported in a digest.
        Leaves = "leaves";
        /// Copies for a multicast group cannot be made in place.
        Copies = "copies";
        /// The program is larger than what is compiled.
        TooLarge = "too_large";
        /// The program is for an architecture that has no fast path yet.
        Architecture = "architecture";
    }
}

impl Obstacle {
    /// One sentence: "l3fwd.p4:63 sends a digest".
    pub fn describe(&self, program: &Program) -> String {
        let separator = if self.kind == ObstacleKind::TooLarge { ": " } else { " " };
        match place_words(program, self.location) {
            Some(place) => format!("{place}{separator}{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// `l3fwd.p4:63`, if the line is known.
fn place_words(program: &Program, location: Location) -> Option<String> {
    let file = program.files.get(location.file as usize)?;
    (location.line > 0).then(|| format!("{file}:{}", location.line))
}

/// What a point of a body does.
#[derive(Clone, Copy)]
pub(super) enum Operation<'p> {
    Op(&'p Op),
    Ends(&'p Terminator),
    /// Applies a table: reads its keys, changes its direct objects.
    Applies(&'p Table),
}

/// An operation, terminator or table, and its location.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) location: Location,
    pub(super) operation: Operation<'p>,
}

/// Everything that bodies do, including the actions of their tables, in program order.
struct Places<'p> {
    program: &'p Program,
    found: Vec<Place<'p>>,
    actions_seen: BTreeSet<BodyId>,
}

impl<'p> Places<'p> {
    fn of(program: &'p Program, bodies: &[BodyId]) -> Vec<Place<'p>> {
        let (found, actions_seen) = Default::default();
        let mut places = Places {
            program,
            found,
            actions_seen,
        };
        for body in bodies {
            places.body(&program.bodies[body.index()]);
        }
        places.found
    }

    fn add(&mut self, location: Location, operation: Operation<'p>) {
        self.found.push(Place { location, operation });
    }

    fn body(&mut self, body: &'p Body) {
        for block in &body.blocks {
            for statement in &block.statements {
                self.add(statement.location, Operation::Op(&statement.op));
            }
            self.add(block.location, Operation::Ends(&block.terminator));
            if let Terminator::Apply { table, .. } = &block.terminator {
                self.add(block.location, Operation::Applies(&self.program.tables[table.index()]));
                self.actions(*table);
            }
        }
    }

    fn actions(&mut self, table: TableId) {
        let program = self.program;
        for action in program.bodies_of_actions(table) {
            if self.actions_seen.insert(action) {
                self.body(&program.bodies[action.index()]);
            }
        }
    }
}

impl Place<'_> {
    fn writes(&self, program: &Program, slot: SlotId) -> bool {
        match self.operation {
            Operation::Op(op) => op.slots_written(program).into_iter().any(|written| written == slot),
            Operation::Ends(terminator) => terminator.results().any(|result| result == slot),
            Operation::Applies(table) => table.color_slot() == Some(slot),
        }
    }

    fn is_clone(&self) -> bool {
        matches!(self.operation, Operation::Op(Op::Clone { .. }))
    }

    /// Whether a slot may get a value other than 0.
    pub(super) fn may_set(&self, program: &Program, slot: SlotId) -> bool {
        use forebay_ir::Expr;
        let is_zero = |op: &Op| matches!(op, Op::Assign { value: Expr::Const(value), .. } if value.is_zero());
        self.writes(program, slot) && !matches!(self.operation, Operation::Op(op) if is_zero(op))
    }

    /// Whether it changes a register or a meter. Counters do not count: their result does not depend on the order, and
    /// packets can be taken back from them.
    pub(super) fn changes_state(&self) -> bool {
        match self.operation {
            Operation::Op(op) => matches!(op, Op::RegisterWrite { .. } | Op::ExecuteMeter { .. }),
            Operation::Applies(table) => table.direct_meter.is_some(),
            Operation::Ends(_) => false,
        }
    }

    /// What it changes that outlives the packet, in words.
    pub(super) fn change(&self, program: &Program) -> Option<String> {
        match self.operation {
            Operation::Op(Op::RegisterWrite { register, .. }) => {
                let name = &program.registers[register.index()].name;
                Some(format!("writes register `{name}`"))
            }
            Operation::Op(Op::Count { counter, .. }) => {
                let name = &program.counters[counter.index()].name;
                Some(format!("counts in `{name}`"))
            }
            Operation::Op(Op::ExecuteMeter { meter, .. }) => {
                let name = &program.meters[meter.index()].name;
                Some(format!("executes meter `{name}`"))
            }
            Operation::Applies(table) => {
                let what = match table {
                    _ if table.direct_counter.is_some() => "a direct counter",
                    _ if table.direct_meter.is_some() => "a direct meter",
                    _ if table.supports_timeout => "idle time-outs",
                    _ => return None,
                };
                Some(format!("applies table `{}`, which has {what}", table.name))
            }
            _ => None,
        }
    }

    /// What makes the packet leave the fast path, in words.
    fn request(&self, program: &Program) -> Option<&'static str> {
        match self.operation {
            Operation::Op(Op::Digest { digest, .. }) if program.is_for_table(*digest) => {
                Some("asks a table for an entry")
            }
            Operation::Op(Op::Clone { .. }) => Some("clones the packet"),
            Operation::Op(Op::Digest { .. }) => Some("sends a digest"),
            _ => None,
        }
    }

    fn is_same(&self, other: Place<'_>) -> bool {
        match (self.operation, other.operation) {
            (Operation::Op(one), Operation::Op(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}

impl Route {
    /// All that keeps packets off the fast path and is known before compilation: first what stops all packets, in
    /// program order, then what stops some.
    pub fn obstacles(&self, program: &Program, step_limit: u64) -> Vec<Obstacle> {
        let mut finder = Finder {
            program,
            before: Places::of(program, &[self.parser, self.verify_checksum, self.ingress]),
            behind: Places::of(program, &[self.egress, self.compute_checksum, self.deparser]),
            found: Vec::new(),
        };
        finder.fixed(self);
        finder.steps(self, step_limit);
        finder.requests(self);
        finder.parser(self);
        finder.found.sort_by_key(|obstacle| obstacle.stops);
        finder.found
    }

    /// Why copies of packets cannot be made, if the program itself is the reason.
    pub(super) fn obstacle_to_copies(&self, program: &Program) -> Option<(Location, &'static str)> {
        let behind = Places::of(program, &[self.egress, self.compute_checksum, self.deparser]);
        let requests = behind.iter().find(|place| place.request(program).is_some());
        requests.map(|place| (place.location, "may request more copies in egress"))
    }

    /// The location at which the program may choose a multicast group.
    pub(super) fn place_of_group(&self, program: &Program) -> Location {
        place_that_sets(program, &[self.verify_checksum, self.ingress], self.group())
    }

    /// The location at which it becomes unknown how a packet continues.
    pub(super) fn place_of_misses(&self, program: &Program) -> Location {
        place_that_sets(program, &[self.ingress], self.misses)
    }

    /// The parser's first line.
    pub(super) fn place_of_parser(&self, program: &Program) -> Location {
        let first = program.bodies[self.parser.index()].blocks.first();
        let statement = first.and_then(|block| block.statements.first());
        statement
            .map(|statement| statement.location)
            .or(first.map(|block| block.location))
            .unwrap_or_default()
    }
}

/// The first location in these bodies at which a slot may be set.
fn place_that_sets(program: &Program, bodies: &[BodyId], slot: Option<SlotId>) -> Location {
    let places = Places::of(program, bodies);
    let place = slot.and_then(|slot| places.iter().find(|place| place.may_set(program, slot)));
    place.map_or(Location::default(), |place| place.location)
}

/// Collects the obstacles of a program.
struct Finder<'p> {
    program: &'p Program,
    /// The points before the traffic manager.
    before: Vec<Place<'p>>,
    /// The points after it.
    behind: Vec<Place<'p>>,
    found: Vec<Obstacle>,
}

impl<'p> Finder<'p> {
    /// Adds an obstacle, once for each line.
    fn add(&mut self, kind: ObstacleKind, stops: Stops, location: Location, text: String) {
        let obstacle = Obstacle {
            kind,
            stops,
            location,
            text,
        };
        if !self.found.contains(&obstacle) {
            self.found.push(obstacle);
        }
    }

    fn all(&self) -> Vec<Place<'p>> {
        self.before.iter().chain(&self.behind).copied().collect()
    }

    fn fixed(&mut self, route: &Route) {
        let (program, all) = (self.program, self.all());
        for &slot in &route.fixed {
            let name = &program.slot(slot).name;
            for place in all.iter().filter(|place| place.writes(program, slot)) {
                let text = format!("writes `{name}`, which the fast path takes for fixed");
                self.add(ObstacleKind::WritesFixed, Stops::All, place.location, text);
            }
        }
    }

    fn steps(&mut self, route: &Route, step_limit: u64) {
        let program = self.program;
        for body in route.bodies() {
            let body = &program.bodies[body.index()];
            match longest_path(program, body) {
                Some(steps) if steps <= step_limit => {}
                Some(_) => {
                    let text = format!("`{}` may execute more than {step_limit} statements", body.name);
                    self.add(ObstacleKind::Steps, Stops::All, Location::default(), text);
                }
                None => self.loops(body),
            }
        }
    }

    /// Finds loops of a control and of its actions.
    fn loops(&mut self, body: &'p Body) {
        let program = self.program;
        let actions = body.applied_tables().flat_map(|table| program.actions_of(table));
        for body in [body].into_iter().chain(actions) {
            for location in loop_heads(body) {
                let text = "begins a loop that is not unrolled".to_owned();
                self.add(ObstacleKind::Steps, Stops::All, location, text);
            }
        }
    }

    /// Finds clones, digests and similar requests. A packet with such a request restarts on the slow path, so it must
    /// not have changed anything that cannot be taken back.
    fn requests(&mut self, route: &Route) {
        let changes = Changes::of(self.program, route);
        let notes_digests = route.notes_digests(self.program);
        let notes_clones = route.notes_clones(self.program);
        for place in self.all() {
            if notes_digests && matches!(place.operation, Operation::Op(Op::Digest { .. })) {
                continue;
            }
            if notes_clones && place.is_clone() {
                if let Some(text) = self.clones(route, place) {
                    self.add(ObstacleKind::Leaves, Stops::Some, place.location, text.to_owned());
                }
                continue;
            }
            if let Some((text, is_fast)) = self.sends_back(route, place) {
                if !is_fast {
                    self.add(ObstacleKind::Leaves, Stops::Some, place.location, text.to_owned());
                }
                continue;
            }
            let mut requests = route.requests.iter();
            let by_architecture = requests.find(|request| place.may_set(self.program, request.slot));
            let by_architecture = by_architecture.map(|request| request.kind.words());
            if let (Some(request), Some(_)) = (by_architecture, &route.leaving) {
                let text = format!("{request}, which then takes the slow path");
                self.add(ObstacleKind::Leaves, Stops::Some, place.location, text);
                continue;
            }
            let Some(request) = place.request(self.program).or(by_architecture) else {
                continue;
            };
            let request = match &route.cloning.cannot_note {
                Some(reason) if place.is_clone() => format!("{request}, and {}", self.sentence(reason)),
                _ => request.to_owned(),
            };
            let before = changes.before(place.operation).map(|change| ("after", change));
            let behind = || changes.behind(place.operation).map(|change| ("before", change));
            match before.or_else(behind) {
                None => self.add(ObstacleKind::Leaves, Stops::Some, place.location, request),
                Some((when, Change { location, words })) => {
                    let change = self.sentence(&(*location, words.clone()));
                    let text = format!("{request}, {when} {change}, which cannot be taken back");
                    self.add(ObstacleKind::StateAndCopies, Stops::All, place.location, text);
                }
            }
        }
    }

    /// What the program does at a location.
    fn sentence(&self, (location, words): &(Location, String)) -> String {
        match place_words(self.program, *location) {
            Some(place) => format!("{place} {words}"),
            None => format!("the program {words}"),
        }
    }

    /// What becomes of a packet that is cloned here, or of its clone, if that takes the slow path, in words.
    fn clones(&self, route: &Route, place: Place<'p>) -> Option<&'static str> {
        let is_before = || {
            let is_it = |other: &Place<'p>| other.is_same(place);
            self.before.iter().any(is_it)
        };
        match route.cloning.leave {
            true if is_before() => Some("clones the packet, which takes the slow path from egress on"),
            _ if route.executes_clones(self.program) => None,
            _ => Some("clones the packet; only the clone takes the slow path"),
        }
    }

    /// What becomes of a packet that is sent back here, in words, if its next pass is not on the fast path; and whether
    /// it is.
    fn sends_back(&self, route: &Route, place: Place<'p>) -> Option<(&'static str, bool)> {
        let back = route.sends_back.as_ref()?;
        let asks = |slot| place.may_set(self.program, slot);
        if asks(back.resubmit) {
            return Some(("resubmits the packet, which then takes the slow path", false));
        }
        let text = "recirculates the packet, which then takes the slow path";
        asks(back.recirculate).then_some((text, back.recirculates_fast))
    }

    fn parser(&mut self, route: &Route) {
        let program = self.program;
        for place in Places::of(program, &[route.parser]) {
            let Operation::Op(op) = place.operation else { continue };
            if only_parses(op) {
                continue;
            }
            let text = match (place.change(program), op) {
                (Some(change), _) => format!("{change} in the parser"),
                (None, Op::RegisterRead { register, .. }) => {
                    let name = &program.registers[register.index()].name;
                    format!("reads register `{name}` in the parser")
                }
                (None, Op::Assert { .. } | Op::Assume { .. }) => "asserts in the parser".to_owned(),
                (None, _) => "does more than parse in the parser".to_owned(),
            };
            self.add(ObstacleKind::Parser, Stops::All, place.location, text);
        }
    }
}

/// Whether an operation of a parser only affects the packet's own values, and depends on nothing else.
pub fn only_parses(op: &Op) -> bool {
    matches!(
        op,
        Op::Assign { .. }
            | Op::Extract { .. }
            | Op::Advance { .. }
            | Op::Lookahead { .. }
            | Op::PacketLength { .. }
            | Op::Hash { .. }
            | Op::LogMessage { .. }
    )
}

/// The locations at which the loops of a body begin: blocks to which a path leads back.
pub(super) fn loop_heads(body: &Body) -> Vec<Location> {
    let loops = Walk::over_body(body).loops.into_iter();
    loops.map(|head| begin(&body.blocks[head.index()])).collect()
}

/// The location at which a block begins: that of its first statement, because a block's own location is that of its
/// end.
fn begin(block: &Block) -> Location {
    block
        .statements
        .first()
        .map_or(block.location, |statement| statement.location)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_bits::Bits;
    use forebay_ir::{BlockId, BodyKind, Expr};

    fn block(line: u32, terminator: Terminator) -> Block {
        Block {
            label: None,
            statements: Vec::new(),
            terminator,
            location: Location { file: 0, line },
        }
    }

    #[test]
    fn a_loop_is_found_where_it_begins() {
        let branch = Terminator::Branch {
            condition: Expr::Const(Bits::from_bool(true)),
            then_block: BlockId(2),
            else_block: BlockId(3),
        };
        let body = Body {
            name: "Ingress".to_owned(),
            kind: BodyKind::Control,
            blocks: vec![
                block(3, Terminator::Jump(BlockId(1))),
                block(4, branch),
                block(5, Terminator::Jump(BlockId(1))),
                block(7, Terminator::Return),
            ],
        };
        assert_eq!(loop_heads(&body), [Location { file: 0, line: 4 }]);
    }
}
