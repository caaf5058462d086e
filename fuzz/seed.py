#!/usr/bin/env python3
"""Fills fuzz/corpus with the repository's own programs and tests: what the fuzz targets begin from."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
CORPUS = FUZZ / "corpus"

# In the order of the programs in fuzz_targets/packets.rs.
PACKET_PROGRAMS = ["portfwd", "l2fwd", "l3fwd", "iot_aggregate", "iot_disaggregate", "iot_disaggregate"]
SEPARATOR = b"\xa5"


def files(pattern: str, *folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob(pattern))


def write(target: str, name: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def copy(target: str, paths: Iterator[Path]) -> None:
    for path in paths:
        write(target, "-".join(path.relative_to(ROOT).parts), path.read_bytes())


def packets(program: str) -> Iterator[bytes]:
    """The packets of a program's tests, each behind the number of its port."""
    for test in sorted((ROOT / "programs" / program).glob("*.stf")):
        for line in test.read_text().splitlines():
            words = line.split("#")[0].split()
            if words[:1] == ["packet"]:
                yield bytes([int(words[1]) % 256]) + bytes.fromhex("".join(words[2:]))


def seed_packets() -> None:
    for index, program in enumerate(PACKET_PROGRAMS):
        for number, packet in enumerate(packets(program)):
            if SEPARATOR not in packet:
                write("packets", f"{index}-{program}-{number}", bytes([index]) + packet)


def seed_ir(forebay: Path) -> None:
    """IR of the STF corpus, and with the graphs of architectures; needs the command, `make build`."""
    with tempfile.TemporaryDirectory() as output:
        for program in files("*.p4", "programs", "tests/stf"):
            command = [forebay, "build", program, "--emit", "pipeline", "-o", output]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                name = "-".join(program.relative_to(ROOT).parts)
                write("ir_text", name, (Path(output) / "ir.txt").read_bytes())
                write("pipeline_text", name, (Path(output) / "pipeline.txt").read_bytes())


def main() -> None:
    copy("source_text", files("*.p4", "programs", "tests/stf", "tests/errors"))
    copy("stf_text", files("*.stf", "programs", "tests/stf"))
    copy("ir_text", files("*.ir", "crates"))
    seed_packets()
    built = [ROOT / "target" / profile / "forebay" for profile in ("release", "debug")]
    forebay = next((path for path in built if path.is_file()), None)
    if forebay:
        seed_ir(forebay)
    else:
        print("target/release/forebay is not built; the IR of programs is left out", file=sys.stderr)


if __name__ == "__main__":
    main()
