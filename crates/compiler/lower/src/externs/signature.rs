//! Checks whether an extern is one that executors support.
//!
//! Names determine which extern a declaration denotes ([`super::known`]). An extern of the library's own files, such
//! as `#include <v1model.p4>` finds them, has the signature that lowering expects. An extern that the program, or
//! another copy of such a file, declares may have any signature. It is compared with the library's, which is parsed
//! and checked at the first such use.

use crate::context::Context;
use forebay_check::hir::{self, Param, Program, Type, TypeVarId};
use forebay_ir::Architecture;
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::{MemorySources, Span};
use forebay_syntax::{ParseOptions, parse_text};
use std::collections::HashMap;

/// The typed programs of an architecture's library: one for each version of its interface.
pub type Library = Vec<Program>;

/// An extern function, a method or a constructor.
#[derive(Clone, Copy)]
pub struct Signature<'a> {
    owner: Option<&'a hir::Extern>,
    name: &'a str,
    type_params: &'a [TypeVarId],
    params: &'a [Param],
    result: &'a Type,
    /// The location of the declaration's name; for methods and constructors, that of the extern object's name.
    span: Span,
}

impl<'a> Signature<'a> {
    /// The signature of a method or constructor of an extern object.
    pub fn of_method(owner: &'a hir::Extern, method: &'a hir::Method) -> Signature<'a> {
        Signature {
            owner: Some(owner),
            name: &method.name,
            type_params: &method.type_params,
            params: &method.params,
            result: &method.result,
            span: owner.span,
        }
    }

    /// The signature of an extern function.
    pub fn of_function(function: &'a hir::Function) -> Signature<'a> {
        Signature {
            owner: None,
            name: &function.name,
            type_params: &function.type_params,
            params: &function.params,
            result: &function.result,
            span: function.span,
        }
    }

    fn full_name(&self) -> String {
        match self.owner {
            Some(owner) if owner.name != self.name => format!("{}.{}", owner.name, self.name),
            _ => self.name.to_string(),
        }
    }

    /// The signature in P4 syntax.
    fn text(&self, program: &Program) -> String {
        let type_params: Vec<&str> = self
            .type_params
            .iter()
            .map(|var| program.type_vars[var.index()].name.as_str())
            .collect();
        let type_params = match type_params.as_slice() {
            [] => String::new(),
            names => format!("<{}>", names.join(", ")),
        };
        let params: Vec<String> = self.params.iter().map(|param| text_of_param(program, param)).collect();
        let result = match self.owner {
            Some(owner) if owner.name == self.name => String::new(),
            _ => program.display(self.result) + " ",
        };
        format!("{result}{}{type_params}({})", self.name, params.join(", "))
    }
}

fn text_of_param(program: &Program, param: &Param) -> String {
    let var = &program.vars[param.var.index()];
    let direction = match param.direction {
        Direction::None => "",
        Direction::In => "in ",
        Direction::Out => "out ",
        Direction::InOut => "inout ",
    };
    format!("{direction}{} {}", program.display(&var.ty), var.name)
}

/// Whether an extern that is used at `span` is declared as in the library of the program's architecture; an error
/// otherwise.
pub fn require(cx: &mut Context, used: Signature, span: Span) -> bool {
    if is_of_library(cx, used.span) {
        return true;
    }
    let architecture = cx.program.architecture;
    let library = cx.library.get_or_insert_with(|| read(architecture)).as_slice();
    let declared: Vec<(&Program, Signature)> = library
        .iter()
        .flat_map(|program| of_name(program, &used).into_iter().map(move |other| (program, other)))
        .collect();
    if declared
        .iter()
        .any(|(program, other)| Comparison::new(cx.hir, program, &used, other).fits(&used, other))
    {
        return true;
    }
    let message = format!(
        "`{}` is declared otherwise than in {} and cannot be executed",
        used.full_name(),
        architecture.name()
    );
    let expected = declared.iter().map(|(program, other)| other.text(program));
    let diagnostic = Diagnostic::error(codes::UNSUPPORTED_EXTERN, span, message)
        .secondary(used.span, "declared here")
        .options(expected);
    cx.diagnostics.push(diagnostic);
    false
}

/// Whether a span is in a file of the compiler's own library.
fn is_of_library(cx: &Context, span: Span) -> bool {
    cx.sources
        .file(span.file)
        .is_some_and(|file| file.name.starts_with('<'))
}

/// The library of an architecture: each version of its interface, with the declarations of forebay.p4.
fn read(architecture: Architecture) -> Library {
    let versions: &[(&str, &str)] = match architecture {
        Architecture::V1Model => &[
            ("v1model.p4", "V1MODEL_VERSION=20180101"),
            ("v1model.p4", "V1MODEL_VERSION=20200408"),
        ],
        Architecture::Psa => &[("psa.p4", "")],
        Architecture::Pna => &[("pna.p4", ""), ("tc/pna.p4", "")],
    };
    let programs = versions.iter().map(|(file, define)| read_version(file, define));
    programs.collect()
}

fn read_version(file: &str, define: &str) -> Program {
    let provider = MemorySources::new();
    let mut options = ParseOptions::new(&provider);
    let defines = [define.to_string()];
    if !define.is_empty() {
        options.defines = &defines;
    }
    let text = format!("#include <{file}>\n#include <forebay.p4>\n");
    let parsed = parse_text("library", text, &options);
    let (program, _) = forebay_check::check(&parsed.program);
    program.expect("the library has no errors")
}

