"""The balance table agrees with numpy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from momentlp.matching import cardinality_match, profile_match

RANDOM = np.random.default_rng(3)
POOL, TARGET = RANDOM.normal(1.0, 2.0, (30, 2)), RANDOM.normal(0.0, 1.0, (12, 2))
CODES = np.arange(30) % 3


def test_figures_of_a_profile_are_those_of_numpy_and_scipy() -> None:
    match = profile_match(POOL, TARGET, tolerance=0.2, backend="highs", time_limit=5)
    after = POOL[match.indices]
    for j, row in enumerate(match.balance()):
        unit = TARGET[:, j].std()
        assert row.difference_before == pytest.approx((POOL[:, j].mean() - TARGET[:, j].mean()) / unit)
        assert row.difference_after == pytest.approx((after[:, j].mean() - TARGET[:, j].mean()) / unit)
        assert abs(row.difference_after) <= 0.2 + 1e-9
        assert row.variance_ratio_before == pytest.approx(POOL[:, j].var() / TARGET[:, j].var())
        assert row.variance_ratio_after == pytest.approx(after[:, j].var() / TARGET[:, j].var())
        assert row.ks_before == pytest.approx(stats.ks_2samp(POOL[:, j], TARGET[:, j]).statistic)
        assert row.ks_after == pytest.approx(stats.ks_2samp(after[:, j], TARGET[:, j]).statistic)


def test_fractional_memberships_count_as_weights() -> None:
    match = profile_match(POOL, TARGET, tolerance=0.0, whole=False)
    row = match.balance()[0]
    assert row.difference_after == pytest.approx(0.0, abs=1e-9)
    mean = np.average(POOL[:, 0], weights=match.weights)
    assert row.means_after["pool"] == pytest.approx(mean)
    variance = np.average((POOL[:, 0] - mean) ** 2, weights=match.weights)
    assert row.variance_ratio_after == pytest.approx(variance / TARGET[:, 0].var())
    points = np.concatenate([POOL[:, 0], TARGET[:, 0]])
    share = match.weights / match.weights.sum()
    gaps = [abs(share[POOL[:, 0] <= point].sum() - (TARGET[:, 0] <= point).mean()) for point in points]
    assert row.ks_after == pytest.approx(max(gaps))
    assert match.effective_sample_size["pool"] == pytest.approx(match.size**2 / (match.weights**2).sum())


def test_of_three_groups_the_worst_pair_is_shown() -> None:
    match = cardinality_match(POOL, CODES, tolerance=0.3, backend="highs", time_limit=5)
    groups = [POOL[code == CODES, 0] for code in range(3)]
    unit = np.sqrt(np.mean([group.var() for group in groups]))
    pairs = [(0, 1), (0, 2), (1, 2)]
    row = match.balance()[0]
    differences = [(groups[b].mean() - groups[a].mean()) / unit for a, b in pairs]
    ratios = [groups[b].var() / groups[a].var() for a, b in pairs]
    assert row.difference_before == pytest.approx(max(differences, key=abs))
    assert row.variance_ratio_before == pytest.approx(max(ratios, key=lambda ratio: abs(np.log(ratio))))
    assert row.ks_before == pytest.approx(max(stats.ks_2samp(groups[a], groups[b]).statistic for a, b in pairs))
    assert abs(row.difference_after) <= 0.3 + 1e-9
    assert list(row.means_after) == ["0", "1", "2"]


@pytest.mark.parametrize("unit", ["all", "1"])
def test_groups_may_be_measured_in_another_unit(unit: str) -> None:
    codes = np.arange(30) % 2
    match = cardinality_match(POOL, codes, tolerance=0.2, unit=unit, whole=False)
    rows = POOL if unit == "all" else POOL[codes == 1]
    assert match.data.spread == pytest.approx(rows.std(axis=0))
    assert match.balance().largest_difference <= 0.2 + 1e-9


def test_a_target_of_means_has_neither_variances_nor_distances() -> None:
    balance = profile_match(POOL, [0.5, 0.5], whole=False).balance()
    assert np.isnan(balance[0].variance_ratio_after)
    assert np.isnan(balance[0].ks_after)
    assert "nan" not in str(balance)


def test_the_table_is_a_frame_a_text_and_a_picture() -> None:
    balance = cardinality_match(POOL, CODES % 2, tolerance=0.3, whole=False).balance()
    frame = balance.to_frame()
    assert list(frame.columns) == [
        "name", "0 before", "1 before", "0 after", "1 after", "difference_before", "difference_after",
        "variance_ratio_before", "variance_ratio_after", "ks_before", "ks_after", "tolerance",
    ]  # fmt: skip
    assert len(frame) == len(balance) == 2
    assert str(balance).splitlines()[0].split()[:3] == ["moment", "0", "before"]
    assert "pooled standard deviations of the groups" in balance.summary()
    assert balance._repr_html_().startswith("<table>")


def test_nothing_chosen_has_no_balance_after() -> None:
    balance = profile_match({"x": [50.0, 60.0]}, {"x": [1.0, 2.0]}).balance()
    assert np.isnan(balance[0].difference_after)
    assert np.isnan(balance.largest_difference)
