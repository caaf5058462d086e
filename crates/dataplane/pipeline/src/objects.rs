//! Tables and stateful objects of a loaded program, as executors see them.
//!
//! There are three kinds. Table entries are written one by one while workers look keys up: see `forebay_tables::view`.
//! The other data of the control plane (profile members, value sets, replication) is in a [`Snapshot`]: a worker reads
//! the current one during a burst, and a write makes new versions of what it changes and publishes them. What packets
//! write (registers, counters, meters) is in [`Stateful`], which all share and which synchronises internally. Workers
//! never wait for the control plane.

use crate::control::learning::Book;
use crate::load::Pipeline;
use crate::replication::{Replica, ReplicationEngine};
use crate::sections::RegisterLocks;
use forebay_bits::Bits;
use forebay_exec::{Lookup, Objects, PacketFacts};
use forebay_ir::{
    ActionProfileId, Architecture, CounterId, HashAlgorithm, MeterId, Program, RegisterId, TableId, UNMETERED,
    ValueSetId,
};
use forebay_jit::{Arrays, Members, default_slot};
use forebay_tables::counter::SHARDS;
use forebay_tables::crc::Crc;
use forebay_tables::hash;
use forebay_tables::{
    ActionProfile, ActionRef, CounterArray, Domain, Groups, HitTimes, KeyMatch, Lock, LookupResult, MeterArray,
    MeterColor, NO_SLOT, Pin, RegisterArray, SectionLocks, Table, TableView,
};
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The control plane's view of its data.
#[derive(Debug)]
pub(crate) struct Control {
    /// By [`forebay_ir::TableId`].
    pub(crate) tables: Vec<Table>,
    /// The published snapshot, except for the reference counts in its profiles, which packets do not need.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The memory needed by the program's whole state: see [`crate::memory`].
    pub(crate) state_bytes: u64,
    /// When entries expire, and what ends with them.
    pub(crate) book: Book,
}

/// The control plane's data as workers read it. A clone shares everything with its original.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// By [`forebay_ir::TableId`].
    pub(crate) tables: Vec<Arc<TableView>>,
    /// By [`forebay_ir::ActionProfileId`].
    pub(crate) profiles: Vec<Arc<ActionProfile>>,
    /// By [`forebay_ir::ValueSetId`]: elements, each with its components.
    pub(crate) value_sets: Vec<Arc<Vec<Vec<KeyMatch>>>>,
    /// Multicast groups and clone sessions.
    pub(crate) replication: Arc<ReplicationEngine>,
    /// By [`CalculationId`](forebay_ir::CalculationId): the CRCs whose parameters the control plane sets.
    pub(crate) calculations: Arc<Vec<Arc<Crc>>>,
}

impl Snapshot {
    /// The groups of tables whose look-ups may have other results than in a former snapshot: replaced tables, tables
    /// whose entries name changed members, and all tables if a hash was changed, because keys may be computed from it.
    pub(crate) fn changed_since(&self, former: &Snapshot, program: &Program) -> Groups {
        let hashes_differ = !Arc::ptr_eq(&self.calculations, &former.calculations);
        let is_other_profile = |profile: ActionProfileId| {
            let index = profile.index();
            !Arc::ptr_eq(&self.profiles[index], &former.profiles[index])
        };
        let tables = program.tables.iter().zip(self.tables.iter().zip(&former.tables));
        let changed = tables.filter(|(declared, (table, before))| {
            hashes_differ || !Arc::ptr_eq(table, before) || declared.implementation.is_some_and(is_other_profile)
        });
        changed.fold(Groups::default(), |groups, (_, (table, _))| {
            groups.or(Groups::of(table.group()))
        })
    }
}

