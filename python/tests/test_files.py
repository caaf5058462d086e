"""Files of the command, read."""

import json
from pathlib import Path

import numpy as np
import pytest

from forebay import (
    FileError,
    SearchResults,
    Simulation,
    Tester,
    examples,
    read_departures,
    read_results,
    read_test_results,
)

QUEUE = examples.path("queue.toml")


def test_results_by_case(tmp_path: Path) -> None:
    one, other = Simulation(QUEUE, LOAD=10).run(), Simulation(QUEUE).find_max()
    file = tmp_path / "results.json"
    cases = [{"case": "LOAD=10", "results": one.data}, {"case": "LOAD=20", "search": other.data}]
    file.write_text(json.dumps(cases, indent=2))
    found = read_results(file)
    assert list(found) == ["LOAD=10", "LOAD=20"]
    assert found["LOAD=10"].data == one.data and found["LOAD=10"]["sources.in.sent"] == one["sources.in.sent"]
    assert isinstance(found["LOAD=20"], SearchResults) and found["LOAD=20"].max_gbps == other.max_gbps


DEPARTURES = """case,port,source,sequence,arrived_ps,departed_ps,bytes
N=2,b:2,in,0,5,10,64
N=2,b:3,,0,,11,64
N=4,b:3,in,7,6,12,100
"""


def test_departures_by_case(tmp_path: Path) -> None:
    (tmp_path / "departures.csv").write_text(DEPARTURES)
    found = read_departures(tmp_path / "departures.csv")
    two, four = found["N=2"], found["N=4"]
    assert (two.ports, two.sources, two.source.tolist()) == (["b:2", "b:3"], ["in"], [0, -1])
    assert two.arrived_ps.tolist() == [5, -1] and two.of("b:3").tolist() == [False, True]
    assert (four.ports, four.departed_ps.tolist(), four.bytes.tolist()) == (["b:3"], [12], [100])
    assert four.departed_ps.dtype == np.int64


@pytest.mark.parametrize(
    "content",
    [
        "",
        DEPARTURES.replace("bytes", "octets"),
        DEPARTURES.replace(",12,100\n", ",12"),
        DEPARTURES.replace(",12,100", ",,100"),
        DEPARTURES.replace(",12,100", f",{2**63},100"),
        DEPARTURES.replace("b:2", "b" * 200_000),
    ],
    ids=["empty", "another column", "cut", "no time", "too large", "too long"],
)
def test_departures_that_are_damaged(tmp_path: Path, content: str) -> None:
    file = tmp_path / "departures.csv"
    file.write_text(content)
    with pytest.raises(FileError, match=r"departures\.csv has no departures of `forebay sim`"):
        read_departures(file)


def test_departures_in_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"case": ["", ""], "port": ["b:2", "b:2"], "source": ["in", None], "sequence": [0, 1]}
    columns |= {"arrived_ps": [3, None], "departed_ps": [4, 5], "bytes": [64, 64]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "departures.parquet")
    [found] = read_departures(tmp_path / "departures.parquet").values()
    assert (found.source.tolist(), found.arrived_ps.tolist()) == ([0, -1], [3, -1])


def test_results_of_the_tester(tmp_path: Path) -> None:
    measured = Tester(examples.path("router_test.toml"), chip="v1model-ideal").run()
    (tmp_path / "test.json").write_text(json.dumps(measured.data, indent=1))
    assert read_test_results(tmp_path / "test.json").data == measured.data


@pytest.mark.parametrize("read", [read_results, read_test_results, read_departures])
@pytest.mark.parametrize(
    "content", [None, "[1]", "{}", "nothing", '[{"results": 5}]', '{"format": "forebay-tester/1"}']
)
def test_other_files_are_refused(tmp_path: Path, read: object, content: str | None) -> None:
    file = tmp_path / ("x.csv" if read is read_departures else "x.json")
    if content is not None:
        file.write_text(content + "\n1\n")
    with pytest.raises(FileError, match=r"x\.(csv|json)"):
        read(file)  # type: ignore[operator]
