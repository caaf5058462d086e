"""benches/devices: a process updates the rule of `forebay run` over P4Runtime, and no packet is lost or treated by half
of an update."""

import json
import pathlib
import subprocess
import sys
import tempfile

from testbed import FOREBAY, ROOT, command, expect

UPDATES = 200


def recorded(*words):
    """The record that the measurement writes."""
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "record.json"
        script = [sys.executable, ROOT / "benches/devices/measure.py", "--quick", "--forebay", FOREBAY]
        subprocess.run([*script, *words, "--out", record], check=True)
        return json.loads(record.read_text())


def updates_lose_nothing():
    found = recorded("--only", "memory,forebay", "--parts", "updates")
    for name in ("memory", "forebay"):
        [result] = found[name]["updates"]["updates"]
        expect(result["updates"] == UPDATES, f"{name}: every update was seen")
        faults = {fault: result[fault] for fault in ("lost", "duplicated", "halves", "stale")}
        expect(not any(faults.values()), f"{name}: nothing is lost, doubled or half done: {faults}")


def main():
    command("ip", "link", "set", "lo", "up")
    updates_lose_nothing()


if __name__ == "__main__":
    main()
