"""Writes STF tests from packets of scapy, for the functions' `make_tests.py`.

    test = Test("source.stf", "What the source does.")
    test.run("add wire standard_metadata.ingress_port:1 to_port(port:2)")
    test.packet(1, frame)
    test.expect(2, other, unknown=[(26, 2)])
    test.write()

scapy computes all lengths and checksums itself, so expected packets do not depend on the program under test.
"""

import argparse
import pathlib
import sys


class Test:
    def __init__(self, path, about, options=""):
        self.path = pathlib.Path(path)
        self.lines = [f"# {line}" for line in about.splitlines()]
        if options:
            self.lines.append(f"# forebay: {options}")

    def say(self, text):
        self.lines += ["", *(f"# {line}" for line in text.splitlines())]

    def run(self, *commands):
        self.lines += commands

    def packet(self, port, frame):
        self.lines.append(f"packet {port} {digits(frame)}")

    def expect(self, port, frame, unknown=()):
        """`unknown`: offset and length of bytes that may have any value."""
        text = digits(frame)
        for offset, length in unknown:
            text = text[: 2 * offset] + "*" * (2 * length) + text[2 * (offset + length) :]
        self.lines.append(f"expect {port} {text} $")

    def through(self, port_in, frame, port_out, other=None, unknown=()):
        """A packet that arrives, and the packet that leaves because of it: the same one without `other`."""
        self.packet(port_in, frame)
        self.expect(port_out, frame if other is None else other, unknown)

    def counter(self, name, index, packets):
        self.lines.append(f"check_counter {name}({index}) packets == {packets}")

    def text(self):
        return "\n".join(self.lines) + "\n"


def write(tests, arguments=None):
    """Writes the tests, or with --check says which of them are not as they would be written."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a test is not as it would be written")
    check = parser.parse_args(arguments).check
    stale = [test.path for test in tests if not test.path.exists() or test.path.read_text() != test.text()]
    if check:
        for path in stale:
            print(f"{path}: not as its maker writes it", file=sys.stderr)
        return 1 if stale else 0
    for test in tests:
        test.path.write_text(test.text())
    return 0


def digits(frame):
    return bytes(frame).hex().upper()
