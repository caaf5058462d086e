//! Commands on a switch with the program `tests/clients/entities.p4`: no network, the answers as people and programs
//! read them.

mod completions;
mod entities;
mod mistakes;
mod support;
