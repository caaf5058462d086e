//! InfluxDB's line protocol.
//!
//! A family is a measurement of the same name, its labels and `instance` are tags, and the value is the field `value`.
//! A histogram has the fields `count`, `sum`, and one for each bound: `le_0.001` is how many values are at or below it,
//! as in Prometheus.

use crate::family::{Family, Value};
use std::fmt::Write;

/// A field of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    /// A whole number; larger ones than a signed 64-bit number are written as the largest of these.
    Whole(u64),
    /// Any number.
    Number(f64),
    /// A truth value.
    Truth(bool),
    /// A text.
    Text(&'a str),
}

/// The lines of families, each with the same time, in nanoseconds since the Unix epoch.
pub fn lines(families: &[Family], instance: &str, time_ns: u64) -> String {
    let mut text = String::new();
    for family in families {
        for sample in &family.samples {
            let labels = sample.labels.iter().map(|(name, value)| (*name, &**value));
            let tags: Vec<(&str, &str)> = [("instance", instance)].into_iter().chain(labels).collect();
            let fields = fields(&sample.value);
            let fields: Vec<(&str, Field<'_>)> = fields.iter().map(|(name, field)| (&**name, field.clone())).collect();
            point(&mut text, family.name, &tags, &fields, time_ns);
        }
    }
    text
}

fn fields(value: &Value) -> Vec<(String, Field<'static>)> {
    match value {
        Value::Count(count) => vec![("value".to_string(), Field::Whole(*count))],
        Value::Number(number) => vec![("value".to_string(), Field::Number(*number))],
        Value::Distribution(distribution) => {
            let bounds = distribution.up_to.iter();
            let bounds = bounds.map(|(bound, count)| (format!("le_{bound}"), Field::Whole(*count)));
            let all = [
                ("count".to_string(), Field::Whole(distribution.count)),
                ("sum".to_string(), Field::Number(distribution.sum)),
            ];
            all.into_iter().chain(bounds).collect()
        }
    }
}

/// Appends a point. Tags without a value are left out, as the protocol demands, and so are fields that are no number;
/// without a field that is left, there is no point.
pub fn point(text: &mut String, measurement: &str, tags: &[(&str, &str)], fields: &[(&str, Field<'_>)], time_ns: u64) {
    let is_sayable = |(_, field): &&(&str, Field<'_>)| !matches!(field, Field::Number(number) if !number.is_finite());
    let mut fields = fields.iter().filter(is_sayable).peekable();
    if fields.peek().is_none() {
        return;
    }
    escape(text, measurement, &[',', ' ']);
    let has_value = |(_, value): &&(&str, &str)| !without_last_backslashes(value).is_empty();
    for (name, value) in tags.iter().filter(has_value) {
        text.push(',');
        escape(text, name, &[',', ' ', '=']);
        text.push('=');
        escape(text, value, &[',', ' ', '=']);
    }
    for (place, (name, field)) in fields.enumerate() {
        text.push(if place == 0 { ' ' } else { ',' });
        escape(text, name, &[',', ' ', '=']);
        text.push('=');
        write_field(text, field);
    }
    let _ = writeln!(text, " {time_ns}");
}

fn write_field(text: &mut String, field: &Field<'_>) {
    let _ = match field {
        Field::Whole(count) => write!(text, "{}i", i64::try_from(*count).unwrap_or(i64::MAX)),
        Field::Number(number) => write!(text, "{number}"),
        Field::Truth(is_true) => write!(text, "{is_true}"),
        Field::Text(value) => {
            text.push('"');
            escape(text, value, &['"', '\\']);
            write!(text, "\"")
        }
    };
}

/// Appends a text; characters with a meaning get a backslash, and ends of lines become spaces.
fn escape(text: &mut String, value: &str, special: &[char]) {
    let value = if special.contains(&'\\') {
        value
    } else {
        without_last_backslashes(value)
    };
    for character in value.chars() {
        let character = if character.is_control() { ' ' } else { character };
        if special.contains(&character) {
            text.push('\\');
        }
        text.push(character);
    }
}

/// A name or a tag without the backslashes at its end, which would take the meaning of what follows.
fn without_last_backslashes(value: &str) -> &str {
    value.trim_end_matches('\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Distribution, Sample};

    #[test]
    fn lines_are_as_the_protocol_says() {
        let mut ports = Family::counter("forebay_packets_total", "Packets.");
        ports.add(&[("name", &"eth 0,a=b"), ("none", &"")], 3u64);
        let ratio = Family::gauge("forebay_ratio", "A ratio.").of(0.5);
        let nothing = Family::gauge("forebay_nan", "Nothing.").of(f64::NAN);
        let mut times = Family::histogram("forebay_seconds", "Times.");
        let value = Value::Distribution(Distribution {
            up_to: vec![(0.001, 1)],
            sum: 7.5,
            count: 3,
        });
        times.samples.push(Sample {
            labels: Vec::new(),
            value,
        });
        assert_eq!(
            lines(&[ports, ratio, nothing, times], "s1", 42),
            "forebay_packets_total,instance=s1,name=eth\\ 0\\,a\\=b value=3i 42\n\
             forebay_ratio,instance=s1 value=0.5 42\n\
             forebay_seconds,instance=s1 count=3i,sum=7.5,le_0.001=1i 42\n"
        );
    }

    #[test]
    fn texts_and_truths_are_fields() {
        let mut text = String::new();
        let fields = [
            ("a b", Field::Text("say \"\\\"")),
            ("c", Field::Truth(true)),
            ("d", Field::Whole(u64::MAX)),
        ];
        point(&mut text, "m,1", &[("t", "x\ny\\"), ("u", "\\")], &fields, 1);
        assert_eq!(
            text,
            "m\\,1,t=x\\ y a\\ b=\"say \\\"\\\\\\\"\",c=true,d=9223372036854775807i 1\n"
        );
    }
}
