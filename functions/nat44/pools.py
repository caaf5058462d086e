"""Numbers of external addresses.

A pool has addresses with successive numbers. Blocks of subscribers have the number of their address, so an address keeps
the one that it has.
"""


def numbered(pools, known):
    """The addresses of pools in the order of their numbers, from 0 on, and the first number of each pool.

    `pools`: name -> addresses; `known`: address -> the number that it has. Raises `ValueError` with the name of a pool
    whose addresses cannot have successive numbers.
    """
    waiting = {name: list(addresses) for name, addresses in pools.items()}
    numbers, firsts = [], {}
    while waiting:
        at = len(numbers)

        def fits(name):
            addresses = waiting[name]
            return all(at <= known[one] < at + len(addresses) for one in addresses if one in known)

        def lowest(name):
            return min((known[one] for one in waiting[name] if one in known), default=len(known) + at)

        order = sorted(waiting, key=lowest)
        name = next((name for name in order if fits(name)), None)
        if name is None:
            raise ValueError(order[0])
        addresses = waiting.pop(name)
        places = {known[one] - at: one for one in addresses if one in known}
        others = iter([one for one in addresses if one not in known])
        firsts[name] = at
        numbers += [places.get(place) or next(others) for place in range(len(addresses))]
    return numbers, firsts
