"""Training in Keras: the same from the same seed, learning, equal in every loop and precision up to its tolerance."""

from dataclasses import fields
from typing import Any

import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, declared_workloads, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.data import tables
from accelbench.workloads.data.rotation import VARIANTS
from accelbench.workloads.tensorflow.training_loop import KerasTrainOptions

pytestmark = pytest.mark.isolated_framework("tensorflow")
STEPS = ("dense-train-keras", "cnn-train-keras", "mish-train-keras")
EPOCHS = ("dense-epoch-keras", "cnn-epoch-keras")
ALL = (*STEPS, *EPOCHS, "logged-training-keras")
SMALL: dict[str, dict[str, Any]] = {
    "cnn-train-keras": {"batch_size": 4},
    "mish-train-keras": {"batch_size": 64},
    "resnet50-train-keras": {"batch_size": 2, "side": 32},
    "dense-epoch-keras": {"steps": 3},
    "cnn-epoch-keras": {"batch_size": 4, "steps": 2},
    "tf-image-training": {"images": 8, "batch_size": 4},
}


def built(name: str, seed: int = 0, **options: Any) -> Arm:
    return find_workload(name).build(Setting(seed=seed), device="cpu", **options)


def output(name: str, seed: int = 0, **options: Any) -> Any:
    return check.output_of(built(name, seed, **options), load("tensorflow"))


@pytest.mark.parametrize("name", ALL)
def test_steps_learn_from_varying_inputs_and_a_reset_arm_repeats_its_output_exactly(name: str) -> None:
    small = SMALL.get(name, {})
    arm = built(name, **small)
    first = check.output_of(arm, load("tensorflow"))
    arm.reset()
    outputs = [load("tensorflow").to_host(arm.step()) for _ in range(VARIANTS + 1 if name in STEPS else 1)]
    if name in STEPS:
        assert relative_error(outputs[1], outputs[0]) > 1e-3
        assert relative_error(outputs[VARIANTS], outputs[0]) > 1e-3  # the same batch again
    assert relative_error(check.output_of(arm, load("tensorflow")), first) == 0
    assert check.find_invalid_values(first) is None
    assert relative_error(output(name, seed=1, **small), first) > 0.1


