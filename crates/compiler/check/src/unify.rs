//! Unification: finding type arguments (§8.22, "type inference").
//!
//! The type parameters of what is called or instantiated are unknowns in an [`Inference`]. Unifying a parameter's type
//! with an argument's type binds them. An `int` literal binds an unknown only as long as nothing better is known: a
//! `bit<W>` from another argument replaces it. Parsers and controls are compared by structure: a declared control fits
//! a control type when the parameters agree in number, direction and type.

use crate::annotations;
use crate::hir::*;
use crate::types::Substitution;
use forebay_syntax::ast::Direction;
use std::rc::Rc;

/// The unknowns of one call and what has been found for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inference {
    unknowns: Vec<TypeVarId>,
    /// What was found.
    pub(crate) found: Substitution,
}

/// Which conversions are allowed from the actual to the expected type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The types must be equal (`out` and `inout` arguments, inside of other types).
    Exact,
    /// The implicit conversions of §8.12.2 are allowed.
    Convertible,
}

/// How deep types may be nested before unification gives up.
const DEPTH_LIMIT: u32 = 256;

impl Inference {
    /// With these unknowns, of which nothing is known.
    pub(crate) fn new(unknowns: &[TypeVarId]) -> Inference {
        Inference {
            unknowns: unknowns.to_vec(),
            found: Substitution::default(),
        }
    }

    /// Makes more type parameters unknowns.
    pub(crate) fn add_unknowns(&mut self, unknowns: &[TypeVarId]) {
        self.unknowns.extend_from_slice(unknowns);
    }

    fn is_unknown(&self, var: TypeVarId) -> bool {
        self.unknowns.contains(&var)
    }

    /// Unifies; false if the types do not fit.
    pub(crate) fn unify(&mut self, program: &Program, expected: &Type, actual: &Type, mode: Mode) -> bool {
        self.unify_at(program, expected, actual, mode, DEPTH_LIMIT)
    }

    fn unify_at(&mut self, program: &Program, expected: &Type, actual: &Type, mode: Mode, depth: u32) -> bool {
        if depth == 0 {
            return false;
        }
        let depth = depth - 1;
        match (expected, actual) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            (Type::Var(left), Type::Var(right)) if left == right => true,
            (Type::Var(var), _) if self.is_unknown(*var) => self.bind(program, *var, actual, mode, depth),
            (_, Type::Var(var)) if self.is_unknown(*var) => self.bind(program, *var, expected, mode, depth),
            (Type::Bit(_) | Type::Signed(_), Type::Int) => mode == Mode::Convertible,
            (Type::Int, Type::Bit(_) | Type::Signed(_)) => mode == Mode::Convertible,
            (Type::NewType(_), Type::Int) => mode == Mode::Convertible && program.underlying(expected).is_number(),
            (Type::Bit(_) | Type::Signed(_), Type::Enum(_)) => {
                mode == Mode::Convertible && program.representation(actual) == *expected
            }
            (Type::Composite(left, left_args), Type::Composite(right, right_args)) if left == right => {
                self.unify_all(program, left_args, right_args, Mode::Exact, depth)
            }
            (Type::Extern(left, left_args), Type::Extern(right, right_args)) if left == right => {
                self.unify_all(program, left_args, right_args, Mode::Exact, depth)
            }
            (Type::Package(left, left_args), Type::Package(right, right_args)) if left == right => {
                self.unify_all(program, left_args, right_args, Mode::Exact, depth)
            }
            (Type::Parser(left, left_args), Type::Parser(right, right_args)) => {
                if left == right && left_args.len() == right_args.len() {
                    return self.unify_all(program, left_args, right_args, Mode::Exact, depth);
                }
                let expected = parser_shape(program, *left, left_args);
                let actual = parser_shape(program, *right, right_args);
                self.unify_shapes(program, expected, actual, depth)
            }
            (Type::Control(left, left_args), Type::Control(right, right_args)) => {
                if left == right && left_args.len() == right_args.len() {
                    return self.unify_all(program, left_args, right_args, Mode::Exact, depth);
                }
                let expected = control_shape(program, *left, left_args);
                let actual = control_shape(program, *right, right_args);
                self.unify_shapes(program, expected, actual, depth)
            }
            (Type::Stack(left, left_size), Type::Stack(right, right_size)) => {
                left_size == right_size && self.unify_at(program, left, right, Mode::Exact, depth)
            }
            (Type::Tuple(left), Type::Tuple(right)) => self.unify_all(program, left, right, mode, depth),
            (Type::List(left), Type::List(right)) => self.unify_at(program, left, right, mode, depth),
            (Type::List(element), Type::Tuple(types)) => {
                mode == Mode::Convertible && types.iter().all(|ty| self.unify_at(program, element, ty, mode, depth))
            }
            (Type::Stack(element, size), Type::Tuple(types)) => {
                mode == Mode::Convertible
                    && *size as usize == types.len()
                    && types.iter().all(|ty| self.unify_at(program, element, ty, mode, depth))
            }
            (Type::Composite(id, args), Type::Tuple(types)) => {
                mode == Mode::Convertible
                    && self.unify_all(program, &program.field_types(*id, args), types, mode, depth)
            }
            (Type::Composite(id, args), Type::Record(fields)) => {
                mode == Mode::Convertible && self.unify_record(program, *id, args, fields, depth)
            }
            (Type::Record(left), Type::Record(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right.iter())
                        .all(|((left_name, left), (right_name, right))| {
                            left_name == right_name && self.unify_at(program, left, right, mode, depth)
                        })
            }
            (Type::Set(left), Type::Set(right)) => self.unify_at(program, left, right, mode, depth),
            _ => expected == actual,
        }
    }

    fn unify_all(&mut self, program: &Program, left: &[Type], right: &[Type], mode: Mode, depth: u32) -> bool {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| self.unify_at(program, left, right, mode, depth))
    }

    fn unify_record(
        &mut self,
        program: &Program,
        id: CompositeId,
        args: &[Type],
        fields: &[(String, Type)],
        depth: u32,
    ) -> bool {
        let types = program.field_types(id, args);
        let names = &program.composites[id.index()].fields;
        fields.iter().all(|(name, ty)| {
            let index = names.iter().position(|field| field.name == *name);
            index.is_some_and(|index| self.unify_at(program, &types[index], ty, Mode::Convertible, depth))
        })
    }

    /// Binds an unknown, or compares with what it is bound to.
    fn bind(&mut self, program: &Program, var: TypeVarId, ty: &Type, mode: Mode, depth: u32) -> bool {
        let Some(bound) = self.found.get(var).cloned() else {
            let ty = self.found.apply(ty);
            if ty == Type::Var(var) {
                return true;
            }
            let contains_itself = ty.any(&|part| *part == Type::Var(var));
            if !contains_itself {
                self.found.bind(var, ty);
            }
            return !contains_itself;
        };
        let explicit_aggregate = mode == Mode::Exact && matches!(bound, Type::Tuple(_) | Type::Record(_));
        if !explicit_aggregate && is_less_precise(&bound, ty) {
            self.found.bind(var, ty.clone());
            return true;
        }
        self.unify_at(program, &bound, ty, mode, depth)
    }

    fn unify_shapes(&mut self, program: &Program, expected: Shape, actual: Shape, depth: u32) -> bool {
        self.add_unknowns(&expected.unbound);
        self.add_unknowns(&actual.unbound);
        let required = expected.params.iter().filter(|param| !param.2).count();
        let given = actual.params.len();
        let takes_inout = expected.takes_inout;
        if given > expected.params.len() || given < required {
            return false;
        }
        expected.params.iter().zip(&actual.params).all(|(expected, actual)| {
            let is_direction =
                expected.0 == actual.0 || takes_inout && (expected.0, actual.0) == (Direction::In, Direction::InOut);
            is_direction && self.unify_at(program, &expected.1, &actual.1, Mode::Exact, depth)
        })
    }
}

