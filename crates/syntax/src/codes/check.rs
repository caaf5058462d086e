//! Codes E02xx to E07xx: what the type checker reports.

use super::codes;

codes! {}
