//! The report as a page that needs nothing else: text, tables and pictures in one file.

use super::charts::charts;
use crate::results::Results;

const STYLE: &str = "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222}\
                     pre{background:#f6f6f6;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.82rem;line-height:1.35}\
                     @media (max-width:60rem){pre{white-space:pre;overflow-x:auto}}\
                     figure{margin:1.5rem 0;overflow-x:auto}h1{font-size:1.4rem}h2{font-size:1.1rem}\
                     .doubt{background:#fff3cd;padding:.6rem 1rem;border-left:4px solid #d9a400}";

/// The page.
pub fn html(results: &Results) -> String {
    let title = escaped(&results.description);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    let doubts: Vec<&String> = results.trials.iter().flat_map(|trial| &trial.doubts).collect();
    if let Some(ended_by) = &results.ended_by {
        out.push_str(&format!(
            "<div class=\"doubt\"><b>Ended early:</b> {}</div>\n",
            escaped(ended_by)
        ));
    }
    if !doubts.is_empty() {
        out.push_str("<div class=\"doubt\"><b>These figures should not be relied on:</b><ul>\n");
        doubts
            .iter()
            .for_each(|doubt| out.push_str(&format!("<li>{}</li>\n", escaped(doubt))));
        out.push_str("</ul></div>\n");
    }
    out.push_str(&format!("<pre>{}</pre>\n", escaped(&super::text(results))));
    for (_, chart) in charts(results) {
        out.push_str(&format!(
            "<h2>{}</h2>\n<figure>\n{}\n</figure>\n",
            escaped(&sentence(&chart.subtitle)),
            svg_element(&chart.svg())
        ));
    }
    out.push_str("</body></html>\n");
    out
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// An SVG document without its XML declaration, which may not stand within a page.
fn svg_element(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |at| &svg[at..])
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
