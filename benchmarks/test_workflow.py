"""What pays in a model's workflow beside the training: how to evaluate it, how to save it, how to load it again?

Of the steps data, model, loss, optimiser, training, evaluation, saving and loading, these are the last three.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    "workload", ["cnn-evaluation", pytest.param("resnet50-evaluation", marks=pytest.mark.slow), "mlp-evaluation"]
)
@toggles("torch", "inference")
def test_evaluation(measure, workload):
    measure(workload)


@pytest.mark.parametrize("model", ["cnn", "resnet18"])
@pytest.mark.parametrize("workload", ["checkpoint-save", "checkpoint-load"])
@toggles("torch", "checkpoint_format")
def test_checkpoint_format(measure, workload, model):
    measure(workload, model=model)


@toggles("torch", "mmap")
def test_mapped_checkpoint(measure):
    measure("checkpoint-load", model="resnet18")
