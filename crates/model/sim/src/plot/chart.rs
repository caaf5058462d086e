//! A chart, and how it is laid out.

use super::canvas::{Anchor, BLACK, Colour, Drawing, GREY, LIGHT, WHITE, text_width};
use super::{pdf, svg};

/// How the values of a series are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// A curve with small dots: a closed formula.
    Formula,
    /// Points joined by a line: what the model says.
    Line,
    /// Marks alone: what was published.
    Marks,
    /// Open marks alone: what was measured.
    Measured,
    /// Box plots: each five points are the lower whisker, the quartiles and the upper whisker of one.
    Boxes,
}

impl Style {
    fn name(self) -> &'static str {
        match self {
            Style::Formula => "formula",
            Style::Line => "model",
            Style::Marks => "published",
            Style::Measured => "measured",
            Style::Boxes => "quartiles and whiskers",
        }
    }
}

/// A value, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// The smallest and the largest of several runs.
    pub range: Option<(f64, f64)>,
    /// The value is at least this.
    pub at_least: bool,
}

impl Point {
    /// A value of which no more is known.
    pub fn new(x: f64, y: f64) -> Point {
        Point {
            x,
            y,
            range: None,
            at_least: false,
        }
    }
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What tells it from others; series of one group have one colour.
    pub group: String,
    /// How it is shown.
    pub style: Style,
    /// Its values, in the order in which they are joined.
    pub points: Vec<Point>,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Of what it is.
    pub title: String,
    /// What of that it shows.
    pub subtitle: String,
    /// Quantity and unit below.
    pub x_label: String,
    /// Quantity and unit at the left.
    pub y_label: String,
    /// What it shows.
    pub series: Vec<Series>,
}

/// Colours that people who cannot tell red from green can tell apart (Okabe and Ito, 2008), the lightest left out.
const PALETTE: [Colour; 7] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [0, 0, 0],
];

/// The plot area: left, top, width, height; and the whole without the legend.
const AREA: (f64, f64, f64, f64) = (78.0, 62.0, 560.0, 360.0);
const HEIGHT: f64 = 480.0;

/// Sizes of texts.
const TITLE: f64 = 15.0;
const PLAIN: f64 = 12.0;

/// About as many marks as an axis has.
const TICKS: f64 = 6.0;

/// Radius of marks: of published values, and of points on a line.
const MARK: f64 = 4.5;
const DOT: f64 = 2.6;

/// More points than these on a line have no dots.
const DOTTED_MAX: usize = 60;

/// Values of which the smallest is more than this share of the largest are far from zero.
const FAR: f64 = 0.35;

/// How much wider than Helvetica other fonts are.
const WIDER: f64 = 1.15;

/// An axis: from, to, and the distance of its marks.
#[derive(Clone, Copy)]
struct Scale {
    from: f64,
    to: f64,
    step: f64,
}

