//! Codes E08xx: what lowering reports.

use super::codes;

codes! {}
