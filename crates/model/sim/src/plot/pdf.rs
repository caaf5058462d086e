//! A drawing as PDF, version 1.4: one page, its text in Helvetica, which every reader has.

use super::canvas::{Anchor, Colour, Drawing, Shape, Text, text_width};
use std::fmt::Write;

/// The file.
pub(super) fn pdf(drawing: &Drawing) -> Vec<u8> {
    let (width, height) = drawing.size;
    let mut content = Vec::new();
    for shape in &drawing.shapes {
        draw(shape, height, &mut content);
    }
    let mut stream = format!("<< /Length {} >>\nstream\n", content.len()).into_bytes();
    stream.extend(content);
    stream.extend(b"\nendstream");
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
        )
        .into_bytes(),
        stream,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    assembled(&objects)
}

/// Objects, numbered from 1, with the table that says where they are.
fn assembled(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    let count = objects.len() + 1;
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    file.extend(format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    file
}

/// PDF counts from the lower left corner.
fn draw(shape: &Shape, height: f64, content: &mut Vec<u8>) {
    let mut text = String::new();
    match shape {
        Shape::Path {
            points,
            width,
            colour,
            dashed,
        } => {
            let dash = if *dashed { "[6 4] 0 d" } else { "[] 0 d" };
            put(&mut text, format_args!("{dash} {width} w {} RG ", rgb(*colour)));
            outline(points, height, &mut text);
            put(&mut text, format_args!("S\n"));
        }
        Shape::Area { points, fill, border } => {
            let (fill, border) = (rgb(*fill), rgb(*border));
            put(&mut text, format_args!("[] 0 d 1.4 w {border} RG {fill} rg "));
            outline(points, height, &mut text);
            put(&mut text, format_args!("b\n"));
        }
        Shape::Circle {
            centre,
            radius,
            fill,
            border,
        } => {
            let (fill, border) = (rgb(*fill), rgb(*border));
            put(&mut text, format_args!("[] 0 d 1.4 w {border} RG {fill} rg "));
            circle((centre.0, height - centre.1), *radius, &mut text);
            put(&mut text, format_args!("b\n"));
        }
        Shape::Text(words) => return write_text(words, height, content),
    }
    content.extend(text.bytes());
}

fn put(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes everything");
}

fn outline(points: &[(f64, f64)], height: f64, text: &mut String) {
    for (index, (x, y)) in points.iter().enumerate() {
        let operator = if index == 0 { "m" } else { "l" };
        put(text, format_args!("{x:.2} {:.2} {operator} ", height - y));
    }
}

/// Four curves; 0.5523 makes them round.
fn circle((x, y): (f64, f64), radius: f64, text: &mut String) {
    let bend = 0.5523 * radius;
    put(text, format_args!("{:.2} {y:.2} m ", x + radius));
    let corners = [
        (1.0, 0.0, 0.0, 1.0),
        (0.0, 1.0, -1.0, 0.0),
        (-1.0, 0.0, 0.0, -1.0),
        (0.0, -1.0, 1.0, 0.0),
    ];
    for (fx, fy, tx, ty) in corners {
        let from = (x + radius * fx + bend * tx, y + radius * fy + bend * ty);
        let to = (x + radius * tx + bend * fx, y + radius * ty + bend * fy);
        let end = (x + radius * tx, y + radius * ty);
        put(
            text,
            format_args!(
                "{:.2} {:.2} {:.2} {:.2} {:.2} {:.2} c ",
                from.0, from.1, to.0, to.1, end.0, end.1
            ),
        );
    }
}

fn write_text(text: &Text, height: f64, content: &mut Vec<u8>) {
    let width = text_width(&text.words, text.size);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let (x, y) = (text.at.0, height - text.at.1);
    let matrix = if text.upright {
        format!("0 1 -1 0 {x:.2} {:.2}", y - back)
    } else {
        format!("1 0 0 1 {:.2} {y:.2}", x - back)
    };
    let begins = format!("BT /F1 {} Tf {} rg {matrix} Tm (", text.size, rgb(text.colour));
    content.extend(begins.bytes());
    content.extend(text.words.chars().flat_map(encoded));
    content.extend(b") Tj ET\n");
}

/// A character in WinAnsiEncoding, which agrees with Unicode but for a few; one that it has not is a question mark.
fn encoded(character: char) -> Vec<u8> {
    match character {
        '(' | ')' | '\\' => vec![b'\\', character as u8],
        '–' => vec![0x96],
        '\u{20}'..='\u{7e}' | '\u{a1}'..='\u{ff}' => vec![character as u32 as u8],
        _ => vec![b'?'],
    }
}

fn rgb(colour: Colour) -> String {
    let [red, green, blue] = colour.map(|part| f64::from(part) / 255.0);
    format!("{red:.3} {green:.3} {blue:.3}")
}
