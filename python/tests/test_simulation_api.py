"""Scenarios, experiments and sweeps."""

import errno
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import forebay
from forebay import FileError, ScenarioError, Simulation, examples, experiment, sweep
from forebay._simulation import as_given

QUEUE = examples.path("queue.toml")
REPOSITORY = Path(__file__).parents[2]


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_simulation(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(Path(QUEUE).read_text().replace("duration_us = 400", "duration_us = 60000000"))
    simulation = Simulation(file, folder=Path(QUEUE).parent, LOAD=30)
    threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        simulation.run()
    assert time.monotonic() - begin < 60
    assert Simulation(QUEUE, LOAD=30).run(), "others go on"


def test_a_scenario_as_file_and_as_object() -> None:
    from_file = Simulation(QUEUE, LOAD=30).run()
    scenario = {
        "description": "A queue at 30 Gbps",
        "duration_us": 400,
        "warm_up_us": 50,
        "chip": [
            {
                "name": "switch",
                "spec": "tofino",
                "program": "reflector.p4",
                "port": [{"numbers": [1], "gbps": 50, "queues": [{"capacity_bytes": 20_000}]}],
            }
        ],
        "traffic": [
            {
                "name": "in",
                "to": ["switch:1"],
                "gbps": np.int64(30),
                "arrivals": "poisson",
                "frame": {"udp": {"bytes": 512}},
            }
        ],
        "measure": {"queues": ["switch:1"]},
    }
    from_object = Simulation(scenario, folder=Path(QUEUE).parent).run()
    assert from_file == from_object
    description = 'caf\u00e9 \U0001f600 \x7f "\\ \n'
    odd = Simulation(scenario | {"description": description}, folder=Path(QUEUE).parent).run()
    assert odd.data["description"] == description
    assert from_file["sources.in.sent"] == from_file.data["sources"][0]["sent"]
    with pytest.raises(KeyError, match=r"there are .*mean_ns"):
        from_file["sources.out.latency.mean_ns"]


def test_series_are_arrays(tmp_path: Path) -> None:
    file = tmp_path / "sampled.toml"
    file.write_text(Path(QUEUE).read_text().replace("[measure]", "[measure]\nsample_us = 10"))
    results = Simulation(file, folder=Path(QUEUE).parent).run()
    series = results.series("outputs.switch:1.samples_gbps")
    assert series.shape == (40,) and series.dtype == np.float64


def test_mistakes_have_lines(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(Path(QUEUE).read_text().replace("poisson", "poison").replace("reflector.p4", "missing.p4"))
    with pytest.raises(ScenarioError) as caught:
        Simulation(file)
    assert f"{file}:" in str(caught.value)
    with pytest.raises(FileError, match=r"cannot read .*nothing\.toml"):
        Simulation(tmp_path / "nothing.toml")
    with pytest.raises(ScenarioError, match="LOADS"):
        Simulation(QUEUE, LOADS=3)
    with pytest.raises(ScenarioError, match="3 combinations of values"):
        Simulation(QUEUE, LOAD="1,2,3")
    with pytest.raises(ScenarioError, match="sends nothing"):
        Simulation(QUEUE).run(gbps=0)
    with pytest.raises(ScenarioError, match="the ports take up to 100 Gbps of the first stream"):
        Simulation(QUEUE).run(gbps=101)
    with pytest.raises(ScenarioError, match="the ports take up to 100 Gbps of the first stream"):
        Simulation(QUEUE).run_with_departures(gbps=101)


def test_the_table_is_that_of_the_command() -> None:
    results = Simulation(QUEUE).run()
    table = results.table()
    assert table["measure"][0].startswith("results.")
    assert len(table["measure"]) == len(table["sample"]) == len(table["value"])
    place = list(table["measure"]).index("results.outputs.switch:1.gbps")
    assert table["value"][place] == results["outputs.switch:1.gbps"]


def test_an_experiment() -> None:
    if not (REPOSITORY / "experiments").is_dir():
        pytest.skip("not in a checkout of the repository")
    report = experiment(REPOSITORY / "experiments" / "table-3", quick=True)
    assert len(report.rows) == len(report.column("model"))
    assert np.nanmax(np.abs(report.column("error"))) < 0.2
    assert report.title in report.markdown
    with pytest.raises(FileError, match=r"experiment.toml"):
        experiment(REPOSITORY)


def test_points_come_in_order() -> None:
    found = sweep(QUEUE, {"LOAD": [10, 20]}, seeds=[3, 5], processes=1)
    assert [(point.parameters["LOAD"], point.seed) for point in found.points] == [
        ("10", 3),
        ("10", 5),
        ("20", 3),
        ("20", 5),
    ]
    assert [results.data["seed"] for results in found.results] == [3, 5, 3, 5]
    assert np.allclose(found["sources.in.offered_gbps"], [10, 10, 20, 20], rtol=0.2)
    with pytest.raises(KeyError):
        found["sources.in.nothing"]
    table = found.table()
    assert set(table["LOAD"]) == {10.0, 20.0} and len({len(column) for column in table.values()}) == 1


@pytest.mark.parametrize("name", ["point", "seed", "measure", "sample", "value"])
def test_a_parameter_called_as_a_column_is_in_the_table(name: str, tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(Path(QUEUE).read_text().replace("LOAD", name))
    found = sweep(file, {name: [10, 20]}, folder=Path(QUEUE).parent, seeds=[3], processes=1)
    table = found.table()
    assert set(table[f"parameter_{name}"]) == {10.0, 20.0} and set(table["seed"]) == {3}
    assert table["measure"].dtype == object and set(table["point"]) == {0, 1}
    assert np.array_equal(table["value"], np.concatenate([results.table()["value"] for results in found.results]))


def test_processes_find_the_same(tmp_path: Path) -> None:
    one = sweep(QUEUE, {"LOAD": [10, 20, 30]}, processes=1, out=tmp_path / "one")
    two = sweep(QUEUE, {"LOAD": [10, 20, 30]}, processes=2, out=tmp_path / "two")
    assert [results.text for results in one.results] == [results.text for results in two.results]
    files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("one", "two")]
    assert files[0] == files[1] and len(files[0]) == 3


def test_processes_work_in_the_folder_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(examples.path("reflector.p4")).read_text()
    elsewhere = program.replace("egress_spec = standard_metadata.ingress_port", "egress_spec = 2")
    assert elsewhere != program
    for name, content in (("before", elsewhere), ("now", program)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "queue.toml").write_text(Path(QUEUE).read_text())
        (tmp_path / name / "reflector.p4").write_text(content)
        monkeypatch.chdir(tmp_path / name)
        found = sweep("queue.toml", {"LOAD": [10, 20]}, processes=2)
    assert found.results == sweep(QUEUE, {"LOAD": [10, 20]}, processes=1).results
    sweep("queue.toml", {"LOAD": [10, 20]}, processes=2, out="kept")
    assert len(list((tmp_path / "now" / "kept").iterdir())) == 2


def test_a_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    sweep(QUEUE, {"LOAD": [10]}, processes=1, out=tmp_path)
    [file] = tmp_path.iterdir()
    marked = json.loads(file.read_text()) | {"description": "kept"}
    file.write_text(json.dumps(marked))
    found = sweep(QUEUE, {"LOAD": [10, 20]}, processes=1, out=tmp_path)
    assert [results.data["description"] for results in found.results] == ["kept", "A queue at 20 Gbps"]


@pytest.mark.parametrize("named", ['"program_${LOAD}.p4"', "'program_10.p4'"])
def test_a_changed_file_is_simulated_again(tmp_path: Path, named: str) -> None:
    text = Path(QUEUE).read_text()
    assert '"reflector.p4"' in text
    (tmp_path / "queue.toml").write_text(text.replace('"reflector.p4"', named))
    program = Path(examples.path("reflector.p4")).read_text()
    kept = tmp_path / "kept"
    for number, changed in enumerate((program, program, f"// changed\n{program}"), 1):
        (tmp_path / "program_10.p4").write_text(changed)
        sweep(tmp_path / "queue.toml", {"LOAD": [10]}, processes=1, out=kept)
        assert len(list(kept.iterdir())) == max(1, number - 1)


def test_numbers_of_numpy_are_seeds_and_parameters(tmp_path: Path) -> None:
    for seeds in (np.arange(2), np.int64(2)):
        found = sweep(QUEUE, {"LOAD": np.array([10])}, seeds=seeds, processes=1, out=tmp_path)
        assert found.seeds.tolist() == [0, 1]
    assert as_given({"A": np.bool_(True), "B": False, "C": np.float64(0.5)}) == [
        ("A", "true"),
        ("B", "false"),
        ("C", "0.5"),
    ]


def test_a_point_that_cannot_be_kept_is_a_file_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match=r"cannot write .*no space left"):
        sweep(QUEUE, {"LOAD": [10]}, processes=1, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seeds", [0, -1, []])
def test_a_sweep_of_nothing_is_an_error(seeds: int | list[int]) -> None:
    with pytest.raises(ValueError, match="seeds"):
        sweep(QUEUE, {"LOAD": [10]}, seeds=seeds, processes=1)
    with pytest.raises(ValueError, match="LOAD has no values"):
        sweep(QUEUE, {"LOAD": []}, processes=1)


def loky_workers() -> list[int]:
    """Processes that this one has started to work for joblib."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            command = (process / "cmdline").read_text()
        except OSError:
            continue
        if parent == os.getpid() and "popen_loky_posix" in command:
            found.append(int(process.name))
    return found


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    killed = []

    def kill_a_worker() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not killed:
            if any((tmp_path / "kept").glob("*.json")):
                for worker in loky_workers()[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_a_worker)
    killer.start()
    loads = list(range(5, 45))
    found = sweep(QUEUE, {"LOAD": loads}, processes=2, out=tmp_path / "kept")
    killer.join()
    assert killed
    assert [results.data["description"] for results in found.results] == [f"A queue at {load} Gbps" for load in loads]
    alone = sweep(QUEUE, {"LOAD": loads}, processes=1)
    assert [results.text for results in found.results] == [results.text for results in alone.results]


def test_a_dask_cluster_finds_the_same() -> None:
    distributed = pytest.importorskip("distributed")
    alone = sweep(QUEUE, {"LOAD": [10, 20, 30, 40]}, processes=1)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        together = sweep(QUEUE, {"LOAD": [10, 20, 30, 40]}, dask=cluster.scheduler_address)
    assert [results.text for results in together.results] == [results.text for results in alone.results]


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = sweep(QUEUE, {"LOAD": [10, 20]}, processes=1)
    found.to_parquet(tmp_path / "found.parquet")
    table = parquet.read_table(tmp_path / "found.parquet")
    assert table.column_names == ["point", "seed", "LOAD", "measure", "sample", "value"]
    assert table.num_rows == sum(len(results.table()["value"]) for results in found.results)


def test_the_version_is_that_of_the_wheel() -> None:
    from importlib.metadata import version

    assert forebay.__version__ == version("forebay")
