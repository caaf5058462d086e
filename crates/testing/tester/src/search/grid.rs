//! The loads that a search may try: levels of equal ratio between the least and the highest load.
//!
//! Widths are then whole numbers of levels, and halving and widening an interval lead back to the same loads.

/// How exactly the widths of goals are met: the largest whole number of levels is this share of a width at least, and
/// less than all of it, so that rounding cannot make an interval too wide.
const MET_AT_LEAST: f64 = 0.99;
const MET_AT_MOST: f64 = 0.999_999;

/// So near to a level a load is on it.
const ON_LEVEL: f64 = 1e-6;

/// Levels of loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    min: f64,
    max: f64,
    /// The level of the highest load; that of the least is 0.
    top: i64,
}

impl Grid {
    /// The coarsest grid that meets these widths, each a share of the upper load.
    pub fn new(min: f64, max: f64, widths: &[f64]) -> Grid {
        let span = (max / min).ln();
        let mut top = 1i64;
        loop {
            let tries = widths.iter().filter_map(|width| {
                let levels = -(-width).ln_1p() / (span / top as f64);
                let met = levels.floor() / levels;
                let is_met = (MET_AT_LEAST..=MET_AT_MOST).contains(&met);
                // The number at which the next larger whole number of levels would meet it.
                (!is_met).then(|| ((levels.floor() + 1.0) / MET_AT_MOST / levels * top as f64).ceil() as i64)
            });
            match tries.max() {
                Some(next) => top = next.max(top + 1),
                None => return Grid { min, max, top },
            }
        }
    }

    /// The level of the highest load.
    pub fn top(&self) -> i64 {
        self.top
    }

    /// The load of a level.
    pub fn load(&self, level: i64) -> f64 {
        match level {
            level if level <= 0 => self.min,
            level if level >= self.top => self.max,
            level => self.min * ((self.max / self.min).ln() * level as f64 / self.top as f64).exp(),
        }
    }

    /// The highest level whose load is not above this one.
    pub fn level(&self, load: f64) -> i64 {
        let level = (load / self.min).ln() / (self.max / self.min).ln() * self.top as f64;
        ((level + ON_LEVEL).floor() as i64).clamp(0, self.top)
    }

    /// Levels of a width that is a share of the upper load, rounded down.
    pub fn width(&self, share: f64) -> i64 {
        self.level(self.min / (1.0 - share)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_loads_agree() {
        let grid = Grid::new(9001.0, 14.88e6, &[0.005, 0.01]);
        for level in 0..=grid.top() {
            assert_eq!(grid.level(grid.load(level)), level);
        }
        assert_eq!((grid.load(0), grid.load(grid.top())), (9001.0, 14.88e6));
        let width = grid.width(0.005);
        let share = 1.0 - grid.load(100) / grid.load(100 + width);
        assert!((0.00495..0.005).contains(&share), "{share}");
    }
}
