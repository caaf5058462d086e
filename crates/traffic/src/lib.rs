//! Traffic generators and checkers.
