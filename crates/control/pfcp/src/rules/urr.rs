//! Usage reporting rules, and what has been measured for them.

use crate::wire::{Elements, Refusal, RuleId, Usage, Volume, Writer, kind};
use std::time::Duration;

/// Bits of Reporting Triggers (§8.2.19) and of Usage Report Trigger (§8.2.41), their octets from the lowest.
pub mod triggers {
    /// Every measurement period.
    pub const PERIODIC: u32 = 1;
    /// A volume threshold.
    pub const VOLUME_THRESHOLD: u32 = 1 << 1;
    /// A time threshold.
    pub const TIME_THRESHOLD: u32 = 1 << 2;
    /// The first packet.
    pub const START: u32 = 1 << 4;
    /// A volume quota.
    pub const VOLUME_QUOTA: u32 = 1 << 8;
    /// A time quota.
    pub const TIME_QUOTA: u32 = 1 << 9;
    /// Only in reports: the SMF has queried it.
    pub const IMMEDIATE: u32 = 1 << 7;
    /// In reports alone: the rule or the session has ended.
    pub const TERMINATION: u32 = 1 << 11;
}

const MEASURES_TIME: u8 = 1;
const MEASURES_VOLUME: u8 = 2;
/// Bit of Measurement Information (MBQE): usage is measured before QoS is enforced.
const BEFORE_QOS: u8 = 1;
/// Bit of Measurement Information (ISTM): time is measured at once, not from the first packet on.
const IMMEDIATELY: u8 = 8;
/// Bit of Measurement Information (MNOP): packets are counted, too.
const WITH_PACKETS: u8 = 16;

/// Triggers that stop packets.
const QUOTAS: u32 = triggers::VOLUME_QUOTA | triggers::TIME_QUOTA;

/// What is counted and when it is reported (§7.5.2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Urr {
    /// Its identifier.
    pub id: u32,
    /// Its number in this UPF.
    pub number: u32,
    method: u8,
    triggers: u32,
    period: Option<u32>,
    volume_threshold: Option<Volume>,
    volume_quota: Option<Volume>,
    time_threshold: Option<u32>,
    time_quota: Option<u32>,
    information: u8,
    /// What has been measured.
    pub measured: Measured,
}

/// The state of a measurement. Times are those since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The number of the next report.
    pub sequence: u32,
    /// When the measurement began.
    pub began: Duration,
    /// When the measurement of time began: with the first packet, or at once. None before.
    pub timed_from: Option<Duration>,
    /// What the counters were when the measurement began.
    pub base: Usage,
    /// When the time quota was given.
    pub quota_began: Duration,
    /// What the counters were when the volume quota was given.
    pub quota_base: Usage,
    /// Whether the quota is used up: packets are dropped.
    pub is_exhausted: bool,
    /// Whether that has been reported.
    pub is_told: bool,
    /// Whether the first packet has been reported.
    pub has_started: bool,
}

/// A report that is due: why, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The rule.
    pub urr: u32,
    /// The number of the report.
    pub sequence: u32,
    /// Bits of [`triggers`].
    pub trigger: u32,
    /// When the measurement began.
    pub began: Duration,
    /// When it ended.
    pub ended: Duration,
    /// What was counted, if volumes are measured.
    pub volume: Option<Usage>,
    /// Whether it has numbers of packets.
    pub with_packets: bool,
    /// How long it took, if times are measured.
    pub duration: Option<u32>,
}

impl Urr {
    /// Reads a Create URR; measuring begins at `now`. Its number is 0 yet.
    ///
    /// # Errors
    /// When an element is missing or wrong.
    pub fn create(elements: Elements<'_>, now: Duration) -> Result<Urr, Refusal> {
        let id = elements.mandatory(kind::URR_ID)?;
        Urr::read(id, elements, now).map_err(|refusal| refusal.with_rule(RuleId::Urr(id)))
    }

    fn read(id: u32, elements: Elements<'_>, now: Duration) -> Result<Urr, Refusal> {
        let mut urr = Urr {
            id,
            number: 0,
            method: elements.mandatory(kind::MEASUREMENT_METHOD)?,
            triggers: reporting_triggers(elements)?.ok_or_else(|| Refusal::missing(kind::REPORTING_TRIGGERS))?,
            period: None,
            volume_threshold: None,
            volume_quota: None,
            time_threshold: None,
            time_quota: None,
            information: 0,
            measured: Measured {
                began: now,
                quota_began: now,
                ..Measured::default()
            },
        };
        urr.apply(elements)?;
        urr.see(now, &Usage::default());
        urr.measured.is_exhausted = urr.has_empty_quota();
        Ok(urr)
    }

    /// Whether a quota is used up before the first packet.
    fn has_empty_quota(&self) -> bool {
        let by_volume = self
            .volume_quota
            .is_some_and(|quota| quota.is_reached(&Usage::default()));
        by_volume || self.time_quota == Some(0)
    }

