//! The program after elaboration: parser graphs, controls, tables, externs, storage; text form and verifier.
