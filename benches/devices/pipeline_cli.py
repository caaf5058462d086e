#!/usr/bin/env python3
"""Reads versions, one a line, writes each to a rule of DPDK's SWX pipeline, and prints `done` when it is committed.

The protocol is the command line of DPDK's example program `pipeline`, which reads entries from files alone. Without a
rule, this fails until the program has opened its command line, which it does when its tables are filled.
"""

import argparse
import json
import pathlib
import socket
import sys

PROMPT = b"pipeline> "


class Switch:
    """A connection to the command line."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answer()

    def commands(self, *commands):
        """Gives commands at once, which have one prompt then; what is printed before it is an error."""
        self.socket.sendall("".join(f"{words}\n" for words in commands).encode())
        if answer := self.answer():
            raise SystemExit(f"the switch refuses {commands}: {answer.decode()}")

    def answer(self):
        """What is printed before the prompt."""
        text = b""
        while not text.endswith(PROMPT):
            part = self.socket.recv(65536)
            if not part:
                raise SystemExit("the switch has closed the connection")
            text += part
        return text.removesuffix(PROMPT)

    def set(self, file, rule, version):
        """Replaces an entry, in one transaction."""
        file.write_text(entry(rule["address"], version, rule["port"]))
        self.commands(f"pipeline PIPELINE table routes add {file}", "pipeline PIPELINE commit")


def entry(address, version, port):
    """A line of a file of entries."""
    return f"match {address:#x} action forward src_addr {version:#x} dst_addr {version:#x} port {port}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int, help="of the program's command line")
    parser.add_argument("--file", type=pathlib.Path, help="for the entry that is written")
    parser.add_argument("--rule", type=json.loads, help="as JSON: address, port")
    options = parser.parse_args()
    switch = Switch(options.port)
    if options.rule is None:
        return
    for line in sys.stdin:
        switch.set(options.file, options.rule, int(line))
        print("done", flush=True)


if __name__ == "__main__":
    main()