    /// Does what an Update URR says. Returns the quotas that it gives, whose use begins at zero, as bits of
    /// [`triggers`].
    ///
    /// # Errors
    /// When an element is wrong.
    pub fn update(&mut self, elements: Elements<'_>) -> Result<u32, Refusal> {
        let rule = RuleId::Urr(self.id);
        self.apply(elements).map_err(|refusal| refusal.with_rule(rule))?;
        let given = |kind: u16, bit: u32| if elements.has(kind) { bit } else { 0 };
        Ok(given(kind::VOLUME_QUOTA, triggers::VOLUME_QUOTA) | given(kind::TIME_QUOTA, triggers::TIME_QUOTA))
    }

    fn apply(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        self.method = elements.optional(kind::MEASUREMENT_METHOD)?.unwrap_or(self.method);
        self.triggers = reporting_triggers(elements)?.unwrap_or(self.triggers);
        self.period = elements.optional(kind::MEASUREMENT_PERIOD)?.or(self.period);
        self.volume_threshold = elements.optional(kind::VOLUME_THRESHOLD)?.or(self.volume_threshold);
        self.volume_quota = elements.optional(kind::VOLUME_QUOTA)?.or(self.volume_quota);
        self.time_threshold = elements.optional(kind::TIME_THRESHOLD)?.or(self.time_threshold);
        self.time_quota = elements.optional(kind::TIME_QUOTA)?.or(self.time_quota);
        self.information = elements
            .optional(kind::MEASUREMENT_INFORMATION)?
            .unwrap_or(self.information);
        Ok(())
    }

    /// Whether packets that QERs drop count, too.
    pub fn is_before_qos(&self) -> bool {
        self.information & BEFORE_QOS != 0
    }

    /// New quotas, of which these are the bits of [`triggers`], count from here. The other one goes on.
    pub fn begin_quotas(&mut self, given: u32, now: Duration, counters: Usage) {
        if given & triggers::TIME_QUOTA != 0 {
            self.measured.quota_began = now;
        }
        if given & triggers::VOLUME_QUOTA != 0 {
            self.measured.quota_base = counters;
        }
        self.measured.is_told = false;
        self.measured.is_exhausted = self.quota_due(now, &counters) != 0;
    }

    /// The counters may have begun again, at zero or with what a switch has saved of them: if they are lower than they
    /// were, it is measured from what they are. Returns whether that is so.
    pub fn counters_restarted(&mut self, counters: &Usage) -> bool {
        let mut is_so = false;
        for base in [&mut self.measured.base, &mut self.measured.quota_base] {
            if counters.uplink_packets < base.uplink_packets || counters.downlink_packets < base.downlink_packets {
                *base = *counters;
                is_so = true;
            }
        }
        is_so
    }

    /// Whether counters must be read to know what is due.
    pub fn needs_counters(&self) -> bool {
        let by_volume = triggers::VOLUME_THRESHOLD | triggers::VOLUME_QUOTA | triggers::START;
        let waits_for_packet = self.measured.timed_from.is_none() && self.measures_time();
        self.triggers & by_volume != 0 || self.volume_quota.is_some() || waits_for_packet
    }

    fn measures_time(&self) -> bool {
        self.method & MEASURES_TIME != 0 || self.time_threshold.is_some() || self.time_quota.is_some()
    }

    /// Takes note of counters: time is measured from the first packet on (§5.2.2.2). Returns whether that begins now.
    pub fn see(&mut self, now: Duration, counters: &Usage) -> bool {
        let used = counters.since(&self.measured.base);
        let begins = self.information & IMMEDIATELY != 0 || used.uplink_packets + used.downlink_packets > 0;
        let begins = begins && self.measured.timed_from.is_none();
        if begins {
            self.measured.timed_from = Some(now);
        }
        begins
    }

    /// How long time has been measured since then.
    fn timed_since(&self, then: Duration, now: Duration) -> Duration {
        let from = self.measured.timed_from.map(|from| from.max(then));
        from.map_or(Duration::ZERO, |from| now.saturating_sub(from))
    }

    /// Whether a time has come that a report is due at.
    pub fn is_time_due(&self, now: Duration) -> bool {
        self.due_by_time(now) != 0 || self.is_time_quota_used(now)
    }

    /// Why a report is due: bits of [`triggers`], 0 if none is.
    pub fn due(&self, now: Duration, counters: &Usage) -> u32 {
        let wants = |bit: u32| self.triggers & bit != 0;
        let used = counters.since(&self.measured.base);
        let mut due = self.due_by_time(now);
        if wants(triggers::VOLUME_THRESHOLD) && self.volume_threshold.is_some_and(|limit| limit.is_reached(&used)) {
            due |= triggers::VOLUME_THRESHOLD;
        }
        let has_traffic = used.uplink_packets + used.downlink_packets > 0;
        if wants(triggers::START) && !self.measured.has_started && has_traffic {
            due |= triggers::START;
        }
        due | self.quota_due(now, counters)
    }

