"""Packets: one, and many in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple, SupportsBytes, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Batch", "Packet", "octets"]


MOST_OCTETS = 2**48
"""More than any machine's memory."""


def octets(packet: SupportsBytes) -> bytes:
    """The bytes of a packet: bytes, or what has them as a packet of `forebay.packets` or of scapy has.

    >>> octets(bytearray(b"ab"))
    b'ab'
    >>> octets(2)
    Traceback (most recent call last):
    TypeError: a packet is bytes, or what bytes() makes them of, not int
    """
    if isinstance(packet, bytes | bytearray | memoryview) or hasattr(packet, "__bytes__"):
        return bytes(packet)
    # bytes(2) would be two zeros, and bytes([1, 2]) two bytes.
    raise TypeError(f"a packet is bytes, or what bytes() makes them of, not {type(packet).__name__}")


def array_of(name: str, values: ArrayLike, kind: type[np.generic]) -> NDArray[Any]:
    """One of a batch's arrays as the Rust part reads it: of one dimension and contiguous. Nothing is converted: what has another type is
    rather a mistake.

    >>> array_of("offsets", np.array([0, 2], dtype=">i8"), np.int64)
    Traceback (most recent call last):
    TypeError: offsets of a batch are an array of int64 with one dimension, not of >i8 with 1; offsets.astype('int64') converts it
    """
    array = np.asarray(values)
    wanted = np.dtype(kind)
    if array.dtype == wanted and array.ndim == 1:
        return np.ascontiguousarray(array)
    help = f"; {name}.astype('{wanted}') converts it" if array.ndim == 1 and array.dtype.kind in "iu" else ""
    found = str(array.dtype) if array.dtype.isnative else array.dtype.str
    raise TypeError(
        f"{name} of a batch are an array of {wanted} with one dimension, not of {found} with {array.ndim}{help}"
    )


def arrival_ports(ports: int | ArrayLike, count: int) -> NDArray[np.uint32]:
    """The port of all packets as an array of one element, or the ports of `count` packets.

    >>> arrival_ports(3, 1000), arrival_ports([1, 2], 2)
    (array([3], dtype=uint32), array([1, 2], dtype=uint32))
    """
    each = np.asarray(ports)
    if each.size and each.dtype.kind not in "iu":
        raise TypeError(f"ports are whole numbers, not {each.dtype}")
    if each.size and (each.min() < 0 or each.max() > 0xFFFF_FFFF):
        raise ValueError("ports are numbers from 0 to 4294967295")
    if each.ndim > 1 or (each.ndim == 1 and len(each) != count):
        raise ValueError(
            f"there are {count} packets and ports of shape {each.shape}; give one port, or one for each packet"
        )
    return np.ascontiguousarray(each, dtype=np.uint32).reshape(-1)


class Packet(NamedTuple):
    """A packet at a port."""

    port: int
    """The port's P4 number."""
    data: bytes
    """From the first byte of the outermost header on, without preamble and check sequence."""


