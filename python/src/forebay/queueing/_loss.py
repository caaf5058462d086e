"""Loss at a switch with little or no buffer, and service times from measured loss: the paper's Figure 9 and (5).

G/D/1/1 has fixed service D and no buffer: while an N-packet is served, all that come are lost. After each accepted one,
m(D) more come on average until it is done, where m is the renewal function of the arrivals; so m(D) / (1 + m(D)) are lost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammainc

from ._check import Array, each, non_negative, order, positive

__all__ = [
    "accepted_rate",
    "disaggregation_ratio",
    "empirical_renewal_function",
    "erlang_renewal_function",
    "loss_without_buffer",
    "service_time_from_rates",
]


def erlang_renewal_function(n: int, message_rate: ArrayLike, time: ArrayLike) -> Array:
    """m(t): mean number of N-packets in `time` after one, when messages are Poisson. For N = 1, lambda t.

    Arguments are scalars or arrays that broadcast. The sum over j of P(A_j <= t), with A_j Erlang-jN.

    >>> round(float(erlang_renewal_function(2, 1.0, 3.0)), 6)     # t/2 - 1/4 + exp(-2t)/4
    1.25062
    """
    n = order(n)
    return each(lambda mean: _renewals(n, mean), positive("message_rate", message_rate) * non_negative("time", time))


def empirical_renewal_function(intervals: ArrayLike) -> Callable[[float], float]:
    """m(t) of measured inter-arrival times: a one-dimensional array, at least two, in any unit, which `t` shares.

    Counts arrivals within t after each arrival whose window the measurement covers.

    >>> empirical_renewal_function([1.0, 1.0, 1.0, 1.0])(2.5)
    2.0
    """
    gaps = non_negative("intervals", intervals)
    if gaps.ndim != 1 or gaps.size < 2:
        raise ValueError(f"intervals has shape {gaps.shape}; it must be one-dimensional with at least 2 elements")
    times = np.concatenate(([0.0], np.cumsum(gaps)))

    def renewals(time: float) -> float:
        limit = float(non_negative("time", time))
        covered = int(np.searchsorted(times, times[-1] - limit, side="right"))
        if covered == 0:
            raise ValueError(f"time = {limit:g} must be <= {times[-1]:g}, the length of the measurement")
        ends = np.searchsorted(times, times[:covered] + limit, side="right")
        return float((ends - np.arange(1, covered + 1)).mean())

    return renewals


def loss_without_buffer(renewals: ArrayLike) -> Array:
    """Share of N-packets lost by G/D/1/1: m / (1 + m), for `renewals` = m(D) of any shape.

    >>> float(loss_without_buffer(1.0))
    0.5
    """
    m = non_negative("renewals", renewals)
    result: Array = m / (1 + m)
    return result


def accepted_rate(n: int, message_rate: ArrayLike, service_time: ArrayLike) -> Array:
    """N-packets per unit of time that E_N/D/1/1 accepts: (lambda / N) / (1 + m(D)). At most 1 / D.

    >>> round(float(accepted_rate(1, 1.0, 1.0)), 6)
    0.5
    """
    n, rate = order(n), positive("message_rate", message_rate)
    result: Array = rate / n / (1 + erlang_renewal_function(n, rate, positive("service_time", service_time)))
    return result


def service_time_from_rates(
    arrival_rate: float, accepted: float, renewal_function: Callable[[float], float], longest: float | None = None
) -> float:
    """The fixed service time D of G/D/1/1 with which `arrival_rate` becomes `accepted`: m(D) = arrival / accepted - 1.

    Both rates count N-packets per unit of time, 0 < accepted < arrival_rate. `renewal_function` is m, continuous and
    increasing. The result is in the unit of time of the rates; it is searched up to `longest`, 1 / accepted if not given,
    the longest service time with which this rate can be accepted.

    >>> m = lambda t: float(erlang_renewal_function(8, 8.0, t))
    >>> round(service_time_from_rates(1.0, float(accepted_rate(8, 8.0, 1.25)), m), 9)
    1.25
    """
    arrival, passed = float(positive("arrival_rate", arrival_rate)), float(positive("accepted", accepted))
    if passed >= arrival:
        raise ValueError(
            f"accepted = {passed:g} must be < arrival_rate = {arrival:g}: without loss D is not determined"
        )
    longest = 1 / passed if longest is None else float(positive("longest", longest))
    wanted = arrival / passed - 1
    if renewal_function(longest) < wanted:
        raise ValueError(f"longest = {longest:g} must be a time within which {wanted:g} N-packets come on average")
    return float(brentq(lambda d: renewal_function(d) - wanted, 0.0, longest, xtol=1e-300, rtol=1e-14, maxiter=500))


def disaggregation_ratio(n: int, first_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """Delta_N = mu_1 / (N mu_N), (5): time to disaggregate an N-packet over the time that N messages take.

    The paper measures 0.85 to 1.14. Rates are scalars or arrays that broadcast.

    >>> float(disaggregation_ratio(4, 100.0, 25.0))
    1.0
    """
    n = order(n)
    result: Array = positive("first_rate", first_rate) / (n * positive("service_rate", service_rate))
    return result


def _renewals(n: int, mean: float) -> float:
    """The sum of P(Poisson(mean) >= jN) over j >= 1; beyond `last` the terms are below 1e-17.

    By partial fractions of its Laplace transform, it is mean / N - (N - 1) / 2N and a term for each other Nth root of
    unity. These decay at least as fast as exp(-mean (1 - cos(2 pi / N))), so they do not count for a large mean.
    """
    if n == 1 or mean * (1 - np.cos(2 * np.pi / n)) > 40:
        return mean / n - (n - 1) / (2 * n)
    last = int(np.ceil((mean + 12 * np.sqrt(mean) + 40) / n))
    return float(gammainc(n * np.arange(1, last + 1, dtype=np.float64), mean).sum()) if mean > 0 else 0.0
