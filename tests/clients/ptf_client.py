"""ptf: its own runner sends and checks packets over virtual Ethernet."""

import os
import pathlib
import subprocess
import sys
import tempfile

from testbed import ADDRESS, HERE, Switch, build, expect

PROGRAM = HERE / "entities.p4"


def main():
    switch = Switch(ports=2)
    with tempfile.TemporaryDirectory() as folder:
        environment = {"P4INFO": str(build(PROGRAM, folder)), "PROGRAM": str(PROGRAM), "ADDRESS": ADDRESS}
        words = [sys.executable, str(pathlib.Path(sys.executable).parent / "ptf"), "--test-dir", str(HERE / "ptf_tests")]
        for port, wire in switch.wires.items():
            words += ["--interface", f"{port}@{wire.far}"]
        done = subprocess.run(words, env={**os.environ, **environment}, cwd=folder)
    expect(done.returncode == 0, "ptf's test has passed")


main()
