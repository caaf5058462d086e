//! Where a name that is not visible is declared, or what was probably meant by it: hints for "no value named ...".

use crate::checker::Checker;
use crate::hir::*;

/// Primitive actions of P4_14, and how P4_16 says it.
const OF_P4_14: &[(&str, &str)] = &[
    ("valid", "`HEADER.isValid()`"),
    ("add_header", "`HEADER.setValid();`"),
    ("remove_header", "`HEADER.setInvalid();`"),
    ("copy_header", "an assignment, `HEADER = HEADER;`"),
    ("modify_field", "an assignment, `FIELD = VALUE;`"),
    ("add_to_field", "`FIELD = FIELD + VALUE;`"),
    ("subtract_from_field", "`FIELD = FIELD - VALUE;`"),
    ("drop", "`mark_to_drop(standard_metadata);` in v1model"),
    ("no_op", "the action `NoAction`"),
    ("push", "`STACK.push_front(COUNT);`"),
    ("pop", "`STACK.pop_front(COUNT);`"),
];

/// Names that are called as functions elsewhere, and are methods in P4 or functions of another name.
const OF_METHODS: &[(&str, &str)] = &[
    ("isValid", "it is a method of headers: write `HEADER.isValid()`"),
    ("setValid", "it is a method of headers: write `HEADER.setValid();`"),
    ("setInvalid", "it is a method of headers: write `HEADER.setInvalid();`"),
    (
        "extract",
        "it is a method of packet_in: write `PACKET.extract(HEADER);`",
    ),
    ("advance", "it is a method of packet_in: write `PACKET.advance(BITS);`"),
    (
        "lookahead",
        "it is a method of packet_in: write `PACKET.lookahead<TYPE>()`",
    ),
    ("emit", "it is a method of packet_out: write `PACKET.emit(HEADER);`"),
    (
        "apply",
        "it is a method of tables, parsers and controls: write `TABLE.apply();`",
    ),
    ("printf", PRINTED),
    ("print", PRINTED),
    ("null", NO_NULL),
    ("NULL", NO_NULL),
    ("True", "did you mean `true`?"),
    ("TRUE", "did you mean `true`?"),
    ("False", "did you mean `false`?"),
    ("FALSE", "did you mean `false`?"),
];

const NO_NULL: &str = "P4 has no null: whether a header is valid is told by `.isValid()`";

const PRINTED: &str = "v1model has `log_msg(\"value: {}\", { VALUE });`";

/// Fields of `standard_metadata_t` in other versions of v1model.p4, and what to write now.
const OF_OTHER_V1MODELS: &[(&str, &str)] = &[
    (
        "qid",
        "v1model.p4 has it where it is patched for BMv2's queues: name the folder of that file with -I",
    ),
    (
        "drop",
        "older versions of v1model.p4 had it; a packet that is to be dropped has 511 in `egress_spec`",
    ),
    ("clone_spec", LEAVE_OUT),
    ("lf_field_list", LEAVE_OUT),
    ("recirculate_flag", LEAVE_OUT),
    ("recirculate_port", LEAVE_OUT),
    ("resubmit_flag", LEAVE_OUT),
];

const LEAVE_OUT: &str = "older versions of v1model.p4 had it for BMv2 alone: leave it out";

/// What to do about a field that a structure of the program has not, if it is one of another version of v1model.p4.
pub(crate) fn in_another_v1model(structure: &str, field: &str) -> Option<&'static str> {
    let mut known = OF_OTHER_V1MODELS.iter();
    let found = known.find(|(name, _)| structure == "standard_metadata_t" && *name == field);
    found.map(|(_, hint)| *hint)
}

impl Checker {
    /// What to do about a name that is not visible here, if something else of this name tells it.
    pub(crate) fn whereabouts(&self, name: &str) -> Option<String> {
        self.in_a_visible_struct(name)
            .or_else(|| self.parameter_elsewhere(name))
            .or_else(|| self.local_elsewhere(name))
            .or_else(|| in_p4_14(name))
            .or_else(|| of_a_method(name))
            .or_else(|| self.member_of_an_enum(name))
    }

    /// `HashAlgorithm.crc16` for `crc16`.
    fn member_of_an_enum(&self, name: &str) -> Option<String> {
        let is_member = |item: &&Enum| item.members.iter().any(|(member, _)| member == name);
        if let Some(item) = self.program.enums.iter().find(is_member) {
            return Some(format!("did you mean `{}.{name}`?", item.name));
        }
        let is_error = self.program.errors.iter().any(|error| error == name);
        is_error.then(|| format!("did you mean `error.{name}`?"))
    }

