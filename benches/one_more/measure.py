"""Packets a second of each program of this folder, beside the same program without its addition.

    python3 benches/one_more/measure.py target/release/forebay [--rounds N] [--out FILE]

1,000 flows of 64 bytes, 1,000 routes, one worker. Programs take turns, ROUNDS times; the table has medians. The `rare_`
programs clone one of 10,000 packets, or send a digest of it. FILE gets the rates of all turns as JSON.
"""

import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from record import circumstances  # noqa: E402

# Program, the program without its addition, and the ratio that is required.
ROWS = [
    ("bridge_counters", "bridge", 0.75),
    ("priority", "base", 0.85),
    ("length", "base", 0.85),
    ("depth", "base", 0.85),
    ("loop", "base", 0.85),
    ("random", "base", 0.7),
    ("egress_register", "base", 0.7),
    ("rare_clone", "base", 0.7),
    ("rare_egress_clone", "base", 0.7),
    ("rare_egress_clone_after_write", "egress_register", 0.7),
    ("rare_digest", "base", 0.7),
    ("every_clone", "base", None),
    ("every_egress_clone", "base", None),
    ("every_digest", "base", None),
    ("psa", "base", 0.7),
    ("psa_egress", "base", 0.7),
]

FLOWS = 1_000
FRAMES_OF_RARE = 10_000


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def routed(flow, identification):
    """A frame of 64 bytes, the frame check sequence included, of a flow."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, identification, 0, 64, 17, 0, address(192, flow), address(10, flow))
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return bytes.fromhex("0200000000fe") + mac(flow) + b"\x08\x00" + header + bytes(26)


def bridged(flow):
    return mac(1 << 16 | flow) + mac(flow) + b"\x08\x00" + bytes(46)


def address(first, flow):
    return bytes([first, flow >> 8, flow & 0xFF, 1])


def mac(number):
    return b"\x02\x00" + struct.pack("!I", number)


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def write_entries(folder):
    router = ["mirroring_add 1 2"]
    bridge = []
    for flow in range(FLOWS):
        router.append(f"add src_mac hdr.ethernet.src_addr:0x{mac(flow).hex()} NoAction()")
        router.append(f"add ipv4_lpm hdr.ipv4.dst_addr:0x{address(10, flow)[:3].hex()}00/24 set_next_hop(next_hop:{flow % 64})")
        bridge.append(f"add src_mac hdr.ethernet.src_addr:0x{mac(flow).hex()} known(port:1)")
        bridge.append(f"add dst_mac hdr.ethernet.dst_addr:0x{mac(1 << 16 | flow).hex()} forward(port:2)")
    for hop in range(64):
        router.append(f"add next_hops meta.next_hop:{hop} forward(src_addr:0x0200000001fe, dst_addr:0x{mac(2 << 16 | hop).hex()}, port:2)")
    (folder / "router.stf").write_text("\n".join(router) + "\n")
    (folder / "bridge.stf").write_text("\n".join(bridge) + "\n")


def write_frames(folder):
    write_pcap(folder / "router.pcap", (routed(flow, 1) for flow in range(FLOWS)))
    write_pcap(folder / "bridge.pcap", (bridged(flow) for flow in range(FLOWS)))
    rare = (routed(number % FLOWS, 0xFFFF if number == 0 else 1) for number in range(FRAMES_OF_RARE))
    write_pcap(folder / "rare.pcap", rare)


def measure(binary, program, folder, rounds):
    """Packets a second of a program, from one run of `forebay bench`."""
    kind = "bridge" if program.startswith("bridge") else "router"
    frames = "rare" if program.startswith("rare") else kind
    command = [
        binary, "bench", FOLDER / f"{program}.p4", "--entries", folder / f"{kind}.stf", "--pcap", folder / f"{frames}.pcap",
        "--rounds", str(rounds), "--json",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", help="target/release/forebay")
    parser.add_argument("--rounds", type=int, default=5, help="how often programs take turns")
    parser.add_argument("--only", help="programs of the table, separated by commas")
    parser.add_argument("--out", type=pathlib.Path, help="write what was measured as JSON")
    arguments = parser.parse_args()
    rows = chosen(arguments.only, parser)
    load, found = os.getloadavg()[0], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_entries(folder)
        write_frames(folder)
        print(f"{'program':<30} {'Mpps':>7} {'without':>8} {'ratio':>6}  wanted")
        for program, without, wanted in rows:
            rates = {program: [], without: []}
            for _ in range(arguments.rounds):
                for each in rates:
                    rates[each].append(rate(measure(arguments.binary, each, folder, 1)))
            one, other = (statistics.median(rates[each]) / 1e6 for each in (program, without))
            bar = "" if wanted is None else f"{wanted:.2f}"
            print(f"{program:<30} {one:>7.1f} {other:>8.1f} {one / other:>6.2f}  {bar}", flush=True)
            found.append({
                "program": program, "without": without, "wanted": wanted, "ratio": round(one / other, 3),
                "packets_per_s": {each: [round(turn) for turn in turns] for each, turns in rates.items()},
            })  # fmt: skip
    if arguments.out:
        record = circumstances(arguments.binary, load) | {"rounds": arguments.rounds, "rows": found}
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


def chosen(names, parser):
    """The rows of these programs; all without names."""
    wanted = names.split(",") if names else [program for program, _, _ in ROWS]
    known = {row[0]: row for row in ROWS}
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in wanted]


def rate(report):
    """Packets a second in the report of one row."""
    return report["rows"][0]["contenders"][0]["received_per_s"]


if __name__ == "__main__":
    main()
