#!/usr/bin/env python3
"""Fills fuzz/corpus with the repository's own programs and tests: what the fuzz targets begin from."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
CORPUS = FUZZ / "corpus"

# In the order of the programs in fuzz_targets/packets.rs.
PACKET_PROGRAMS = ["portfwd", "l2fwd", "l3fwd", "iot_aggregate", "iot_disaggregate", "iot_disaggregate"]
SEPARATOR = b"\xa5"

# In the order of the functions in fuzz_targets/function_packets.rs.
FUNCTIONS = ["firewall", "int", "int", "iot_mapping", "l2_switch", "load_balancer", "nat44", "router", "upf"]
FUNCTION_SEPARATOR = b"\xa5\x5a"
FUNCTION_PACKETS = 16


def files(pattern: str, *folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob(pattern))


def write(target: str, name: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def copy(target: str, paths: Iterator[Path]) -> None:
    for path in paths:
        write(target, "-".join(path.relative_to(ROOT).parts), path.read_bytes())


def packets(test: Path) -> Iterator[bytes]:
    """The packets of a test, each behind the number of its port."""
    for line in test.read_text().splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["packet"]:
            yield bytes([int(words[1]) % 256]) + bytes.fromhex("".join(words[2:]))


def seed_packets() -> None:
    for index, program in enumerate(PACKET_PROGRAMS):
        tests = files("*.stf", f"programs/{program}")
        for number, packet in enumerate(packet for test in tests for packet in packets(test)):
            if SEPARATOR not in packet:
                write("packets", f"{index}-{program}-{number}", bytes([index]) + packet)


def seed_function_packets() -> None:
    """The packets of each test together: the later ones meet what the earlier ones have left."""
    for index, function in enumerate(FUNCTIONS):
        for test in files("*.stf", f"functions/{function}"):
            together = [packet for packet in packets(test) if FUNCTION_SEPARATOR not in packet]
            for start in range(0, len(together), FUNCTION_PACKETS):
                some = FUNCTION_SEPARATOR.join(together[start : start + FUNCTION_PACKETS])
                write("function_packets", f"{index}-{test.stem}-{start}", bytes([index]) + some)


def element(kind: int, *content: bytes) -> bytes:
    """An information element of PFCP."""
    value = b"".join(content)
    return kind.to_bytes(2, "big") + len(value).to_bytes(2, "big") + value


def number(kind: int, value: int, octets: int = 4) -> bytes:
    return element(kind, value.to_bytes(octets, "big"))


def pfcp_session() -> bytes:
    """The elements of a Session Establishment Request: two PDRs and FARs, a QER, a URR, a BAR."""
    ue = element(93, bytes([2, 10, 45, 0, 2]))
    sdf = b"permit out 17 from 198.51.100.0/24 53,5000-5010 to assigned 4000"
    sdf_filter = element(23, bytes([1, 0]), len(sdf).to_bytes(2, "big"), sdf)
    refers = element(108, bytes([0, 0, 0, 1])) + number(109, 1) + number(81, 1)
    uplink = element(2, number(20, 0, 1), element(21, bytes([13, 1])), ue, sdf_filter, number(124, 9, 1))
    downlink = element(2, number(20, 1, 1), ue)
    tunnel = element(84, bytes([1, 0, 0, 0, 0x20, 1, 192, 0, 2, 66]))
    volume = bytes([1, 0, 0, 0, 0, 0, 0, 3, 232])
    return b"".join(
        [
            element(60, bytes([0, 192, 0, 2, 2])),
            element(57, bytes([2, 0, 0, 0, 0, 0, 0, 0, 5, 192, 0, 2, 2])),
            element(1, number(56, 1, 2), number(29, 100), uplink, number(95, 0, 1), refers),
            element(1, number(56, 2, 2), number(29, 100), downlink, number(108, 2)),
            element(3, number(108, 1), number(44, 2, 1), element(4, number(42, 1, 1))),
            element(3, number(108, 2), number(44, 0x0C00, 2), number(88, 1, 1), element(4, number(42, 0, 1), tunnel)),
            element(7, number(109, 1), number(25, 0, 1), element(26, bytes(4), b"\x64", bytes(4), b"\x64"), number(124, 9, 1)),
            element(6, number(81, 1), number(62, 3, 1), element(37, b"\x03\x01\x00"), number(64, 1), element(31, volume), element(73, volume)),
            element(85, number(88, 1, 1), number(140, 9, 1)),
        ]
    )  # fmt: skip


def seed_pfcp() -> None:
    """Conversations: the first byte of a datagram chooses the message, as fuzz_targets/pfcp.rs says."""
    node = element(60, bytes([0, 192, 0, 2, 2]))
    tunnel = element(84, bytes([1, 0, 0, 0, 0x20, 2, 192, 0, 2, 67]))
    associate = bytes([0]) + node + number(96, 7)
    establish = bytes([1]) + pfcp_session()
    active = element(10, number(108, 2), number(44, 2, 1), element(11, tunnel, number(49, 2, 1)))
    quota = element(13, number(81, 1), element(73, bytes([1, 0, 0, 0, 0, 0, 0, 9, 0])))
    modify = bytes([2]) + active + quota + element(77, number(81, 1)) + element(9, number(56, 1, 2), number(29, 7))
    remove = bytes([2]) + element(15, number(56, 1, 2)) + element(17, number(81, 1)) + number(49, 5, 1)
    answer = bytes([4]) + number(19, 1, 1) + number(50, 1, 1)
    heartbeat = bytes([5]) + number(96, 7)
    conversations = {
        "whole": [associate, establish, modify, answer, heartbeat, remove, bytes([3])],
        "released": [associate, establish, bytes([7]) + node],
        "raw": [bytes.fromhex("2105000f00000100003c000500c000020200600004"), bytes([0x20]), bytes([0x41, 1, 0, 4, 0, 0, 1, 0])],
    }
    for name, datagrams in conversations.items():
        write("pfcp", name, b"".join(len(one).to_bytes(2, "big") + one for one in datagrams))


def reports() -> Iterator[bytes]:
    """The reports that the tests of functions/int expect, without the headers in front of them. What a test leaves open is zero."""
    headers = 14 + 20 + 8
    for test in files("*.stf", "functions/int"):
        for line in test.read_text().splitlines():
            words = line.split("#")[0].split()
            if words[:2] == ["expect", "9"]:
                frame = bytes.fromhex("".join(words[2:]).replace("*", "0").removesuffix("$"))
                if frame[headers:]:
                    yield frame[headers:]


def seed_reports() -> None:
    for number, report in enumerate(reports()):
        write("telemetry_reports", f"{number}", len(report).to_bytes(2, "big") + report)


def seed_vhost_user() -> None:
    """A guest that offers one buffer in each ring of its first pair of queues, as crates/dataplane/ports/src/vhost/exercise.rs reads it."""
    descriptor, available, carry = 0, 2, bytes([5])

    def offer(ring: int, writable: bool) -> bytes:
        address, length, flags = 0x4000 + ring * 0x800, 0x600, 2 if writable else 0
        words = [word.to_bytes(2, "little") for word in (address, flags)]
        buffer = bytes([1, ring, descriptor, 0]) + b"".join(words) + bytes([0]) + length.to_bytes(2, "little")
        return buffer + bytes([1, ring, available, 2]) + (1).to_bytes(2, "little")

    for kind in range(4):
        ring_sizes = bytes([4] * 4)
        for name, guest in {"receives": offer(0, True), "sends": offer(1, False)}.items():
            write("vhost_user", f"{kind}-{name}", bytes([kind]) + ring_sizes + guest + carry)


def seed_memif() -> None:
    """Peers of both roles that connect, offer a frame or a buffer, and wait, as crates/dataplane/ports/src/memif/exercise.rs reads them."""
    head, tail, carry = 1, 2, bytes([5])

    def position(ring: int, which: int, value: int) -> bytes:
        return bytes([1, ring, which]) + value.to_bytes(2, "little")

    def descriptor(ring: int, place: int, flags: int, length: int, offset: int) -> bytes:
        return bytes([1, ring, 0, place, flags, 0]) + length.to_bytes(2, "little") + offset.to_bytes(2, "little")

    stranger = bytes([0, 1]) + bytes([0, 4] * 4)
    host = bytes([1, 3, 5, 1])
    write("memif", "server-receives", stranger + descriptor(0, 0, 0, 60, 0x4000) + position(0, head, 1) + carry)
    parts = descriptor(0, 0, 1, 60, 0x4000) + descriptor(0, 1, 0, 60, 0x4800)
    write("memif", "server-receives-parts", stranger + parts + position(0, head, 2) + carry)
    write("memif", "server-sends", stranger + descriptor(2, 0, 0, 2048, 0x8000) + position(2, head, 1) + carry)
    write("memif", "client-receives", host + descriptor(2, 0, 0, 60, 0) + position(2, tail, 1) + carry)
    write("memif", "client-sends", host + carry + position(0, tail, 2) + carry)
    write("memif", "messages", bytes([0, 0, 0, 2, 1, 0, 3, 0, 0, 255, 0, 1, 0, 5, 1]))


def seed_ir(forebay: Path) -> None:
    """IR of the STF corpus, and with the graphs of architectures; needs the command, `make build`."""
    with tempfile.TemporaryDirectory() as output:
        for program in files("*.p4", "programs", "tests/stf"):
            command = [forebay, "build", program, "--emit", "pipeline", "-o", output]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                name = "-".join(program.relative_to(ROOT).parts)
                write("ir_text", name, (Path(output) / "ir.txt").read_bytes())
                write("pipeline_text", name, (Path(output) / "pipeline.txt").read_bytes())


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    copy("source_text", files("*.p4", "programs", "tests/stf", "tests/errors"))
    copy("stf_text", files("*.stf", "programs", "tests/stf"))
    copy("ir_text", files("*.ir", "crates"))
    seed_packets()
    seed_function_packets()
    seed_pfcp()
    seed_reports()
    seed_vhost_user()
    seed_memif()
    built = [ROOT / "target" / profile / "forebay" for profile in ("release", "debug")]
    forebay = next((path for path in built if path.is_file()), None)
    if forebay:
        seed_ir(forebay)
    else:
        print("target/release/forebay is not built; the IR of programs is left out", file=sys.stderr)


if __name__ == "__main__":
    main()
