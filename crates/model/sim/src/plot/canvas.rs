//! A drawing: shapes at places, in points from the upper left corner.

/// Where a text stands beside its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const BLACK: Colour = [0, 0, 0];
pub(super) const GREY: Colour = [90, 90, 90];
pub(super) const LIGHT: Colour = [222, 222, 222];
pub(super) const WHITE: Colour = [255, 255, 255];

/// A text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) at: (f64, f64),
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    /// Read from below to above.
    pub(super) upright: bool,
    pub(super) colour: Colour,
    pub(super) words: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Straight lines from point to point.
    Path {
        points: Vec<(f64, f64)>,
        width: f64,
        colour: Colour,
        dashed: bool,
    },
    /// An outline that is filled; with a border of a colour.
    Area {
        points: Vec<(f64, f64)>,
        fill: Colour,
        border: Colour,
    },
    Circle {
        centre: (f64, f64),
        radius: f64,
        fill: Colour,
        border: Colour,
    },
    Text(Text),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawing {
    pub(super) size: (f64, f64),
    pub(super) shapes: Vec<Shape>,
}

impl Drawing {
    pub(super) fn new(size: (f64, f64)) -> Drawing {
        Drawing {
            size,
            shapes: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Colour) {
        self.path(vec![from, to], width, colour, false);
    }

    pub(super) fn path(&mut self, points: Vec<(f64, f64)>, width: f64, colour: Colour, dashed: bool) {
        self.shapes.push(Shape::Path {
            points,
            width,
            colour,
            dashed,
        });
    }

    pub(super) fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, words: impl Into<String>) {
        self.shapes.push(Shape::Text(Text {
            at,
            size,
            anchor,
            upright: false,
            colour: BLACK,
            words: words.into(),
        }));
    }

    pub(super) fn upright_text(&mut self, at: (f64, f64), size: f64, words: impl Into<String>) {
        self.shapes.push(Shape::Text(Text {
            at,
            size,
            anchor: Anchor::Middle,
            upright: true,
            colour: BLACK,
            words: words.into(),
        }));
    }

    /// A mark of one of some shapes.
    pub(super) fn mark(&mut self, shape: usize, (x, y): (f64, f64), radius: f64, fill: Colour, border: Colour) {
        let outline: &[(f64, f64)] = match shape % 5 {
            0 => {
                let centre = (x, y);
                self.shapes.push(Shape::Circle {
                    centre,
                    radius,
                    fill,
                    border,
                });
                return;
            }
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            _ => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
        };
        let point = |(dx, dy): &(f64, f64)| (x + radius * dx, y + radius * dy);
        self.shapes.push(Shape::Area {
            points: outline.iter().map(point).collect(),
            fill,
            border,
        });
    }
}

/// Width of a text in Helvetica, about: enough to place a legend.
pub(super) fn text_width(words: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.222,
        ' ' | 't' | 'f' | '.' | ',' | ':' | ';' | '!' | '/' | 'I' | '[' | ']' => 0.278,
        'r' | '(' | ')' | '-' => 0.333,
        'm' | 'M' => 0.833,
        'w' | 'C' | 'D' | 'H' | 'N' | 'R' | 'U' => 0.722,
        'W' => 0.944,
        'G' | 'O' | 'Q' => 0.778,
        'A' | 'B' | 'E' | 'K' | 'P' | 'S' | 'V' | 'X' | 'Y' => 0.667,
        'F' | 'T' | 'Z' => 0.611,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | 'J' => 0.5,
        '=' | '+' | '<' | '>' => 0.584,
        _ => 0.556,
    };
    words.chars().map(of).sum::<f64>() * size
}
