//! Overloads (§8.22): functions, methods and constructors of one name are told apart by the number and the names of the
//! arguments, never by types.

use super::count_text;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

impl Checker {
    /// The one among overloaded functions that takes this number of arguments with these names (§8.22).
    pub(crate) fn choose_overload(
        &mut self,
        what: &str,
        lists: &[Vec<Param>],
        args: &[ast::Arg],
        span: Span,
    ) -> Option<usize> {
        if let [only] = lists {
            return self.report_misfit(what, only, args, span).then_some(0);
        }
        let fitting: Vec<usize> = (0..lists.len())
            .filter(|index| self.fits(&lists[*index], args))
            .collect();
        match fitting.as_slice() {
            [one] => Some(*one),
            [] => {
                let names = if args.iter().any(|arg| arg.name.is_some()) {
                    " with these names"
                } else {
                    ""
                };
                let message = format!("no {what} takes {}{names}", count_text(args.len(), "argument"));
                let options: Vec<String> = lists.iter().map(|params| self.params_text(params)).collect();
                self.report(Diagnostic::error(codes::NO_MATCHING_OVERLOAD, span, message).options(options));
                None
            }
            several => {
                let exact: Vec<usize> = several
                    .iter()
                    .copied()
                    .filter(|index| lists[*index].len() == args.len())
                    .collect();
                if let [one] = exact.as_slice() {
                    return Some(*one);
                }
                let message = format!("several declarations of {what} fit this call");
                let options: Vec<String> = several.iter().map(|index| self.params_text(&lists[*index])).collect();
                self.report(Diagnostic::error(codes::AMBIGUOUS_CALL, span, message).options(options));
                None
            }
        }
    }

    /// A parameter list as text, for messages.
    pub(crate) fn params_text(&self, params: &[Param]) -> String {
        let texts: Vec<String> = params
            .iter()
            .map(|param| {
                let direction = match param.direction {
                    ast::Direction::None => "",
                    ast::Direction::In => "in ",
                    ast::Direction::Out => "out ",
                    ast::Direction::InOut => "inout ",
                };
                format!(
                    "{direction}{} {}",
                    self.show(self.param_type(param)),
                    self.param_name(param)
                )
            })
            .collect();
        format!("({})", texts.join(", "))
    }
}
