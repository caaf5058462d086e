"""What the control programs of the functions share: options, the compiled program, a connection in which this controller is primary."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import tempfile

import finsy as fy


def options(about):
    """The options that every control program has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--grpc", default="127.0.0.1:9559", metavar="ADDRESS", help="the switch (127.0.0.1:9559)")
    return parser


def build(program, folder, *defines):
    """Compiles a program; gives the paths of its P4Info and of what the switch executes."""
    words = [os.environ.get("FOREBAY", "forebay"), "build", str(program), "-o", str(folder)]
    for define in defines:
        words += ["-D", define]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pathlib.Path(folder) / "p4info.txtpb", pathlib.Path(folder) / "ir.txt"


@contextlib.asynccontextmanager
async def controlled(program, address, *defines, keep=False):
    """A switch that runs this program, compiled with these macros. Without `keep` all its entries are removed first."""
    with tempfile.TemporaryDirectory() as folder:
        p4info, blob = build(program, folder, *defines)
        settings = fy.SwitchOptions(p4info=p4info, p4blob=blob, fail_fast=True)
        async with fy.Switch(pathlib.Path(program).stem, address, settings) as switch:
            if not keep:
                await switch.delete_all()
            yield switch


def mac(text):
    """A MAC address as a number."""
    return int(text.replace(":", ""), 16)
