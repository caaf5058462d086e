//! compile(): P4 sources to program and diagnostics.
