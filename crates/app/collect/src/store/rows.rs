//! Reports as rows, and rows as reports.

use super::schema::{COLUMNS, Kind};
use crate::report::{Flags, Flow, Hop, Mode, Report, Reporter};
use parquet::data_type::ByteArray;
use parquet::record::{Field, Row};
use smallvec::SmallVec;
use std::net::IpAddr;

/// The values of a column, with whether each row has one.
#[derive(Debug)]
pub(super) enum Values {
    Whole(Vec<i64>),
    Text(Vec<ByteArray>),
    Truth(Vec<bool>),
}

/// A column of rows.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) values: Values,
    /// 1 for a row with a value, 0 for one without; for optional columns only.
    pub(super) levels: Option<Vec<i16>>,
}

/// Rows that wait to be written.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) columns: Vec<Filled>,
    rows: usize,
    reports: u64,
}

/// A value of a row.
enum Cell<'a> {
    Whole(Option<i64>),
    Text(Option<&'a str>),
    Truth(bool),
}

impl<T: Into<i64>> From<Option<T>> for Cell<'_> {
    fn from(value: Option<T>) -> Self {
        Cell::Whole(value.map(Into::into))
    }
}

impl Default for Rows {
    fn default() -> Rows {
        let filled = |column: &super::schema::Column| Filled {
            values: match column.kind {
                Kind::Whole | Kind::Time => Values::Whole(Vec::new()),
                Kind::Text => Values::Text(Vec::new()),
                Kind::Truth => Values::Truth(Vec::new()),
            },
            levels: column.is_optional.then(Vec::new),
        };
        Rows {
            columns: COLUMNS.iter().map(filled).collect(),
            rows: 0,
            reports: 0,
        }
    }
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn reports(&self) -> u64 {
        self.reports
    }

    /// Adds a row for each hop.
    pub(super) fn add(&mut self, report: &Report, received_ns: u64) {
        let addresses = report
            .flow
            .map(|flow| (flow.source.to_string(), flow.destination.to_string()));
        for (number, hop) in (1..).zip(&report.hops) {
            let cells = cells(report, self.reports, received_ns, addresses.as_ref(), number, hop);
            for (column, cell) in self.columns.iter_mut().zip(cells) {
                column.push(cell);
            }
            self.rows += 1;
        }
        self.reports += 1;
    }
}

/// The values of a row, in the order of the columns.
fn cells<'a>(
    report: &Report,
    report_number: u64,
    received_ns: u64,
    addresses: Option<&'a (String, String)>,
    hop_number: i64,
    hop: &Hop,
) -> [Cell<'a>; COLUMNS.len()] {
    let (flags, flow) = (report.flags, report.flow);
    let large = |value: u64| Cell::Whole(Some(value as i64));
    [
        large(received_ns),
        large(report_number),
        Some(report.reporter.node).into(),
        Some(report.reporter.hardware).into(),
        Some(report.sequence).into(),
        Cell::Text(Some(report.mode.name())),
        Cell::Truth(flags.dropped),
        Cell::Truth(flags.congested),
        Cell::Truth(flags.tracked),
        Cell::Truth(flags.intermediate),
        Cell::Truth(report.is_whole),
        report.drop_reason.into(),
        Cell::Text(addresses.map(|(source, _)| &**source)),
        Cell::Text(addresses.map(|(_, destination)| &**destination)),
        flow.map(|flow| flow.protocol).into(),
        flow.map(|flow| flow.source_port).into(),
        flow.map(|flow| flow.destination_port).into(),
        Cell::Whole(Some(hop_number)),
        hop.node.into(),
        hop.ingress_port.into(),
        hop.egress_port.into(),
        hop.latency_ns.into(),
        hop.queue.into(),
        hop.queue_depth.into(),
        Cell::Whole(hop.ingress_time_ns.map(|time| time as i64)),
        Cell::Whole(hop.egress_time_ns.map(|time| time as i64)),
    ]
}

impl Filled {
    fn push(&mut self, cell: Cell<'_>) {
        let has_value = match (&mut self.values, cell) {
            (Values::Whole(values), Cell::Whole(value)) => {
                values.extend(value);
                value.is_some()
            }
            (Values::Text(values), Cell::Text(value)) => {
                values.extend(value.map(ByteArray::from));
                value.is_some()
            }
            (Values::Truth(values), Cell::Truth(value)) => {
                values.push(value);
                true
            }
            _ => unreachable!("cells have the order of the columns"),
        };
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(has_value));
        }
    }
}

/// A report that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// When it came, in nanoseconds since the Unix epoch.
    pub received_ns: u64,
    /// The report.
    pub report: Report,
}

/// The values of a row that was read, by the places of their columns.
struct Cells<'a>(Vec<&'a Field>);

impl Cells<'_> {
    fn whole(&self, place: usize) -> Option<i64> {
        match self.0.get(place)? {
            Field::Long(value) => Some(*value),
            Field::TimestampMicros(_) | Field::TimestampMillis(_) | Field::Null => None,
            _ => None,
        }
    }

    fn text(&self, place: usize) -> Option<&str> {
        match self.0.get(place)? {
            Field::Str(value) => Some(value),
            _ => None,
        }
    }

    fn truth(&self, place: usize) -> bool {
        matches!(self.0.get(place), Some(Field::Bool(true)))
    }

    fn narrow<T: TryFrom<i64>>(&self, place: usize) -> Option<T> {
        T::try_from(self.whole(place)?).ok()
    }
}

/// A row that was read: the number of its report, and a report with one hop. None when it is not as this program writes
/// it.
pub(super) fn report_of(row: &Row) -> Option<(i64, Stored)> {
    let cells = Cells(row.get_column_iter().map(|(_, field)| field).collect());
    let flow = flow_of(&cells);
    let mode = cells.text(5)?;
    let report = Report {
        reporter: Reporter {
            node: cells.narrow(2)?,
            hardware: cells.narrow(3)?,
        },
        sequence: cells.narrow(4)?,
        mode: Mode::ALL.into_iter().find(|known| known.name() == mode)?,
        flags: Flags {
            dropped: cells.truth(6),
            congested: cells.truth(7),
            tracked: cells.truth(8),
            intermediate: cells.truth(9),
        },
        is_whole: cells.truth(10),
        drop_reason: cells.narrow(11),
        flow,
        hops: SmallVec::from_elem(hop_of(&cells), 1),
    };
    let received_ns = cells.whole(0)? as u64;
    Some((cells.whole(1)?, Stored { received_ns, report }))
}

fn flow_of(cells: &Cells<'_>) -> Option<Flow> {
    let address = |place| cells.text(place)?.parse::<IpAddr>().ok();
    Some(Flow {
        source: address(12)?,
        destination: address(13)?,
        protocol: cells.narrow(14)?,
        source_port: cells.narrow(15)?,
        destination_port: cells.narrow(16)?,
    })
}

fn hop_of(cells: &Cells<'_>) -> Hop {
    Hop {
        node: cells.narrow(18),
        ingress_port: cells.narrow(19),
        egress_port: cells.narrow(20),
        latency_ns: cells.narrow(21),
        queue: cells.narrow(22),
        queue_depth: cells.narrow(23),
        ingress_time_ns: cells.whole(24).map(|time| time as u64),
        egress_time_ns: cells.whole(25).map(|time| time as u64),
    }
}
