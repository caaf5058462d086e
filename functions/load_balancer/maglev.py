"""Maglev hashing with weights (D. Eisenbud et al., "Maglev: a fast and reliable software network load balancer", NSDI
2016, §3.4).

    table(["a", "b", "c"], slots=4093)                        a back end for each slot
    table({"a": 1, "b": 2}, slots=4093)                       b has twice as many

Each back end has an order of all slots of its own; in turns each takes its next free one, as many as its weight says. A
back end that comes or goes changes little more than its own share.
"""

import hashlib

__all__ = ["table"]


def _number(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def table(backends, slots):
    """The back end of each slot. `backends` is names with weights, or names alone; those of weight 0 get none.

    `slots` must be a prime. The result depends on names and weights, not on their order.
    """
    weights = backends if isinstance(backends, dict) else dict.fromkeys(backends, 1)
    names = sorted(name for name, weight in weights.items() if weight > 0)
    if not names:
        return [None] * slots
    offsets = [_number(f"offset {name}") % slots for name in names]
    skips = [_number(f"skip {name}") % (slots - 1) + 1 for name in names]
    heaviest = max(weights[name] for name in names)
    chosen = [None] * slots
    # What a back end has earned of turns so far; a turn costs the heaviest weight.
    earned = [0.0] * len(names)
    taken = [0] * len(names)
    free = slots
    while True:
        for index, name in enumerate(names):
            earned[index] += weights[name]
            if earned[index] < heaviest:
                continue
            earned[index] -= heaviest
            slot = (offsets[index] + taken[index] * skips[index]) % slots
            while chosen[slot] is not None:
                taken[index] += 1
                slot = (offsets[index] + taken[index] * skips[index]) % slots
            chosen[slot] = name
            taken[index] += 1
            free -= 1
            if free == 0:
                return chosen
