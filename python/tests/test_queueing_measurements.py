"""What the chip and the software switch measure for the figures, and the folders of the experiments."""

import json
from pathlib import Path

import numpy as np
import pytest

from forebay.queueing import GoodputCurve, erlang_cdf, kolmogorov_smirnov, read_distances, read_waits
from forebay.queueing.__main__ import main
from forebay.queueing._chip import ChipRun, chip_departures
from forebay.queueing._switch import switch_departures, switch_service_times, switch_waiting_time
from forebay.queueing.figures import figure_12
from forebay.queueing.figures._table import Table
from forebay.queueing.figures.claims_network import controllers
from forebay.queueing.figures.waits import measured

REPOSITORY = Path(__file__).parents[2]


def distance(gaps: "np.ndarray[tuple[int], np.dtype[np.float64]]", n: int) -> float:
    ordered = np.sort(gaps)
    return kolmogorov_smirnov(ordered, erlang_cdf(n, 1.0, ordered))


def test_service_times_of_the_software_switch() -> None:
    if not (REPOSITORY / "programs").is_dir():
        pytest.skip("not in a checkout of the repository")
    one, eight = (switch_service_times(REPOSITORY, n, 3000) for n in (1, 8))
    assert one.shape == (3000,) and one.min() > 0
    assert np.median(eight) > np.median(one), "eight copies take longer than one"
    with pytest.raises(ValueError, match="n = 9 must be 1 to 8"):
        switch_service_times(REPOSITORY, 9)


@pytest.mark.parametrize(("n", "delta"), [(1, 0.5), (4, 0.1)])
def test_even_service_times_wait_as_the_formula_says(n: int, delta: float) -> None:
    wait = switch_waiting_time(np.full(400_000, 2.0), n, delta)
    assert abs(wait.mean_wait / (2.0 * delta) - 1) < 0.06
    assert wait.half_width is not None and wait.half_width < 0.1 * wait.mean_wait


def test_departures_after_even_service() -> None:
    gaps = switch_departures(np.full(100_000, 3.0), 4, 1.1)
    assert abs(distance(gaps, 4) - 0.0139) < 0.002
    assert distance(switch_departures(np.full(100_000, 3.0), 4, 1.1, "before"), 4) > 0.4
    with pytest.raises(ValueError, match="at least 64 elements"):
        switch_departures(np.ones(3), 4, 1.1)


def test_distances_are_read(tmp_path: Path) -> None:
    file = tmp_path / "distances.csv"
    file.write_text("# what\ngrouping,n,service_rate,packets,distance\nafter,4,1.1,1000,0.0139\n")
    [found] = read_distances(file)
    assert (found.grouping, found.n, found.packets, found.distance) == ("after", 4, 1000, 0.0139)
    file.write_text("grouping,n\nafter,4\n")
    with pytest.raises(ValueError, match="column 'service_rate' is missing"):
        read_distances(file)
    file.write_text("grouping,n,service_rate,packets,distance\nAfter,4,1.1,1000,0.0139\n")
    with pytest.raises(ValueError, match=r"distances.csv:2: grouping = 'After' must be after or before"):
        read_distances(file)


def test_waits_of_another_service_or_without_a_rate_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "waits.csv"
    head = "n,message_rate,service_rate,service,mean_wait,half_width\n"
    file.write_text(f"{head}1,1,2,Exponential,0.5,\n")
    with pytest.raises(ValueError, match=r"waits.csv:2: service = 'Exponential' must be exponential or fixed"):
        read_waits(file)
    file.write_text(f"{head}1,0,2,fixed,0.5,\n")
    with pytest.raises(ValueError, match=r"waits.csv:2: message_rate = 0 must be above 0"):
        read_waits(file)
    file.write_text(f"{head}1,1,20,fixed,0,0.001\n")
    [row] = measured("chip", read_waits(file))
    assert row["half_width_percent"] is None and row["discrepancy_percent"] == -100


def test_a_command_that_is_missing_is_named(tmp_path: Path) -> None:
    run = ChipRun(tmp_path / "missing", REPOSITORY, packets=10)
    with pytest.raises(OSError, match="missing"):
        chip_departures(run, 4, 1.1)
    with pytest.raises(ValueError, match="must be 1 to 8"):
        chip_departures(run, 9, 1.1)


def test_experiments_have_all_columns_in_one_table(tmp_path: Path) -> None:
    (tmp_path / "chip.csv").write_text(
        "grouping,n,service_rate,packets,distance\nafter,5,1.1,1000,0.0139\nbefore,5,1.1,1000,0.49\n"
    )
    (tmp_path / "goodput.csv").write_text("n,arrival_rate,goodput\n1,14.2,1.8\n1,142.1,13.3\n")
    words = [
        "figures",
        "--quick",
        "--no-charts",
        "--out",
        str(tmp_path / "out"),
        "--experiments",
        str(tmp_path / "all"),
    ]
    words += ["--chip-departures", str(tmp_path / "chip.csv"), "--switch-departures", str(tmp_path / "chip.csv")]
    assert main([*words, "--chip-goodput", str(tmp_path / "goodput.csv")]) == 0
    rows = {
        name: json.loads((tmp_path / "all" / f"queueing-{name}" / "result.json").read_text())["rows"]
        for name in ("figure-7", "figure-9", "figure-10", "claims")
    }
    for row in rows["figure-7"]:
        assert {"published", "formula", "simulation", "chip", "switch"} <= set(row)
    assert [row["chip"] for row in rows["figure-7"] if row["chip"] is not None] == [0.0139, 0.49]
    at_line_rate = next(row for row in rows["figure-9"] if row["N"] == 1 and row["arrivals, Mpps"] > 142)
    assert at_line_rate["chip, one place"] == pytest.approx(at_line_rate["formula, one place"], rel=0.01)
    assert any("timed chip" in row["found"] or "timed chip" in row["published"] for row in rows["claims"])
    text = (tmp_path / "all" / "queueing-figure-7" / "result.md").read_text()
    assert "| chip |" in text and "../../out/figure-7.svg" in text
    assert not (tmp_path / "all" / "queueing-figure-12").exists(), "nothing was measured"


def test_controllers_that_let_nothing_through() -> None:
    rates = np.array([0.001, 0.01])
    single, pair = (
        GoodputCurve(1, rates, np.array([0.000128, 0.0005])),
        GoodputCurve(2, rates, np.array([0.000128, 0.0])),
    )
    line_rate = Table("figure-9", "", "", [{"n": 8, "load": 1.0, "one_place": 16.9}])
    claims = controllers({"figure-9": line_rate, "figure-12": figure_12.table({1: single, 2: pair}, {})})
    assert claims[1]["found"] == "at 1 of 1 points where N = 1 lets through less than arrives"
