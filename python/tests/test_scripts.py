"""Scripts of benches/ say how they are used, with --help and without what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"
SCRIPTS = sorted(path for path in BENCHES.rglob("*.py") if path.read_bytes().startswith(b"#!"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.relative_to(BENCHES)))
def test_help(script: Path) -> None:
    said = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, timeout=60)
    if "ModuleNotFoundError" in said.stderr:
        pytest.skip(said.stderr.splitlines()[-1])
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("usage: ")


@pytest.mark.parametrize(
    "words",
    [
        ["iot_platform/bridge.py"],
        ["iot_platform/bridge.py", "127.0.0.1", "127.0.0.1:1883"],
        ["baselines/plain_server.py"],
    ],
)
def test_wrong_arguments(words: list[str]) -> None:
    said = subprocess.run([sys.executable, BENCHES / words[0], *words[1:]], capture_output=True, text=True, timeout=60)
    assert said.returncode == 2
    assert said.stderr.startswith("usage: ")
