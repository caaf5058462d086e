//! STF tests: parser and runner.
