"""Forebay from Python: P4 programs compiled, run on packets, and timed on a model of switch silicon.

| name | what it does |
|---|---|
| `compile` | a P4 program, with what it declares: a `Program` |
| `Switch` | packets in, packets out; tables, counters, registers, meters by P4 name; traces |
| `Batch` | many packets in NumPy arrays |
| `Simulation` | a scenario on the timed model |
| `sweep` | a scenario at many points, by processes or a Dask cluster |
| `Tester` | traffic for a program, a chip or interfaces, every frame measured |
| `experiment` | a published table or figure beside the model |
| `read_results`, `read_departures`, `read_test_results` | what the command has written |
| `forebay.packets` | packets of a program's own headers |
| `forebay.testing` | what tests of programs need; a plugin of pytest |
| `forebay.queueing` | the queueing analysis of packet aggregation and disaggregation in switches |
| `forebay.examples` | small programs and a scenario |
"""

from forebay._batch import Batch, Packet
from forebay._errors import (
    CompileError,
    ControlError,
    EndlessError,
    FileError,
    ForebayError,
    InternalError,
    LoadError,
    ProgramWarning,
    ScenarioError,
    StfError,
    TestError,
)
from forebay._experiment import Report, experiment
from forebay._files import read_departures, read_results, read_test_results
from forebay._native import VERSION as __version__
from forebay._program import Program, compile
from forebay._simulation import Departures, Results, SearchResults, Simulation
from forebay._state import Count, Entry, Group, Member, Rates
from forebay._sweep import Point, Sweep, sweep
from forebay._switch import Books, Digest, Switch, Trace
from forebay._tester import Tester, TestResults
from forebay._values import Masked, Prefix, Range, number

__all__ = [
    "Batch",
    "Books",
    "CompileError",
    "ControlError",
    "Count",
    "Departures",
    "Digest",
    "EndlessError",
    "Entry",
    "FileError",
    "ForebayError",
    "Group",
    "InternalError",
    "LoadError",
    "Masked",
    "Member",
    "Packet",
    "Point",
    "Prefix",
    "Program",
    "ProgramWarning",
    "Range",
    "Rates",
    "Report",
    "Results",
    "ScenarioError",
    "SearchResults",
    "Simulation",
    "StfError",
    "Sweep",
    "Switch",
    "TestError",
    "TestResults",
    "Tester",
    "Trace",
    "__version__",
    "compile",
    "experiment",
    "number",
    "read_departures",
    "read_results",
    "read_test_results",
    "sweep",
]
