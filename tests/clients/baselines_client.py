"""The baselines of benches/baselines: every contender aggregates and disaggregates, and nothing is lost at a low rate.

Then the path over a long link that loses frames: the messages that are missing are those of the frames that the link
has counted. At last the IoT platform behind it, whose broker and server are killed meanwhile: what is lost is what
counters name.
"""

import json
import os
import shutil
import subprocess
import sys

from testbed import FOREBAY, ROOT, expect, skip

CONTENDERS = ("controllers", "python", "c", "forebay")
FAULTS = ("lost", "duplicates", "corrupted", "foreign", "reordered")
N = 4


def record(script, *words):
    """What a script of the baselines prints as JSON."""
    command = [
        sys.executable,
        ROOT / "benches/baselines" / script,
        "--forebay",
        FOREBAY,
        "--json",
        "--seconds",
        "0.5",
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    expect(done.returncode == 0, f"{script} ends well {done.stderr if done.returncode else ''}")
    return json.loads(done.stdout)["points"]


def contenders_lose_nothing():
    points = {
        point["contender"]: point for point in record("measure.py", "--stages", "both", "--n", str(N), "--rates", "200")
    }
    for name in CONTENDERS:
        expect(name in points, f"{name} was measured")
        faults = {fault: points[name][fault] for fault in FAULTS}
        sent = points[name]["sent"]
        expect(sent > 0 and not any(faults.values()), f"{name}: every message arrives once, unchanged: {faults}")


def what_is_missing_was_counted():
    for point in record("iot_path.py", "--quick", "--only", "loss"):
        frames = point["link"]["to_server"]["lost"] + point["link"]["to_server"]["dropped"]
        messages = frames * {"plain": 1, "n8": 8}[point["way"]]
        expect(
            point["lost"] == messages,
            f"{point['way']}: {point['lost']} messages are missing, {frames} frames were lost",
        )
        expect(not any(point[fault] for fault in FAULTS[1:]), f"{point['way']}: nothing is duplicated or changed")


def a_broker_gets_every_message():
    if not shutil.which("mosquitto"):
        skip("mosquitto is not installed")
        return
    for point in record("iot_path.py", "--quick", "--only", "mqtt"):
        if point["way"] == "mqtt" or not point["loss_percent"]:
            faults = {fault: point[fault] for fault in ("lost", "corrupted", "foreign")}
            expect(not any(faults.values()), f"{point['way']}, {point['loss_percent']} % lost: all arrive: {faults}")


def nothing_is_lost_without_a_counter():
    if not shutil.which("mosquitto") or not shutil.which("curl"):
        skip("mosquitto or curl is not installed")
        return
    for way in ("bridge", "server"):
        script = ROOT / "benches/iot_platform/endurance.py"
        words = [
            "--forebay",
            FOREBAY,
            "--way",
            way,
            "--sensors",
            "300",
            "--rate",
            "500",
            "--seconds",
            "25",
            "--loss",
            "1",
        ]
        done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
        expect(
            done.returncode == 0,
            f"{way}: what is lost was counted {(done.stdout + done.stderr) if done.returncode else ''}",
        )
        outcome = json.loads(done.stdout)
        expect(outcome["lost"] > 0, f"{way}: the long link loses readings: {outcome['counted']}")


def main():
    contenders_lose_nothing()
    what_is_missing_was_counted()
    a_broker_gets_every_message()
    nothing_is_lost_without_a_counter()
    left = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    expect(not [name for name in left if name.endswith("-sensors")], "no namespace is left")


if __name__ == "__main__":
    main()
