"""Memory of earlier results, which the system gives once only."""

from __future__ import annotations

import sys
from collections import deque

from forebay._batch import Batch

__all__ = ["ResultMemory"]

KEPT = 2
"""How many results' memory is kept: in a loop that assigns each result to one name, the one before is in use while the next one is made."""


class ResultMemory:
    """Gives memory for results, and gives it again when nothing refers to what was made of it: not the result, not an array cut from it.

    >>> memory = ResultMemory()
    >>> first = memory.take(packets=10, octets=640)
    >>> memory.keep(first)
    >>> cut = first.data[:3]
    >>> del first
    >>> second = memory.take(packets=10, octets=640)
    >>> second.data is cut.base
    False
    >>> owner = id(cut.base)
    >>> del cut
    >>> id(memory.take(packets=5, octets=320).data) == owner
    True
    """

    def __init__(self) -> None:
        self._kept: deque[Batch] = deque(maxlen=KEPT)

    def take(self, packets: int, octets: int) -> Batch:
        """Unused memory for this number of packets with this number of bytes in all."""
        for _ in range(KEPT):
            try:
                # Taken out first, so that no other thread finds it.
                memory = self._kept.popleft()
            except IndexError:
                break
            if len(memory.ports) >= packets and len(memory.data) >= octets and _references(memory) == _OF_NOBODY:
                return memory
            self._kept.append(memory)
        return Batch._memory(packets, octets)

    def keep(self, memory: Batch) -> None:
        """This may be given again. The memory that was kept first is forgotten when there is more than is kept."""
        self._kept.append(memory)


def _references(memory: Batch) -> list[int]:
    """References to each array. Arrays that are cut from one, and arrays cut from those, refer to it."""
    return [sys.getrefcount(array) for array in (memory.data, memory.offsets, memory.ports, memory.origins)]


_OF_NOBODY = _references(Batch._memory(0, 0))
