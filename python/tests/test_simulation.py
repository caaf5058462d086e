"""Simulations against formulas, and against each other. Seeds are fixed, so nothing depends on chance."""

import numpy as np
import pytest

from forebay.queueing import (
    batch_means,
    controlled_means,
    e_n_d_1_waiting_time,
    e_n_m_1_waiting_time,
    lindley,
    measured_waiting_time,
    minimal_service_rate,
    simulate_response_time,
    simulate_waiting_time,
    simulate_waiting_time_ciw,
)


def formula(n: int, rate: float, service: str) -> float:
    return float((e_n_m_1_waiting_time if service == "exponential" else e_n_d_1_waiting_time)(n, 1.0, rate))


@pytest.mark.parametrize("service", ["exponential", "fixed"])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_simulated_waits(n: int, service: str) -> None:
    for delta in (0.05, 0.5):
        rate = float(minimal_service_rate(n, 1.0, delta, service))
        for controlled in (False, True):
            estimate = simulate_waiting_time(n, 1.0, rate, service, 1_000_000, seed=2, controlled=controlled)
            assert abs(estimate.mean - formula(n, rate, service)) < 1.6 * estimate.half_width
            assert estimate.relative_half_width < (0.01 if controlled else 0.02)


def test_intervals_contain_the_mean_as_often_as_they_say() -> None:
    for controlled in (False, True):
        inside = sum(
            simulate_waiting_time(2, 1.0, 1.0, "fixed", 1_300_000, seed=seed, controlled=controlled).contains(
                formula(2, 1.0, "fixed")
            )
            for seed in range(40)
        )
        assert 34 <= inside <= 40


def test_a_target_ends_the_simulation() -> None:
    estimate = simulate_waiting_time(1, 1.0, 3.0, "fixed", 100_000_000, relative_half_width=0.01)
    assert estimate.relative_half_width <= 0.01 and estimate.packets < 10_000_000


def test_the_same_seed_gives_the_same_result() -> None:
    first, again, other = (simulate_waiting_time(3, 1.0, 0.5, packets=200_000, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_response_is_wait_and_service() -> None:
    wait = simulate_waiting_time(1, 1.0, 2.0, packets=200_000)
    assert simulate_response_time(1, 1.0, 2.0, packets=200_000).mean == wait.mean + 0.5


def test_lindley_is_the_recursion() -> None:
    random = np.random.default_rng(3)
    service, gaps = random.exponential(1.0, 500), random.exponential(1.1, 500)
    wait, expected = 0.7, [0.7]
    for step in service - gaps:
        wait = max(0.0, wait + step)
        expected.append(wait)
    np.testing.assert_allclose(lindley(service, gaps, first_wait=0.7), expected, atol=1e-10)


@pytest.mark.parametrize("service", ["exponential", "fixed"])
def test_ciw_agrees(service: str) -> None:
    pytest.importorskip("ciw")
    rate = float(minimal_service_rate(3, 1.0, 0.5, service))
    estimate = simulate_waiting_time_ciw(3, 1.0, rate, service, packets=8_000, seed=2)
    assert abs(estimate.mean - formula(3, rate, service)) < 1.6 * estimate.half_width
    assert estimate.relative_half_width < 0.15


def test_waits_from_timestamps() -> None:
    random = np.random.default_rng(5)
    gaps = random.standard_gamma(2, 200_000)
    arrivals = np.concatenate(([0.0], np.cumsum(gaps)))
    waits = lindley(np.full(gaps.size, 1.0), gaps)
    estimate = measured_waiting_time(arrivals, arrivals + waits + 1.0, 1.0)
    assert abs(estimate.mean - formula(2, 1.0, "fixed")) < 1.6 * estimate.half_width


def test_batch_means_of_known_values() -> None:
    estimate = batch_means([1.0, 2.0, 3.0], 30)
    assert estimate.mean == 2.0
    assert estimate.half_width == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)
    assert not estimate.contains(5.0) and estimate.discrepancy(4.0) == -0.5


def test_an_interval_with_controls_contains_the_mean_in_95_percent() -> None:
    random = np.random.default_rng(1)
    for batches in (5, 8, 32):
        inside = 0
        for _ in range(2000):
            controls = random.normal(size=(batches, 2))
            means = 100 + controls @ [1.0, -2.0] + random.normal(size=batches) / 2
            inside += controlled_means(means, controls, batches).contains(100)
        assert 0.935 < inside / 2000 < 0.965, batches
