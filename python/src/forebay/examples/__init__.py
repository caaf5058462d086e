"""Small programs and a scenario that come with the package, for documentation and first steps.

| file | what it is |
|---|---|
| `router.p4` | IPv4 routing with a counter, a register and a meter |
| `reflector.p4` | sends each packet back by the port where it came |
| `queue.toml` | a queue of a chip at a load `LOAD`, in Gbps |
| `router_test.toml` | a test of `router.p4` for `Tester` |
"""

from importlib.resources import files

__all__ = ["path"]


def path(name: str) -> str:
    """Where an example lies.

    >>> from pathlib import Path
    >>> Path(path("reflector.p4")).name
    'reflector.p4'
    """
    found = files("forebay.examples") / name
    if not found.is_file():
        raise FileNotFoundError(
            f"there is no example {name!r}; there are router.p4, reflector.p4, queue.toml, router_test.toml"
        )
    return str(found)
