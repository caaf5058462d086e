"""Instructions per packet: see README.md.

usage: count.py PROGRAM ENTRIES [--account BINARY]
       count.py FILE.p4 STF,PCAP [--account BINARY]
"""

import argparse
import collections
import pathlib
import re
import subprocess
import tempfile

BURSTS = (200, 20200)
PACKETS = 64 * (BURSTS[1] - BURSTS[0])
CONTENDERS = ("jit", "hand-written", "harness")
# Functions and instructions that are executed less often for a packet are not listed.
SELDOM = 0.05

NAME = re.compile(r"(c?fn)=\((\d+)\)(?: (.*))?")
COST = re.compile(r"(0x[0-9a-f]+|[+-]\d+|\*) \S+ (\d+)")
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(.*)")


class Profile:
    """Callgrind's counts: instructions by function and by address."""

    def __init__(self, path):
        self.functions = collections.Counter()
        self.addresses = collections.Counter()
        names, function, address, is_call = {}, None, 0, False
        for line in open(path):
            if match := NAME.match(line):
                kind, number, name = match.groups()
                names.setdefault(number, name)
                if kind == "fn":
                    function = number
            elif line.startswith("calls="):
                is_call = True
            elif match := COST.match(line):
                place, cost = match.groups()
                if place != "*":
                    address = int(place, 0) + (address if place[0] in "+-" else 0)
                # The line after a call has the cost of the callee, which is counted there.
                if not is_call:
                    self.functions[function] += int(cost)
                    self.addresses[address] += int(cost)
                is_call = False
        self.functions = collections.Counter({names[number]: cost for number, cost in self.functions.items()})


def run(account, program, entries, contender, bursts, folder):
    """A profile, and the address of the machine code."""
    profile = folder / f"{contender}.{bursts}"
    command = ["valgrind", "--tool=callgrind", "--smc-check=all-non-file", "--dump-instr=yes"]
    command += [f"--callgrind-out-file={profile}", account, program, entries, contender, str(bursts), folder / "code"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    address = re.search(r"code at (0x[0-9a-f]+)", done.stdout)
    return Profile(profile), int(address[1], 0) if address else 0


def listing(code, address, first, last):
    """The instructions of the machine code with how often a packet executes each."""
    command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", code]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if match := INSTRUCTION.match(line):
            place = address + int(match[1], 16)
            often = (last.addresses[place] - first.addresses[place]) / PACKETS
            if often > SELDOM:
                yield f"{often:6.2f}  {match[1]:>5}  {match[2]}"


def main():
    parser = argparse.ArgumentParser(description="Instructions per packet, by valgrind's callgrind.")
    parser.add_argument("program")
    parser.add_argument("entries")
    parser.add_argument("--account", default="target/release/examples/account", help="the built example")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        is_own = arguments.program.endswith(".p4")
        for contender in [name for name in CONTENDERS if name != "hand-written" or not is_own]:
            runs = [run(arguments.account, arguments.program, arguments.entries, contender, n, folder) for n in BURSTS]
            (first, _), (last, address) = runs
            # Code that was generated has no name, only an address.
            by_function = collections.Counter()
            for name, cost in last.functions.items():
                name_shown = "machine code" if name.startswith("0x") else name
                by_function[name_shown] += (cost - first.functions[name]) / PACKETS
            print(f"{contender}: {sum(by_function.values()):.0f} instructions a packet")
            if contender == "jit":
                for name, cost in by_function.most_common():
                    if cost > 1:
                        print(f"{cost:8.1f}  {name}")
                print("\n".join(listing(folder / "code", address, first, last)))


if __name__ == "__main__":
    main()
