"""E_N/M/1: N-packets arrive as an Erlang-N renewal process, service is exponential (the paper's (6) to (10)).

Messages arrive with rate `message_rate` (lambda), so N-packets with lambda / N; `service_rate` (mu_N) counts N-packets.
With V = mu_N / lambda, an arriving N-packet finds k others with probability (1 - x) x^k, where x is the root in (0, 1) of

    x = (1 + V (1 - x))^-N                                                          (7)

(Kleinrock, Queueing Systems 1, 1975, section 6.4). The queue is stable for V > 1 / N.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._check import Array, count, each, non_negative, stable

__all__ = [
    "e_n_m_1_response_time",
    "e_n_m_1_root",
    "e_n_m_1_root_closed_form",
    "e_n_m_1_survival",
    "e_n_m_1_waiting_time",
]

_NEWTON_STEPS_MAX = 100


def e_n_m_1_root(n: int, message_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """The root x of (7), for any N.

    Rates are scalars or arrays that broadcast; the result has their shape, without a unit. Raises `UnstableQueueError`
    for a load of 1 or more, `ValueError` for other bad arguments.

    >>> round(float(e_n_m_1_root(8, 1.0, 0.2)), 6)
    0.409274
    """
    n, arrival, service = stable(n, message_rate, service_rate)
    return each(lambda v: float(np.exp(-n * _decay(n, v))), service / arrival)


def e_n_m_1_root_closed_form(n: int, message_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """The root x of (7) for N = 1, 2, 3, 4 in closed form: 1/V, the paper's (9) and (10), and Ferrari's formula.

    For N = 2 this is (V + 2 - sqrt(V^2 + 4V)) / (2V), written without a difference of nearly equal numbers. The paper says
    that there is no closed form for N > 3; but with u = x^(1/N) (7) has degree N, so N = 4 is a quartic.

    >>> [round(float(e_n_m_1_root_closed_form(n, 1.0, 2.0)), 6) for n in (1, 2, 3, 4)]
    [0.5, 0.133975, 0.04018, 0.012775]
    """
    n = count("n", n, maximum=4)
    n, arrival, service = stable(n, message_rate, service_rate)
    result: Array = {1: _root_1, 2: _root_2, 3: _root_3, 4: _root_4}[n](service / arrival)
    return result


def e_n_m_1_waiting_time(n: int, message_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """Mean waiting time E[t_W] = x / (mu_N (1 - x)), the paper's (6).

    >>> round(float(e_n_m_1_waiting_time(2, 1.0, 2.0)), 6)
    0.07735
    """
    n, arrival, service = stable(n, message_rate, service_rate)
    return each(lambda v, mu: _odds(n, v) / mu, service / arrival, service)


def e_n_m_1_response_time(n: int, message_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """Mean response time E[t_R] = 1 / (mu_N (1 - x)): waiting and service, the paper's (6).

    >>> round(float(e_n_m_1_response_time(2, 1.0, 2.0)), 6)
    0.57735
    """
    n, arrival, service = stable(n, message_rate, service_rate)
    return each(lambda v, mu: (1 + _odds(n, v)) / mu, service / arrival, service)


def e_n_m_1_survival(n: int, message_rate: float, service_rate: float, time: ArrayLike) -> Array:
    """P(t_W > time) = x exp(-mu_N (1 - x) time). `time` has any shape, which is the result's.

    >>> round(float(e_n_m_1_survival(1, 1.0, 2.0, 0.0)), 6)
    0.5
    """
    n, arrival, service = stable(n, message_rate, service_rate)
    time = non_negative("time", time)
    d = _decay(n, float(service / arrival))
    result: Array = np.exp(-n * d + service * np.expm1(-n * d) * time)
    return result


def _root_1(v: Array) -> Array:
    return np.asarray(1 / v)[()]


def _root_2(v: Array) -> Array:
    return np.asarray(2 / (v * (v + 2 + np.sqrt(v * v + 4 * v))))[()]


def _root_3(v: Array) -> Array:
    w = 7 * v + 27 + 3 * np.sqrt(3 * (27 + 14 * v + 3 * v * v))
    c = np.cbrt(w / (2 * v))
    return np.asarray(((c - 1 - 2 / c) / 3) ** 3)[()]


def _root_4(v: Array) -> Array:
    """u^4 + u^3 + u^2 + u = 1/V; y = u + 1/4 gives y^4 + p y^2 + q y + r = 0, which Ferrari's formula solves."""
    p, q, r = 5 / 8, 5 / 8, -51 / 256 - 1 / v
    # The resolvent cubic m^3 + p m^2 + (p^2/4 - r) m - q^2/8 = 0 has one real root, by Cardano's formula.
    third = p * p / 4 - r
    a, b = third - p * p / 3, 2 * p**3 / 27 - p * third / 3 - q * q / 8
    root = np.sqrt(b * b / 4 + a**3 / 27)
    m = np.cbrt(-b / 2 + root) + np.cbrt(-b / 2 - root) - p / 3
    y = (-np.sqrt(2 * m) + np.sqrt(-2 * p - 2 * m + np.sqrt(2 / m) * q)) / 2
    return np.asarray((y - 1 / 4) ** 4)[()]


def _odds(n: int, v: float) -> float:
    """x / (1 - x)."""
    power = -n * _decay(n, v)
    return float(np.exp(power) / -np.expm1(power))


def _decay(n: int, v: float) -> float:
    """d > 0 with x = exp(-N d).

    With u = x^(1/N) = exp(-d), (7) is V (u + u^2 + ... + u^N) = 1. The logarithm of the left side is convex and falling
    in d, so Newton's method from d = 0 approaches the root from the left and never leaves the interval.
    """
    powers = np.arange(1, n + 1)
    d = 0.0
    for _ in range(_NEWTON_STEPS_MAX):
        terms = np.exp(-powers * d + d)
        total = terms.sum()
        step = float((np.log(v) + np.log(total) - d) * total / (powers * terms).sum())
        d += step
        if step <= 1e-15 * d:
            break
    return d