/// Whether `int` (or a list of `int`s) stands where a value with a width could.
fn is_less_precise(bound: &Type, other: &Type) -> bool {
    match (bound, other) {
        (Type::Unknown, _) => true,
        (Type::Int, Type::Bit(_) | Type::Signed(_)) => true,
        (Type::Tuple(left), Type::Tuple(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right.iter())
                    .any(|(left, right)| is_less_precise(left, right))
        }
        (Type::Tuple(_) | Type::Record(_), Type::Composite(..)) => true,
        _ => false,
    }
}

/// What a caller sees of a parser or control: direction, type and optionality of each parameter.
struct Shape {
    params: Vec<(Direction, Type, bool)>,
    unbound: Vec<TypeVarId>,
    /// Whether `inout` may stand for `in` (`@inout_too`): what a caller passes is then a copy.
    takes_inout: bool,
}

fn shape(program: &Program, type_params: &[TypeVarId], params: &[Param], args: &Rc<Vec<Type>>) -> Shape {
    let substitution = Substitution::new(type_params, args);
    let unbound = if args.is_empty() {
        type_params.to_vec()
    } else {
        Vec::new()
    };
    let params = params.iter().map(|param| {
        let ty = substitution.apply(&program.vars[param.var.index()].ty);
        (param.direction, ty, param.optional || param.default.is_some())
    });
    Shape {
        params: params.collect(),
        unbound,
        takes_inout: false,
    }
}

fn parser_shape(program: &Program, id: ParserId, args: &Rc<Vec<Type>>) -> Shape {
    let parser = &program.parsers[id.index()];
    shape(program, &parser.type_params, &parser.params, args)
}

fn control_shape(program: &Program, id: ControlId, args: &Rc<Vec<Type>>) -> Shape {
    let control = &program.controls[id.index()];
    Shape {
        takes_inout: annotations::has(&control.annotations, "inout_too"),
        ..shape(program, &control.type_params, &control.params, args)
    }
}