impl Scale {
    /// From zero, or from the smallest value when that is negative, in round steps.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Scale {
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
        Scale {
            from: -steps(-smallest),
            to: steps(if largest > smallest { largest } else { 1.0 }),
            step,
        }
    }

    /// As [`Scale::of`], but from near the smallest value when all are far from zero.
    fn near(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let smallest = values.clone().fold(f64::INFINITY, f64::min);
        let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
        if !(smallest > FAR * largest && largest > smallest) {
            return Scale::of(values);
        }
        let shifted = Scale::of([largest - smallest].into_iter());
        let from = (smallest / shifted.step - 0.5).floor() * shifted.step;
        let to = (largest / shifted.step + 0.5).ceil() * shifted.step;
        Scale {
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
}

/// As short as it can be written with the steps of an axis; millions as `1.5e6`.
fn tick_text(value: f64, scale: Scale) -> String {
    let step = scale.step;
    match value.abs() < step / 1e6 {
        true => "0".to_string(),
        false if scale.to >= 1e6 => format!("{}e6", trimmed(value / 1e6, step / 1e6)),
        false => trimmed(value, step),
    }
}

fn trimmed(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}

impl Chart {
    /// The chart as SVG.
    pub fn svg(&self) -> String {
        svg::svg(&self.drawing())
    }

    /// The chart as PDF.
    pub fn pdf(&self) -> Vec<u8> {
        pdf::pdf(&self.drawing())
    }

    /// Whether its points differ along the horizontal axis: one without does not tell more than a table.
    pub fn has_extent(&self) -> bool {
        let mut places = self
            .series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| point.x);
        let first = places.next();
        places.any(|x| Some(x) != first)
    }

    fn drawing(&self) -> Drawing {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let highest = |point: &Point| point.range.map_or(point.y, |(_, high)| high);
        let x = Scale::near(points().map(|point| point.x));
        let y = Scale::of(points().map(highest).chain(points().map(|point| point.y)));
        let groups = self.groups();
        let width = AREA.0 + AREA.2 + 20.0 + self.legend_width(&groups);
        let titles = text_width(&self.title, TITLE).max(text_width(&self.subtitle, PLAIN)) * WIDER + 24.0;
        let legend_bottom = AREA.1 + 24.0 + 20.0 * (groups.len() + self.keys().len()) as f64;
        let mut drawing = Drawing::new((width.max(titles).ceil(), HEIGHT.max(legend_bottom).ceil()));
        self.frame(x, y, &mut drawing);
        let at = |point: (f64, f64)| {
            (
                AREA.0 + x.share(point.0) * AREA.2,
                AREA.1 + AREA.3 - y.share(point.1) * AREA.3,
            )
        };
        let mut series: Vec<&Series> = self.series.iter().collect();
        series.sort_by_key(|series| series.style);
        for series in series {
            let group = groups.iter().position(|group| **group == series.group).unwrap_or(0);
            draw_series(series, group, &at, &mut drawing);
        }
        self.legend(&groups, &mut drawing);
        drawing
    }

    /// What tells series apart, in order of appearance.
    fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for series in &self.series {
            if !groups.contains(&series.group.as_str()) {
                groups.push(&series.group);
            }
        }
        groups
    }

    /// The styles that are explained: none when all series are lines.
    fn keys(&self) -> Vec<Style> {
        let mut styles: Vec<Style> = self.series.iter().map(|series| series.style).collect();
        styles.sort_unstable();
        styles.dedup();
        styles.reverse();
        match styles.as_slice() {
            [Style::Line | Style::Boxes | Style::Measured] => Vec::new(),
            _ => styles,
        }
    }

    fn legend_width(&self, groups: &[&str]) -> f64 {
        let words = groups.iter().map(|group| text_width(group, PLAIN));
        let widest = words.fold(0.0, f64::max);
        let keys = if self.has_at_least() {
            "at least: search's ceiling"
        } else {
            "published"
        };
        36.0 + WIDER * widest.max(text_width(keys, PLAIN)) + 12.0
    }

    fn has_at_least(&self) -> bool {
        let mut points = self.series.iter().flat_map(|series| &series.points);
        points.any(|point| point.at_least)
    }

    fn frame(&self, x: Scale, y: Scale, drawing: &mut Drawing) {
        let (left, top, width, height) = AREA;
        let (right, bottom) = (left + width, top + height);
        drawing.text((12.0, 24.0), TITLE, Anchor::Start, self.title.clone());
        drawing.text((12.0, 43.0), PLAIN, Anchor::Start, self.subtitle.clone());
        for tick in y.ticks() {
            let at = bottom - y.share(tick) * height;
            drawing.line((left, at), (right, at), 0.7, LIGHT);
            drawing.text((left - 7.0, at + 4.0), PLAIN, Anchor::End, tick_text(tick, y));
        }
        for tick in x.ticks() {
            let at = left + x.share(tick) * width;
            drawing.line((at, bottom), (at, bottom + 5.0), 1.0, BLACK);
            drawing.text((at, bottom + 19.0), PLAIN, Anchor::Middle, tick_text(tick, x));
        }
        drawing.line((left, bottom), (right, bottom), 1.0, BLACK);
        drawing.line((left, top), (left, bottom), 1.0, BLACK);
        drawing.text(
            (left + width / 2.0, bottom + 42.0),
            PLAIN,
            Anchor::Middle,
            self.x_label.clone(),
        );
        drawing.upright_text((18.0, top + height / 2.0), PLAIN, self.y_label.clone());
    }

    /// At the right of the data: first what styles mean, then what colours and shapes mean.
    fn legend(&self, groups: &[&str], drawing: &mut Drawing) {
        let left = AREA.0 + AREA.2 + 20.0;
        let mut y = AREA.1 + 8.0;
        let mut row = |drawing: &mut Drawing, words: &str| {
            drawing.text((left + 34.0, y + 4.0), PLAIN, Anchor::Start, words);
            y += 20.0;
            y - 20.0
        };
        for style in self.keys() {
            let at = row(drawing, style.name());
            sample(style, 0, GREY, (left, at), drawing);
        }
        if self.has_at_least() {
            let at = row(drawing, "at least: search's ceiling");
            arrow((left + 14.0, at + 6.0), GREY, drawing);
        }
        if groups.iter().all(|group| group.is_empty()) {
            return;
        }
        for (index, group) in groups.iter().enumerate() {
            let at = row(drawing, group);
            let colour = PALETTE[index % PALETTE.len()];
            drawing.line((left, at), (left + 28.0, at), 2.0, colour);
            drawing.mark(index, (left + 14.0, at), MARK, colour, colour);
        }
    }
}

