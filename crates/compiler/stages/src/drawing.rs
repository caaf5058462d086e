//! The placement as a drawing (SVG): stages from left to right, ingress (or what PNA has) above, egress below.

use crate::report::{Placed, Report};
use std::collections::BTreeSet;
use std::fmt::Write;

const STAGE_WIDTH: usize = 150;
const ROW_HEIGHT: usize = 26;
const MARGIN: usize = 40;
/// Characters of a name that fit into a stage.
const NAME_MAX: usize = 20;
const INGRESS: &str = "#cfe3f7";
const EGRESS: &str = "#d8efd3";
const STAGE: &str = "#f4f4f4";
/// A stage beyond those of the machine.
const STAGE_BEYOND: &str = "#fbe3e3";

impl Report {
    /// A drawing of what stands where.
    pub fn drawing(&self) -> String {
        let count = self.stages.len().max(self.description.stages);
        let (ingress, ingress_rows) = rows(&self.placed, false);
        let (egress, egress_rows) = rows(&self.placed, true);
        let (width, height) = (
            2 * MARGIN + count * STAGE_WIDTH,
            3 * MARGIN + (ingress_rows + egress_rows + 1) * ROW_HEIGHT,
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{MARGIN}\" y=\"14\" font-weight=\"bold\">what stands in which stage of {}</text>\n",
            escaped(&self.machine)
        );
        for stage in 0..count {
            let x = MARGIN + stage * STAGE_WIDTH;
            let fill = if stage < self.description.stages {
                STAGE
            } else {
                STAGE_BEYOND
            };
            let body = height - MARGIN - MARGIN / 2;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{MARGIN}\" width=\"{}\" height=\"{body}\" fill=\"{fill}\"/>\n\
                 <text x=\"{x}\" y=\"{}\">stage {stage}</text>",
                STAGE_WIDTH - 4,
                MARGIN - 8
            );
        }
        for (units, offset, color) in [(ingress, 0, INGRESS), (egress, ingress_rows + 1, EGRESS)] {
            for (unit, row) in units {
                draw(&mut svg, unit, MARGIN + 8 + (offset + row) * ROW_HEIGHT, color);
            }
        }
        legend(&mut svg, &self.meanings(), height - 6);
        svg.push_str("</svg>\n");
        svg
    }

    /// The colours of the drawing, and what they mean.
    fn meanings(&self) -> Vec<(&'static str, String)> {
        let controls = |of_egress: bool| {
            let units = self
                .placed
                .iter()
                .filter(|unit| (unit.control == "egress") == of_egress);
            let names: BTreeSet<&str> = units.map(|unit| unit.control).collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let mut meanings = vec![(INGRESS, controls(false)), (EGRESS, controls(true))];
        if self.stages.len() > self.description.stages {
            meanings.push((STAGE_BEYOND, format!("beyond the stages of {}", self.machine)));
        }
        meanings.retain(|(_, meaning)| !meaning.is_empty());
        meanings
    }
}

/// What colours mean, in a line.
fn legend(svg: &mut String, meanings: &[(&str, String)], y: usize) {
    for (place, (color, meaning)) in meanings.iter().enumerate() {
        let x = MARGIN + place * STAGE_WIDTH;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"{color}\" stroke=\"#555\"/>\n\
             <text x=\"{}\" y=\"{y}\">{}</text>",
            y - 10,
            x + 17,
            escaped(meaning)
        );
    }
}

/// The units of egress, or all others, with the rows in which they are drawn, and how many rows.
fn rows(placed: &[Placed], of_egress: bool) -> (Vec<(&Placed, usize)>, usize) {
    // By row: the first stage that is free.
    let mut free: Vec<usize> = Vec::new();
    let mut units: Vec<&Placed> = placed
        .iter()
        .filter(|unit| (unit.control == "egress") == of_egress)
        .collect();
    units.sort_by_key(|unit| unit.first_stage);
    let mut drawn = Vec::new();
    for unit in units {
        let row = free
            .iter()
            .position(|stage| *stage <= unit.first_stage)
            .unwrap_or(free.len());
        if row == free.len() {
            free.push(0);
        }
        free[row] = unit.last_stage + 1;
        drawn.push((unit, row));
    }
    (drawn, free.len())
}

fn draw(svg: &mut String, unit: &Placed, y: usize, color: &str) {
    let x = MARGIN + unit.first_stage * STAGE_WIDTH;
    let stages = unit.last_stage - unit.first_stage + 1;
    let name = escaped(&shortened(&unit.name, NAME_MAX * stages));
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{color}\" stroke=\"#555\"><title>{}</title></rect>\n\
         <text x=\"{}\" y=\"{}\">{name}</text>",
        x + 2,
        stages * STAGE_WIDTH - 8,
        ROW_HEIGHT - 4,
        escaped(&unit.name),
        x + 7,
        y + 15
    );
}

/// The end of a name: the part that tells it from others.
fn shortened(name: &str, max: usize) -> String {
    let count = name.chars().count();
    if count > max {
        format!("…{}", name.chars().skip(count - max + 1).collect::<String>())
    } else {
        name.to_string()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
