//! Axes, and where values lie along them.

/// How values are placed along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Axis {
    /// By their size, from zero where that leaves room.
    #[default]
    Linear,
    /// By their ratio: for values that lie powers of ten apart.
    Logarithmic,
    /// By number, from 1: each place has a name.
    Names(Vec<String>),
}

/// From this ratio of the largest to the smallest value on, the smallest lie on a linear axis.
const RATIO: f64 = 20.0;

impl Axis {
    /// The axis that shows these values: one by ratio when the smallest would lie on a linear one.
    pub fn for_values(values: impl Iterator<Item = f64> + Clone) -> Axis {
        match extent(values.filter(|value| *value > 0.0)) {
            Some((smallest, largest)) if largest > RATIO * smallest => Axis::Logarithmic,
            _ => Axis::Linear,
        }
    }
}

/// About as many marks as an axis has.
const TICKS: f64 = 6.0;

/// Values of which the smallest is more than this share of the largest are far from zero.
const FAR: f64 = 0.35;

/// Powers of ten from which the steps between them have no marks.
const DECADES: f64 = 3.0;

/// An axis with its ends.
#[derive(Clone, Debug)]
pub(super) enum Scale {
    Linear(Linear),
    /// From, to.
    Logarithmic(f64, f64),
    Names(Vec<String>),
}

impl Scale {
    /// The horizontal axis. It may begin far from zero.
    pub(super) fn along(axis: &Axis, values: impl Iterator<Item = f64> + Clone) -> Scale {
        Scale::of(axis, values, Linear::near)
    }

    /// The vertical axis.
    pub(super) fn upwards(axis: &Axis, values: impl Iterator<Item = f64> + Clone) -> Scale {
        Scale::of(axis, values, Linear::of)
    }

    fn of<V: Iterator<Item = f64> + Clone>(axis: &Axis, values: V, linear: fn(V) -> Linear) -> Scale {
        let positive = extent(values.clone().filter(|value| *value > 0.0));
        match (axis, positive) {
            (Axis::Names(names), _) => Scale::Names(names.clone()),
            (Axis::Logarithmic, Some((smallest, largest))) => logarithmic(smallest, largest),
            _ => Scale::Linear(linear(values)),
        }
    }

    /// Where a value lies between both ends. On an axis by ratio, what is not positive lies at the lower end.
    pub(super) fn share(&self, value: f64) -> f64 {
        match self {
            Scale::Linear(linear) => linear.share(value),
            Scale::Logarithmic(from, to) => (value.max(*from) / from).ln() / (to / from).ln(),
            Scale::Names(names) => (value - 0.5) / names.len().max(1) as f64,
        }
    }

    /// The marks: where they lie, and what stands beside them.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match self {
            Scale::Linear(linear) => linear
                .ticks()
                .map(|tick| (linear.share(tick), linear.text(tick)))
                .collect(),
            Scale::Logarithmic(from, to) => {
                let marks = round_numbers(*from, *to, (to / from).log10() > DECADES);
                marks.map(|mark| (self.share(mark), plain(mark))).collect()
            }
            Scale::Names(names) => {
                let places = (1..=names.len()).map(|number| self.share(number as f64));
                places.zip(names.iter().cloned()).collect()
            }
        }
    }
}

/// From and to the next of 1, 2, 5, 10, ... beyond the values.
fn logarithmic(smallest: f64, largest: f64) -> Scale {
    let (low, high) = (smallest * (1.0 - 1e-9), largest * (1.0 + 1e-9));
    let from = round_numbers(low / 10.0, low, false).last().unwrap_or(low);
    let to = round_numbers(high, high * 10.0, false).next().unwrap_or(high);
    // A single round number is both ends.
    if to > from * (1.0 + 1e-6) {
        Scale::Logarithmic(from, to)
    } else {
        Scale::Logarithmic(from / 2.0, to * 2.0)
    }
}

