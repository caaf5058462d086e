//! The ring in words: a line for each result, tables, figures, a chart.

use crate::report::short;
use crate::ring::{Method, RingFound, RingResult};
use crate::sockets::{SocketResult, Task};
use crate::trials::LoadResult;
use forebay_sim::plot::{Chart, Point, Series, Style};
use std::fmt::Write;

/// A line that tells of a result.
pub(crate) fn line(result: &RingResult) -> String {
    let rate = result.ndr_gbps.map_or("no load without loss".to_string(), |gbps| {
        format!("{:.3} Mpps, {gbps:.3} Gbps", result.ndr_pps.unwrap_or(0.0) / 1e6)
    });
    let limit = result.limited_by.words();
    format!("{}: {rate}, {limit}{}", name(result), result.confirmed.remark())
}

fn name(result: &RingResult) -> String {
    match result.method {
        None => format!("tester on a wire, S = {}", result.message_bytes),
        Some(method) => format!(
            "{}, N = {}, S = {}",
            method.name(),
            result.messages,
            result.message_bytes
        ),
    }
}

fn socket_name(result: &SocketResult) -> String {
    let of = match result.task {
        Task::Aggregate => format!(", N = {}", result.messages),
        Task::Send | Task::Receive => String::new(),
    };
    format!("{}{of}, S = {}", result.task.name(), result.message_bytes)
}

impl RingFound {
    /// The quantities that published values are compared with.
    pub(crate) fn figures(&self, figure: &mut dyn FnMut(String, f64)) {
        for result in &self.rings {
            if let Some(gbps) = result.ndr_gbps {
                figure(format!("ring (Gbps), {}", name(result)), gbps);
            }
        }
        for result in &self.sockets {
            figure(
                format!("user program (Mpps), {}", socket_name(result)),
                result.pps / 1e6,
            );
            figure(format!("user program (Gbps), {}", socket_name(result)), result.gbps);
        }
    }

    /// Both tables.
    pub(crate) fn markdown(&self, out: &mut String) {
        if self.rings.is_empty() {
            return;
        }
        out.push_str("## The ring: the highest load of messages of which none is lost\n\n");
        out.push_str(
            "| disaggregation | N | S | published (Gbps) | timed chip (Gbps) | Forebay (Gbps) | messages/s (millions) | of the tester alone | latency at 90 % of it: 50 % (µs) | 99 % | lost | sender late | disturbed | confirmations failed |\n",
        );
        out.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        for result in &self.rings {
            self.row(result, out);
        }
        out.push_str(
            "\nGbps are those of an Ethernet wire, 24 bytes more than a frame. Published and timed chip: a switch chip with ports of 100 Gbps. \
             *Forebay*: one processor sends, aggregates, disaggregates, receives and checks. The first row of each S is the tester alone, between two \
             ends of a wire in memory. Latency is that of the trial with the middle median; *sender late*: trials whose load was not reached, which \
             do not count unless all are. *Disturbed*: the share of the time in which the machine disturbed the measurement of latency. *Confirmations \
             failed*: loads that the search had found and that did not hold in most of three trials as long as those of latency; the search went on \
             below each.\n\n",
        );
        self.socket_table(out);
    }

    fn row(&self, result: &RingResult, out: &mut String) {
        let number = |value: Option<f64>| value.map(short).unwrap_or_default();
        let alone = self
            .rings
            .iter()
            .find(|own| own.method.is_none() && own.message_bytes == result.message_bytes);
        let alone = alone.and_then(|alone| Some(100.0 * result.ndr_pps? / alone.ndr_pps?));
        let load = result.load.as_ref();
        let latency = load.and_then(LoadResult::undisturbed);
        let us = |ns: Option<u64>| number(ns.map(|ns| ns as f64 / 1e3));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            result.method.map_or("none: a wire", Method::name),
            result.messages,
            result.message_bytes,
            number(result.published_gbps),
            number(result.chip_gbps),
            number(result.ndr_gbps),
            number(result.ndr_pps.map(|pps| pps / 1e6)),
            alone.map(|share| format!("{share:.0} %")).unwrap_or_default(),
            us(latency.map(|latency| latency.p50_ns)),
            us(latency.map(|latency| latency.p99_ns)),
            load.map(|load| load.lost.to_string()).unwrap_or_default(),
            load.map(LoadResult::late).unwrap_or_default(),
            load.map(|load| format!("{:.1} %", 100.0 * load.disturbed_share))
                .unwrap_or_default(),
            result.confirmed.cell(),
        );
    }

    fn socket_table(&self, out: &mut String) {
        out.push_str("## A user program with UDP sockets, on one processor\n\n");
        out.push_str("| program | messages | messages/s (millions) | Gbps | lost |\n|---|---|---|---|---|\n");
        for result in &self.sockets {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                socket_name(result),
                result.datagrams,
                short(result.pps / 1e6),
                short(result.gbps),
                result.lost
            );
        }
        out.push_str(
            "\nOne system call for each datagram, over the loopback interface, in processor time of the thread.\n\n",
        );
    }

    /// The highest loads by N.
    pub(crate) fn chart(&self) -> Option<(String, Chart)> {
        let mut series: Vec<Series> = Vec::new();
        for result in &self.rings {
            let (Some(method), Some(gbps)) = (result.method, result.ndr_gbps) else {
                continue;
            };
            let group = format!("{}, S = {}", method.name(), result.message_bytes);
            let point = Point::new(f64::from(result.messages), gbps);
            match series.iter_mut().find(|own| own.group == group) {
                Some(own) => own.points.push(point),
                None => series.push(Series {
                    group,
                    style: Style::Line,
                    points: vec![point],
                }),
            }
        }
        let chart = Chart {
            title: "The ring on the software switch".to_string(),
            subtitle: "highest load of which no message is lost; one processor does all".to_string(),
            x_label: "N, messages in an N-packet".to_string(),
            y_label: "messages on the wire (Gbps)".to_string(),
            series,
            ..Chart::default()
        };
        (!chart.series.is_empty()).then(|| ("max_gbps".to_string(), chart))
    }
}
