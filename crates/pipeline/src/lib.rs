//! A loaded program: architecture, tables and the chosen executor.
