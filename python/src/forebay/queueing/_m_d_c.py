"""Cyclic M/D/N: N servers that take Poisson arrivals in turn, with fixed service.

Each server sees every N-th arrival, so it is an E_N/D/1 queue, and fixed service makes taking turns the same as taking
the first that is free (Crommelin 1932; Franx, Operations Research Letters 29, 2001). With a = lambda D messages a
service time, everything follows from the N - 1 roots z_k inside the unit disc of z^N = exp(-a (1 - z)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from ._check import Array

__all__ = ["VALUES_MAX", "cyclic_roots", "messages_waiting", "waiting_time_by_roots"]

VALUES_MAX = 1 << 20
"""Longest distribution of a number in queue; the load at which it is reached is about 1 - 2e-5."""


def cyclic_roots(n: int, a: float) -> NDArray[np.complex128]:
    """z_1 ... z_(N-1), by the principal branch of Lambert's W: z_k = -W(-rho w_k exp(-rho)) / rho with w_k^N = 1."""
    load = a / n
    unity = np.exp(2j * np.pi * np.arange(1, n) / n)
    return np.asarray(-lambertw(-load * unity * np.exp(-load)) / load, dtype=np.complex128)


def waiting_time_by_roots(n: int, a: float) -> float:
    """Mean wait over service time: (a / (2 (N - a)) - a/2 - (N - 1)/2 + sum of 1 / (1 - z_k)) / a."""
    total = float((1 / (1 - cyclic_roots(n, a))).sum().real)
    return (a / (2 * (n - a)) - a / 2 - (n - 1) / 2 + total) / a


def messages_waiting(n: int, a: float) -> Array:
    """Stationary probabilities of 0, 1, 2, ... messages that wait in M/D/N, as far as 1e-15.

    The generating function (N - a) (z - 1) / (z^N - exp(-a (1 - z))) times the product of (z - z_k) / (1 - z_k) is
    inverted by a Fourier transform on the unit circle, long enough that what wraps around is negligible.
    """
    length = _transform_length(n, a)
    z = np.exp(-2j * np.pi * np.arange(1, length) / length)
    values = (n - a) * (z - 1) / (z**n - np.exp(-a * (1 - z)))
    for root in cyclic_roots(n, a):
        values *= (z - root) / (1 - root)
    probabilities = np.fft.ifft(np.concatenate(([1.0 + 0j], values))).real
    probabilities = np.where(probabilities > 1e-15, probabilities, 0.0)
    last = int(np.flatnonzero(probabilities)[-1])
    result: Array = probabilities[: last + 1] / probabilities.sum()
    return result


def _transform_length(n: int, a: float) -> int:
    """The tail falls like tau^-k, where tau > 1 solves tau^N = exp(a (tau - 1)): -W_-1(-rho exp(-rho)) / rho."""
    load = a / n
    tau = float(-lambertw(-load * np.exp(-load), -1).real / load)
    # Very near to load 1 tau is 1, or no number, by rounding.
    needed = 16 * n + 40 / np.log(tau) if tau > 1 else np.inf
    if not needed <= VALUES_MAX:
        raise ValueError(f"load = {load:.9g} must be farther below 1: the number in queue has over {VALUES_MAX} values")
    return 1 << int(np.ceil(np.log2(needed)))
