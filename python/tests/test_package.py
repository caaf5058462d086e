"""What the package shows of itself: names, documentation, the command."""

import doctest
import inspect
import json
import pkgutil
from pathlib import Path

import pytest

import forebay
import forebay.queueing as queueing
from forebay.queueing.__main__ import main

ROOT = Path(__file__).parent.parent


def test_every_module_says_what_it_exports() -> None:
    modules = list(pkgutil.walk_packages(forebay.__path__, "forebay."))
    assert len(modules) > 20
    for module in modules:
        loaded = __import__(module.name, fromlist=["__all__"])
        assert loaded.__doc__, module.name
        assert all(hasattr(loaded, name) for name in loaded.__all__), module.name


def test_public_names_are_sorted_and_documented() -> None:
    names = [name for name in queueing.__all__ if name[0].islower()]
    assert names == sorted(names)
    for name in names:
        assert inspect.getdoc(getattr(queueing, name)), name


def test_names_of_the_package_are_sorted_and_documented() -> None:
    assert forebay.__all__ == sorted(forebay.__all__)
    for name in set(forebay.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(forebay, name)), name


def test_the_package_is_typed() -> None:
    assert (Path(forebay.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("page", ["README.md", "../README.md", "../docs/python.md"])
def test_the_examples_of_documents_run(page: str) -> None:
    if not (ROOT / page).exists():
        pytest.skip("not in a checkout of the repository")
    tested = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tested.failed == 0 and tested.attempted > 0


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("figures")
    chip = out / "chip-input.csv"
    chip.write_text("n,message_rate,service_rate,service,mean_wait,half_width\n1,1,11,fixed,0.00454545,0.0001\n")
    controllers = out / "controllers-input.csv"
    controllers.write_text("n,arrival_rate,goodput\n1,0.01,0.001\n1,0.02,0.001\n2,0.01,0.0008\n")
    repository = ROOT.parent
    arguments = [
        "figures",
        "--quick",
        "--no-charts",
        "--out",
        str(out),
        "--chip",
        str(chip),
        "--controllers",
        str(controllers),
    ]
    arguments += ["--repository", str(repository)] if (repository / "experiments").exists() else []
    assert main(arguments) == 0
    return out


def test_every_claim_has_its_row(quick: Path) -> None:
    rows = json.loads((quick / "claims.json").read_text())["rows"]
    places = " ".join(row["where"] for row in rows)
    for number in [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16]:
        assert f"({number})" in places, number
    for figure in (7, 9, 10, 12):
        assert f"Figure {figure}" in places
    verdicts = {row["published"][:20]: row["verdict"] for row in rows}
    assert verdicts["X_N = p_N X: 190.54 "] == "does not hold"
    assert all(row["found"] and row["verdict"] for row in rows)


def test_tables_are_written_twice(quick: Path) -> None:
    for name in (
        "figure-7",
        "figure-9",
        "figure-10",
        "figure-12",
        "waits",
        "buffers",
        "equation-5",
        "measured",
        "claims",
    ):
        rows = json.loads((quick / f"{name}.json").read_text())["rows"]
        lines = (quick / f"{name}.csv").read_text().splitlines()
        assert lines[0].split(",") == list(rows[0])
        assert rows
    chip = [row for row in json.loads((quick / "waits.json").read_text())["rows"] if row["chip"] is not None]
    assert [(row["n"], row["delta"]) for row in chip] == [(1, 0.05)]


def test_a_chart_is_the_same_twice(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from forebay.queueing.figures import payload

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        payload.draw(payload.table(), tmp_path / name)
    for kind in ("svg", "pdf"):
        assert (tmp_path / "a" / f"payload.{kind}").read_bytes() == (tmp_path / "b" / f"payload.{kind}").read_bytes()


def test_mistakes_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing.csv")
    assert main(["figures", "--quick", "--no-charts", "--out", str(tmp_path), "--chip", missing]) == 2
    assert "missing.csv" in capsys.readouterr().err
    for command in ("chip", "chip-goodput"):
        earlier = tmp_path / f"{command}.csv"
        earlier.write_text("measured before\n")
        assert main([command, "--forebay", missing, "--out", str(earlier)]) == 2
        assert "missing.csv" in capsys.readouterr().err
        assert earlier.read_text() == "measured before\n"
    with pytest.raises(SystemExit):
        main(["figures"])


def test_the_page_has_the_recorded_claims() -> None:
    page = ROOT.parent / "docs" / "queueing.md"
    if not page.exists():
        pytest.skip("not in a checkout of the repository")
    inside = page.read_text(encoding="utf-8").split("<!-- claims -->\n")[1].split("<!-- end of claims -->")[0]
    assert inside == (page.parent / "queueing" / "claims.md").read_text(encoding="utf-8")
