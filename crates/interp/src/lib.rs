//! The reference executor: slow, obvious, and the specification of every other executor.
