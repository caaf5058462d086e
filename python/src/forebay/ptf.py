"""What PTF needs of packets, without scapy: `ptf --packet-manipulation-module forebay.ptf`.

Tests build packets from a program's headers, and PTF sends and verifies them as any others:

```python
packet = program.packets.build(ethernet={"dst_addr": "02:00:00:00:00:02", "ether_type": 0x0800}, ipv4={"ttl": 64})
testutils.send_packet(self, 1, packet)
expected = Mask(packet)                                                     # ptf.mask.Mask
expected.set_do_not_care(*packet.place("ipv4", "header_checksum"))
testutils.verify_packets(self, expected, [2])
```

PTF prints packets that differ by their fields. Functions of `ptf.testutils` that build packets of certain protocols, such as `simple_tcp_packet`, need
scapy.
"""

from collections.abc import Iterable
from typing import SupportsBytes

from forebay.packets import PacketValue

__all__ = ["Packet", "hexdump", "ls"]

_ROW_BYTES = 16


class Packet:
    """The class of packets that PTF can read from bytes. Ours are read by the parser of their program, so none is of this class, and PTF
    prints all by `hexdump`."""


def ls(packet: object) -> None:
    """Prints a packet by its fields."""
    print(packet)


def hexdump(packet: SupportsBytes | Iterable[int]) -> None:
    """Prints a packet's bytes; of a packet of `forebay.packets` its fields first.

    >>> hexdump(b"0123456789abcdefgh")
    0000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66
    0010  67 68
    """
    if isinstance(packet, PacketValue):
        print(packet)
    data = bytes(packet)
    for place in range(0, len(data), _ROW_BYTES):
        print(f"{place:04x}  {data[place : place + _ROW_BYTES].hex(' ')}")