/// A style in the legend.
fn sample(style: Style, shape: usize, colour: Colour, (left, y): (f64, f64), drawing: &mut Drawing) {
    let middle = (left + 14.0, y);
    match style {
        Style::Marks => drawing.mark(shape, middle, MARK, colour, colour),
        Style::Measured => drawing.mark(shape, middle, MARK, WHITE, colour),
        Style::Line => {
            drawing.line((left, y), (left + 28.0, y), 2.0, colour);
            drawing.mark(shape, middle, DOT, WHITE, colour);
        }
        Style::Formula => drawing.path(vec![(left, y), (left + 28.0, y)], 1.2, colour, true),
        Style::Boxes => draw_box(
            &[(4.0, 7.0), (4.0, 4.0), (4.0, 0.0), (4.0, -4.0), (4.0, -7.0)].map(|(x, up)| (left + x, y - up)),
            colour,
            drawing,
        ),
    }
}

fn draw_series(series: &Series, group: usize, at: &dyn Fn((f64, f64)) -> (f64, f64), drawing: &mut Drawing) {
    let colour = PALETTE[group % PALETTE.len()];
    let places: Vec<(f64, f64)> = series.points.iter().map(|point| at((point.x, point.y))).collect();
    // A line of steps has two points at each of them.
    let steps = series.points.windows(2).any(|pair| pair[0].x == pair[1].x);
    let dotted = places.len() <= DOTTED_MAX && !steps;
    match series.style {
        Style::Formula => drawing.path(places.clone(), 1.2, colour, true),
        Style::Line => drawing.path(places.clone(), 2.0, colour, false),
        Style::Marks | Style::Measured => {}
        Style::Boxes => {
            places
                .chunks_exact(5)
                .for_each(|places| draw_box(places, colour, drawing));
            return;
        }
    }
    for (point, place) in series.points.iter().zip(&places) {
        if let Some((low, high)) = point.range {
            error_bar(at((point.x, low)), at((point.x, high)), colour, drawing);
        }
        match series.style {
            Style::Marks => drawing.mark(group, *place, MARK, colour, colour),
            Style::Measured => drawing.mark(group, *place, MARK, WHITE, colour),
            Style::Line if dotted => drawing.mark(group, *place, DOT, WHITE, colour),
            _ => {}
        }
        if point.at_least {
            arrow(*place, colour, drawing);
        }
    }
}

/// Half the width of a box.
const BOX: f64 = 7.0;

/// A box plot from the places of its lower whisker, quartiles and upper whisker.
fn draw_box(places: &[(f64, f64)], colour: Colour, drawing: &mut Drawing) {
    let [whisker_low, low, middle, high, whisker_high] = places else {
        return;
    };
    error_bar(*whisker_low, *low, colour, drawing);
    error_bar(*high, *whisker_high, colour, drawing);
    let (left, right) = (middle.0 - BOX, middle.0 + BOX);
    let outline = vec![
        (left, low.1),
        (right, low.1),
        (right, high.1),
        (left, high.1),
        (left, low.1),
    ];
    drawing.path(outline, 1.2, colour, false);
    drawing.line((left, middle.1), (right, middle.1), 2.5, colour);
}

fn error_bar(low: (f64, f64), high: (f64, f64), colour: Colour, drawing: &mut Drawing) {
    drawing.line(low, high, 1.2, colour);
    for (x, y) in [low, high] {
        drawing.line((x - 4.0, y), (x + 4.0, y), 1.2, colour);
    }
}