@dataclass(frozen=True)
class Batch(Sequence[bytes]):
    """`n` packets one after another in one array, without a Python object for each.

    As a sequence it holds the packets' bytes.

    >>> batch = Batch.of([b"abc", b"defg"], ports=[1, 2])
    >>> len(batch), batch[1], batch.lengths.tolist(), batch.ports.tolist()
    (2, b'defg', [3, 4], [1, 2])
    """

    data: NDArray[np.uint8]
    """The bytes of all packets: shape `(total bytes,)`."""
    offsets: NDArray[np.int64]
    """Packet `i` is `data[offsets[i]:offsets[i + 1]]`: shape `(n + 1,)`, as of Arrow's large binary arrays."""
    ports: NDArray[np.uint32]
    """The port by which each packet arrives or has left: shape `(n,)`."""
    origins: NDArray[np.int64]
    """Of packets that left a switch, the place of the packet in the batch sent of which each was made; otherwise the packet's own
    place: shape `(n,)`. A packet that only releases one of an earlier batch, as an aggregating program does, is its origin; one that
    an earlier batch began has a negative number."""

    @staticmethod
    def of(packets: Iterable[SupportsBytes], ports: int | ArrayLike = 0) -> Batch:
        """Packets given one by one; `ports` is one number for all, or one for each."""
        parts = [octets(packet) for packet in packets]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        data = np.frombuffer(b"".join(parts), dtype=np.uint8)
        return Batch._with(data, offsets, ports)

    @staticmethod
    def of_matrix(matrix: ArrayLike, ports: int | ArrayLike = 0) -> Batch:
        """Packets of one length: a matrix of bytes, a row for each packet, of shape `(n, length)`.

        >>> Batch.of_matrix(np.arange(6, dtype=np.uint8).reshape(3, 2))[2]
        b'\\x04\\x05'
        """
        rows = np.asarray(matrix)
        if rows.ndim != 2 or rows.dtype != np.uint8:
            raise ValueError(f"a matrix of bytes has two dimensions and type uint8, not {rows.ndim} and {rows.dtype}")
        count, length = rows.shape
        offsets = np.arange(count + 1, dtype=np.int64) * length
        return Batch._with(np.ascontiguousarray(rows).reshape(-1), offsets, ports)

    @staticmethod
    def room(packets: int, octets: int) -> Batch:
        """Memory for the results of `Switch.send_batch(..., out=)`: arrays for `packets` packets of `octets` bytes together, with whatever that
        memory held.

        >>> memory = Batch.room(packets=1000, octets=64_000)
        >>> memory.data.shape, memory.offsets.shape, memory.ports.shape
        ((64000,), (1001,), (1000,))
        """
        for name, value in (("packets", packets), ("octets", octets)):
            if not 0 <= index(value) <= MOST_OCTETS:
                raise ValueError(f"{name} = {value} must be at least 0 and at most {MOST_OCTETS}")
        memory = Batch._memory(packets, octets)
        memory.offsets[:] = 0
        return memory

    @staticmethod
    def _memory(packets: int, octets: int) -> Batch:
        return Batch(
            np.empty(octets, dtype=np.uint8),
            np.empty(packets + 1, dtype=np.int64),
            np.empty(packets, dtype=np.uint32),
            np.empty(packets, dtype=np.int64),
        )

    def _followed_by(self, others: Batch) -> Batch:
        """A copy of the packets, followed by others."""
        return Batch(
            np.concatenate((self.data, others.data)),
            np.concatenate((self.offsets, self.offsets[-1] + others.offsets[1:])),
            np.concatenate((self.ports, others.ports)),
            np.concatenate((self.origins, others.origins)),
        )

    @staticmethod
    def _with(data: NDArray[np.uint8], offsets: NDArray[np.int64], ports: int | ArrayLike) -> Batch:
        count = len(offsets) - 1
        all_ports = np.ascontiguousarray(np.broadcast_to(arrival_ports(ports, count), (count,)))
        return Batch(data, offsets, all_ports, np.arange(count, dtype=np.int64))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Bytes of each packet: shape `(n,)`."""
        return np.diff(self.offsets)

    def matrix(self) -> NDArray[np.uint8]:
        """The packets as a matrix of shape `(n, length)`, when all are of one length."""
        lengths = self.lengths
        if len(lengths) and (lengths != lengths[0]).any():
            raise ValueError(f"packets have {lengths.min()} to {lengths.max()} bytes, so they are no matrix")
        length = int(lengths[0]) if len(lengths) else 0
        return self.data[self.offsets[0] : self.offsets[-1]].reshape(len(lengths), length)

    def packets(self) -> Iterator[Packet]:
        """Each packet with its port."""
        for port, data in zip(self.ports.tolist(), self, strict=True):
            yield Packet(port, data)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} packets")
        first = index % len(self)
        return self.data[self.offsets[first] : self.offsets[first + 1]].tobytes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return (
            np.array_equal(self.lengths, other.lengths)
            and np.array_equal(self.ports, other.ports)
            and self.data[self.offsets[0] : self.offsets[-1]].tobytes()
            == other.data[other.offsets[0] : other.offsets[-1]].tobytes()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Batch of {len(self)} packets, {int(self.offsets[-1] - self.offsets[0])} bytes>"
