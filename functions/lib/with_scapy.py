"""Imported before scapy: says what to do where it is not installed."""

import sys

try:
    import scapy  # noqa: F401
except ModuleNotFoundError:
    raise SystemExit(
        f"scapy is missing: `python3 -m venv env && env/bin/pip install scapy==2.8.0` installs it; then `env/bin/python {sys.argv[0]} ...`"
    ) from None
