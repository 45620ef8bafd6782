"""A training counts when the network has learnt, and is refused when it has not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.measuring.trial_run import TrialRun
from accelbench.workloads.data import tables
from accelbench.workloads.data.tables import MOST_EPOCHS, TARGET
from accelbench.workloads.tensorflow.training_workloads import digits_training_keras

isolated = pytest.mark.isolated_framework("tensorflow")


def built(seed: int = 0, **options: Any) -> Arm:
    return find_workload("digits-training").build(Setting(seed=seed), device="cpu", **options)


def shuffled() -> tables.Digits:
    split = SPLIT()
    return replace(split, labels=np.random.default_rng(0).permutation(split.labels))


SPLIT = tables.split_digits


def test_a_quarter_of_the_digits_is_held_back_with_as_many_of_each() -> None:
    split = tables.split_digits()
    assert (split.pixels.shape, split.test_pixels.shape) == ((1347, 64), (450, 64))
    assert np.ptp(np.bincount(split.test_labels)) <= 3
    seen = {row.tobytes() for row in split.pixels}
    assert not any(row.tobytes() in seen for row in split.test_pixels)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("amp", ["fp32", "bf16", "fp16"])
def test_every_precision_reaches_the_target(amp: str) -> None:
    arm = built(amp=amp)
    (accuracy,) = check.output_of(arm, load("torch"))
    assert TARGET <= accuracy < 1
    assert arm.verify([accuracy]) is None


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_every_training_begins_with_the_first_weights_and_other_orders_are_observed_beside_it() -> None:
    arm = built()
    first = arm.step()
    assert arm.step() == first
    assert arm.observe is not None
    observed = arm.observe()
    assert TARGET <= observed["test_accuracy"] < 1
    assert 1 < observed["epochs"] < MOST_EPOCHS
    assert arm.step() == first


@pytest.mark.usefixtures("one_thread")
def test_trainings_of_one_step_begin_with_weights_and_in_orders_of_their_own() -> None:
    arm = built(trainings=3, batch_size=128, learning_rate_scaling="linear")
    accuracies = arm.step()
    assert arm.items == len(accuracies) == 3
    assert len(set(accuracies)) > 1
    assert arm.step() == accuracies
    assert arm.observe is not None
    observed = arm.observe()
    assert observed["trainings"] == 4
    assert observed["fewest_epochs"] <= observed["epochs"] <= observed["most_epochs"]
    assert observed["images_per_s"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_larger_batch_learns_in_fewer_epochs_the_more_its_learning_rate_follows_it() -> None:
    def epochs(scaling: str) -> float:
        observe = built(batch_size=128, learning_rate_scaling=scaling).observe
        assert observe is not None
        return observe()["epochs"]

    assert epochs("linear") < epochs("sqrt") < epochs("none")


@pytest.mark.parametrize("workload", ["digits-training", "mlp-train"])
def test_there_is_no_learning_rate_to_scale_for_a_batch_of_the_usual_size(workload: str) -> None:
    with pytest.raises(Unavailable, match=r"the batch has its usual size of .*nothing to scale"):
        find_workload(workload).build(Setting(), device="cpu", learning_rate_scaling="linear")


@pytest.mark.usefixtures("one_thread")
def test_a_larger_batch_that_does_not_get_there_is_unavailable_and_no_wrong_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "MOST_EPOCHS", 2)
    with pytest.raises(Unavailable, match=r"2 epochs end at a test accuracy of .*95 % must be reached"):
        built(batch_size=512).step()


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_an_arm_that_learns_from_shuffled_labels_is_refused_and_the_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "MOST_EPOCHS", 15)

    def learning_from(build: Build, level: str) -> Arm:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "split_digits", shuffled if level == "shuffled" else SPLIT)
            return build()

    planted = Technique(
        name="labels", framework="torch", levels=("right", "shuffled"), summary="Labels.", apply=learning_from
    )
    arms = tuple({"labels": level} for level in ("right", "shuffled"))
    trial = Trial(
        framework="torch", workload="digits-training", arms=arms, techniques=(planted,), plan=Plan(rehearse=True)
    )
    right, wrong = TrialRun(trial, load("torch")).run().arms
    assert (right.outcome, right.reason) == ("measured", None)
    assert wrong.outcome == "wrong-output"
    assert str(wrong.reason).startswith("15 epochs end at a test accuracy of ")
    assert (wrong.reason.code, wrong.reason.values["target"]) == ("target-missed", 0.95)
    assert str(wrong.reason).endswith(" %, and 95 % must be reached")


@pytest.mark.slow
@isolated
@pytest.mark.parametrize("dtype_policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_keras_reaches_the_target_under_every_policy_and_again_after_a_training(dtype_policy: str) -> None:
    framework = load("tensorflow")
    arm = digits_training_keras.build(Setting(), device="CPU:0", dtype_policy=dtype_policy)
    first = check.output_of(arm, framework)
    assert arm.verify(first) is None
    assert first[0] < 1
    assert relative_error(check.output_of(arm, framework), first) == 0


@isolated
def test_keras_does_not_reach_it_from_shuffled_labels() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accelbench.workloads.data.tables.split_digits", shuffled)
        patch.setattr("accelbench.workloads.data.tables.MOST_EPOCHS", 15)
        arm = digits_training_keras.build(Setting(), device="CPU:0")
        assert "95 % must be reached" in str(arm.verify(check.output_of(arm, load("tensorflow"))))


@pytest.mark.slow
@isolated
def test_keras_learns_sooner_from_larger_batches_with_a_learning_rate_that_follows_them() -> None:
    def epochs(**options: Any) -> float:
        observe = digits_training_keras.build(Setting(), device="CPU:0", batch_size=128, **options).observe
        assert observe is not None
        return observe()["epochs"]

    assert epochs(learning_rate_scaling="linear") < epochs(learning_rate_scaling="sqrt") < epochs()
