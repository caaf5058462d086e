"""Mean waits and their distributions: known special cases, and independent ways to the same number."""

import itertools

import numpy as np
import pytest

from forebay.queueing import (
    e_n_d_1_survival,
    e_n_d_1_waiting_time,
    e_n_m_1_response_time,
    e_n_m_1_root,
    e_n_m_1_root_closed_form,
    e_n_m_1_survival,
    e_n_m_1_waiting_time,
    m_d_1_waiting_time,
    m_g_1_waiting_time,
    m_m_1_waiting_time,
    waiting_distribution,
)

LOADS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16])
def test_spitzers_sum_and_the_roots_agree(n: int) -> None:
    for load in LOADS:
        rate = 1 / (n * load)
        spitzer, roots = (float(e_n_d_1_waiting_time(n, 1.0, rate, method)) for method in ("spitzer", "roots"))
        assert spitzer == pytest.approx(roots, rel=1e-9, abs=1e-13 / rate)


@pytest.mark.parametrize("load", LOADS)
def test_one_message_is_a_classic_queue(load: float) -> None:
    rate = 1 / load
    assert float(e_n_m_1_waiting_time(1, 1.0, rate)) == pytest.approx(float(m_m_1_waiting_time(1.0, rate)), rel=1e-12)
    assert float(e_n_d_1_waiting_time(1, 1.0, rate)) == pytest.approx(float(m_d_1_waiting_time(1.0, rate)), rel=1e-11)
    halves = (m_m_1_waiting_time(1.0, rate) + m_d_1_waiting_time(1.0, rate)) / 2
    assert float(m_g_1_waiting_time(1.0, rate, 0.5)) == pytest.approx(float(halves), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_closed_forms_are_the_root(n: int) -> None:
    v = np.geomspace(1.001 / n, 100, 200)
    np.testing.assert_allclose(e_n_m_1_root_closed_form(n, 1.0, v), e_n_m_1_root(n, 1.0, v), rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1000])
def test_the_root_solves_equation_7(n: int) -> None:
    v = np.geomspace(1.0001 / n, 50, 60)
    x = e_n_m_1_root(n, 1.0, v)
    assert np.all((x >= 0) & (x < 1))
    np.testing.assert_allclose(x, (1 + v * (1 - x)) ** -float(n), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("load", [0.3, 0.8])
def test_the_mean_is_the_integral_of_the_distribution(n: int, load: float) -> None:
    rate = 1 / (n * load)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    for survival, mean in (
        (e_n_d_1_survival, e_n_d_1_waiting_time(n, 1.0, rate)),
        (e_n_m_1_survival, e_n_m_1_waiting_time(n, 1.0, rate)),
    ):
        service_times = np.arange(120)
        times = ((service_times[:, None] + (nodes + 1) / 2) / rate).ravel()
        integral = (survival(n, 1.0, rate, times).reshape(120, 24) @ weights).sum() / 2 / rate
        assert integral == pytest.approx(float(mean), rel=1e-9)


@pytest.mark.parametrize("service", ["exponential", "fixed"])
@pytest.mark.parametrize("n", [1, 2, 8])
def test_number_waiting_obeys_littles_law(n: int, service: str) -> None:
    for load in (0.1, 0.5, 0.9):
        rate = 1 / (n * load)
        waiting = waiting_distribution(n, 1.0, rate, service)
        wait = (e_n_m_1_waiting_time if service == "exponential" else e_n_d_1_waiting_time)(n, 1.0, rate)
        assert waiting.sum() == pytest.approx(1, abs=1e-10)
        assert np.arange(waiting.size) @ waiting == pytest.approx(float(wait) / n, rel=1e-8, abs=1e-12)


def test_response_is_wait_and_service() -> None:
    rate = np.array([0.3, 0.5, 2.0])
    np.testing.assert_allclose(
        e_n_m_1_response_time(5, 1.0, rate), e_n_m_1_waiting_time(5, 1.0, rate) + 1 / rate, rtol=1e-12
    )


def test_results_have_the_shape_of_the_arguments() -> None:
    rates = np.array([[0.6, 0.7, 0.8], [1.0, 2.0, 3.0]])
    for function in (e_n_m_1_waiting_time, e_n_d_1_waiting_time, e_n_m_1_root, e_n_m_1_response_time):
        assert function(2, 1.0, rates).shape == (2, 3)
        assert np.shape(function(2, 1.0, 0.6)) == ()
        assert function(2, 1.0, rates)[0, 1] == function(2, 1.0, 0.7)


def test_times_scale_with_the_unit_of_time() -> None:
    for function in (e_n_m_1_waiting_time, e_n_d_1_waiting_time):
        assert float(function(3, 1e6, 0.5e6)) == pytest.approx(1e-6 * float(function(3, 1.0, 0.5)), rel=1e-12)


def test_waits_fall_with_n_and_with_regular_service() -> None:
    for load in LOADS:
        exponential = [float(e_n_m_1_waiting_time(n, 1.0, 1 / (n * load))) / n for n in range(1, 9)]
        fixed = [float(e_n_d_1_waiting_time(n, 1.0, 1 / (n * load))) / n for n in range(1, 9)]
        assert all(a > b for a, b in itertools.pairwise(exponential))
        assert all(a > b for a, b in itertools.pairwise(fixed))
        assert all(a > b for a, b in zip(exponential, fixed, strict=True))


def test_long_times_and_high_loads_take_bounded_time() -> None:
    assert float(e_n_d_1_survival(8, 1.0, 0.2, 1e9)) == 0.0
    assert float(e_n_d_1_waiting_time(8, 1.0, 0.125 * (1 + 1e-9))) > 1e6
    assert float(e_n_m_1_waiting_time(8, 1.0, 0.125 * (1 + 1e-9))) > 1e6
