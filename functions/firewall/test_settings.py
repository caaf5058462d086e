#!/usr/bin/env python3
"""What the control program makes of limits of new connections. Needs finsy."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
from bed import has_finsy

TEXT = (HERE / "firewall.toml").read_text()


class Limits(unittest.TestCase):
    def test_no_more_than_the_rule_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "firewall.toml"
            for said in (1, 7, 1000, 3000, 150_000, 600_000, 1_000_000):
                path.write_text(TEXT.replace("connections = 1000\nburst = 2000", f"connections = {said}"))
                actions = [one.action for one in control.Settings(path).entries() if hasattr(one, "action")]
                intervals = [one.args["interval"] for one in actions if one.name == "allow_limited"]
                self.assertEqual(len(intervals), 2, "one for each version of IP")
                self.assertTrue(all(1_000_000 / interval <= said for interval in intervals), f"{said}: {intervals}")


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    import importlib.util

    spec = importlib.util.spec_from_file_location("firewall_control", HERE / "control.py")
    control = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(control)
    unittest.main()
