//! A chart, and how it is laid out.

use super::canvas::{Anchor, BLACK, Colour, Drawing, GREY, LIGHT, WHITE, text_width};
use super::scale::{Axis, Scale};
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
    /// The name in the legend; series of one group have one colour.
    pub group: String,
    /// How it is shown.
    pub style: Style,
    /// Its values, in the order in which they are joined.
    pub points: Vec<Point>,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The title: what is plotted.
    pub title: String,
    /// The subtitle: which part of that, and under which conditions.
    pub subtitle: String,
    /// Quantity and unit of the horizontal axis.
    pub x_label: String,
    /// Quantity and unit of the vertical axis.
    pub y_label: String,
    /// The series.
    pub series: Vec<Series>,
    /// The scale of the horizontal axis.
    pub x_axis: Axis,
    /// The scale of the vertical axis.
    pub y_axis: Axis,
}

/// Colours that people who cannot tell red from green can tell apart (Okabe and Ito, 2008), the lightest left out.
///
/// There are as many as have no divisor in common with the shapes of marks: series that share a colour have different
/// marks.
const PALETTE: [Colour; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [0, 0, 0],
    [130, 130, 130],
];

/// The plot area: left, top, width, height; and the whole without the legend.
const AREA: (f64, f64, f64, f64) = (78.0, 62.0, 560.0, 360.0);
const HEIGHT: f64 = 480.0;

/// Sizes of texts.
const TITLE: f64 = 15.0;
const PLAIN: f64 = 12.0;

/// Radius of marks: of published values, and of points on a line.
const MARK: f64 = 4.5;
const DOT: f64 = 2.6;

/// On a line with more points than these, only about [`DOTS`] have a dot: enough to tell the line from others.
const DOTTED_MAX: usize = 60;
const DOTS: usize = 6;

/// The height of a line of names below the horizontal axis, and the size of their letters.
const NAME_LINE: f64 = 13.0;
const NAME: f64 = 10.5;

