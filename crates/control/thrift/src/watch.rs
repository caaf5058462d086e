//! Notifications for subscribers, as often as BMv2 sends them: ports that come and go, and entries that no packet hits.

use crate::notifications::Notifications;
use crate::program::numbers;
use crate::runtime::Runtime;
use crate::switch::Switch;
use forebay_protocol::p4::v1::TableEntry;
use forebay_shell::catalog::Named;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Time between two looks at ports.
const LOOK: Duration = Duration::from_millis(200);

/// How many of them go by between two looks at entries.
const LOOKS_OF_ENTRIES: u64 = 5;

/// What was published before.
#[derive(Debug, Default)]
struct Watch {
    /// The ports that carry packets.
    up: HashSet<u32>,
    /// By table: the entries of the last message, which the next look leaves out.
    told: HashMap<u32, HashSet<i32>>,
    /// The numbers of tables in the program's JSON, by name, and the program they are of.
    numbers: (u64, HashMap<String, i32>),
}

/// Looks until the switch is gone.
pub(crate) fn watch<S: Switch>(runtime: &Weak<Mutex<Runtime<S>>>) {
    let mut watch = Watch::default();
    for look in 0u64.. {
        thread::sleep(LOOK);
        let Some(runtime) = runtime.upgrade() else { return };
        let mut runtime = runtime.lock().unwrap_or_else(PoisonError::into_inner);
        watch.look_at_ports(&runtime);
        if look % LOOKS_OF_ENTRIES == 0 {
            watch.look_at_entries(&mut runtime);
        }
    }
}

impl Watch {
    fn look_at_ports<S: Switch>(&mut self, runtime: &Runtime<S>) {
        let Some(notifications) = runtime.switch.notifications() else {
            return;
        };
        let ports = runtime.switch.about().ports.into_iter();
        let up: HashSet<u32> = ports.filter(|port| port.is_up).map(|port| port.number).collect();
        let mut changed: Vec<u32> = up.symmetric_difference(&self.up).copied().collect();
        if !changed.is_empty() {
            changed.sort_unstable();
            let states: Vec<(u32, bool)> = changed.into_iter().map(|port| (port, up.contains(&port))).collect();
            notifications.ports(&states);
        }
        self.up = up;
    }

    /// An entry that stays idle is published in every second check, as BMv2 does. Tables are read only for subscribers.
    fn look_at_entries<S: Switch>(&mut self, runtime: &mut Runtime<S>) {
        if !runtime.switch.notifications().is_some_and(Notifications::are_heard) {
            return self.told.clear();
        }
        runtime.look_at_program();
        let tables = runtime.catalog.info.tables.iter();
        let tables = tables.filter(|table| table.idle_timeout_behavior != 0);
        let tables: Vec<(u32, String)> = tables.map(|table| (table.id(), table.name().to_string())).collect();
        for (id, name) in tables {
            let idle = idle_entries(runtime, id);
            let before = self.told.remove(&id).unwrap_or_default();
            let new: Vec<i32> = idle.into_iter().filter(|handle| !before.contains(handle)).collect();
            let number = self.number_of(runtime, &name);
            if let (Some(notifications), false) = (runtime.switch.notifications(), new.is_empty()) {
                notifications.idle(number, &new);
                self.told.insert(id, new.into_iter().collect());
            }
        }
    }

    /// The number of a table in the JSON that clients get.
    fn number_of<S: Switch>(&mut self, runtime: &Runtime<S>, table: &str) -> i32 {
        let program = runtime.switch.program_number();
        if self.numbers.0 != program {
            self.numbers = (program, numbers(&runtime.program_json(), "tables"));
        }
        self.numbers.1.get(table).copied().unwrap_or(-1)
    }
}

/// The entries of a table that no packet has hit for as long as they allow.
fn idle_entries<S: Switch>(runtime: &mut Runtime<S>, table: u32) -> Vec<i32> {
    let entries = runtime.entries_of(table).unwrap_or_default();
    let idle = entries.iter().filter(|entry| is_idle(entry));
    idle.filter_map(|entry| runtime.handle_of_entry(entry).ok()).collect()
}

fn is_idle(entry: &TableEntry) -> bool {
    let elapsed = entry.time_since_last_hit.as_ref().map_or(0, |time| time.elapsed_ns);
    entry.idle_timeout_ns > 0 && elapsed >= entry.idle_timeout_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_idle_when_its_time_is_over() {
        let entry = |timeout_ns, elapsed_ns| TableEntry {
            idle_timeout_ns: timeout_ns,
            time_since_last_hit: Some(forebay_protocol::p4::v1::table_entry::IdleTimeout { elapsed_ns }),
            ..TableEntry::default()
        };
        assert!(is_idle(&entry(10, 10)));
        assert!(!is_idle(&entry(10, 9)));
        assert!(!is_idle(&entry(0, 9)), "it has no time-out");
    }
}
