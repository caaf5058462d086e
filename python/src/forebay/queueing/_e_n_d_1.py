"""E_N/D/1: N-packets arrive as an Erlang-N renewal process, service takes a fixed time (the switch itself).

Rates as in E_N/M/1: `message_rate` counts messages, `service_rate` N-packets. Two independent exact ways to the mean wait:

* Spitzer's identity (Transactions AMS 82, 1956): the sum over k of E[(kD - A_k)^+] / k, where A_k, the time in which kN
  messages come, is Erlang-kN. All terms are positive, so it is accurate at any load, but long near load 1.
* The roots of cyclic M/D/N: a closed form of N - 1 terms, accurate near load 1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaln

from ._check import Array, choice, each, non_negative, stable
from ._m_d_c import messages_waiting, waiting_time_by_roots

__all__ = ["e_n_d_1_survival", "e_n_d_1_waiting_time"]

# Above this load the sum takes more than a few hundred terms.
_SPITZER_LOAD_MAX = 0.8
_FIRST_CHUNK, _LAST_CHUNK = 256, 1 << 18
_TERMS_MAX = 10_000_000


def e_n_d_1_waiting_time(
    n: int, message_rate: ArrayLike, service_rate: ArrayLike, method: Literal["auto", "spitzer", "roots"] = "auto"
) -> Array:
    """Mean waiting time of E_N/D/1.

    Rates are scalars or arrays that broadcast; the result has their shape, in the unit of time of the rates. `method`
    chooses the way; "auto" takes Spitzer's sum below a load of 0.8, else the roots. Raises `UnstableQueueError` for a
    load of 1 or more, `ValueError` for other bad arguments and for "spitzer" where it has over ten million terms.

    >>> round(float(e_n_d_1_waiting_time(1, 1.0, 2.0)), 6)       # M/D/1
    0.25
    >>> [round(float(e_n_d_1_waiting_time(8, 1.0, 0.15, m)), 9) for m in ("spitzer", "roots")]
    [1.397156274, 1.397156274]
    """
    n, arrival, service = stable(n, message_rate, service_rate)
    choice("method", method, ("auto", "spitzer", "roots"))

    def wait(rate: float, mu: float) -> float:
        sum_wanted = method == "spitzer" or (method == "auto" and rate / (n * mu) < _SPITZER_LOAD_MAX)
        return (_spitzer if sum_wanted else waiting_time_by_roots)(n, rate / mu) / mu

    return each(wait, arrival, service)


def e_n_d_1_survival(n: int, message_rate: float, service_rate: float, time: ArrayLike) -> Array:
    """P(t_W > time), by the formula of Franx for M/D/N. `time` has any shape, which is the result's.

    With (k - 1) D <= t < kD and q_j the probability of j messages waiting in M/D/N: P(t_W <= t) is the probability that
    the messages that wait and the Poisson number that comes in kD - t are together fewer than kN.

    >>> round(float(e_n_d_1_survival(1, 1.0, 2.0, 0.0)), 6)       # the load
    0.5
    """
    n, arrival, service = stable(n, message_rate, service_rate)
    rate, duration = float(arrival), 1 / float(service)
    below = np.cumsum(messages_waiting(n, rate * duration))
    return each(lambda t: _franx(n, rate, duration, below, t), non_negative("time", time))


def _spitzer(n: int, a: float) -> float:
    """The mean wait over the service time; a messages come in a service time."""
    load = a / n
    # The terms fall like exp(-k N (load - 1 - log(load))).
    if _TERMS_MAX * n * (load - 1 - np.log(load)) < 45:
        raise ValueError(
            f"method = 'spitzer' has over {_TERMS_MAX} terms at load {load:.9g}; it must be 'auto' or 'roots'"
        )
    total, first, size = 0.0, 1, _FIRST_CHUNK
    while True:
        k = np.arange(first, first + size, dtype=np.float64)
        terms = _excess(k * n, k * a) / (k * a)
        total += float(terms.sum())
        if terms[-1] <= 1e-17 * total:
            return total
        first, size = first + size, min(2 * size, _LAST_CHUNK)


def _excess(shape: Array, limit: Array) -> Array:
    """E[(limit - A)^+] for A of the gamma distribution with this shape and rate 1."""
    density = np.exp(shape * np.log(limit) - limit - gammaln(shape))
    result: Array = np.maximum((limit - shape) * gammainc(shape, limit) + density, 0.0)
    return result


def _franx(n: int, rate: float, duration: float, below: Array, time: float) -> float:
    k = int(time / duration) + 1
    mean = rate * (k * duration - time)
    coming = np.arange(min(k * n, int(mean + 12 * np.sqrt(mean) + 40)))
    poisson = np.exp(coming * np.log(mean) - mean - gammaln(coming + 1.0)) if mean > 0 else (coming == 0).astype(float)
    limit = np.minimum(k * n - 1 - coming, below.size - 1)
    # What is left by rounding is no probability.
    survival = 1.0 - float((poisson * below[limit]).sum())
    return survival if survival > 1e-14 else 0.0