/// How much wider than Helvetica other fonts are.
const WIDER: f64 = 1.15;

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
        let x = Scale::along(&self.x_axis, points().map(|point| point.x));
        let y = Scale::upwards(&self.y_axis, points().map(highest).chain(points().map(|point| point.y)));
        let groups = self.groups();
        let width = AREA.0 + AREA.2 + 20.0 + self.legend_width(&groups);
        let titles = text_width(&self.title, TITLE).max(text_width(&self.subtitle, PLAIN)) * WIDER + 24.0;
        let legend_bottom = AREA.1 + 24.0 + 20.0 * (groups.len() + self.keys().len()) as f64;
        let below = HEIGHT + NAME_LINE * self.name_lines().saturating_sub(1) as f64;
        let mut drawing = Drawing::new((width.max(titles).ceil(), below.max(legend_bottom).ceil()));
        self.frame(&x, &y, &mut drawing);
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
            draw_series(series, group, groups.len(), &at, &mut drawing);
        }
        self.legend(&groups, &mut drawing);
        drawing
    }

    /// The lines that the longest name below the horizontal axis takes.
    fn name_lines(&self) -> usize {
        let Axis::Names(names) = &self.x_axis else { return 1 };
        let lines = names.iter().map(|name| wrapped(name, slot(names.len())).len());
        lines.max().unwrap_or(1)
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
            self.at_least()
        } else {
            "published"
        };
        36.0 + WIDER * widest.max(text_width(keys, PLAIN)) + 12.0
    }

    fn has_at_least(&self) -> bool {
        let mut points = self.series.iter().flat_map(|series| &series.points);
        points.any(|point| point.at_least)
    }

    /// What an arrow means: of what was measured the device may not have been the limit, for whatever reason.
    fn at_least(&self) -> &'static str {
        let is_measured = |series: &Series| series.style == Style::Measured;
        if self.series.iter().any(is_measured) {
            "at least"
        } else {
            "at least: search's ceiling"
        }
    }

    fn frame(&self, x: &Scale, y: &Scale, drawing: &mut Drawing) {
        let (left, top, width, height) = AREA;
        let (right, bottom) = (left + width, top + height);
        drawing.text((12.0, 24.0), TITLE, Anchor::Start, self.title.clone());
        drawing.text((12.0, 43.0), PLAIN, Anchor::Start, self.subtitle.clone());
        for (share, words) in y.ticks() {
            let at = bottom - share * height;
            drawing.line((left, at), (right, at), 0.7, LIGHT);
            drawing.text((left - 7.0, at + 4.0), PLAIN, Anchor::End, words);
        }
        for (share, words) in x.ticks() {
            let at = left + share * width;
            drawing.line((at, bottom), (at, bottom + 5.0), 1.0, BLACK);
            match &self.x_axis {
                Axis::Names(names) => name(&words, (at, bottom + 17.0), slot(names.len()), drawing),
                _ => drawing.text((at, bottom + 19.0), PLAIN, Anchor::Middle, words),
            }
        }
        drawing.line((left, bottom), (right, bottom), 1.0, BLACK);
        drawing.line((left, top), (left, bottom), 1.0, BLACK);
        drawing.text(
            (
                left + width / 2.0,
                bottom + 42.0 + NAME_LINE * (self.name_lines() - 1) as f64,
            ),
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
            let at = row(drawing, self.at_least());
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

/// The width for each of `names` names.
fn slot(names: usize) -> f64 {
    AREA.2 / names.max(1) as f64
}

/// A name in lines that fit a width, as far as its words allow.
fn wrapped(name: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), NAME) * WIDER <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// A name below the horizontal axis.
fn name(name: &str, (x, y): (f64, f64), width: f64, drawing: &mut Drawing) {
    for (line, number) in wrapped(name, width).into_iter().zip(0u32..) {
        let at = (x, y + NAME_LINE * f64::from(number));
        drawing.text(at, NAME, Anchor::Middle, line);
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

fn draw_series(
    series: &Series,
    group: usize,
    groups: usize,
    at: &dyn Fn((f64, f64)) -> (f64, f64),
    drawing: &mut Drawing,
) {
    let colour = PALETTE[group % PALETTE.len()];
    let places: Vec<(f64, f64)> = series.points.iter().map(|point| at((point.x, point.y))).collect();
    // A line of steps has two points at each of them.
    let steps = series.points.windows(2).any(|pair| pair[0].x == pair[1].x);
    let each = match places.len() {
        0..=DOTTED_MAX => 1,
        count => count.div_ceil(DOTS),
    };
    let is_dotted = |index: usize| !steps && (each == 1 || groups > 1 && index % each == each / 2);
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
    for (index, (point, place)) in series.points.iter().zip(&places).enumerate() {
        if let Some((low, high)) = point.range {
            error_bar(at((point.x, low)), at((point.x, high)), colour, drawing);
        }
        match series.style {
            Style::Marks => drawing.mark(group, *place, MARK, colour, colour),
            Style::Measured => drawing.mark(group, *place, MARK, WHITE, colour),
            Style::Line if is_dotted(index) => drawing.mark(group, *place, DOT, WHITE, colour),
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
            ..Chart::default()
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
    fn a_chart_of_one_place_tells_no_more_than_a_table() {
        let mut chart = chart();
        assert!(chart.has_extent());
        chart.series.truncate(1);
        chart.series[0].points.truncate(1);
        assert!(!chart.has_extent());
    }

    /// Eight lines of many points, as a report of updates has: each is told from the others by its colour, and by marks
    /// on it.
    #[test]
    fn many_lines_can_be_told_apart() {
        let mut chart = chart();
        chart.series = (0..8)
            .map(|number| Series {
                group: format!("line {number}"),
                style: Style::Line,
                points: (0..200).map(|x| Point::new(f64::from(x), f64::from(number))).collect(),
            })
            .collect();
        let svg = chart.svg();
        for [red, green, blue] in PALETTE {
            assert!(
                svg.contains(&format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"")),
                "{svg}"
            );
        }
        let alone = |chart: &Chart| chart.svg().matches("<circle").count();
        let all = alone(&chart);
        chart.series.truncate(1);
        assert!(
            all > 2 * DOTS && alone(&chart) == 1,
            "{all}: in the legend, and on lines beside others"
        );
    }

    #[test]
    fn names_stand_where_numbers_would() {
        let mut chart = chart();
        chart.x_axis = Axis::Names(vec!["Open vSwitch (user space), veth".to_string(), "Linux".to_string()]);
        let svg = chart.svg();
        assert!(
            svg.contains("Linux") && svg.contains("veth") && !svg.contains(">1.5<"),
            "{svg}"
        );
        let lines = wrapped("Open vSwitch (user space), veth", 70.0);
        assert!(lines.len() > 2 && lines.join(" ") == "Open vSwitch (user space), veth");
    }
}
