"""The notebooks of docs/notebooks: scripts with cells, executed from top to bottom."""

import runpy
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
NOTEBOOKS = sorted((REPOSITORY / "docs" / "notebooks").glob("*.py"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_REPOSITORY", str(REPOSITORY))
    text = notebook.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    runpy.run_path(str(notebook))


def test_there_are_notebooks() -> None:
    if (REPOSITORY / "docs").is_dir():
        assert len(NOTEBOOKS) == 4
