#!/usr/bin/env python3
"""What small programs say when they cannot go on: one line, which names what is missing."""

import os
import pathlib
import subprocess
import sys

FUNCTIONS = pathlib.Path(__file__).resolve().parents[1]
ROOT = FUNCTIONS.parent


def without(module):
    """A program that runs the one of its first argument as if the module was not installed."""
    return f"import runpy, sys; sys.modules['{module}'] = None; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def said(*words):
    """The message with which a program ends."""
    environment = {**os.environ, "PYTHONPATH": str(FUNCTIONS / "lib")}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode != 1 or len(done.stderr.splitlines()) != 1:
        raise SystemExit(f"FAILED: {words}: {done.returncode}\n{done.stderr}")
    return done.stderr


def expect(message, part):
    if part not in message:
        raise SystemExit(f"FAILED: `{part}` is not in: {message}")


def main():
    makers = sorted(FUNCTIONS.glob("*/make_tests.py"))
    for script in [FUNCTIONS / "int" / "send.py", FUNCTIONS / "int" / "collect.py", *makers]:
        expect(said("-c", without("scapy"), script), "scapy is missing")
    controls = sorted(ROOT.glob("functions/*/control.py")) + sorted(ROOT.glob("programs/*/control.py"))
    for script in [ROOT / "docs" / "tutorial" / "control.py", *controls]:
        expect(said("-c", without("finsy"), script), "finsy is missing")
    # 192.0.2.1 is an address for documents: no machine has it.
    expect(said(FUNCTIONS / "iot_mapping" / "messages.py", "--bind", "192.0.2.1"), "`ip address`")
    expect(said(FUNCTIONS / "iot_mapping" / "messages.py", "--port", "99999"), "0-65535")
    many = [FUNCTIONS / "load_balancer" / "many_connections.py", "no-such-if", "lo", "--out", "/dev/null"]
    expect(said(*many), "`ip link`")
    unmade = str(FUNCTIONS / "no-such-command")
    expect(said("-c", f"import program; program.executable({unmade!r})"), "`make build`")
    print("  ok: programs that cannot go on say why in a line")


main()
