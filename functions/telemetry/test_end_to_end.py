#!/usr/bin/env python3
"""The demonstration, with what its queries must answer. Needs root, iperf3, ping, curl; InfluxDB where it is
installed."""

import sys

import demo

if __name__ == "__main__":
    demo.beds.arguments().parse_args()
    sys.exit(demo.main(["--once"]))
