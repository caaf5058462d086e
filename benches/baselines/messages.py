"""IoT messages and N-packets as bytes, and the state of aggregation, for the controllers and the plain Python server.

The formats are those of `programs/common/iot.p4` with S = 22:

    message    Ethernet | IPv4 | UDP | flag (0xfa) | payload (16)
    N-packet   Ethernet | IPv4 | UDP | flag (0xfc) | payload 1 | ... | payload N

A *body* is what follows the UDP header. Nothing here does I/O.
"""

import struct

ETHERNET_BYTES = 14
IPV4_BYTES = 20
UDP_BYTES = 8
BODY = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
FLAG_BYTES = 6
PAYLOAD_BYTES = 16
UDP_PORT = 9000
MESSAGE = b"\xfa" + bytes(5)
N_PACKET = b"\xfc" + bytes(5)

ETHERTYPE_IPV4 = b"\x08\x00"
VERSION_AND_LENGTH = 0x45
PROTOCOL_UDP = 17


class Batches:
    """The open batches of all flows."""

    def __init__(self, n):
        self.n = n
        self.open = {}

    def add(self, flow, body):
        """Takes a message's body; returns the body of an N-packet when this message completes one, else None."""
        batch = self.open.setdefault(flow, [])
        batch.append(body[FLAG_BYTES : FLAG_BYTES + PAYLOAD_BYTES])
        if len(batch) < self.n:
            return None
        del self.open[flow]
        return N_PACKET + b"".join(batch)


def split(body):
    """The bodies of an N-packet's messages."""
    return [MESSAGE + body[at : at + PAYLOAD_BYTES] for at in range(FLAG_BYTES, len(body), PAYLOAD_BYTES)]


def is_iot(frame):
    """Whether a frame is a message or an N-packet: UDP over IPv4 without options, to the port of IoT traffic."""
    return (
        len(frame) >= BODY + FLAG_BYTES
        and frame[12:14] == ETHERTYPE_IPV4
        and frame[14] == VERSION_AND_LENGTH
        and frame[23] == PROTOCOL_UDP
        and int.from_bytes(frame[36:38], "big") == UDP_PORT
    )


def body_of(frame):
    """What follows the UDP header of a frame, without padding of Ethernet."""
    return frame[BODY : ETHERNET_BYTES + int.from_bytes(frame[16:18], "big")]


def flow_of(frame):
    """The identity of a flow: type of service, addresses and ports."""
    return frame[15:16] + frame[26:38]


def with_body(frame, body):
    """The frame with another body, lengths and checksums right."""
    udp_bytes = UDP_BYTES + len(body)
    ip = bytearray(frame[ETHERNET_BYTES : ETHERNET_BYTES + IPV4_BYTES])
    ip[2:4] = (IPV4_BYTES + udp_bytes).to_bytes(2, "big")
    ip[10:12] = b"\0\0"
    ip[10:12] = checksum(bytes(ip)).to_bytes(2, "big")
    ports = frame[34:38]
    pseudo_header = frame[26:34] + struct.pack("!BBH", 0, PROTOCOL_UDP, udp_bytes)
    head = ports + struct.pack("!HH", udp_bytes, 0)
    # Zero would mean "no checksum"; its other form in ones' complement is sent.
    udp_checksum = checksum(pseudo_header + head + body) or 0xFFFF
    return b"".join((frame[:ETHERNET_BYTES], ip, ports, struct.pack("!HH", udp_bytes, udp_checksum), body))


def checksum(data):
    """The checksum of the Internet (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
