//! Elaboration: typed program to IR and P4Info.
