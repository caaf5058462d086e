"""The readings that have arrived, kept through a `kill -9` of the server.

A reading is written to the log, by one system call, before it is acknowledged or taken from its socket. So after a kill
it is either in the log, and a second copy is a duplicate, or its sender or its socket still has it. The log survives
the process, not a power failure.
"""

import os
import struct

RECORD = struct.Struct("<IBI")


class Receipts:
    """Of each sensor, a pair of device and feature: the highest sequence number, and those below it that are
    missing."""

    def __init__(self, path=None):
        self.highest = {}
        self.missing = {}
        self.unique = self.duplicates = 0
        self._log = None
        if path is not None:
            self._read(path)
            self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def _read(self, path):
        """Reads the log; a record that a kill has cut short is removed."""
        if not os.path.exists(path):
            return
        whole = os.path.getsize(path) // RECORD.size * RECORD.size
        os.truncate(path, whole)
        with open(path, "rb") as log:
            while chunk := log.read(RECORD.size << 14):
                for device, feature, sequence in RECORD.iter_unpack(chunk):
                    self._note((device, feature), sequence)
        self.duplicates = 0

    def take(self, readings):
        """Takes readings that came together; returns those that are new, after they are in the log."""
        new = [reading for reading in readings if self._note((reading.device, reading.feature), reading.sequence)]
        if new and self._log is not None:
            records = b"".join(RECORD.pack(reading.device, reading.feature, reading.sequence) for reading in new)
            if os.write(self._log, records) != len(records):
                raise OSError("the log of receipts cannot be written")
        return new

    def _note(self, sensor, sequence):
        """Whether this is the first of its number."""
        highest = self.highest.get(sensor, -1)
        missing = self.missing.get(sensor)
        if sequence > highest:
            if sequence > highest + 1:
                self.missing.setdefault(sensor, set()).update(range(highest + 1, sequence))
            self.highest[sensor] = sequence
        elif missing and sequence in missing:
            missing.remove(sequence)
        else:
            self.duplicates += 1
            return False
        self.unique += 1
        return True

    def announce(self, sensor, count):
        """A sensor has sent `count` readings: those that have not arrived are missing from now on."""
        highest = self.highest.get(sensor, -1)
        if count > highest + 1:
            self.missing.setdefault(sensor, set()).update(range(highest + 1, count))
            self.highest[sensor] = count - 1

    def missing_count(self):
        return sum(map(len, self.missing.values()))

    def missing_ranges(self):
        """Device, feature, first and last sequence number of all that is missing."""
        for (device, feature), missing in sorted(self.missing.items()):
            first = last = None
            for sequence in sorted(missing):
                if last is not None and sequence == last + 1:
                    last = sequence
                    continue
                if last is not None:
                    yield device, feature, first, last
                first = last = sequence
            if last is not None:
                yield device, feature, first, last
