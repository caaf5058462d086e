"""The smallest service rate mu_N*(delta) that keeps the mean wait short: the paper's (11) to (16) and Figure 10.

The constraint (11) can be read in three ways, which differ in the unit in which `delta` measures the wait:

| `constraint` | meaning | note |
|---|---|---|
| "service" | E[t_W] <= delta / mu_N | gives the printed (12), (13) and (14) |
| "message" | E[t_W] <= delta / lambda | the time between two messages |
| "packet" | E[t_W] <= delta N / lambda | the time between two N-packets: by Little's law at most delta of them wait |

Exponential service has closed forms: for "service" mu_N* = lambda (1 + delta) (((1 + delta) / delta)^(1/N) - 1), which is
(12), (15) and (16) for N = 1, 2, 3. Fixed service has one for N = 1, (13) and (14); for larger N a root is searched.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ._check import Array, choice, each, order, positive
from ._e_n_d_1 import e_n_d_1_waiting_time

__all__ = ["Constraint", "Service", "minimal_service_rate", "share_of_fall", "waiting_time_limit"]

Service = Literal["exponential", "fixed"]
"""Distribution of the time that one N-packet takes."""

Constraint = Literal["service", "message", "packet"]
"""In which unit `delta` measures the wait."""

SERVICES: tuple[Service, ...] = ("exponential", "fixed")
CONSTRAINTS: tuple[Constraint, ...] = ("service", "message", "packet")


def minimal_service_rate(
    n: int,
    message_rate: ArrayLike,
    delta: ArrayLike,
    service: Service = "exponential",
    constraint: Constraint = "service",
) -> Array:
    """mu_N*(delta), in N-packets per unit of time.

    `message_rate` and `delta` are scalars or arrays that broadcast; the result has their shape.

    >>> round(float(minimal_service_rate(8, 1.0, 0.05)), 4)
    0.4863
    >>> round(float(minimal_service_rate(1, 1.0, 0.05, service="fixed")), 4)
    11.0
    >>> minimal_service_rate(8, 1.0, -0.05)
    Traceback (most recent call last):
    ValueError: delta = -0.05 must be a finite number > 0
    """
    n = order(n)
    rate, bound = positive("message_rate", message_rate), positive("delta", delta)
    choice("service", service, SERVICES)
    choice("constraint", constraint, CONSTRAINTS)
    ratio = _exponential if service == "exponential" else _fixed
    return each(lambda r, d: r * ratio(n, d, constraint), rate, bound)


def waiting_time_limit(
    n: int, message_rate: ArrayLike, service_rate: ArrayLike, delta: ArrayLike, constraint: Constraint = "service"
) -> Array:
    """The longest mean wait that the constraint allows, in units of time.

    >>> float(waiting_time_limit(8, 1.0, 0.5, 0.1, "packet"))
    0.8
    """
    n = order(n)
    rate, mu = positive("message_rate", message_rate), positive("service_rate", service_rate)
    choice("constraint", constraint, CONSTRAINTS)
    unit = {"service": 1 / mu, "message": 1 / rate, "packet": n / rate}[constraint]
    result: Array = positive("delta", delta) * unit
    return result


def share_of_fall(
    n: int, delta: float, service: Service = "exponential", first: float = 0.01, last: float = 1.0
) -> float:
    """How much of the fall of mu_N* between `first` and `last` is done at `delta`: 0 at `first`, 1 at `last`.

    The paper says that delta > 0.05 does not improve the performance.

    >>> [round(share_of_fall(n, 0.05), 3) for n in (1, 8)]
    [0.808, 0.497]
    """
    first, delta, last = (
        float(positive(name, value)) for name, value in (("first", first), ("delta", delta), ("last", last))
    )
    if not first <= delta <= last or first == last:
        raise ValueError(f"delta = {delta:g} must be >= first = {first:g} and <= last = {last:g}, and first < last")
    high, here, low = (float(minimal_service_rate(n, 1.0, value, service)) for value in (first, delta, last))
    return (high - here) / (high - low)


def _exponential(n: int, delta: float, constraint: Constraint) -> float:
    """V for E_N/M/1. With u = x^(1/N): x / (1 - x) = delta, or u^(N+1) / (1 - u) = delta or delta N."""
    if constraint == "service":
        return float((1 + delta) * np.expm1(np.log1p(1 / delta) / n))
    bound = delta * n if constraint == "packet" else delta
    # In y = 1 - u, so that neither end loses digits: (1 - y)^(N+1) = bound y.
    y = _root(lambda y: (n + 1) * np.log1p(-y) - np.log(bound) - np.log(y), 1e-300, 1 - 1e-16)
    return float(y / (1 - y) / -np.expm1(n * np.log1p(-y)))


def _fixed(n: int, delta: float, constraint: Constraint) -> float:
    """V for E_N/D/1: between load 1 and what exponential service needs, as its waits are longer."""
    if n == 1 and constraint == "service":
        return (1 + 2 * delta) / (2 * delta)
    slowest, fastest = (1 + 1e-12) / n, _exponential(n, delta, constraint)

    def excess(logarithm: float) -> float:
        v = float(np.exp(logarithm))
        unit = {"service": 1 / v, "message": 1.0, "packet": float(n)}[constraint]
        return float(np.log(e_n_d_1_waiting_time(n, 1.0, v) / (delta * unit)))

    return float(np.exp(_root(excess, float(np.log(slowest)), float(np.log(fastest)))))


def _root(function, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    return float(brentq(function, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=500))
