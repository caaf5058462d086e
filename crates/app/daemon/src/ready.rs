//! Whether a switch carries traffic, and what it lacks for that: for load balancers, service managers and scripts.

use forebay_packet::PortState;
use forebay_pipeline::TableMemory;
use forebay_switch::PortReport;

/// What a switch must have to be ready, beside workers that answer and ports that are up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyWhen {
    /// It begins without a program, and a controller must have pushed one.
    pub needs_program: bool,
    /// Tables, and how many entries each must have. A name may be shortened to its last components; where several
    /// tables have these, each of them must have the entries.
    pub entries: Vec<(String, usize)>,
}

/// What a switch lacks to carry traffic, in words; nothing when it is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lacks(pub Vec<String>);

impl Lacks {
    /// Whether nothing is lacking.
    pub fn is_ready(&self) -> bool {
        self.0.is_empty()
    }
}

impl ReadyWhen {
    /// Whether a table, by its whole name, is one that a name means.
    pub fn is_meant(table: &str, name: &str) -> bool {
        let rest = table.strip_suffix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// Tables that have too few entries.
    pub(crate) fn tables_lack(&self, tables: &[TableMemory]) -> impl Iterator<Item = String> {
        self.entries.iter().flat_map(move |(name, wanted)| {
            let meant = tables_of(tables, name);
            if meant.is_empty() {
                return vec![format!("the program has no table `{name}`")];
            }
            let short = meant.into_iter().filter(|table| table.entries < *wanted);
            short.map(|table| too_few(table, *wanted)).collect()
        })
    }
}

/// The tables that a name means: the one with this whole name, or all that end with it.
fn tables_of<'a>(tables: &'a [TableMemory], name: &str) -> Vec<&'a TableMemory> {
    if let Some(exact) = tables.iter().find(|table| table.table == name) {
        return vec![exact];
    }
    let meant = tables.iter().filter(|table| ReadyWhen::is_meant(&table.table, name));
    meant.collect()
}

fn too_few(table: &TableMemory, wanted: usize) -> String {
    let TableMemory { table, entries, .. } = table;
    format!("table `{table}` has {entries} of at least {wanted} entries")
}

/// Ports that carry nothing.
pub(crate) fn ports_lack(ports: &[PortReport], failed: &[u32]) -> impl Iterator<Item = String> {
    ports.iter().filter_map(|port| {
        let state = match port.state {
            _ if failed.contains(&port.number) => "has failed",
            PortState::Up => return None,
            PortState::Down => "is down",
            PortState::Gone => "is gone",
            PortState::Finished => "has come to the end of its file",
        };
        let why = port.why_down.as_ref().map(|why| format!(": {why}"));
        Some(format!(
            "port {} ({}) {state}{}",
            port.number,
            port.name,
            why.unwrap_or_default()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, entries: usize) -> TableMemory {
        TableMemory {
            table: name.to_owned(),
            entries,
            bytes: 0,
        }
    }

    #[test]
    fn tables_are_known_by_their_last_components() {
        let when = ReadyWhen {
            entries: vec![
                ("routes".to_owned(), 2),
                ("I.nat".to_owned(), 1),
                ("oute".to_owned(), 1),
            ],
            ..ReadyWhen::default()
        };
        let tables = [table("I.routes", 1), table("I.nat", 1), table("I.route", 9)];
        let lacks: Vec<String> = when.tables_lack(&tables).collect();
        let few = "table `I.routes` has 1 of at least 2 entries";
        assert_eq!(lacks, [few, "the program has no table `oute`"]);
    }

    #[test]
    fn every_table_that_a_short_name_means_must_have_the_entries() {
        let when = |name: &str| ReadyWhen {
            entries: vec![(name.to_owned(), 1)],
            ..ReadyWhen::default()
        };
        let lacks = |when: &ReadyWhen, tables: &[TableMemory]| when.tables_lack(tables).collect::<Vec<String>>();
        let controls = [table("I.a.routes", 3), table("I.b.routes", 0)];
        let few = "table `I.b.routes` has 0 of at least 1 entries";
        assert_eq!(lacks(&when("routes"), &controls), [few]);
        assert_eq!(lacks(&when("a.routes"), &controls), [""; 0]);
        let whole = [table("I.routes", 0), table("routes", 1)];
        assert_eq!(lacks(&when("routes"), &whole), [""; 0], "the whole name comes first");
    }

    #[test]
    fn a_port_that_is_not_up_is_named_with_the_reason() {
        let port = |number, state, why: Option<&str>| PortReport {
            number,
            name: format!("eth{number}"),
            state,
            why_down: why.map(str::to_owned),
            counters: Default::default(),
            drops: Vec::new(),
        };
        let ports = [
            port(1, PortState::Up, None),
            port(2, PortState::Down, Some("no carrier")),
            port(3, PortState::Gone, None),
            port(4, PortState::Up, None),
        ];
        let lacks: Vec<String> = ports_lack(&ports, &[4]).collect();
        assert_eq!(
            lacks,
            [
                "port 2 (eth2) is down: no carrier",
                "port 3 (eth3) is gone",
                "port 4 (eth4) has failed"
            ]
        );
    }
}
