"""Departures of the first switch, and how near to Erlang-N they are: the paper's (1) and Figure 7.

Messages are Poisson. The paper leaves open what the first switch serves:

* "after": the N-th message completes an N-packet, which then is served. Departures are those of E_N/M/1 or E_N/D/1.
* "before": each message is served by itself, as M/M/1 or M/D/1, and N departures make an N-packet. With exponential
  service the N-packets are then exactly Erlang-N (Burke, Operations Research 4, 1956).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, gammaln

from ._check import Array, choice, count, non_negative, order, positive, stable
from ._e_n_d_1 import e_n_d_1_survival
from ._e_n_m_1 import e_n_m_1_root
from ._m_d_c import messages_waiting
from ._minimal_rate import SERVICES, Service
from ._simulate import lindley

__all__ = [
    "Grouping",
    "departure_cdf",
    "erlang_cdf",
    "erlang_density",
    "erlang_distance",
    "kolmogorov_smirnov",
    "simulate_departures",
    "superposed_intervals",
]

Grouping = Literal["after", "before"]
"""Whether messages are grouped before they are served (service "after" grouping) or the other way round."""

GROUPINGS: tuple[Grouping, ...] = ("after", "before")
_WARM_UP = 10_000
_PARTS = 3
_LEGENDRE = np.polynomial.legendre.leggauss(48)


def erlang_density(n: int, message_rate: float, time: ArrayLike) -> Array:
    """Density of the time in which N messages come: lambda (lambda t)^(N-1) exp(-lambda t) / (N-1)!, (1).

    `time` has any shape, which is the result's; the unit is one over the unit of time.

    >>> round(float(erlang_density(1, 2.0, 0.5)), 6)
    0.735759
    """
    n, rate = order(n), float(positive("message_rate", message_rate))
    mean = rate * non_negative("time", time)
    with np.errstate(divide="ignore"):
        power = (n - 1) * np.log(mean) if n > 1 else np.zeros_like(mean)
    result: Array = rate * np.exp(power - mean - gammaln(n))
    return result


def erlang_cdf(n: int, message_rate: float, time: ArrayLike) -> Array:
    """P(N messages come within `time`), of any shape.

    >>> round(float(erlang_cdf(1, 2.0, 0.5)), 6)
    0.632121
    """
    n, rate = order(n), float(positive("message_rate", message_rate))
    result: Array = gammainc(n, rate * non_negative("time", time))
    return result


def departure_cdf(
    n: int, message_rate: float, service_rate: float, time: ArrayLike, service: Service = "exponential"
) -> Array:
    """Exact distribution of the time between N-packets that leave E_N/M/1 or E_N/D/1: service after grouping.

    `service_rate` counts N-packets; `time` has any shape, which is the result's. An interval is the idle time after a
    departure, (A - R)^+ for the response time R and the next inter-arrival time A, and a service.

    >>> round(float(departure_cdf(1, 1.0, 2.0, 1.0)), 6) == round(float(erlang_cdf(1, 1.0, 1.0)), 6)    # Burke
    True
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    choice("service", service, SERVICES)
    times = np.atleast_1d(non_negative("time", time)).ravel()
    exact = _after_fixed if service == "fixed" else _after_exponential
    # In parts, since each time needs a hundred and more nodes of integration.
    parts = np.array_split(times, 1 + times.size // 4096)
    values = np.concatenate([exact(n, float(arrival), float(mu), part) for part in parts])
    result: Array = values.reshape(np.shape(time))[()]
    return result


def erlang_distance(
    n: int, message_rate: float, service_rate: float, service: Service = "exponential", points: int = 1001
) -> float:
    """Exact Kolmogorov-Smirnov distance between the departures (service after grouping) and Erlang-N.

    The largest difference at `points` times, at as many around the best of them, and at the jump of fixed service.

    >>> round(erlang_distance(5, 1.0, 1.1), 4)
    0.0495
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    points = count("points", points, minimum=2)
    rate, duration = float(arrival), 1 / float(mu)

    def difference(times: Array) -> Array:
        result: Array = np.abs(departure_cdf(n, rate, float(mu), times, service) - erlang_cdf(n, rate, times))
        return result

    times, step = np.linspace(0.0, (n + 10 * np.sqrt(n) + 20) / rate, points, retstep=True)
    best = float(times[np.argmax(difference(times))])
    near = difference(np.linspace(max(0.0, best - step), best + step, points)).max()
    if service == "exponential":
        return float(near)
    at_jump = difference(np.array([duration]))[0]
    return float(max(near, at_jump, erlang_cdf(n, rate, duration)))


def simulate_departures(
    n: int,
    message_rate: float,
    service_rate: float,
    service: Service = "exponential",
    grouping: Grouping = "after",
    packets: int = 1_000_000,
    seed: int = 1,
) -> Array:
    """Times between `packets` + 1 successive N-packets that leave the first switch: one-dimensional.

    `service_rate` counts N-packets with `grouping` "after", messages with "before".

    >>> simulate_departures(5, 1.0, 1.1, packets=1000).shape
    (1000,)
    """
    n = order(n)
    served = n if choice("grouping", grouping, GROUPINGS) == "after" else 1
    _, arrival, mu = stable(served, message_rate, service_rate)
    choice("service", service, SERVICES)
    customers = (count("packets", packets) + 1) * (1 if grouping == "after" else n) + _WARM_UP
    random = np.random.Generator(np.random.SFC64(count("seed", seed, minimum=0)))
    gaps = random.standard_gamma(served, customers) / float(arrival)
    times = random.standard_exponential(customers) if service == "exponential" else np.ones(customers)
    times /= float(mu)
    leaving = np.cumsum(gaps) + lindley(times[:-1], gaps[1:]) + times
    leaving = leaving[_WARM_UP:]
    result: Array = np.diff(leaving if grouping == "after" else leaving[n - 1 :: n])[:packets]
    return result


def superposed_intervals(devices: int, message_rate: float, count_: int, seed: int = 1) -> Array:
    """Times between messages of `devices` strictly periodic sources with random phases, `count_` of them.

    Together they send `message_rate`. The paper takes this for Poisson (Kleinrock): it is, in the limit of many devices,
    as long as one looks for less than a period.

    >>> superposed_intervals(1, 2.0, 3).round(9).tolist()
    [0.5, 0.5, 0.5]
    """
    devices, number = count("devices", devices), count("count_", count_)
    period = devices / float(positive("message_rate", message_rate))
    random = np.random.Generator(np.random.SFC64(count("seed", seed, minimum=0)))
    # Other phases for each period: the sample then is of the mean over phases, not of one draw of them.
    rounds = -(-number // devices)
    phases = np.sort(random.random((rounds, devices)), axis=1)
    around = np.diff(phases, axis=1, append=phases[:, :1] + 1)
    result: Array = (period * around).ravel()[:number]
    return result


def kolmogorov_smirnov(sample: ArrayLike, probabilities: ArrayLike) -> float:
    """Largest difference between the distribution of `sample` and one with these `probabilities` at the sorted sample.

    Both are one-dimensional and equally long. With n independent values of the right distribution it is below
    1.36 / sqrt(n) in 95 % of all cases.

    >>> kolmogorov_smirnov([0.1, 0.6], [0.1, 0.6])
    0.4
    """
    values, expected = np.sort(non_negative("sample", sample)), non_negative("probabilities", probabilities)
    if values.ndim != 1 or values.size < 1 or values.shape != expected.shape:
        raise ValueError(
            f"probabilities has shape {expected.shape} and sample {values.shape}; both must be one-dimensional and equal"
        )
    steps = np.arange(values.size + 1) / values.size
    return float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))


def _after_exponential(n: int, rate: float, mu: float, times: Array) -> Array:
    """1 - P(idle + service > t); the service is integrated by Gauss-Legendre over at most 45 mean services."""
    theta = mu * (1 - float(e_n_m_1_root(n, rate, mu)))
    nodes, weights = _LEGENDRE
    upper = np.minimum(times, 45 / mu)
    survival = np.exp(-mu * times)
    for part in range(_PARTS):
        begin, length = upper * part / _PARTS, upper / _PARTS
        service = begin[:, None] + length[:, None] * (nodes + 1) / 2
        idle = _idle_longer(n, rate, theta, np.maximum(times[:, None] - service, 0.0))
        survival += (mu * np.exp(-mu * service) * idle) @ weights * length / 2
    return np.asarray(1 - survival, dtype=np.float64)


def _idle_longer(n: int, rate: float, theta: float, time: Array) -> Array:
    """P(A - R > t), A Erlang-N and R, the response time, exponential with rate theta.

    P(A > t) less E[exp(-theta (A - t)); A > t], a sum whose factors alone are beyond all floats for large N: hence logarithms.
    """
    with np.errstate(divide="ignore"):
        power = np.log((rate + theta) * time)
    common = -rate * time - n * np.log1p(theta / rate)
    total = np.exp(common)
    for number in range(1, n):
        total += np.exp(common + number * power - gammaln(number + 1))
    result: Array = gammaincc(n, rate * time) - total
    return result


def _after_fixed(n: int, rate: float, mu: float, times: Array) -> Array:
    """P(A <= t + W) from one service time on, integrated over the wait W between multiples of the service time."""
    duration = 1 / mu
    nodes, weights = _LEGENDRE
    probability = erlang_cdf(n, rate, times)
    # So many services that nothing is left: a wait of k services needs k N messages, most of them waiting.
    services = messages_waiting(n, rate * duration).size // n + 2
    for begin in duration * np.arange(services):
        wait = begin + duration * (nodes + 1) / 2
        longer = e_n_d_1_survival(n, rate, mu, wait)
        density = erlang_density(n, rate, times[:, None] + wait)
        probability = probability + (density * longer) @ weights * duration / 2
        if longer[0] == 0:
            break
    return np.asarray(np.where(times >= duration, probability, 0.0), dtype=np.float64)
