"""What the control programs share: options, the compiled program, a connection in which this controller is primary."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import tempfile

import finsy as fy

PROGRAMS = pathlib.Path(__file__).resolve().parents[1]


def options(about):
    """The options that every control program has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--grpc", default="127.0.0.1:9559", metavar="ADDRESS", help="the switch (127.0.0.1:9559)")
    return parser


@contextlib.asynccontextmanager
async def controlled(name, address, *defines):
    """A switch that runs the program of this name, compiled with these macros, without any entries."""
    with tempfile.TemporaryDirectory() as folder:
        words = [os.environ.get("FOREBAY", "forebay"), "build", str(PROGRAMS / name / f"{name}.p4"), "-o", folder]
        for define in defines:
            words += ["-D", define]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        built = pathlib.Path(folder)
        settings = fy.SwitchOptions(p4info=built / "p4info.txtpb", p4blob=built / "ir.txt", fail_fast=True)
        async with fy.Switch(name, address, settings) as switch:
            await switch.delete_all()
            yield switch
