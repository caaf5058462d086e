"""Exceptions have the text that the command prints."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import forebay
from forebay import ForebayError, Simulation, Switch, Tester, compile, examples, experiment
from forebay.testing import run_stf

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
HERE = ("router.p4", "reflector.p4", "queue.toml", "router_test.toml")


def command() -> Path:
    """The executable of the same sources: `$FOREBAY`, or what `make test` has built."""
    given = os.environ.get("FOREBAY")
    found = [path for path in (Path(given) if given else TARGET / "debug" / "forebay",) if path.exists()]
    if not found:
        pytest.skip("there is no executable of forebay; FOREBAY says where it is")
    version = subprocess.run([found[0], "--version"], capture_output=True, text=True, check=True).stdout
    if forebay.__version__ not in version:
        pytest.skip(f"{found[0]} is of another version")
    return found[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in HERE:
        (tmp_path / name).write_text(Path(examples.path(name)).read_text())
    (tmp_path / "wrong.p4").write_text("control c() {\n    apply { counter_valeu = 1; }\n}\n")
    (tmp_path / "entries.stf").write_text("add ipv4_lmp dst_addr:1 drop()\nadd ipv4_lpm dst_addr:1 forward(port:1)\n")
    (tmp_path / "wrong.stf").write_text("pakket 1 00\n")
    (tmp_path / "failing.stf").write_text("packet 1 0102\nexpect 1 0103\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\0")
    queue, test = ((tmp_path / name).read_text() for name in ("queue.toml", "router_test.toml"))
    (tmp_path / "arrivals.toml").write_text(queue.replace('"poisson"', '"poison"').replace("reflector", "missing"))
    (tmp_path / "keys.toml").write_text(queue.replace("duration_us", "duration"))
    (tmp_path / "test.toml").write_text(test.replace("pps =", "ppx ="))
    (tmp_path / "no_program.toml").write_text(test.replace("router.p4", "missing.p4"))
    for name in ("", "folder"):
        (tmp_path / "experiments" / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "experiments" / "folder" / "experiment.toml").write_text("title = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ROUTE = "add ipv4_lpm dst_addr:0x0a000000/8 forward(port:600, mac:1)\n"

CASES: list[tuple[str, Callable[[], object]]] = [
    ("check wrong.p4", lambda: compile("wrong.p4")),
    ("check nothing.p4", lambda: compile("nothing.p4")),
    ("check binary", lambda: compile("binary")),
    ("check experiments", lambda: compile("experiments")),
    ("trace router.p4 --port 1 --hex 00 --entries entries.stf", lambda: Switch("router.p4").apply_file("entries.stf")),
    ("trace router.p4 --port 1 --hex 00 --entries nothing.stf", lambda: Switch("router.p4").apply_file("nothing.stf")),
    ("trace router.p4 --port 1 --hex 00 --entries binary", lambda: Switch("router.p4").apply_file("binary")),
    ("trace router.p4 --port 1 --hex 00 --entries wrong.stf", lambda: Switch("router.p4").apply_file("wrong.stf")),
    ("test reflector.p4 wrong.stf", lambda: run_stf(compile("reflector.p4"), "wrong.stf")),
    ("test reflector.p4 nothing.stf", lambda: run_stf(compile("reflector.p4"), "nothing.stf")),
    ("sim nothing.toml", lambda: Simulation("nothing.toml")),
    ("sim binary", lambda: Simulation("binary")),
    ("sim experiments", lambda: Simulation("experiments")),
    ("sim arrivals.toml", lambda: Simulation("arrivals.toml")),
    ("sim keys.toml", lambda: Simulation("keys.toml")),
    ("sim queue.toml --set LOADS=3", lambda: Simulation("queue.toml", LOADS=3)),
    ("sim queue.toml --set LOAD=fast", lambda: Simulation("queue.toml", LOAD="fast")),
    ("sim queue.toml --set LOAD=-1", lambda: Simulation("queue.toml", LOAD=-1)),
    ("tester run nothing.toml", lambda: Tester("nothing.toml")),
    ("tester run test.toml", lambda: Tester("test.toml")),
    ("tester run no_program.toml", lambda: Tester("no_program.toml")),
    ("tester run router_test.toml --chip tofno", lambda: Tester("router_test.toml", chip="tofno")),
    ("experiment run folder", lambda: experiment("experiments/folder")),
]


@pytest.mark.parametrize(("words", "call"), CASES, ids=[words for words, _ in CASES])
def test_the_text_is_that_of_the_command(folder: Path, words: str, call: Callable[[], object]) -> None:
    done = subprocess.run([command(), *words.split()], capture_output=True, text=True, check=False)
    printed = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    with pytest.raises(ForebayError) as caught:
        call()
    assert done.returncode != 0
    for line in str(caught.value).splitlines():
        assert any(line.strip() in each for each in printed), (line, printed)


def test_a_failing_test_has_the_text_of_the_command(folder: Path) -> None:
    done = subprocess.run(
        [command(), "test", "reflector.p4", "failing.stf"], capture_output=True, text=True, check=False
    )
    printed = [line.strip() for line in done.stdout.splitlines()]
    [failure] = run_stf(compile("reflector.p4"), "failing.stf").failures
    assert done.returncode != 0
    for line in failure.splitlines():
        assert any(line.strip() in each for each in printed), (line, printed)
