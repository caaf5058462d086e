//! Names that the control plane sees.
//!
//! A table `t` of the control `MyIngress` is `MyIngress.t`; of its sub-control instance `sub`, `MyIngress.sub.t`. What is
//! declared at the top level has its plain name. `@name("x")` replaces the last part, `@name(".x")` all of it.

use forebay_check::annotations;
use forebay_syntax::ast::Annotation;

/// The control-plane name of something called `name` inside `scope` (empty at the top level).
pub fn control_plane_name(scope: &str, name: &str, annotations: &[Annotation]) -> String {
    let local = annotations::name(annotations).unwrap_or(name);
    match local.strip_prefix('.') {
        Some(absolute) => absolute.to_string(),
        None => join(scope, local),
    }
}

/// `scope.name`, or the name alone at the top level.
pub fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_string() } else { format!("{scope}.{name}") }
}
