"""Numbers for what a file names, which the data plane keeps: they stay when the file changes."""

import itertools


def numbered(names, kept, used, most):
    """A number from 1 to `most` for each name: that of `kept`; else that of its place or the lowest, but none in `used`
    as long as there are others."""
    numbers, taken = {}, set()
    for name in names:
        if name in kept and kept[name] not in taken:
            numbers[name] = kept[name]
            taken.add(kept[name])
    for place, name in enumerate(names, 1):
        if name not in numbers:
            free = (one for one in itertools.chain((place,), range(1, most + 1)) if one not in taken)
            number = next((one for one in free if one not in used), None)
            numbers[name] = number or next(one for one in range(1, most + 1) if one not in taken)
            taken.add(numbers[name])
    return numbers
