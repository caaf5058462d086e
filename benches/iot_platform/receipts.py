"""The readings that have arrived, kept through a `kill -9` of the server.

A reading is written to the log, by one system call, before it is acknowledged or taken from its socket. So after a kill
it is either in the log, and a second copy is a duplicate, or its sender or its socket still has it. The log survives
the process, not a power failure.
"""

import bisect
import operator
import os
import struct

RECORD = struct.Struct("<IBI")


class Receipts:
    """Of each sensor, a pair of device and feature: the highest sequence number, and those below it that are
    missing, as ranges, each its first and last number: a number far ahead takes no more memory than the next one."""

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
        records = [
            RECORD.pack(reading.device, reading.feature, reading.sequence)
            for reading in readings
            if self._is_new((reading.device, reading.feature), reading.sequence)
        ]
        if records and self._log is not None:
            self._write(b"".join(records))
        return [reading for reading in readings if self._note((reading.device, reading.feature), reading.sequence)]

    def _write(self, records):
        """Adds to the log all records or, when it has no room for all, none."""
        written = os.write(self._log, records)
        if written != len(records):
            os.ftruncate(self._log, os.fstat(self._log).st_size - written)
            raise OSError("the log of receipts cannot be written")

    def _is_new(self, sensor, sequence):
        return sequence > self.highest.get(sensor, -1) or self._range_with(sensor, sequence) is not None

    def _range_with(self, sensor, sequence):
        """The place of the missing range that has this number; None when it is not missing."""
        ranges = self.missing.get(sensor, ())
        place = bisect.bisect_right(ranges, sequence, key=operator.itemgetter(0)) - 1
        return place if place >= 0 and sequence <= ranges[place][1] else None

    def _note(self, sensor, sequence):
        """Whether this is the first of its number."""
        highest = self.highest.get(sensor, -1)
        if sequence > highest:
            self._miss(sensor, highest + 1, sequence - 1)
            self.highest[sensor] = sequence
        elif (place := self._range_with(sensor, sequence)) is not None:
            ranges = self.missing[sensor]
            first, last = ranges[place]
            parts = ((first, sequence - 1), (sequence + 1, last))
            ranges[place : place + 1] = [(low, high) for low, high in parts if low <= high]
        else:
            self.duplicates += 1
            return False
        self.unique += 1
        return True

    def _miss(self, sensor, first, last):
        """Numbers above all before, if any, are missing."""
        if first > last:
            return
        ranges = self.missing.setdefault(sensor, [])
        if ranges and ranges[-1][1] == first - 1:
            first = ranges.pop()[0]
        ranges.append((first, last))

    def announce(self, sensor, count):
        """A sensor has sent `count` readings: those that have not arrived are missing from now on."""
        highest = self.highest.get(sensor, -1)
        if count > highest + 1:
            self._miss(sensor, highest + 1, count - 1)
            self.highest[sensor] = count - 1

    def missing_count(self):
        return sum(last - first + 1 for ranges in self.missing.values() for first, last in ranges)

    def missing_ranges(self):
        """Device, feature, first and last sequence number of all that is missing."""
        for (device, feature), ranges in sorted(self.missing.items()):
            for first, last in ranges:
                yield device, feature, first, last
