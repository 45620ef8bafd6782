"""The training that a ladder climbs: what it leaves out until it is asked for."""

from typing import Any

import pytest

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, find_technique, find_workload
from harness.frameworks import load
from harness.measuring import check

pytestmark = pytest.mark.usefixtures("one_thread")
framework = load("torch")


def build(**options: Any) -> Arm:
    return find_workload("stacked-training").build(Setting(cores=2), model="bert", device="cpu", **options)


def test_reading_the_loss_changes_nothing_and_batches_do() -> None:
    output = check.output_of(build(batch_size=4), framework)
    assert check.identical(check.output_of(build(batch_size=4, log_interval=None), framework), output)
    assert [array.shape for array in output] == [(), (4, 2)]
    assert [array.shape for array in check.output_of(build(), framework)] == [(), (1, 2)]


def test_a_rung_adds_to_those_below_it() -> None:
    ladder = find_technique("torch", "ladder")
    arm = ladder.apply(build, "+batch-size 4")
    assert check.identical(check.output_of(arm, framework), check.output_of(build(batch_size=4), framework))


def test_what_the_workload_does_not_have_says_so() -> None:
    with pytest.raises(Unavailable, match="an epoch has 8 items here, too few for a batch of 64"):
        build(batch_size=64)
    with pytest.raises(Unavailable, match="BERT has no convolutions"):
        build(memory_format="channels-last")
    with pytest.raises(BadInput, match="unknown model 'gpt'; expected one of: resnet18, bert"):
        find_workload("stacked-training").build(Setting(), model="gpt")
