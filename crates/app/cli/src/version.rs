//! The version that `forebay --version` prints.

/// `0.1.0 (3599cb5 2026-11-24)`; without the parentheses when it was not built in a checkout of git.
pub const LONG: &str = env!("FOREBAY_VERSION");
