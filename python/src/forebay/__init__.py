"""Forebay from Python.

`forebay.queueing` is the queueing analysis of packet aggregation and disaggregation in switches.
"""

__all__: list[str] = []