/// The data that packets write.
#[derive(Debug)]
pub(crate) struct Stateful {
    /// By [`RegisterId`].
    pub(crate) registers: Vec<RegisterArray>,
    /// By [`CounterId`]; a direct counter has an element for each slot of its table.
    pub(crate) counters: Vec<CounterArray>,
    /// By [`MeterId`]; a direct meter has an element for each slot of its table.
    pub(crate) meters: Vec<MeterArray>,
    /// By [`TableId`]: only for tables whose entries may become idle.
    pub(crate) hit_times: Vec<Option<HitTimes>>,
    /// The locks of atomic sections, for workers that access the same registers.
    pub(crate) sections: SectionLocks,
    pub(crate) register_locks: RegisterLocks,
    /// The shards of the counters that belong to workers, one bit for each.
    shards_taken: AtomicU64,
}

impl Stateful {
    pub(crate) fn new(
        registers: Vec<RegisterArray>,
        counters: Vec<CounterArray>,
        meters: Vec<MeterArray>,
        hit_times: Vec<Option<HitTimes>>,
        register_locks: RegisterLocks,
    ) -> Stateful {
        Stateful {
            registers,
            counters,
            meters,
            hit_times,
            sections: SectionLocks::default(),
            register_locks,
            shards_taken: AtomicU64::new(0),
        }
    }

    /// Reserves a shard of all counters for a worker; [`SHARDS`] when all are taken.
    pub(crate) fn take_shard(&self) -> usize {
        let lowest_free = |taken: u64| (!taken != 0).then(|| taken | (taken + 1));
        let before = self
            .shards_taken
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, lowest_free);
        let Ok(before) = before else { return SHARDS };
        let shard = before.trailing_ones() as usize;
        self.counters.iter().for_each(|counter| counter.make_shard(shard));
        shard
    }

    /// The addresses of registers, and of the counters of a shard, for compiled code.
    pub(crate) fn arrays(&self, program: &Program, shard: usize) -> Arrays {
        let register = |id: RegisterId| &self.registers[id.index()];
        let counter = |id: CounterId| self.counters[id.index()].shard_words(shard);
        let hit_times = |id: TableId| self.hit_times[id.index()].as_ref().map(HitTimes::words);
        // SAFETY: arrays and shards are not replaced while the pipeline lives, and every worker holds the pipeline.
        unsafe { Arrays::new(program, register, counter, hit_times) }
    }

    /// Starts the time after which an entry counts as idle.
    pub(crate) fn begin_time(&self, table: TableId, slot: usize, now_ns: u64) {
        if let Some(times) = &self.hit_times[table.index()] {
            times.begin(slot, now_ns);
        }
    }

    /// When a packet last hit the entry of this slot, or when it was inserted; 0 for tables whose entries cannot be
    /// idle.
    pub(crate) fn last_hit_ns(&self, table: TableId, slot: usize) -> u64 {
        let times = self.hit_times[table.index()].as_ref();
        times.map_or(0, |times| times.last_ns(slot))
    }

    /// Records that a packet hit the entry of this slot, if the table's entries may become idle.
    fn note_hit(&self, table: TableId, slot: usize, now_ns: u64) {
        if let Some(times) = &self.hit_times[table.index()] {
            times.note(slot, now_ns);
        }
    }

    /// Writes to elements of a meter that packets may be executing.
    pub(crate) fn write_meter<R>(&self, readers: &Domain, meter: usize, write: impl FnOnce(&MeterArray) -> R) -> R {
        let _guest = self.sections.guest(readers);
        write(&self.meters[meter])
    }

    /// Releases a shard. What was counted in it stays.
    pub(crate) fn give_shard(&self, shard: usize) {
        if shard < SHARDS {
            self.shards_taken.fetch_and(!(1 << shard), Ordering::AcqRel);
        }
    }

    /// The lock for a lock's number and an index; `None` for indices outside the register that has the lock.
    #[inline]
    fn lock(&self, number: u32, index: u64) -> Option<Lock<'_>> {
        let register = &self.registers[number as usize];
        if self.register_locks.is_by_index(number) && RegisterArray::have_locks(register.width()) {
            return register.lock(index);
        }
        Some(self.sections.shared(number, index))
    }

    /// Accesses elements of a register; for packets, the access to each element is one step.
    pub(crate) fn for_elements(
        &self,
        readers: &Domain,
        register: usize,
        indices: impl Iterator<Item = u64>,
        mut body: impl FnMut(&RegisterArray, u64),
    ) {
        let guest = self.sections.guest(readers);
        for index in indices {
            let (lock, under) = self.register_locks.of(register, index);
            guest.within(self.lock(lock, under), || body(&self.registers[register], index));
        }
    }
}