    /// A visible variable or parameter of a type, or a field of one: what is meant where a type's name stands in place
    /// of a value's.
    pub(crate) fn value_of_type(&self, ty: &Type) -> Option<String> {
        let mut vars = self.scopes.visible_vars();
        vars.sort();
        let is_one = |id: &VarId| self.program.vars[id.index()].ty == *ty;
        if let Some((name, _)) = vars.iter().find(|(_, id)| is_one(id)) {
            return Some(name.to_string());
        }
        vars.iter().find_map(|(name, id)| {
            let Type::Composite(composite, args) = &self.program.vars[id.index()].ty else {
                return None;
            };
            let types = self.program.field_types(*composite, args);
            let index = types.iter().position(|field| field == ty)?;
            let field = &self.program.composites[composite.index()].fields[index];
            Some(format!("{name}.{}", field.name))
        })
    }

    /// `ethernet` for `hdr.ethernet`.
    fn in_a_visible_struct(&self, name: &str) -> Option<String> {
        let mut vars = self.scopes.visible_vars();
        vars.sort();
        vars.iter().find_map(|(visible, id)| {
            let Type::Composite(composite, _) = &self.program.vars[id.index()].ty else {
                return None;
            };
            let fields = &self.program.composites[composite.index()].fields;
            fields.iter().find(|field| field.name == name)?;
            Some(format!("did you mean `{visible}.{name}`?"))
        })
    }

    /// A parameter of another parser or control. One of the same type may be visible here under another name.
    fn parameter_elsewhere(&self, name: &str) -> Option<String> {
        let parsers = self
            .program
            .parsers
            .iter()
            .map(|block| ("parser", &block.name, &block.params, block.body.is_some()));
        let controls = self
            .program
            .controls
            .iter()
            .map(|block| ("control", &block.name, &block.params, block.body.is_some()));
        let (kind, owner, param, has_body) = parsers.chain(controls).find_map(|(kind, owner, params, has_body)| {
            let param = params.iter().find(|param| self.param_name(param) == name)?;
            Some((kind, owner, param, has_body))
        })?;
        let ty = self.param_type(param);
        let is_same =
            |id: VarId| self.program.vars[id.index()].ty == *ty && !matches!(ty, Type::Var(_) | Type::Unknown);
        let here = self.scopes.visible_vars().into_iter().find(|(_, id)| is_same(*id));
        match here {
            Some((here, _)) => Some(format!("it is called `{here}` here")),
            None if has_body => Some(format!("`{name}` is a parameter of the {kind} `{owner}`")),
            None => None,
        }
    }

    /// A table, action or instance of another control or parser.
    fn local_elsewhere(&self, name: &str) -> Option<String> {
        let parsers = self.program.parsers.iter();
        let parsers = parsers.filter_map(|block| Some(("parser", &block.name, &block.body.as_ref()?.locals)));
        let controls = self.program.controls.iter();
        let controls = controls.filter_map(|block| Some(("control", &block.name, &block.body.as_ref()?.locals)));
        let (what, kind, owner) = controls.chain(parsers).find_map(|(kind, owner, locals)| {
            let what = locals.iter().find_map(|local| self.local_named(local, name))?;
            Some((what, kind, owner))
        })?;
        Some(format!(
            "`{name}` is {what} of the {kind} `{owner}`, and only visible there"
        ))
    }

    fn local_named(&self, local: &Local, name: &str) -> Option<&'static str> {
        let program = &self.program;
        let (declared, what) = match local {
            Local::Table(id) => (&program.tables[id.index()].name, "a table"),
            Local::Action(id) => (&program.actions[id.index()].name, "an action"),
            Local::Instance(id) => (&program.instances[id.index()].name, "an instance"),
            Local::ValueSet(id) => (&program.value_sets[id.index()].name, "a value set"),
            Local::Var(id, _) => (&program.vars[id.index()].name, "a variable"),
        };
        (declared == name).then_some(what)
    }
}

fn of_a_method(name: &str) -> Option<String> {
    let (_, now) = OF_METHODS.iter().find(|(method, _)| *method == name)?;
    Some(now.to_string())
}

fn in_p4_14(name: &str) -> Option<String> {
    let (_, now) = OF_P4_14.iter().find(|(old, _)| *old == name)?;
    Some(format!("`{name}` belongs to P4_14: in P4_16 it is {now}"))
}
