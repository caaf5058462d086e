#!/usr/bin/env python3
"""Controls iot_aggregate: where aggregated packets go.

    control.py --route PREFIX,MAC,PORT... --mac MAC [-D NAME=VALUE...] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import iot_control

if __name__ == "__main__":
    control.run(iot_control.control_routes("iot_aggregate", __doc__.splitlines()[0]))
