"""HOST:PORT, as command lines have it."""

import argparse


def host_and_port(text):
    """A type of arguments."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)
