"""The tester in this process."""

import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from forebay import FileError, Simulation, Tester, TestError, TestResults, examples

ROUTER = examples.path("router_test.toml")


def test_a_chip_gives_the_same_results_twice() -> None:
    one, two = (Tester(ROUTER, chip="tofino").run() for _ in range(2))
    assert one == two
    [path] = one.paths
    assert path["stream"] == "to 10.1.0.0/16" and path["received"] == path["expected"] > 3000
    assert one.column("lost").tolist() == [0.0]
    assert 200 < one.column("latency", "p50_ns")[0] < 2000
    assert np.isnan(one.column("nothing")[0])


def test_a_program_in_memory_and_a_wire() -> None:
    for results in (Tester(ROUTER).run(), Tester(ROUTER, wire=True).run()):
        assert results.column("received")[0] == results.column("expected")[0]
    assert "10.1.0.0/16" in str(results) and results.html().startswith("<!doctype html>")


def test_results_are_compared() -> None:
    slow, fast = (Tester(ROUTER, chip=chip).run() for chip in ("tofino", "v1model-ideal"))
    differences = slow.compare(fast)
    latency = [difference for difference in differences if "latency" in str(difference)]
    assert latency and slow.compare(TestResults(slow.text))


def test_a_test_as_an_object() -> None:
    test = {
        "description": "20 frames",
        "duration_s": 0.001,
        "device": {"program": "reflector.p4"},
        "traffic": [{"name": "in", "from": 1, "pps": 20_000, "frame": {"udp": {"bytes": 64}}}],
    }
    results = Tester(test, folder=Path(ROUTER).parent, chip="v1model-ideal").run()
    assert results.column("received").tolist() == [20.0]


def test_mistakes_have_lines(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(Path(ROUTER).read_text().replace("pps =", "ppx ="))
    with pytest.raises(TestError, match=r"wrong\.toml:\d+"):
        Tester(file)
    with pytest.raises(FileError, match=r"cannot read .*nothing\.toml"):
        Tester(tmp_path / "nothing.toml")
    with pytest.raises(ValueError, match="choose one"):
        Tester(ROUTER, wire=True, chip="tofino")
    goal = tmp_path / "goal.toml"
    goal.write_text(Path(ROUTER).read_text().replace('"ndr"', '"best"'))
    with pytest.raises(TestError, match=r"goal\.toml.*best"):
        Tester(goal, folder=Path(ROUTER).parent).search()


def test_a_search_finds_the_highest_load(tmp_path: Path) -> None:
    file = tmp_path / "search.toml"
    text = Path(ROUTER).read_text().replace("max_pps = 20_000_000", "max_pps = 1_000_000")
    file.write_text(text.replace("duration_scale = 0.1", "duration_scale = 0.01"))
    found = Tester(file, folder=Path(ROUTER).parent, chip="v1model-ideal").search()
    [search] = found.data["searches"]
    assert search["is_complete"] and "ndr" in str(found)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_test(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(Path(ROUTER).read_text().replace("duration_s = 0.02", "duration_s = 60.0"))
    tester = Tester(file, folder=Path(ROUTER).parent)
    threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tester.run()
    assert time.monotonic() - begin < 20


def test_departures_are_those_of_the_results() -> None:
    simulation = Simulation(examples.path("queue.toml"), LOAD=30)
    results, frames = simulation.run_with_departures(seed=3)
    assert results == simulation.run(seed=3)
    assert len(frames) == results["outputs.switch:1.frames"] == frames.of("switch:1").sum()
    assert frames.sources == ["in"] and set(frames.bytes.tolist()) == {512}
    assert (np.diff(frames.departed_ps) > 0).all() and (np.diff(frames.sequence) > 0).all()
    warm = (frames.departed_ps >= 50_000_000) & (frames.departed_ps < 400_000_000)
    mean = (frames.departed_ps - frames.arrived_ps)[warm].mean() / 1e3
    assert abs(mean / results["sources.in.latency.mean_ns"] - 1) < 0.01
    with pytest.raises(KeyError, match="switch:1"):
        frames.of("switch:9")
