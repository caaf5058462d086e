#!/usr/bin/env python3
"""`forebay vnf measure` with the traffic of every function and program that has a measure.toml, over a wire. Needs
root.

tester, uplink == veth == downlink, tester

The command runs one file with three loads: the highest rate that is searched for, 200 frames a second, and nine tenths
of what was found. A file that is wrong for one of them (a `min_pps` above 200, for example) makes the command fail
after the search. Frames of two hundred a second may all be late on a machine with other work, so there are three
attempts.
"""

import json
import pathlib
import sys

FUNCTIONS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FUNCTIONS / "lib"))
from bed import FOREBAY, ROOT, Failed, check, main


ATTEMPTS = 3


def measured(tester, name):
    words = [FOREBAY, "vnf", "measure", name, "--functions", FUNCTIONS, "--sizes", "128", "--json"]
    said = tester.run(*words, "--uplink", "uplink", "--downlink", "downlink", check=False, timeout=300)
    answer = json.loads(said[said.find("{") :]) if "{" in said else {}
    if "sizes" not in answer:
        raise Failed(f"vnf measure {name}: {said.strip()[-500:]}")
    return answer["sizes"][0]


def test(bed):
    tester = bed.namespace("tester")
    bed.link(tester, "uplink", tester, "downlink")
    files = [*FUNCTIONS.glob("*/measure.toml"), *(ROOT / "programs").glob("*/measure.toml")]
    for name in sorted(path.parent.name for path in files):
        for _ in range(ATTEMPTS):
            size = measured(tester, name)
            if size["idle"]:
                break
        # How much passes depends on the machine: beside other programs perhaps nothing, even at the lowest rate.
        found = f"{size['pps']:,.0f} frames a second" if size["pps"] else f"no rate, by {size['limited_by']}"
        check(size["idle"], f"vnf measure {name}: all loads can be run ({found})")


if __name__ == "__main__":
    sys.exit(main(test, FOREBAY))
