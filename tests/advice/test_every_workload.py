"""Of every workload the configuration that a search begins with can be built and checked."""

from dataclasses import replace

import pytest

from harness.advice.advising import Request, prepare
from harness.experiment import Plan
from harness.measuring.pool import Pool

ON_CPU = (
    "bert-train", "burdened-training", "chain-torch", "checkpoint-load", "cnn-evaluation", "cnn-train",
    "digits-training", "image-loading", "inception-inference", "inception-train", "independent-products",
    "loader-train", "logged-training", "matmul-torch", "mlp-evaluation", "mlp-train", "narrow-mlp-train",
    "regnet-train", "resnet18-evaluation", "resnet18-train", "resnet50-train", "stacked-training",
)  # fmt: skip


@pytest.fixture(scope="module")
def pool():
    pool = Pool(Plan())
    yield pool
    pool.close()


@pytest.mark.parametrize("workload", ON_CPU)
def test_the_baseline_of_a_workload_runs_as_it_is(pool, workload):
    prepared = prepare(Request(workload=workload), pool)
    baseline = prepared.space.levels(prepared.space.baseline)
    (arm,) = pool.measure(replace(prepared.trial, arms=(baseline,), plan=Plan(rehearse=True))).arms
    assert (arm.outcome, arm.reason) == ("measured", "")
