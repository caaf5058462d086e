"""mu_N*(delta): against the recorded table, and against the definition."""

import csv
from pathlib import Path

import numpy as np
import pytest

from forebay.queueing import (
    e_n_d_1_waiting_time,
    e_n_m_1_waiting_time,
    minimal_service_rate,
    share_of_fall,
    waiting_time_limit,
)

TABLE = Path(__file__).parent / "data" / "minimal_service_rate.csv"


def cells() -> list[tuple[str, int, float, str]]:
    with open(TABLE, newline="", encoding="utf-8") as file:
        return [
            (row["service"], int(row["N"]), float(column[1:]), row[column])
            for row in csv.DictReader(file)
            for column in row
            if column.startswith("d")
        ]


def test_the_table_has_all_cells() -> None:
    assert len(cells()) == 2 * 8 * 8


@pytest.mark.parametrize(("service", "n", "delta", "printed"), cells())
def test_rates_are_those_of_the_table_to_its_digits(service: str, n: int, delta: float, printed: str) -> None:
    assert f"{float(minimal_service_rate(n, 1.0, delta, service)):.4f}" == printed


@pytest.mark.parametrize("constraint", ["service", "message", "packet"])
@pytest.mark.parametrize("service", ["exponential", "fixed"])
def test_the_wait_at_the_minimal_rate_is_the_limit(service: str, constraint: str) -> None:
    mean = e_n_m_1_waiting_time if service == "exponential" else e_n_d_1_waiting_time
    for n in (1, 2, 3, 8, 30):
        for delta in (1e-4, 0.01, 0.3, 1.0, 20.0):
            rate = minimal_service_rate(n, 7.0, delta, service, constraint)
            limit = waiting_time_limit(n, 7.0, rate, delta, constraint)
            assert float(mean(n, 7.0, rate)) == pytest.approx(float(limit), rel=1e-7)


def test_equations_12_to_16() -> None:
    d = np.array([0.01, 0.1, 1.0])
    np.testing.assert_allclose(minimal_service_rate(1, 3.0, d), 3 * (1 + d) / d, rtol=1e-13)
    np.testing.assert_allclose(minimal_service_rate(1, 3.0, d, "fixed"), 3 * (2 * d + 1) / (2 * d), rtol=1e-13)
    np.testing.assert_allclose(minimal_service_rate(2, 1.0, d), (1 + d) * (np.sqrt((1 + d) / d) - 1), rtol=1e-13)
    np.testing.assert_allclose(minimal_service_rate(3, 1.0, d), (1 + d) * (np.cbrt((1 + d) / d) - 1), rtol=1e-13)


def test_the_other_reading_for_one_message() -> None:
    # V (V - 1) = 1 / delta.
    assert float(minimal_service_rate(1, 1.0, 0.1, "exponential", "message")) == pytest.approx((1 + np.sqrt(41)) / 2)


def test_the_fall_is_not_over_at_a_twentieth() -> None:
    assert share_of_fall(1, 0.05) == pytest.approx(0.808, abs=5e-4)
    assert share_of_fall(8, 0.05) == pytest.approx(0.497, abs=5e-4)
    assert share_of_fall(4, 0.01) == 0.0 and share_of_fall(4, 1.0) == 1.0
