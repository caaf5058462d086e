"""Goodput, loss, buffers."""

import numpy as np
import pytest

from forebay.queueing import (
    FRAMING_BYTES,
    accepted_rate,
    disaggregation_ratio,
    empirical_renewal_function,
    erlang_renewal_function,
    goodput,
    goodput_gain,
    loss_with_buffer,
    loss_without_buffer,
    packet_bytes,
    payload_ratio,
    places_for_loss,
    service_time_from_rates,
    simulate_loss,
)


def test_payload() -> None:
    assert [packet_bytes(n) for n in (1, 8)] == [64, 176]
    assert all(payload_ratio(n) == pytest.approx(n / (n + 3)) for n in range(1, 50))
    np.testing.assert_allclose(goodput(8, [11.0, 22.0]), [8.0, 16.0])
    assert 100 * goodput_gain(8) == pytest.approx(190.909, abs=1e-3)
    assert payload_ratio(1, framing_bytes=FRAMING_BYTES) == pytest.approx(16 / 88)


def test_renewal_function_of_erlang() -> None:
    t = np.linspace(0, 30, 40)
    np.testing.assert_allclose(erlang_renewal_function(1, 2.0, t), 2 * t, atol=1e-12)
    np.testing.assert_allclose(erlang_renewal_function(2, 1.0, t), t / 2 - 1 / 4 + np.exp(-2 * t) / 4, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 64])
def test_renewal_function_of_long_times(n: int) -> None:
    """The sum where it is a sum, and a line with the slope 1/N from there on."""
    edge = 40 / (1 - np.cos(2 * np.pi / n)) if n > 1 else 1.0
    times = edge * np.array([0.5, 0.99, 1.01, 2.0, 1e9])
    expected = times / n - (n - 1) / (2 * n)
    np.testing.assert_allclose(erlang_renewal_function(n, 1.0, times), expected, rtol=1e-7)
    np.testing.assert_allclose(erlang_renewal_function(n, 1.0, times[2:]), expected[2:], rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_no_places_and_fixed_service_is_g_d_1_1(n: int) -> None:
    for duration in (0.1, 1.0, 5.0, 40.0):
        exact = float(loss_without_buffer(erlang_renewal_function(n, 1.0, duration)))
        assert loss_with_buffer(n, 1.0, 1 / duration, 0, "fixed") == pytest.approx(exact, rel=1e-10)


def test_erlangs_loss_formula() -> None:
    # M/M/1/(K+1): the last of the probabilities 1, a, a^2, ...; M/G/1/1 does not depend on the kind of service.
    for a in (0.5, 1.0, 2.0):
        for places in range(5):
            powers = a ** np.arange(places + 2)
            assert loss_with_buffer(1, a, 1.0, places) == pytest.approx(powers[-1] / powers.sum(), rel=1e-9)
        assert loss_with_buffer(1, a, 1.0, 0, "fixed") == pytest.approx(a / (1 + a), rel=1e-9)


@pytest.mark.parametrize("service", ["exponential", "fixed"])
@pytest.mark.parametrize(("n", "places"), [(1, 0), (1, 2), (3, 1), (8, 0)])
def test_loss_is_that_of_a_simulation(n: int, places: int, service: str) -> None:
    exact = loss_with_buffer(n, 1.0, 1 / n, places, service)
    estimate = simulate_loss(n, 1.0, 1 / n, places, service, packets=100_000, seed=4)
    assert abs(estimate.mean - exact) < 2 * estimate.half_width < 0.05 * exact


def test_no_share_is_negative() -> None:
    for load in (1e-2, 1e-4, 1e-6):
        assert all(loss_with_buffer(8, load, 1.0, places, "fixed") >= 0 for places in range(6))


def test_places_are_the_fewest() -> None:
    for service in ("exponential", "fixed"):
        places = places_for_loss(4, 1.0, 0.3, 1e-4, service)
        assert (
            loss_with_buffer(4, 1.0, 0.3, places, service) <= 1e-4 < loss_with_buffer(4, 1.0, 0.3, places - 1, service)
        )


def test_accepted_rate_has_its_limits() -> None:
    assert float(accepted_rate(8, 1e-3, 1.0)) == pytest.approx(1e-3 / 8, rel=1e-9)
    assert float(accepted_rate(8, 1e4, 1.0)) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_service_time_is_found_from_loss(n: int) -> None:
    for duration in (0.2, 1.0, 3.0):
        accepted = float(accepted_rate(n, float(n), duration))
        found = service_time_from_rates(1.0, accepted, lambda t: float(erlang_renewal_function(n, float(n), t)))
        assert found == pytest.approx(duration, rel=1e-7)
    assert float(disaggregation_ratio(n, 10.0, 10.0 / n)) == 1.0


def test_renewal_function_of_a_sample() -> None:
    gaps = np.random.default_rng(1).standard_gamma(2, 200_000)
    sampled = empirical_renewal_function(gaps)
    assert sampled(3.0) == pytest.approx(float(erlang_renewal_function(2, 1.0, 3.0)), rel=0.01)
