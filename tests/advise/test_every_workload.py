"""The configuration with which a search begins can be built and checked, for every workload."""

from dataclasses import replace

import pytest

from accelbench.advise.session import Request, prepare
from accelbench.core import Plan
from accelbench.measuring.workers.pool import Pool

QUICK = (
    "checkpoint-load", "cnn-evaluation", "cnn-train", "image-loading", "inception-inference",
    "inception-train", "independent-products", "loader-train", "logged-training", "matmul-torch", "mlp-evaluation",
    "mlp-train", "narrow-mlp-train", "resnet18-evaluation",
)  # fmt: skip
SLOW = (
    "bert-train", "bottleneck-training", "chain-torch", "digits-training", "regnet-train", "resnet18-train",
    "resnet50-train", "ladder-training",
)  # fmt: skip
HELD = {
    "bottleneck-training": {"batch_size": "4"},  # batch normalisation takes more than one image this small
    "digits-training": {"batch_size": "32"},  # one by one, the images take long to be learnt
}


@pytest.fixture(scope="module")
def pool():
    pool = Pool(Plan())
    yield pool
    pool.close()


@pytest.mark.parametrize("workload", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_the_baseline_of_a_workload_runs_as_it_is(pool, workload):
    prepared = prepare(Request(workload=workload, held=HELD.get(workload, {})), pool)
    baseline = prepared.space.levels(prepared.space.baseline)
    (arm,) = pool.measure(replace(prepared.trial, arms=(baseline,), plan=Plan(rehearse=True))).arms
    assert (arm.outcome, arm.reason) == ("measured", None)
