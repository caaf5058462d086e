#!/usr/bin/env python3
"""Record what the reference implementation of MLRsearch does with simulated devices.

    pip install MLRsearch==1.2.1
    python3 record.py > recorded.json

`tests/mlrsearch.rs` runs our search with the same devices and compares trial by trial.
"""

import argparse
import json
import sys

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

MASK = (1 << 64) - 1

GOALS = {
    "ndr": dict(loss_ratio=0.0, exceed_ratio=0.5, initial_trial_duration=1.0, final_trial_duration=1.0, duration_sum=21.0),
    "pdr": dict(loss_ratio=0.005, exceed_ratio=0.5, initial_trial_duration=1.0, final_trial_duration=1.0, duration_sum=21.0),
    "rfc2544": dict(loss_ratio=0.0, exceed_ratio=0.0, initial_trial_duration=1.0, final_trial_duration=60.0, duration_sum=60.0),
    "tst009": dict(loss_ratio=0.0, exceed_ratio=0.5, initial_trial_duration=1.0, final_trial_duration=60.0, duration_sum=120.0),
}

# Capacity in frames a second, the share of trials with extra loss, the largest extra loss as a share, and the seed.
DEVICES = [
    (12_345.0, 0.0, 0.0, 1),
    (1_234_567.0, 0.0, 0.0, 1),
    (1_234_567.0, 0.1, 0.01, 2),
    (1_234_567.0, 0.3, 0.02, 3),
    (1_234_567.0, 0.45, 0.004, 4),
    (7_777_777.0, 0.2, 0.01, 5),
    (7_777_777.0, 0.6, 0.02, 6),
    (9_990_000.0, 0.1, 0.001, 7),
    (20_000_000.0, 0.0, 0.0, 1),
    (20_000_000.0, 0.2, 0.01, 8),
]

GOAL_SETS = [["ndr"], ["pdr"], ["ndr", "pdr"], ["rfc2544"], ["ndr", "pdr", "rfc2544", "tst009"]]


def splitmix64(state):
    """The output of SplitMix64 for a state."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
    return mixed ^ (mixed >> 31)


def uniform(seed, index):
    """A number from 0 to 1 for each trial."""
    return (splitmix64((seed << 32) + index) >> 11) / (1 << 53)


class Device(AbstractMeasurer):
    """A device with a capacity that now and then loses more."""

    def __init__(self, capacity, share, extra, seed):
        self.capacity, self.share, self.extra, self.seed = capacity, share, extra, seed
        self.trials = []

    def measure(self, intended_duration, intended_load):
        index = len(self.trials)
        self.trials.append([intended_load, intended_duration])
        sent = int(intended_load * intended_duration)
        lost = max(0, sent - int(self.capacity * intended_duration))
        if uniform(self.seed, 2 * index) < self.share:
            lost = min(sent, lost + int(uniform(self.seed, 2 * index + 1) * self.extra * sent))
        return MeasurementResult(
            intended_duration=intended_duration, intended_load=intended_load, offered_count=sent, loss_count=lost
        )


def record(device, names):
    """One search."""
    goals = [SearchGoal(fail_fast=False, **GOALS[name]) for name in names]
    config = Config(goals=goals, min_load=10_000.0, max_load=10e6, search_duration_max=1e6, warmup_duration=1.0)
    measurer = Device(*device)
    results = MultipleLossRatioSearch(config=config).search(measurer)
    found = []
    for goal in goals:
        result = results[goal]
        lower, upper = result.relevant_lower_bound, result.relevant_upper_bound
        conditional = result.conditional_throughput
        found.append([None if value is None else float(value) for value in (lower, upper, conditional)])
    return {"device": device, "goals": names, "trials": measurer.trials, "found": found}


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    searches = [record(device, names) for device in DEVICES for names in GOAL_SETS]
    json.dump(searches, sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    main()
