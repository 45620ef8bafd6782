"""All three forms of a formula compute the same, and what they say."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import zscore

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, apply_all, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check

framework = load("torch")
FORMS = ["loop", "array", "matmul"]
LIBRARIES = ["numpy", "torch-cpu"]


def inputs(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32).astype(float)


def build(name: str, **options: Any) -> Arm:
    return find_workload(name).build(Setting(), **options)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("form", FORMS)
def test_distances_are_euclidean(library: str, form: str) -> None:
    arm = build("distance-matrix", array_library=library, form=form)
    expected = np.stack([cdist(points, points) for points in inputs(2, 32, 32)])
    assert relative_error(check.output_of(arm, framework), [expected]) < 3e-4
    assert arm.items == 2 * 32 * 32
    assert "float32" in str(arm.step().dtype)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("form", FORMS)
def test_rows_come_out_with_mean_zero_and_variance_one(library: str, form: str) -> None:
    arm = build("row-normalisation", array_library=library, form=form)
    assert relative_error(check.output_of(arm, framework), [zscore(inputs(512, 32), axis=1)]) < 1e-5
    assert arm.items == 512
    assert "float32" in str(arm.step().dtype)


@pytest.mark.parametrize("name", ["numpy", "torch", "cupy"])
def test_every_library_is_asked_in_the_same_words(name: str) -> None:
    vectorise = find_technique(name, "vectorise")
    assert vectorise.levels == tuple(FORMS)
    arm = apply_all([(vectorise, "matmul")], lambda **options: build("row-normalisation", **options))
    assert arm.step().shape == (512, 32)


def test_an_unknown_form_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown form 'map'; expected one of: loop, array, matmul"):
        build("row-normalisation", form="map")
