"""What the control programs share: options, the compiled program, a connection in which this controller is primary, and what is
said when something goes wrong."""

import argparse
import asyncio
import contextlib
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import finsy as fy
    import finsy.p4client
    from finsy.switch import SwitchFailFastError
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: `python3 -m venv env && env/bin/pip install finsy==0.30` installs it; then `env/bin/python {sys.argv[0]} ...`"
    ) from None

PROGRAMS = pathlib.Path(__file__).resolve().parents[1]
# The most that a call may take. finsy gives ten seconds, which a busy machine may need to compile a large program.
CALL_SECONDS = 600
finsy.p4client._DEFAULT_RPC_TIMEOUT = CALL_SECONDS


def options(about):
    """The options that every control program has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--grpc", default="127.0.0.1:9559", metavar="ADDRESS", help="the switch (127.0.0.1:9559)")
    return parser


def ports(text):
    """Ports with commas between."""
    return [int(port) for port in text.split(",")]


def add_recirculation_ports(parser):
    """The option of programs whose packets take one of several recirculation ports at random."""
    help = "through which packets come round; 1, 2, 4, ... of them"
    parser.add_argument("--recirculation-port", type=int, action="append", metavar="PORT", help=help)


def port_bits(arguments):
    """The macro that says how many recirculation ports there are."""
    ports = arguments.recirculation_port or [0]
    bits = len(ports).bit_length() - 1
    if len(ports) != 1 << bits:
        raise SystemExit(f"{len(ports)} recirculation ports: give a power of two of them")
    return [f"PORT_BITS={bits}"]


def recirculation_ports(arguments):
    """Their entries. A software switch recirculates without a port."""
    for choice, port in enumerate(arguments.recirculation_port or [0]):
        yield fy.P4TableEntry("recirculation_ports", match=fy.Match(choice=choice), action=fy.Action("send", port=port))


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


def run(program):
    """Runs a control program. An error of the switch, of a value on the command line or of the command `forebay` is printed as one
    line."""
    # What finsy logs besides are tracebacks of the same errors.
    logging.getLogger("finsy").setLevel(logging.CRITICAL + 1)
    try:
        asyncio.run(program)
    except KeyboardInterrupt:
        pass
    except FileNotFoundError as error:
        raise SystemExit(f"{error.filename}: no such file or command; forebay must be in the PATH, or named by $FOREBAY") from None
    except subprocess.CalledProcessError:
        raise SystemExit("the program cannot be compiled") from None
    except fy.P4ClientError as error:
        raise SystemExit(said_of(error)) from None
    except SwitchFailFastError as error:
        raise SystemExit(f"the connection fails: {error.__context__}") from None
    except ValueError as error:
        raise SystemExit(f"{error}") from None


def said_of(error):
    """The error of a switch, or the reason why none has answered."""
    if error.code == fy.GRPCStatusCode.UNAVAILABLE:
        return f"no switch answers: {error.message}; `forebay run ... --grpc` serves controllers at port 9559, --grpc names another address"
    details = [one.message for one in error.details.values()]
    return f"the switch refuses: {'; '.join(details[:3]) or error.message}"