/// Upwards from a point.
fn arrow((x, y): (f64, f64), colour: Colour, drawing: &mut Drawing) {
    drawing.line((x, y), (x, y - 14.0), 1.2, colour);
    drawing.path(
        vec![(x - 3.5, y - 9.0), (x, y - 14.0), (x + 3.5, y - 9.0)],
        1.2,
        colour,
        false,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let series = |group: &str, style, points: &[(f64, f64)]| Series {
            group: group.to_string(),
            style,
            points: points.iter().map(|(x, y)| Point::new(*x, *y)).collect(),
        };
        let mut chart = Chart {
            title: "Throughput <of> (one)".to_string(),
            subtitle: "highest load".to_string(),
            x_label: "N".to_string(),
            y_label: "load (Gbps)".to_string(),
            series: vec![
                series("N = 2", Style::Line, &[(1.0, 50.0), (2.0, 98.0)]),
                series("N = 2", Style::Marks, &[(1.0, 51.0)]),
                series("N = 4", Style::Formula, &[(1.0, 20.0), (2.0, 30.0)]),
            ],
        };
        chart.series[0].points[1].at_least = true;
        chart.series[0].points[0].range = Some((48.0, 52.0));
        chart
    }

    #[test]
    fn five_points_are_a_box() {
        let mut chart = chart();
        chart.series[0].style = Style::Boxes;
        chart.series[0].points = [1.0, 2.0, 3.0, 4.0, 6.0].map(|y| Point::new(1.0, y)).to_vec();
        let (with, without) = (chart.svg(), {
            chart.series[0].points.truncate(4);
            chart.svg()
        });
        assert!(with.len() > without.len() + 300, "a box is drawn");
        assert!(with.contains("quartiles and whiskers"));
    }

    #[test]
    fn a_chart_is_svg_with_its_words() {
        let svg = chart().svg();
        assert!(svg.starts_with("<svg"));
        for word in [
            "Throughput &lt;of&gt; (one)",
            "highest load",
            "load (Gbps)",
            "published",
            "model",
            "formula",
            "N = 4",
            "at least",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        let colour = |index: usize| {
            let [red, green, blue] = PALETTE[index];
            format!("#{red:02x}{green:02x}{blue:02x}")
        };
        assert!(svg.contains(&colour(0)) && svg.contains(&colour(1)) && !svg.contains(&colour(2)));
    }

    #[test]
    fn a_chart_is_pdf_whose_table_says_where_objects_are() {
        let pdf = chart().pdf();
        assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
        let text: String = pdf.iter().map(|byte| *byte as char).collect();
        assert!(text.contains("\\(one\\)"));
        let table = text.rfind("xref\n0 6\n").unwrap();
        let place: usize = text[table + 9 + 20..table + 9 + 30].parse().unwrap();
        assert!(text[place..].starts_with("1 0 obj"), "{place}");
    }

    #[test]
    fn axes_begin_at_zero_and_end_at_a_round_number() {
        for (largest, to, step) in [
            (98.0, 100.0, 20.0),
            (1.0, 1.0, 0.2),
            (3822.0, 4000.0, 1000.0),
            (0.0, 1.0, 0.2),
        ] {
            let scale = Scale::of([largest].into_iter());
            assert!(
                (scale.to - to).abs() < 1e-9 && (scale.step - step).abs() < 1e-9,
                "{largest}: {}",
                scale.to
            );
        }
        let scale = Scale::near([22.0, 46.0].into_iter());
        assert_eq!((scale.from, scale.to, scale.step), (15.0, 50.0, 5.0));
        let scale = Scale::near([5.0, 90.0].into_iter());
        assert_eq!(scale.from, 0.0);
        let text = |value, largest| tick_text(value, Scale::of([largest].into_iter()));
        assert_eq!(text(1_500_000.0, 2_000_000.0), "1.5e6");
        assert_eq!(text(500_000.0, 2_000_000.0), "0.5e6");
        assert_eq!(text(0.02, 0.05), "0.02");
        assert_eq!(text(0.0, 0.05), "0");
    }

    #[test]
    fn a_chart_of_one_place_tells_no_more_than_a_table() {
        let mut chart = chart();
        assert!(chart.has_extent());
        chart.series.truncate(1);
        chart.series[0].points.truncate(1);
        assert!(!chart.has_extent());
    }
}
