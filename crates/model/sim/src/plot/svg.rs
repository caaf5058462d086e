//! A drawing as SVG.

use super::canvas::{Anchor, Colour, Drawing, Shape, Text};
use std::fmt::Write;

pub(super) fn svg(drawing: &Drawing) -> String {
    let (width, height) = drawing.size;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for shape in &drawing.shapes {
        text.push_str(&self::shape(shape));
        text.push('\n');
    }
    text.push_str("</svg>\n");
    text
}

fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Path {
            points,
            width,
            colour,
            dashed,
        } => {
            let dash = if *dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dash}/>",
                listed(points),
                hex(*colour)
            )
        }
        Shape::Area { points, fill, border } => format!(
            "<polygon points=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\"/>",
            listed(points),
            hex(*fill),
            hex(*border)
        ),
        Shape::Circle {
            centre: (x, y),
            radius,
            fill,
            border,
        } => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\"/>",
            hex(*fill),
            hex(*border)
        ),
        Shape::Text(text) => self::text(text),
    }
}

fn text(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = text.at;
    let turned = if text.upright {
        format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"")
    } else {
        String::new()
    };
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\"{turned}>{}</text>",
        text.size,
        hex(text.colour),
        escaped(&text.words)
    )
}

fn listed(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (x, y) in points {
        write!(text, "{x:.1},{y:.1} ").expect("a string takes everything");
    }
    text.trim_end().to_string()
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
