"""INT 2.1 and Telemetry Report 2.0 as layers of scapy.

    from int_scapy import IntShim, IntMD, IntMX, TelemetryReport, Report

`bind(int_port, report_port)` makes scapy dissect UDP of these ports. A report's packet, `report.inner`, is dissected
from its first header on, with the INT stack that a sink has left in it.
"""

from scapy.fields import (
    BitField,
    ByteField,
    FieldLenField,
    IntField,
    PacketListField,
    ShortField,
    StrLenField,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6Unknown, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers

__all__ = [
    "INSTRUCTIONS",
    "IntMD",
    "IntMX",
    "IntShim",
    "Report",
    "TelemetryReport",
    "bind",
    "hop_count",
    "hop_words",
    "hops",
    "metadata",
]

# The largest length of a report, which has another meaning, and words that no datagram has.
REPORT_LENGTH_MAX, LENGTH_MAX = 255, 1 << 14

TYPE_MD, TYPE_DESTINATION, TYPE_MX = 1, 2, 3
NPT_UDP, NPT_IP = 1, 2

# Bit of the instruction bitmap, name, words of 4 bytes. Bit 0 is the most significant one.
INSTRUCTIONS = (
    (0, "node_id", 1),
    (1, "ports", 1),
    (2, "hop_latency", 1),
    (3, "queue", 1),
    (4, "ingress_time", 2),
    (5, "egress_time", 2),
    (6, "level2_ports", 2),
    (7, "tx_utilization", 1),
    (8, "buffer", 1),
    (15, "checksum_complement", 1),
)
# In a report bit 15 is the drop reason, and bit 0 is reserved.
REPORT_BITS = tuple(one for one in INSTRUCTIONS if one[0] not in (0, 15)) + ((15, "drop", 1),)


def hop_words(instructions):
    """The words that an instruction bitmap requests from each hop."""
    return sum(words for bit, _, words in INSTRUCTIONS if instructions >> (15 - bit) & 1)


def metadata(bits, data, names=INSTRUCTIONS):
    """The values of a bitmap at the beginning of `data`: name -> number."""
    values, at = {}, 0
    for bit, name, words in names:
        if bits >> (15 - bit) & 1:
            values[name] = int.from_bytes(data[at : at + 4 * words], "big")
            at += 4 * words
    return values


def hops(md):
    """The metadata of each hop in a stack, the latest first; of one that a report has cut off, those that are whole."""
    size = 4 * md.hop_ml
    if size == 0:
        return []
    return [metadata(md.instructions, md.stack[at : at + size]) for at in range(0, len(md.stack) - size + 1, size)]


def hop_count(md):
    """The hops that a stack has by the length in its shim header, those included that a report has cut off."""
    return md.stack_bytes() // (4 * md.hop_ml) if md.hop_ml else 0


class IntShim(Packet):
    """The shim header for TCP and UDP. `next_protocol` is the original UDP port (NPT 1) or the IP protocol (NPT 2); a field
    must not be called `original`, which is an attribute of every packet of scapy."""

    name = "INT shim"
    fields_desc = [
        BitField("type", TYPE_MD, 4),
        BitField("npt", NPT_UDP, 2),
        BitField("reserved", 0, 2),
        ByteField("length", None),
        ShortField("next_protocol", 0),
    ]

    def post_build(self, packet, payload):
        if self.length is None:
            words = 3 + len(self.payload.stack) // 4 if isinstance(self.payload, (IntMD, IntMX)) else 3
            packet = packet[:1] + bytes([words]) + packet[2:]
        return packet + payload

    def guess_payload_class(self, payload):
        return {TYPE_MD: IntMD, TYPE_MX: IntMX}.get(self.type, Raw)


class _Header(Packet):
    """The common part of INT-MD and INT-MX."""

    def stack_bytes(self):
        shim = self.underlayer
        return max(4 * (shim.length - 3), 0) if isinstance(shim, IntShim) and shim.length is not None else 0

    def guess_payload_class(self, payload):
        shim = self.underlayer
        if isinstance(shim, IntShim) and shim.npt == NPT_IP:
            return {1: ICMP, 6: TCP, 17: UDP, 58: ICMPv6Unknown}.get(shim.next_protocol & 0xFF, Raw)
        return Raw


class IntMD(_Header):
    name = "INT-MD"
    fields_desc = [
        BitField("version", 2, 4),
        BitField("discard", 0, 1),
        BitField("hops_exceeded", 0, 1),
        BitField("mtu_exceeded", 0, 1),
        BitField("reserved", 0, 12),
        BitField("hop_ml", 0, 5),
        ByteField("remaining_hops", 0),
        ShortField("instructions", 0),
        ShortField("domain_id", 0),
        ShortField("ds_instructions", 0),
        ShortField("ds_flags", 0),
        StrLenField("stack", b"", length_from=lambda header: header.stack_bytes()),
    ]


class IntMX(_Header):
    name = "INT-MX"
    fields_desc = [
        BitField("version", 2, 4),
        BitField("discard", 0, 1),
        BitField("reserved", 0, 27),
        ShortField("instructions", 0),
        ShortField("domain_id", 0),
        ShortField("ds_instructions", 0),
        ShortField("ds_flags", 0),
        StrLenField("stack", b"", length_from=lambda header: header.stack_bytes()),
    ]


class Report(Packet):
    """An individual report of type INT."""

    name = "Telemetry Report, individual"
    fields_desc = [
        BitField("rep_type", 1, 4),
        BitField("in_type", 3, 4),
        ByteField("report_length", None),
        FieldLenField("md_length", None, length_of="metadata", fmt="B", adjust=lambda _, size: size // 4),
        BitField("dropped", 0, 1),
        BitField("congested", 0, 1),
        BitField("tracked", 1, 1),
        BitField("intermediate", 0, 1),
        BitField("reserved", 0, 4),
        ShortField("md_bits", 0),
        ShortField("domain_id", 0),
        ShortField("ds_md_bits", 0),
        ShortField("ds_md_status", 0),
        StrLenField("metadata", b"", length_from=lambda report: 4 * report.md_length),
        StrLenField("data", b"", length_from=lambda report: report.data_bytes()),
    ]

    def data_bytes(self):
        """The bytes of the packet, of a report whose length is known. The largest length stands for all that do not fit:
        such a report goes to the end of its datagram. One that is less than that of the headers leaves none."""
        words = LENGTH_MAX if self.report_length == REPORT_LENGTH_MAX else self.report_length
        return max(0, 4 * (words - 2 - self.md_length))

    def post_build(self, packet, payload):
        if self.report_length is None:
            packet = packet[:1] + bytes([min(len(packet) // 4 - 1, REPORT_LENGTH_MAX)]) + packet[2:]
        return packet + payload

    def extract_padding(self, data):
        return b"", data

    @property
    def values(self):
        """This node's metadata: name -> number."""
        return metadata(self.md_bits, self.metadata, REPORT_BITS)

    @property
    def inner(self):
        """The reported packet; its inner type says with which header it begins."""
        return {4: IP, 5: IPv6}.get(self.in_type, Ether)(self.data)


class TelemetryReport(Packet):
    """The group header, and the reports that follow."""

    name = "Telemetry Report"
    fields_desc = [
        BitField("version", 2, 4),
        BitField("hw_id", 0, 6),
        BitField("sequence_number", 0, 22),
        IntField("node_id", 0),
        PacketListField("reports", [], Report),
    ]


def bind(int_port=32766, report_port=32768):
    """Makes scapy dissect datagrams to these UDP ports."""
    bind_layers(UDP, IntShim, dport=int_port)
    bind_layers(UDP, TelemetryReport, dport=report_port)
