"""The generated table has the shape of the real one and a truth that a network finds and a linear model does not."""

from typing import Any

import numpy as np
import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.data.tables import CATEGORIES, NOISE, NUMERIC, ROWS, generate_houses

framework = load("torch")
pytestmark = pytest.mark.usefixtures("one_thread")


def built(**options: Any) -> Arm:
    return find_workload("house-prices-train").build(Setting(), device="cpu", **options)


def test_seventy_nine_features_become_331_finite_columns() -> None:
    table = generate_houses(0)
    assert NUMERIC + len(CATEGORIES) == 79
    assert table.features.shape == (1460, 331)
    assert np.isfinite(table.features).all()
    assert 10 < table.log_prices.min() < table.log_prices.max() < 14


def test_every_row_is_in_one_category_of_each_feature() -> None:
    start = NUMERIC
    for count in CATEGORIES:
        assert (generate_houses(0).features[:, start : start + count].sum(axis=1) == 1).all()
        start += count
    assert start == 331


def test_some_numeric_values_were_missing_and_are_filled_with_the_mean() -> None:
    numeric = generate_houses(0).features[:, :NUMERIC]
    assert 0.05 < (numeric == 0).mean() < 0.07
    assert np.abs(numeric.mean(axis=0)).max() < 0.1


def test_the_same_seed_gives_the_same_houses_and_another_one_others() -> None:
    assert np.array_equal(generate_houses(3).features, generate_houses(3).features)
    assert not np.allclose(generate_houses(3).log_prices, generate_houses(4).log_prices)


def test_a_linear_model_stays_far_above_the_noise() -> None:
    table = generate_houses(0)
    columns = np.column_stack([np.ones(ROWS), table.features]).astype(float)
    weights, _, rank, _ = np.linalg.lstsq(columns, table.log_prices.astype(float), rcond=None)
    left = table.log_prices - columns @ weights
    assert np.sqrt((left**2).sum() / (ROWS - rank)) > 1.5 * NOISE


def test_epochs_learn_and_a_reset_starts_over() -> None:
    arm = built()
    first = check.output_of(arm, framework)
    for _ in range(20):
        losses, _ = arm.step()
    assert float(losses.mean()) < 0.5 * first[0].mean()
    assert relative_error(check.output_of(arm, framework), first) < 1e-4


@pytest.mark.parametrize("level", ["bf16", "fp16"])
def test_mixed_precision_stays_within_its_tolerance_and_is_not_float32(level: str) -> None:
    amp = find_technique("torch", "amp")
    exact, rounded = (check.output_of(built(amp=amp_level), framework) for amp_level in ("fp32", level))
    assert 1e-5 < relative_error(rounded, exact) < amp.tolerance_at(level)


@pytest.mark.parametrize(
    ("options", "rows", "batches"),
    [({}, 1460, 23), ({"rows": 128, "batch_size": 32}, 128, 4), ({"rows": 128, "batch_size": 1024}, 1024, 1)],
)
def test_an_epoch_draws_the_rows_asked_for_and_never_less_than_a_batch(
    options: dict[str, int], rows: int, batches: int
) -> None:
    arm = built(**options)
    losses, _ = arm.step()
    assert (arm.items, losses.numel()) == (rows, batches)


def test_a_batch_larger_than_the_table_is_refused_with_both_numbers() -> None:
    with pytest.raises(Unavailable, match="an epoch has 1,460 items here, too few for a batch of 2,048"):
        built(batch_size=2048)
