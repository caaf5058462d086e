#!/usr/bin/env python3
"""The log of control programs: log rotation, files that cannot be written. Needs finsy."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bed import has_finsy


class Log(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "nat.jsonl"

    def events(self, path):
        return [json.loads(line)["event"] for line in path.read_text().splitlines()]

    def test_rotation(self):
        """logrotate gives the file another name, and sends SIGHUP."""
        log = control.Log(self.path)
        log.note("first")
        old = self.path.rename(self.path.with_suffix(".1"))
        log.note("second")
        log.open()
        log.note("third", inside="10.0.0.5")
        self.assertEqual((self.events(old), self.events(self.path)), (["first", "second"], ["third"]))

    def test_a_file_that_cannot_be_opened(self):
        with self.assertRaises(control.forms.Wrong) as caught:
            control.Log(self.path / "nat.jsonl" / "nat.jsonl")
        self.assertIn("No such file", f"{caught.exception}")

    def test_a_full_disk_ends_no_program(self):
        log = control.Log(pathlib.Path("/dev/full"))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            log.note("first")
            log.note("second")
            log.path = self.path
            log.open()
            log.note("third")
        self.assertEqual(said.getvalue().splitlines(), ["/dev/full: No space left on device: events are lost", f"{self.path}: 2 events are lost"])
        self.assertEqual(self.events(self.path), ["third"])

    def test_standard_output(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            control.Log(None).note("first")
        self.assertEqual(json.loads(said.getvalue())["event"], "first")


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    import control

    unittest.main()
