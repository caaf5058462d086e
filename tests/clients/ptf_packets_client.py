"""ptf with packets of `forebay.packets`, in place of scapy."""

import pathlib
import subprocess
import sys
import tempfile

from forebay import examples
from testbed import HERE, Switch, expect

ENTRIES = "add ipv4_lpm dst_addr:0x0a010000/16 forward(port:2, mac:0x020000000002)\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        entries = pathlib.Path(folder) / "entries.stf"
        entries.write_text(ENTRIES)
        switch = Switch(ports=2, program=examples.path("router.p4"), options=["--entries", str(entries)])
        runner = str(pathlib.Path(sys.executable).parent / "ptf")
        words = [sys.executable, runner, "--test-dir", str(HERE / "ptf_packets"), "-pmm", "forebay.ptf"]
        for port, wire in switch.wires.items():
            words += ["--interface", f"{port}@{wire.far}"]
        done = subprocess.run(words, cwd=folder)
    expect(done.returncode == 0, "ptf's tests have passed without scapy")


main()
