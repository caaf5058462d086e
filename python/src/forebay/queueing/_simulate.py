"""Our simulation: Lindley's recursion on NumPy arrays, ten million N-packets in a second or two.

W_(n+1) = max(0, W_n + S_n - A_(n+1)) is unrolled into W_n = C_n - min(0, C_1, ..., C_n) with the running sum C of S - A
(Lindley, Proceedings of the Cambridge Philosophical Society 48, 1952), which two passes over an array compute. Chunks of
bounded length keep memory constant; the last wait of a chunk begins the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc

from ._check import Array, choice, count, non_negative, order, positive, stable
from ._estimate import Estimate, batch_means, controlled_means
from ._minimal_rate import SERVICES, Service

__all__ = ["lindley", "simulate_loss", "simulate_response_time", "simulate_waiting_time", "step_means"]

# Half a megabyte an array: chunks stay in a processor's second cache.
_CHUNK = 1 << 16


def lindley(service_times: ArrayLike, intervals: ArrayLike, first_wait: float = 0.0) -> Array:
    """Waits of all customers of a single server, first come, first served.

    `service_times` and `intervals` are one-dimensional and equally long; interval n is the time from arrival n to
    arrival n + 1. The result is one longer: the wait of the first, `first_wait`, to that after the last.

    >>> lindley([2.0, 2.0, 2.0], [1.0, 1.0, 5.0]).tolist()
    [0.0, 1.0, 2.0, 0.0]
    """
    service, gaps = non_negative("service_times", service_times), non_negative("intervals", intervals)
    if service.ndim != 1 or service.shape != gaps.shape:
        raise ValueError(
            f"service_times has shape {service.shape} and intervals {gaps.shape}; both must be one-dimensional and equal"
        )
    return _lindley(service - gaps, float(non_negative("first_wait", first_wait)))


def simulate_waiting_time(
    n: int,
    message_rate: float,
    service_rate: float,
    service: Service = "exponential",
    packets: int = 1_000_000,
    seed: int = 1,
    relative_half_width: float = 0.0,
    controlled: bool = False,
) -> Estimate:
    """Mean wait of `packets` N-packets in E_N/M/1 or E_N/D/1, by simulation, with a 95 % confidence interval.

    Stops before `packets` when the interval's half width is at most `relative_half_width` of the mean. The same
    arguments give the same result. Half a chunk, 32,768 N-packets, warms up and does not count.

    With `controlled`, the means of S - A and of (S - A)^+, whose expectations are elementary, are control variates: up to
    fifty times fewer packets for the same interval when waits are rare.

    >>> estimate = simulate_waiting_time(2, 1.0, 2.0, packets=200_000)
    >>> abs(estimate.discrepancy(0.0773503)) < 0.05
    True
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    choice("service", service, SERVICES)
    packets = count("packets", packets, minimum=4 * _CHUNK // 2)
    target = float(non_negative("relative_half_width", relative_half_width))
    expected = step_means(n, float(arrival), float(mu), service)
    rows: list[tuple[float, float, float]] = []
    for row in _chunk_means(n, float(arrival), float(mu), service, count("seed", seed, minimum=0)):
        rows.append(row)
        enough = len(rows) >= (5 if controlled else 2) and len(rows) * _CHUNK >= packets
        if enough or (target and len(rows) % 64 == 0):
            means, controls = np.array(rows)[:, 0], np.array(rows)[:, 1:] - expected
            simulated = len(rows) * _CHUNK
            estimate = controlled_means(means, controls, simulated) if controlled else batch_means(means, simulated)
            if enough or estimate.relative_half_width <= target:
                return estimate
    raise AssertionError("the chunks do not end")


def simulate_response_time(
    n: int,
    message_rate: float,
    service_rate: float,
    service: Service = "exponential",
    packets: int = 1_000_000,
    seed: int = 1,
) -> Estimate:
    """Mean wait and service, as `simulate_waiting_time`; the mean service time is known and added exactly."""
    wait = simulate_waiting_time(n, message_rate, service_rate, service, packets, seed)
    mean = wait.mean + 1 / float(positive("service_rate", service_rate))
    return Estimate(mean, wait.half_width, wait.packets, wait.confidence)


def simulate_loss(
    n: int,
    message_rate: float,
    service_rate: float,
    places: int,
    service: Service = "exponential",
    packets: int = 1_000_000,
    seed: int = 1,
) -> Estimate:
    """Share of N-packets lost when `places` can wait beside the one in service; any load. A batch is a 64th.

    About two million N-packets a second.

    >>> abs(simulate_loss(1, 1.0, 1.0, 0, "fixed", packets=100_000).mean - 0.5) < 0.01
    True
    """
    n, places = order(n), count("places", places, minimum=0)
    arrival, mu = float(positive("message_rate", message_rate)), float(positive("service_rate", service_rate))
    choice("service", service, SERVICES)
    size = count("packets", packets, minimum=64) // 64
    random = np.random.Generator(np.random.SFC64(count("seed", seed, minimum=0)))
    # When the packets leave that are inside or were last; the oldest of places + 1 must have left.
    leaving: deque[float] = deque([0.0] * (places + 1), maxlen=places + 1)
    now, shares = 0.0, []
    for _ in range(64):
        arrivals = now + np.cumsum(random.standard_gamma(n, size)) / arrival
        times = random.standard_exponential(size) / mu if service == "exponential" else np.full(size, 1 / mu)
        lost = 0
        for come, time in zip(arrivals.tolist(), times.tolist(), strict=True):
            if leaving[0] > come:
                lost += 1
            else:
                leaving.append(max(come, leaving[-1]) + time)
        now = float(arrivals[-1])
        shares.append(lost / size)
    return batch_means(shares, 64 * size)


def step_means(n: int, arrival: float, mu: float, service: Service) -> Array:
    """E[S - A], and E[(S - A)^+], the mean wait after one that did not wait."""
    if service == "exponential":
        first_wait = (arrival / (arrival + mu)) ** n / mu
    else:
        mean = arrival / mu
        first_wait = float(gammainc(n, mean) - n / mean * gammainc(n + 1, mean)) / mu
    return np.array([1 / mu - n / arrival, first_wait])


def _chunk_means(
    n: int, arrival: float, mu: float, service: Service, seed: int
) -> Iterator[tuple[float, float, float]]:
    """Means of the wait, of S - A and of (S - A)^+ for each chunk."""
    random = np.random.Generator(np.random.SFC64(seed))
    wait = 0.0
    for chunk in range(1 << 62):
        steps = _steps(random, n, arrival, mu, service, _CHUNK // 2 if chunk == 0 else _CHUNK)
        waits = _lindley(steps, wait)
        wait = float(waits[-1])
        if chunk:
            yield float(waits[1:].mean()), float(steps.mean()), float(np.maximum(steps, 0.0).mean())


def _steps(random: np.random.Generator, n: int, arrival: float, mu: float, service: Service, size: int) -> Array:
    """Service time minus inter-arrival time."""
    # Sums of exponentials are faster than the gamma distribution for a few, and exact.
    if n <= 3:
        gaps = random.standard_exponential(size)
        for _ in range(n - 1):
            gaps += random.standard_exponential(size)
    else:
        gaps = random.standard_gamma(n, size)
    gaps /= -arrival
    if service == "fixed":
        gaps += 1 / mu
    else:
        gaps += random.standard_exponential(size) / mu
    return gaps


def _lindley(steps: Array, first_wait: float) -> Array:
    walk: Array = np.empty(steps.size + 1)
    walk[0] = first_wait
    np.cumsum(steps, out=walk[1:])
    walk[1:] += first_wait
    lowest = np.minimum.accumulate(walk)
    np.minimum(lowest, 0.0, out=lowest)
    walk -= lowest
    return walk