    fn due_by_time(&self, now: Duration) -> u32 {
        let began = self.measured.began;
        let due = |bit: u32, seconds: Option<u32>, since: Duration| {
            let is_past = seconds.is_some_and(|seconds| seconds > 0 && since.as_secs() >= u64::from(seconds));
            if self.triggers & bit != 0 && is_past { bit } else { 0 }
        };
        due(triggers::PERIODIC, self.period, now.saturating_sub(began))
            | due(
                triggers::TIME_THRESHOLD,
                self.time_threshold,
                self.timed_since(began, now),
            )
    }

    /// A quota that is used up is reported once.
    fn quota_due(&self, now: Duration, counters: &Usage) -> u32 {
        if self.measured.is_told {
            return 0;
        }
        let used = counters.since(&self.measured.quota_base);
        if self.volume_quota.is_some_and(|quota| quota.is_reached(&used)) {
            return triggers::VOLUME_QUOTA;
        }
        if self.is_time_quota_used(now) {
            triggers::TIME_QUOTA
        } else {
            0
        }
    }

    fn is_time_quota_used(&self, now: Duration) -> bool {
        let is_timed = self.measured.timed_from.is_some();
        let since = self.timed_since(self.measured.quota_began, now).as_secs();
        let is_used = |quota: u32| quota == 0 || is_timed && since >= u64::from(quota);
        !self.measured.is_told && self.time_quota.is_some_and(is_used)
    }

    /// Whether a quota may still be used up, and stop packets then.
    pub fn has_quota_left(&self) -> bool {
        !self.measured.is_exhausted && (self.volume_quota.is_some() || self.time_quota.is_some())
    }

    /// Whether a quota has been used up since packets were last let through.
    pub fn is_used_up(&self, now: Duration, counters: &Usage) -> bool {
        self.has_quota_left() && self.quota_due(now, counters) != 0
    }

    /// Packets of the used-up quota stop; the report of it stays due.
    pub fn stop(&mut self) {
        self.measured.is_exhausted = true;
    }

    /// The report that is due for triggers. A used-up quota stops packets, and is reported if that is wanted
    /// (§5.2.2.3.1).
    pub fn report_due(&mut self, due: u32, now: Duration, counters: Usage) -> Option<Report> {
        let wanted = due & (self.triggers | !QUOTAS);
        let report = (wanted != 0).then(|| self.report(wanted, now, counters));
        self.note_quota(due);
        report
    }

    fn note_quota(&mut self, trigger: u32) {
        let is_used_up = trigger & QUOTAS != 0;
        self.measured.is_exhausted |= is_used_up;
        self.measured.is_told |= is_used_up;
    }

    /// The report for a trigger; measuring begins anew. That of the first packet alone has no measurement, so what is
    /// counted stays for the next one.
    pub fn report(&mut self, trigger: u32, now: Duration, counters: Usage) -> Report {
        self.see(now, &counters);
        let duration = self.timed_since(self.measured.began, now).as_secs() as u32;
        let measured = &mut self.measured;
        let used = counters.since(&measured.base);
        let report = Report {
            urr: self.id,
            sequence: measured.sequence,
            trigger,
            began: measured.began,
            ended: now,
            volume: (self.method & MEASURES_VOLUME != 0).then_some(used),
            with_packets: self.information & WITH_PACKETS != 0,
            duration: (self.method & MEASURES_TIME != 0).then_some(duration),
        };
        measured.sequence = measured.sequence.wrapping_add(1);
        if trigger != triggers::START {
            measured.began = now;
            measured.base = counters;
        }
        measured.has_started |= used.uplink_packets + used.downlink_packets > 0;
        self.note_quota(trigger);
        report
    }

    /// Writes the Create URR that would make it.
    pub fn write(&self, writer: &mut Writer) {
        writer.element(kind::CREATE_URR, |urr| {
            urr.u32_element(kind::URR_ID, self.id);
            urr.u8_element(kind::MEASUREMENT_METHOD, self.method);
            urr.element(kind::REPORTING_TRIGGERS, |value| {
                value.bytes(&self.triggers.to_le_bytes()[..3])
            });
            urr.optional_u32(kind::MEASUREMENT_PERIOD, self.period);
            urr.optional_u32(kind::TIME_THRESHOLD, self.time_threshold);
            urr.optional_u32(kind::TIME_QUOTA, self.time_quota);
            let volumes = [
                (kind::VOLUME_THRESHOLD, self.volume_threshold),
                (kind::VOLUME_QUOTA, self.volume_quota),
            ];
            for (kind, volume) in volumes {
                if let Some(volume) = volume {
                    urr.element(kind, |value| volume.write(value));
                }
            }
            urr.u8_element(kind::MEASUREMENT_INFORMATION, self.information);
        });
    }
}

/// The three octets of Reporting Triggers; older releases leave out the last ones.
fn reporting_triggers(elements: Elements<'_>) -> Result<Option<u32>, Refusal> {
    Ok(elements.flags(kind::REPORTING_TRIGGERS)?.map(|flags| flags & 0xff_ffff))
}