/// The library's declarations of this name in one version; for methods, those of the extern object of the same name.
fn of_name<'p>(program: &'p Program, used: &Signature) -> Vec<Signature<'p>> {
    let Some(owner) = used.owner else {
        return program
            .functions
            .iter()
            .filter(|function| function.name == used.name && function.body.is_none())
            .map(Signature::of_function)
            .collect();
    };
    program
        .externs
        .iter()
        .filter(|object| object.name == owner.name)
        .flat_map(|object| {
            let members = object.constructors.iter().chain(&object.methods);
            members.map(move |method| Signature::of_method(object, method))
        })
        .filter(|other| other.name == used.name)
        .collect()
}

/// A declaration and one of the library's. Type variables of the library's stand for types of the other.
struct Comparison<'a> {
    own: &'a Program,
    library: &'a Program,
    meaning: HashMap<TypeVarId, Type>,
}

impl<'a> Comparison<'a> {
    /// The type parameters of the extern objects stand for each other, in order.
    fn new(own: &'a Program, library: &'a Program, used: &Signature, other: &Signature) -> Comparison<'a> {
        let of_owner = |signature: &Signature| signature.owner.map_or(Vec::new(), |owner| owner.type_params.clone());
        let pairs = of_owner(other).into_iter().zip(of_owner(used));
        Comparison {
            own,
            library,
            meaning: pairs.map(|(theirs, own)| (theirs, Type::Var(own))).collect(),
        }
    }

    /// Parameters that are optional in the library may be left out.
    fn fits(mut self, used: &Signature, other: &Signature) -> bool {
        let type_params = |signature: &Signature| signature.owner.map(|owner| owner.type_params.len());
        type_params(used) == type_params(other)
            && used.params.len() <= other.params.len()
            && other.params[used.params.len()..].iter().all(|param| param.optional)
            && used
                .params
                .iter()
                .zip(other.params)
                .all(|(own, theirs)| self.param_fits(own, theirs))
            && self.type_fits(used.result, other.result)
    }

    /// Numbers that are only read may have any width.
    fn param_fits(&mut self, own: &Param, theirs: &Param) -> bool {
        let is_read = |param: &Param| matches!(param.direction, Direction::None | Direction::In);
        let type_of = |program: &Program, param: &Param| program.vars[param.var.index()].ty.clone();
        let (own_type, their_type) = (type_of(self.own, own), type_of(self.library, theirs));
        match (is_read(own), is_read(theirs)) {
            (true, true) => {
                let are_numbers = is_number(self.own, &own_type) && is_number(self.library, &their_type);
                are_numbers || self.type_fits(&own_type, &their_type)
            }
            (false, false) => own.direction == theirs.direction && self.type_fits(&own_type, &their_type),
            _ => false,
        }
    }

    fn type_fits(&mut self, own: &Type, theirs: &Type) -> bool {
        let own = self.own.underlying(own);
        match (&own, self.library.underlying(theirs)) {
            (_, Type::Var(var)) => *self.meaning.entry(var).or_insert_with(|| own.clone()) == own,
            (Type::Composite(id, _), Type::Composite(other, _)) => {
                self.own.composites[id.index()].name == self.library.composites[other.index()].name
            }
            (Type::Enum(id), Type::Enum(other)) => {
                self.own.enums[id.index()].name == self.library.enums[other.index()].name
            }
            (own, theirs) => *own == theirs,
        }
    }
}

fn is_number(program: &Program, ty: &Type) -> bool {
    matches!(program.underlying(ty), Type::Bit(_) | Type::Signed(_) | Type::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::externs::known;
    use std::collections::BTreeSet;

    /// Externs of the library that cannot be executed.
    const NOT_EXECUTABLE: &[&str] = &["ipsec_accelerator", "tc_skb_metadata"];

    #[test]
    fn every_extern_of_the_library_is_known_and_no_other() {
        for architecture in [Architecture::V1Model, Architecture::Psa, Architecture::Pna] {
            let library = read(architecture);
            let functions = library.iter().flat_map(|program| &program.functions);
            let functions = functions.filter(|function| function.body.is_none());
            let functions: BTreeSet<&str> = functions.map(|function| function.name.as_str()).collect();
            let objects = library.iter().flat_map(|program| &program.externs);
            let objects = objects.map(|object| object.name.as_str());
            let objects: BTreeSet<&str> = objects
                .filter(|name| !NOT_EXECUTABLE.contains(name) && !["packet_in", "packet_out"].contains(name))
                .collect();
            assert_eq!(functions, known::functions(architecture).into_iter().collect());
            assert_eq!(objects, known::objects(architecture).into_iter().collect());
        }
    }

    #[test]
    fn what_the_library_declares_fits_itself() {
        for architecture in [Architecture::V1Model, Architecture::Psa, Architecture::Pna] {
            for program in read(architecture) {
                for object in &program.externs {
                    for method in object.constructors.iter().chain(&object.methods) {
                        let used = Signature::of_method(object, method);
                        let found = of_name(&program, &used);
                        let fits =
                            |other: &Signature| Comparison::new(&program, &program, &used, other).fits(&used, other);
                        assert!(found.iter().any(fits), "{}", used.full_name());
                    }
                }
            }
        }
    }
}
