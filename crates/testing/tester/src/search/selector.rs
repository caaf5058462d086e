//! Which load a goal wants to be tried next.
//!
//! A goal is reached by way of coarser targets with shorter trials. The bounds of one target are the *initial* bounds
//! of the next. For a target the first of these that is worth a trial is nominated:
//!
//! 1. the middle of the initial bounds, when they are up to two widths apart;
//! 2. the initial lower bound, 3. the initial upper bound;
//! 4. without a lower bound, a load below the upper one, 5. without an upper bound, one above the lower: by a width
//!    that doubles each time ("external search");
//! 6. with both, the middle, or one of the loads of 4 and 5 when it is nearer to an initial bound.

use super::bounds::{Bounds, Target, Trials};

/// Widths grow by this factor in external search.
const EXPANSION: i64 = 2;

/// A load that should be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nomination {
    /// The level.
    pub level: i64,
    /// How long the trial is.
    pub seconds: f64,
    /// The width that external search goes on with.
    pub width: i64,
}

impl Nomination {
    /// Whether this one goes before another: lower loads first, then longer trials, then larger widths.
    pub fn precedes(&self, other: &Nomination) -> bool {
        match self.level.cmp(&other.level) {
            std::cmp::Ordering::Equal if self.seconds == other.seconds => self.width >= other.width,
            std::cmp::Ordering::Equal => self.seconds > other.seconds,
            order => order.is_lt(),
        }
    }
}

/// When the width grows: the load that was tried became this bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grows {
    Never,
    WhenLower,
    WhenUpper,
}

/// Nominates loads for a goal.
pub struct Selector {
    /// Targets, the final one first.
    targets: Vec<Target>,
    target: Target,
    top: i64,
    lower: Option<i64>,
    upper: Option<i64>,
    next_width: i64,
    grows: Grows,
}

impl Selector {
    /// For targets from the final one to the coarsest, between two loads of the first trials.
    pub fn new(targets: &[Target], top: i64, (lower, upper): (i64, i64)) -> Selector {
        let mut targets = targets.to_vec();
        let target = targets.pop().expect("a goal has a target");
        let mut selector = Selector {
            targets,
            target,
            top,
            lower: Some(lower),
            upper: Some(upper),
            next_width: 0,
            grows: Grows::Never,
        };
        selector.begin_target();
        selector
    }

    fn begin_target(&mut self) {
        let apart = self.lower.zip(self.upper).map_or(0, |(lower, upper)| upper - lower);
        self.limit_width(apart);
    }

    /// Whether all is known that the goal wants.
    fn is_last(&self) -> bool {
        self.targets.is_empty()
    }

    /// The load that should be tried; none when the goal is reached.
    pub fn nominate(&mut self, trials: &Trials, global_width: i64) -> Option<Nomination> {
        self.grows = Grows::Never;
        loop {
            let bounds = trials.bounds(&self.target);
            if let Some((level, width)) = self.first_worth(bounds, global_width) {
                return Some(Nomination {
                    level,
                    seconds: self.target.trial_s,
                    width,
                });
            }
            if self.is_last() {
                return None;
            }
            self.target = self.targets.pop()?;
            (self.lower, self.upper) = (bounds.lower, bounds.upper);
            self.begin_target();
        }
    }

    /// The load was tried. The width for all goals when it has grown.
    pub fn won(&mut self, trials: &Trials, level: i64) -> Option<i64> {
        let bounds = trials.bounds(&self.target);
        let has_grown = match self.grows {
            Grows::Never => false,
            Grows::WhenLower => bounds.lower == Some(level),
            Grows::WhenUpper => bounds.upper == Some(level),
        };
        has_grown.then(|| {
            self.next_width *= EXPANSION;
            self.next_width
        })
    }

    fn first_worth(&mut self, bounds: Bounds, global_width: i64) -> Option<(i64, i64)> {
        self.halve(bounds)
            .or_else(|| self.refine(bounds, self.lower))
            .or_else(|| self.refine(bounds, self.upper))
            .or_else(|| self.extend(bounds, global_width))
            .or_else(|| self.bisect(bounds, global_width))
    }

    fn halve(&mut self, bounds: Bounds) -> Option<(i64, i64)> {
        let (lower, upper) = self.lower.zip(self.upper)?;
        let width = self.target.width;
        if !(width < upper - lower && upper - lower <= 2 * width) {
            return None;
        }
        self.refine(bounds, Some(middle(lower, upper, width)))
    }

    fn refine(&mut self, bounds: Bounds, level: Option<i64>) -> Option<(i64, i64)> {
        let level = level.filter(|level| self.is_worth(bounds, *level))?;
        self.limit_width(self.target.width);
        Some((level, self.target.width))
    }

    /// External search.
    fn extend(&mut self, bounds: Bounds, global_width: i64) -> Option<(i64, i64)> {
        let width = self.next_width.max(global_width);
        let (wanted, grows) = match bounds {
            Bounds {
                lower: None,
                upper: Some(upper),
            } if upper > 0 => (upper - width, Grows::WhenUpper),
            Bounds {
                lower: Some(lower),
                upper: None,
            } if lower < self.top => (lower + width, Grows::WhenLower),
            _ => return None,
        };
        let level = keep_clear(wanted, self.target.width, bounds, self.top)?;
        if !self.is_worth(bounds, level) {
            return None;
        }
        self.grows = grows;
        Some((level, width))
    }