@pytest.mark.parametrize("name", EPOCHS)
def test_an_epoch_that_leaves_one_batch_out_is_refused_in_every_precision(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from accelbench.workloads.tensorflow.training_step import DatasetEpochs

    honest = output(name)
    monkeypatch.setattr(DatasetEpochs, "__iter__", lambda epochs: iter(epochs.dataset.skip(1)))
    of_loops = find_technique("tensorflow", "loop").tolerance_at("function")
    for level in ("float32", "mixed_bfloat16", "mixed_float16"):
        rounding = find_technique("tensorflow", "mixed_precision").tolerance_at(level)
        error = relative_error(output(name, dtype_policy=level), honest)
        assert error > max(rounding, 10 * of_loops), level


def test_weights_stay_in_float32_and_float16_scales_the_loss() -> None:
    import keras

    from accelbench.workloads.tensorflow import models
    from accelbench.workloads.tensorflow.training_step import KerasTrainer

    trainer = KerasTrainer(models.dense(), seed=0, dtype_policy="mixed_float16")
    assert [layer.compute_dtype for layer in trainer.model.layers] == ["float16", "float32"]
    assert {weight.dtype for weight in trainer.model.trainable_variables} == {"float32"}
    assert isinstance(trainer.model.optimizer, keras.optimizers.LossScaleOptimizer)


def test_a_round_trip_computes_the_same_on_the_host() -> None:
    resident, sent = (output("dense-train-keras", data_location=place) for place in ("resident", "round-trip"))
    assert relative_error(sent, resident) == 0


def test_reading_the_loss_changes_nothing_but_the_waiting() -> None:
    silent, read = (output("logged-training-keras", log_interval=interval) for interval in (0, 10))
    assert relative_error(read, silent) == 0


@pytest.mark.slow
def test_the_residual_branches_of_resnet_begin_at_zero() -> None:
    arm = built("resnet50-train-keras", side=32, batch_size=2, loop="eager")
    loss, *_ = load("tensorflow").to_host(arm.step())
    assert 4 < loss < 10  # near ln 1000 = 6.9, where a network whose activations blow up starts far above


TRAININGS = [each.name for each in declared_workloads() if each.shared and issubclass(each.shared, KerasTrainOptions)]
OPTIONS: dict[str, dict[str, Any]] = {
    "mixed_bfloat16": {"dtype_policy": "mixed_bfloat16"},
    "mixed_float16": {"dtype_policy": "mixed_float16"},
    "eager": {"loop": "eager"},
    "xla": {"loop": "xla"},
    "fit": {"loop": "fit"},
    "batch_size": {"batch_size": 8},
}
REASONS = "Model.fit runs whole epochs", "written into a training step of its own"


def test_a_training_accepts_every_option_and_no_other() -> None:
    assert {"dense-train-keras", "tf-image-training", "inception-train-keras"} < {*TRAININGS}
    for name in TRAININGS:
        assert find_workload(name).options >= {each.name for each in fields(KerasTrainOptions)}


# ResNet-50 is compiled for a minute, and built as the small networks are.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TRAININGS if name != "resnet50-train-keras"])
def test_every_training_computes_the_same_with_an_option_or_refuses_it_for_a_reason(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keras

    monkeypatch.setattr(tables, "TARGET", 0.01)  # which one epoch reaches
    small = SMALL.get(name, {})
    usual = output(name, **small)
    assert check.find_invalid_values(usual) is None
    for case, options in OPTIONS.items():
        try:
            found = output(name, **{**small, **options})
        except Unavailable as reason:
            assert any(known in str(reason) for known in REASONS), (case, str(reason))  # noqa: PT017  each has its own
            continue
        assert check.find_invalid_values(found) is None
        if case == "batch_size":
            continue
        error = relative_error(found, usual)
        if "mixed" in case:
            assert error <= find_technique("tensorflow", "mixed_precision").tolerance_at(case), case
            assert error > 1e-5 or name not in STEPS, case  # it is not float32
            assert keras.config.dtype_policy().name == "float32"
        else:
            assert error <= find_technique("tensorflow", "loop").tolerance_at(case), case


def test_items_are_the_batches_of_a_step() -> None:
    assert built("cnn-train-keras", batch_size=5).items == 5
    assert built("cnn-epoch-keras", batch_size=5, steps=3).items == 15


def test_what_cannot_be_asked_for_is_named_with_the_way_out() -> None:
    with pytest.raises(BadInput, match=r"unknown dtype policy 'fp8'; expected one of: float32, mixed_bfloat16"):
        built("dense-train-keras", dtype_policy="fp8")
    with pytest.raises(BadInput, match="unknown loop 'while'; expected one of: eager, function, xla, fit"):
        built("dense-epoch-keras", loop="while")
    with pytest.raises(BadInput, match="unknown data location 'cloud'; expected one of: resident, round-trip"):
        built("dense-train-keras", data_location="cloud")
    with pytest.raises(Unavailable, match="measure dense-epoch-keras or cnn-epoch-keras"):
        built("dense-train-keras", loop="fit")
    with pytest.raises(Unavailable, match=r"Model\.fit reads the loss by itself"):
        built("dense-epoch-keras", loop="fit", log_interval=1)
    with pytest.raises(Unavailable, match=r"a tf\.data pipeline brings the batches from the host's memory"):
        built("dense-epoch-keras", data_location="round-trip")
    with pytest.raises(Unavailable, match="the digits stay on the device"):
        built("digits-training-keras", data_location="round-trip")
    with pytest.raises(Unavailable, match="an epoch has 8 items here, too few for a batch of 16"):
        built("ladder-training-keras", batch_size=16)
    with pytest.raises(Unavailable, match=r"a training step of its own, .* dtype_policy mixed_bfloat16 does not apply"):
        built("inception-train-keras", dtype_policy="mixed_bfloat16")
    with pytest.raises(Unavailable, match=r"tensorflow \S+ sees no GPU:7; it sees CPU:0"):
        find_workload("dense-train-keras").build(Setting(), device="GPU:7")
