"""Of what a bundle brings, how much does each technique bring alone, and how much only together with the others?

Precision, memory layout and batch, the bundle behind many a published speedup; a library and the form of a formula.
Every combination is measured, all of them in every round, and the report takes the bundle apart.
"""

import pytest

from accelbench import factorial


def usual_and_large(host):
    return ("32", "256") if host.size == "full" else ("2", "16")


@pytest.mark.parametrize("workload", ["cnn-train", pytest.param("resnet18-train", marks=pytest.mark.slow)])
@factorial("torch", amp="bf16", memory_format="channels-last")
def test_precision_and_layout(measure, workload):
    measure(workload)


@factorial("torch", amp="bf16", memory_format="channels-last", batch_size="32")
def test_precision_layout_and_batch(measure):
    measure("cnn-train")


@pytest.mark.slow
@factorial("torch", amp="bf16", memory_format="channels-last", batch_size=usual_and_large)
def test_precision_layout_and_large_batch(measure):
    measure("resnet50-train", tf32="highest")


@factorial("torch", array_library="torch-cpu", vectorise="matmul")
def test_library_and_form(measure):
    measure("distance-matrix")