/// Data that every look-up needs, computed when the program is loaded.
#[derive(Debug)]
pub(crate) struct LookupPlan {
    /// By table and by [`forebay_ir::ActionId`]: index into [`forebay_ir::Table::actions`].
    action_index: Vec<Vec<Option<u32>>>,
    /// By table: the algorithm of its selector, and the number of hash bits that it uses.
    selector: Vec<Option<(HashAlgorithm, u32)>>,
}

impl LookupPlan {
    pub(crate) fn new(program: &Program) -> Self {
        let selector = |table: &forebay_ir::Table| {
            let profile = table.implementation?;
            program.action_profiles[profile.index()].selector
        };
        LookupPlan {
            action_index: program
                .tables
                .iter()
                .map(|table| action_indices(program, table))
                .collect(),
            selector: program.tables.iter().map(selector).collect(),
        }
    }

    /// The index of an action in the table's list.
    pub(crate) fn action_index(&self, table: TableId, action: forebay_tables::ActionId) -> Option<u32> {
        self.action_index[table.index()][action.0 as usize]
    }
}

/// If several tables share a profile, one of its members may name another table's instance of an action. It then
/// stands for this table's instance of the same name.
fn action_indices(program: &Program, table: &forebay_ir::Table) -> Vec<Option<u32>> {
    let listed = |id: usize| table.actions.iter().position(|listed| listed.action.index() == id);
    let named = |name: &str| {
        table
            .actions
            .iter()
            .position(|listed| program.actions[listed.action.index()].name == name)
    };
    let actions = program.actions.iter().enumerate();
    actions
        .map(|(id, action)| listed(id).or_else(|| named(&action.name)).map(|index| index as u32))
        .collect()
}

/// The colour of packets that were not metered before.
const GREEN: u8 = 0;

/// All objects during one burst.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) program: &'a Program,
    pub(crate) plan: &'a LookupPlan,
    pub(crate) stateful: &'a Stateful,
    pub(crate) snapshot: &'a Snapshot,
    /// Keeps what look-ups find alive.
    pub(crate) pin: &'a Pin<'a>,
    /// The atomic section of the current packet.
    pub(crate) section: PresentSection<'a>,
    /// The shard in which the worker counts.
    pub(crate) shard: usize,
    /// The arrays of stateful objects, with the worker's own counters.
    pub(crate) arrays: &'a Arrays,
}

/// The lock of a worker's current atomic section. It is released when the section or the burst ends.
#[derive(Debug)]
pub(crate) struct PresentSection<'a> {
    /// `None` when this burst needs no locks.
    locks: Option<&'a Stateful>,
    /// The word that contains the lock; null when no lock is held.
    held: Cell<*const AtomicU64>,
}