/// 1, 2, 5, 10, ... between two values, or the powers of ten alone.
fn round_numbers(from: f64, to: f64, powers_only: bool) -> impl Iterator<Item = f64> {
    let factors: &[f64] = if powers_only { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let exponents = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let all = exponents.flat_map(move |exponent| factors.iter().map(move |factor| factor * 10f64.powi(exponent)));
    all.filter(move |number| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(number))
}

/// A round number, as short as it can be written.
fn plain(number: f64) -> String {
    match number {
        number if (1e-3..1e5).contains(&number) => format!("{}", (number * 1e9).round() / 1e9),
        number => format!("{number:e}"),
    }
}

/// The smallest and the largest.
fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |found, value| {
        let (low, high) = found.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

/// A linear axis: from, to, and the distance of its marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    from: f64,
    to: f64,
    step: f64,
}

impl Linear {
    /// From zero, or from the smallest value when that is negative, in round steps.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Linear {
        let largest = values.clone().fold(0.0, f64::max);
        let smallest = values.fold(0.0, f64::min);
        let span = if largest > smallest { largest - smallest } else { 1.0 };
        let rough = span / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * power);
        let steps = |value: f64| (value / step - 1e-9).ceil() * step;
        Linear {
            from: -steps(-smallest),
            to: steps(if largest > smallest { largest } else { 1.0 }),
            step,
        }
    }

    /// As [`Linear::of`], but from near the smallest value when all are far from zero.
    fn near(values: impl Iterator<Item = f64> + Clone) -> Linear {
        let smallest = values.clone().fold(f64::INFINITY, f64::min);
        let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
        if !(smallest > FAR * largest && largest > smallest) {
            return Linear::of(values);
        }
        let shifted = Linear::of([largest - smallest].into_iter());
        let from = (smallest / shifted.step - 0.5).floor() * shifted.step;
        let to = (largest / shifted.step + 0.5).ceil() * shifted.step;
        Linear {
            from: from.max(0.0),
            to,
            step: shifted.step,
        }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        let count = ((self.to - self.from) / self.step).round() as usize;
        (0..=count).map(move |number| self.from + number as f64 * self.step)
    }

    fn share(self, value: f64) -> f64 {
        (value - self.from) / (self.to - self.from)
    }

    /// As short as it can be written with the steps of the axis; millions as `1.5e6`.
    fn text(self, value: f64) -> String {
        if value.abs() < self.step / 1e6 {
            "0".to_string()
        } else if self.to >= 1e6 {
            format!("{}e6", trimmed(value / 1e6, self.step / 1e6))
        } else {
            trimmed(value, self.step)
        }
    }
}

fn trimmed(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_at_zero_and_end_at_a_round_number() {
        for (largest, to, step) in [
            (98.0, 100.0, 20.0),
            (1.0, 1.0, 0.2),
            (3822.0, 4000.0, 1000.0),
            (0.0, 1.0, 0.2),
        ] {
            let scale = Linear::of([largest].into_iter());
            assert!(
                (scale.to - to).abs() < 1e-9 && (scale.step - step).abs() < 1e-9,
                "{largest}: {}",
                scale.to
            );
        }
        let scale = Linear::near([22.0, 46.0].into_iter());
        assert_eq!((scale.from, scale.to, scale.step), (15.0, 50.0, 5.0));
        let scale = Linear::near([5.0, 90.0].into_iter());
        assert_eq!(scale.from, 0.0);
        let text = |value, largest| Linear::of([largest].into_iter()).text(value);
        assert_eq!(text(1_500_000.0, 2_000_000.0), "1.5e6");
        assert_eq!(text(500_000.0, 2_000_000.0), "0.5e6");
        assert_eq!(text(0.02, 0.05), "0.02");
        assert_eq!(text(0.0, 0.05), "0");
    }

    /// Medians of a microsecond beside whiskers of a hundred: neither lies on the axis.
    #[test]
    fn values_that_lie_powers_of_ten_apart_have_room() {
        let values = [0.25, 1.0, 120.0];
        assert_eq!(Axis::for_values(values.into_iter()), Axis::Logarithmic);
        assert_eq!(Axis::for_values([0.0, 9.0, 10.0].into_iter()), Axis::Linear);
        let scale = Scale::upwards(&Axis::Logarithmic, values.into_iter());
        assert!(
            matches!(scale, Scale::Logarithmic(from, to) if (from - 0.2).abs() < 1e-9 && (to - 200.0).abs() < 1e-6),
            "{scale:?}"
        );
        assert!((scale.share(1.0) - 0.233).abs() < 1e-3);
        assert_eq!(scale.share(0.0), 0.0, "at the lower end");
        let marks = |scale: &Scale| scale.ticks().into_iter().map(|(_, words)| words).collect::<Vec<_>>();
        assert_eq!(
            marks(&scale),
            ["0.2", "0.5", "1", "2", "5", "10", "20", "50", "100", "200"]
        );
        let wide = Scale::upwards(&Axis::Logarithmic, [0.002, 3e5].into_iter());
        assert_eq!(marks(&wide), ["0.01", "0.1", "1", "10", "100", "1000", "10000", "1e5"]);
        let same = Scale::upwards(&Axis::Logarithmic, [1.0].into_iter());
        assert!(
            matches!(same, Scale::Logarithmic(from, to) if from < 1.0 && to > 1.0),
            "{same:?}"
        );
        let nothing = Scale::upwards(&Axis::Logarithmic, [0.0].into_iter());
        assert!(matches!(nothing, Scale::Linear(_)));
    }
}