    fn bisect(&mut self, bounds: Bounds, global_width: i64) -> Option<(i64, i64)> {
        let (lower, upper) = bounds.lower.zip(bounds.upper)?;
        if lower >= self.top || upper <= 0 || upper - lower <= self.target.width {
            return None;
        }
        let half = middle(lower, upper, self.target.width);
        let width = self.next_width.max(global_width);
        let clear = |wanted| keep_clear(wanted, self.target.width, bounds, self.top);
        if let Some(first) = self.upper.filter(|first| half < *first)
            && let Some(level) = clear(upper - width).filter(|level| half < *level && *level < first)
        {
            self.grows = Grows::WhenUpper;
            return Some((level, width));
        }
        if let Some(first) = self.lower.filter(|first| half > *first)
            && let Some(level) = clear(lower + width).filter(|level| first < *level && *level < half)
        {
            self.grows = Grows::WhenLower;
            return Some((level, width));
        }
        let width = (half - lower).min(upper - half);
        self.limit_width(width);
        Some((half, width))
    }

    /// The width with which external search begins.
    fn limit_width(&mut self, width: i64) {
        self.next_width = EXPANSION * width.max(self.target.width);
    }

    /// Whether a trial at this level can make or improve a bound.
    fn is_worth(&self, bounds: Bounds, level: i64) -> bool {
        let is_narrow = bounds
            .lower
            .zip(bounds.upper)
            .is_some_and(|(lower, upper)| upper - lower <= self.target.width);
        bounds.lower.is_none_or(|lower| lower < level) && bounds.upper.is_none_or(|upper| level < upper) && !is_narrow
    }
}

/// The level of two that halves an interval best: one part is the width times a power of two, the lower part is not the
/// larger.
fn middle(lower: i64, upper: i64, width: i64) -> i64 {
    let apart = upper - lower;
    if apart <= 2 * width {
        return match (apart == 2 * width, width % 2) {
            (true, _) => lower + width,
            (false, 0) if width > 1 => middle(lower, upper, width / 2),
            _ => lower + apart / 2,
        };
    }
    let mut part = width;
    while apart - 2 * part > 2 * part {
        part *= 2;
    }
    // Either `part` below, or the rest beside twice as much above: what is nearer to the middle.
    let rest = apart - 2 * part;
    if part * (apart - part) > 2 * part * rest {
        lower + part
    } else {
        lower + rest
    }
}

/// A level that is not nearer than a width to what is known: to bounds, which are not tried again, and to the ends of
/// the grid, which may be tried. None when there is no such level.
pub fn keep_clear(level: i64, width: i64, bounds: Bounds, top: i64) -> Option<i64> {
    let level = level.clamp(0, top);
    let is_between = bounds.lower.is_none_or(|lower| lower < level) && bounds.upper.is_none_or(|upper| level < upper);
    if !is_between || bounds.lower.is_none() && bounds.upper == Some(0) {
        return None;
    }
    let (least, most) = (bounds.lower.unwrap_or(0), bounds.upper.unwrap_or(top));
    if width >= most - least {
        return match bounds {
            Bounds { lower: None, .. } => Some(least),
            Bounds { upper: None, .. } => Some(most),
            _ => None,
        };
    }
    let (mut soft_least, mut soft_most) = (least + width, most - width);
    if soft_least > soft_most {
        soft_least = middle(least, most, width);
        soft_most = soft_least;
    }
    Some(match level {
        level if level < soft_least => bounds.lower.map_or(least, |_| soft_least),
        level if level > soft_most => bounds.upper.map_or(most, |_| soft_most),
        level => level,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_powers_of_two_of_the_width() {
        assert_eq!(middle(0, 8, 4), 4);
        assert_eq!(middle(0, 16, 2), 8);
        assert_eq!(middle(10, 25, 1), 17, "7 below, 8 above");
        assert_eq!(middle(0, 7, 4), 4 - 1, "narrower than two widths");
        assert_eq!(middle(0, 5, 3), 2);
    }

    #[test]
    fn known_loads_are_kept_clear_of() {
        let bounds = |lower, upper| Bounds { lower, upper };
        assert_eq!(keep_clear(3, 5, bounds(None, None), 100), Some(0));
        assert_eq!(keep_clear(98, 5, bounds(Some(10), None), 100), Some(100));
        assert_eq!(keep_clear(12, 5, bounds(Some(10), Some(40)), 100), Some(15));
        assert_eq!(keep_clear(39, 5, bounds(Some(10), Some(40)), 100), Some(35));
        assert_eq!(keep_clear(12, 5, bounds(Some(10), Some(14)), 100), None);
        assert_eq!(keep_clear(50, 5, bounds(None, Some(40)), 100), None);
    }
}