impl<'a> PresentSection<'a> {
    /// For a burst that begins now. The worker must have pinned.
    #[inline]
    pub(crate) fn of_burst(stateful: &'a Stateful) -> PresentSection<'a> {
        PresentSection {
            locks: stateful.sections.are_needed().then_some(stateful),
            held: Cell::new(ptr::null()),
        }
    }

    /// Whether no other thread executes meters or sections in this burst.
    #[inline]
    fn is_alone(&self) -> bool {
        self.locks.is_none()
    }

    /// The address at which compiled code finds and stores the held lock; null when no locks are needed.
    fn held_lock(&self) -> *mut *const AtomicU64 {
        self.locks.map_or(ptr::null_mut(), |_| self.held.as_ptr())
    }

    #[inline]
    fn enter(&self, lock: u32, index: u64) {
        self.leave();
        if let Some(lock) = self.locks.and_then(|locks| locks.lock(lock, index)) {
            lock.acquire();
            self.held.set(lock.word());
        }
    }

    /// Ends the section, if there is one.
    #[inline]
    pub(crate) fn leave(&self) {
        // SAFETY: it is null, or was set here or by compiled code to the word of a lock of `locks`.
        if let Some(word) = unsafe { self.held.replace(ptr::null()).as_ref() } {
            Lock::in_word(word).release();
        }
    }
}

impl Drop for PresentSection<'_> {
    #[inline]
    fn drop(&mut self) {
        self.leave();
    }
}

impl<'a> View<'a> {
    /// For a burst that begins now. The worker must have pinned, and counts in this shard.
    #[inline]
    pub(crate) fn of_burst(pipeline: &'a Pipeline, pin: &'a Pin<'a>, shard: usize, arrays: &'a Arrays) -> View<'a> {
        View {
            program: &pipeline.program,
            plan: &pipeline.plan,
            stateful: &pipeline.stateful,
            snapshot: pipeline.published.load(pin),
            pin,
            section: PresentSection::of_burst(&pipeline.stateful),
            shard,
            arrays,
        }
    }

    fn hit_side_effects(&self, table_id: TableId, slot: u64, packet: PacketFacts) -> Option<u8> {
        let table = &self.program.tables[table_id.index()];
        if let Some(counter) = table.direct_counter {
            self.count(counter, slot, packet);
        }
        self.meter_hit(table_id, slot, packet)
    }

    fn meter_hit(&self, table_id: TableId, slot: u64, packet: PacketFacts) -> Option<u8> {
        let direct = self.program.tables[table_id.index()].direct_meter?;
        self.execute_meter(direct.meter, slot, GREEN, packet)
    }

    /// Applies the effects of a miss: the counter and the meter of the default entry. A meter that is not configured
    /// leaves the colour unchanged, as in v1model, where only entries have meters.
    fn miss_side_effects(&self, table_id: TableId, packet: PacketFacts) -> Option<u8> {
        let table = &self.program.tables[table_id.index()];
        if let Some(counter) = table.direct_counter {
            self.count(counter, default_slot(table), packet);
        }
        self.meter_miss(table_id, packet)
    }

    fn meter_miss(&self, table_id: TableId, packet: PacketFacts) -> Option<u8> {
        let table = &self.program.tables[table_id.index()];
        let meter = &self.stateful.meters[table.direct_meter?.meter.index()];
        let slot = default_slot(table);
        match self.metered(meter, slot, MeterColor::Green, packet) {
            Some(color) => Some(color as u8),
            None => self.tells_unmetered().then_some(UNMETERED),
        }
    }

    /// Meters a packet if the element is configured. Otherwise returns no colour.
    fn metered(&self, meters: &MeterArray, index: u64, before: MeterColor, packet: PacketFacts) -> Option<MeterColor> {
        let (bytes, now_ns) = (packet.length_bytes.into(), nanoseconds(packet));
        if self.section.is_alone() {
            // SAFETY: this is the only worker, and the control plane configures elements in use as a guest, which ends
            // bursts that are alone.
            unsafe { meters.execute_alone(index, bytes, before, now_ns) }
        } else {
            meters.execute_configured(index, bytes, before, now_ns)
        }
    }

    /// Whether programs can see that a meter is not configured.
    fn tells_unmetered(&self) -> bool {
        self.program.architecture != Architecture::V1Model
    }

    /// The action of an entry, or of the default entry: its index and its data. `hash` selects the member of a group.
    fn call<'v>(
        &'v self,
        table_id: TableId,
        action: ActionRef<'v>,
        hash: impl FnOnce() -> u64,
    ) -> Option<(u32, &'v [Bits])> {
        let table = &self.program.tables[table_id.index()];
        let call = match action {
            ActionRef::Call(call) => Some(call),
            reference => table.implementation.and_then(|profile| {
                let hash = match reference {
                    ActionRef::Group(_) => hash(),
                    _ => 0,
                };
                self.snapshot.profiles[profile.index()].resolve(reference, hash)
            }),
        };
        match call {
            Some(call) => {
                let index = self.plan.action_index(table_id, call.action)?;
                Some((index, call.args.as_slice()))
            }
            None => {
                let call = table.empty_group_action.as_ref()?;
                Some((call.action, call.args.as_slice()))
            }
        }
    }

    /// The action that a look-up has found. Where it missed, the table's action profile may have another one than the
    /// table.
    fn action_of<'v>(&'v self, table_id: TableId, found: &LookupResult<'v>) -> ActionRef<'v> {
        let default = || {
            let profile = self.program.tables[table_id.index()].implementation?;
            let default = self.snapshot.profiles[profile.index()].default_of(table_id.0)?;
            Some(default.as_ref())
        };
        match found.hit {
            Some(_) => found.action,
            None => default().unwrap_or(found.action),
        }
    }

    /// The result of a look-up for a packet, after counting and metering. `hash` selects the member of a group.
    fn resolved<'v>(
        &'v self,
        table_id: TableId,
        found: LookupResult<'v>,
        hash: impl FnOnce() -> u64,
        packet: PacketFacts,
    ) -> Lookup<'v> {
        let color = match &found.hit {
            Some(entry) => {
                self.stateful.note_hit(table_id, entry.slot(), nanoseconds(packet));
                self.hit_side_effects(table_id, entry.slot() as u64, packet)
            }
            None => self.miss_side_effects(table_id, packet),
        };
        Lookup {
            hit: found.hit.map(|entry| entry.id().0),
            action: self.call(table_id, self.action_of(table_id, &found), hash),
            color,
        }
    }

    /// The hash bits that select a member of a group.
    fn selector_hash(&self, table_id: TableId, key: &[Bits]) -> u64 {
        let Some((algorithm, width)) = self.plan.selector[table_id.index()] else {
            return 0;
        };
        let input = self.snapshot.tables[table_id.index()].selector_input(key);
        let hash = self.hash(algorithm, &input);
        if width < u64::BITS {
            hash & ((1 << width) - 1)
        } else {
            hash
        }
    }
}

