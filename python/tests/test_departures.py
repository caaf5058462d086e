"""Figure 7: exact distributions against simulation and Erlang-N."""

import numpy as np
import pytest

from forebay.queueing import (
    departure_cdf,
    departure_distance,
    erlang_cdf,
    erlang_density,
    erlang_distance,
    kolmogorov_smirnov,
    simulate_departures,
    superposed_intervals,
)

PACKETS = 100_000
NOISE = 1.95 / np.sqrt(PACKETS)  # exceeded by one sample in a thousand


@pytest.mark.parametrize(
    ("n", "rate", "service", "distance"),
    [
        (5, 1.1, "exponential", 0.0495),
        (8, 1.1, "exponential", 0.0295),
        (5, 2.2, "exponential", 0.0160),
        (5, 1.1, "fixed", 0.0024),
    ],
)
def test_distances_of_figure_7(n: int, rate: float, service: str, distance: float) -> None:
    exact = erlang_distance(n, 1.0, rate, service)
    assert exact == pytest.approx(distance, abs=1e-4)
    gaps = np.sort(simulate_departures(n, 1.0, rate, service, packets=PACKETS))
    assert kolmogorov_smirnov(gaps, erlang_cdf(n, 1.0, gaps)) == pytest.approx(exact, abs=NOISE)


def test_departures_of_large_packets() -> None:
    # Far below load 1 no packet waits: an interval is an inter-arrival time, and the difference of two service times.
    times = np.linspace(900, 1100, 9)
    np.testing.assert_allclose(departure_cdf(1000, 1.0, 1000.0, times), erlang_cdf(1000, 1.0, times), atol=1e-6)
    gaps = np.sort(simulate_departures(1000, 1.0, 0.01, packets=PACKETS))
    times = np.linspace(700, 1300, 13)
    sampled = np.searchsorted(gaps, times) / gaps.size
    np.testing.assert_allclose(departure_cdf(1000, 1.0, 0.01, times), sampled, atol=NOISE)


def test_simulation_has_the_exact_distribution() -> None:
    for n, rate, service in ((2, 0.7, "exponential"), (2, 0.7, "fixed"), (8, 0.2, "fixed")):
        gaps = np.sort(simulate_departures(n, 1.0, rate, service, packets=PACKETS))
        times = np.linspace(0.5 / rate, 5 / rate, 50)
        sampled = np.searchsorted(gaps, times, side="right") / PACKETS
        np.testing.assert_allclose(departure_cdf(n, 1.0, rate, times, service), sampled, atol=NOISE)


def test_service_before_grouping_is_erlang_when_exponential_only() -> None:
    for service, low, high in (("exponential", 0.0, NOISE), ("fixed", 0.47, 0.49)):
        gaps = np.sort(simulate_departures(5, 1.0, 1.1, service, "before", packets=PACKETS))
        assert low <= kolmogorov_smirnov(gaps, erlang_cdf(5, 1.0, gaps)) < high


def test_departures_have_the_rate_of_arrivals() -> None:
    for grouping, rate in (("after", 0.3), ("before", 1.5)):
        for service in ("exponential", "fixed"):
            gaps = simulate_departures(4, 1.0, rate, service, grouping, packets=PACKETS)
            assert gaps.mean() == pytest.approx(4, rel=0.02)


def test_density_is_the_derivative_and_departures_are_a_distribution() -> None:
    time = np.linspace(0.1, 20, 400)
    slope = (erlang_cdf(4, 1.0, time + 1e-5) - erlang_cdf(4, 1.0, time - 1e-5)) / 2e-5
    np.testing.assert_allclose(erlang_density(4, 1.0, time), slope, rtol=1e-5, atol=1e-9)
    for service in ("exponential", "fixed"):
        values = departure_cdf(4, 1.0, 0.4, np.linspace(0, 60, 300), service)
        assert values[0] == pytest.approx(0, abs=1e-12) and values[-1] == pytest.approx(1, abs=1e-9)
        assert np.all(np.diff(values) >= -1e-12)


def test_many_devices_are_poisson() -> None:
    distances = []
    for devices in (1, 10, 100):
        gaps = np.sort(superposed_intervals(devices, 2.0, PACKETS))
        distances.append(kolmogorov_smirnov(gaps, erlang_cdf(1, 2.0, gaps)))
    assert distances[0] > 0.6 and distances[1] < 0.03 and distances[2] < NOISE


def test_measured_departures() -> None:
    gaps = np.random.default_rng(1).standard_gamma(3, 20_000)
    assert departure_distance(np.cumsum(gaps), 3, 1.0) < 1.95 / np.sqrt(20_000)
    assert departure_distance(np.arange(100.0), 3, 1.0) > 0.3