impl forebay_jit::TableObjects for View<'_> {
    fn replicas(&self, group: u16) -> &[Replica] {
        self.snapshot.replication.members(group)
    }

    fn arrays(&self) -> &Arrays {
        self.arrays
    }

    fn held_lock(&self) -> *mut *const AtomicU64 {
        self.section.held_lock()
    }

    fn table(&self, table: TableId) -> &TableView {
        &self.snapshot.tables[table.index()]
    }

    fn find_member(&self, members: &Members, key: &[u64], values: &mut Vec<Bits>, record: &mut [u64]) -> bool {
        let table = &self.snapshot.tables[members.table.index()];
        let found = table.lookup_words(&key[..members.matched_words], self.pin);
        let hash = || {
            values.clear();
            values.extend(members.key.places().iter().flatten().map(|place| place.get(key)));
            self.selector_hash(members.table, values)
        };
        let action = self.action_of(members.table, &found);
        let (action, data) = match self.call(members.table, action, hash) {
            Some((action, data)) => (action as usize, data),
            None => (members.no_action(), &[][..]),
        };
        let slot = found.hit.as_ref().map_or(NO_SLOT, |entry| entry.slot() as u32);
        members.record.compose(record, slot, action, data);
        found.hit.is_some()
    }

    fn pin(&self) -> &Pin<'_> {
        self.pin
    }

    fn hit(&self, table_id: TableId, slot: u32, packet: PacketFacts) -> Option<u8> {
        self.meter_hit(table_id, slot.into(), packet)
    }

    fn miss(&self, table_id: TableId, packet: PacketFacts) -> Option<u8> {
        self.meter_miss(table_id, packet)
    }

    fn meter_lines(&self, meter: MeterId, index: u64) -> [usize; 2] {
        self.stateful.meters[meter.index()].lines(index)
    }

    fn take_back_count(&self, counter: CounterId, index: u64, packet: PacketFacts) {
        let (less, bytes) = (u64::MAX, u64::from(packet.length_bytes).wrapping_neg());
        self.stateful.counters[counter.index()].count_many(self.shard, index, less, bytes);
    }
}

impl Objects for View<'_> {
    fn lookup(&self, table_id: TableId, key: &[Bits], packet: PacketFacts) -> Lookup<'_> {
        let found = self.snapshot.tables[table_id.index()].lookup(key, self.pin);
        self.resolved(table_id, found, || self.selector_hash(table_id, key), packet)
    }

    fn value_set_contains(&self, set: ValueSetId, components: &[Bits]) -> bool {
        self.snapshot.value_sets[set.index()].iter().any(|element| {
            element
                .iter()
                .zip(components)
                .all(|(condition, component)| condition.matches(component))
        })
    }

    fn read_register(&self, register: RegisterId, index: u64) -> Bits {
        self.stateful.registers[register.index()].read(index)
    }

    fn write_register(&self, register: RegisterId, index: u64, value: &Bits) {
        self.stateful.registers[register.index()].write(index, value);
    }

    fn read_register_words(&self, register: RegisterId, index: u64, words: &mut [u64]) {
        self.stateful.registers[register.index()].read_words(index, words);
    }

    fn write_register_words(&self, register: RegisterId, index: u64, _width: u32, words: &[u64]) {
        self.stateful.registers[register.index()].write_words(index, words);
    }

    fn enter_atomic(&self, lock: u32, index: u64) {
        self.section.enter(lock, index);
    }

    fn leave_atomic(&self) {
        self.section.leave();
    }

    fn count(&self, counter: CounterId, index: u64, packet: PacketFacts) {
        self.stateful.counters[counter.index()].count(self.shard, index, packet.length_bytes.into());
    }

    fn execute_meter(&self, meter: MeterId, index: u64, before: u8, packet: PacketFacts) -> Option<u8> {
        let meters = &self.stateful.meters[meter.index()];
        let inside = usize::try_from(index).is_ok_and(|index| index < meters.len());
        let before = match before {
            GREEN => MeterColor::Green,
            1 => MeterColor::Yellow,
            _ => MeterColor::Red,
        };
        inside.then(|| match self.metered(meters, index, before, packet) {
            Some(color) => color as u8,
            None if self.tells_unmetered() => UNMETERED,
            None => MeterColor::Green as u8,
        })
    }

    fn hash(&self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        match algorithm {
            HashAlgorithm::Crc32 => hash::crc32(data),
            HashAlgorithm::Custom(calculation) => self.snapshot.calculations[calculation.index()].compute(data),
            HashAlgorithm::Crc16 => hash::crc16(data),
            HashAlgorithm::Random => hash::random(data),
            HashAlgorithm::Identity => hash::identity(data),
            HashAlgorithm::Csum16 => hash::csum16(data),
            HashAlgorithm::Xor16 => hash::xor16(data),
            HashAlgorithm::Crc32More => hash::crc32_more(data),
            HashAlgorithm::Crc16More => hash::crc16_more(data),
            HashAlgorithm::Toeplitz => hash::toeplitz(data),
        }
    }
}

/// The arrival time of a packet, in the unit of tables and meters.
fn nanoseconds(packet: PacketFacts) -> u64 {
    packet.timestamp_us.saturating_mul(1000)
}
