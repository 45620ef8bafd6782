"""Training in Keras: the same from the same seed, learning, equal in every loop and precision up to its tolerance."""

from typing import Any

import pytest

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, find_technique, find_workload
from harness.frameworks import load
from harness.measuring import check
from harness.workloads.data.rotation import VARIANTS

pytestmark = pytest.mark.apart("tensorflow")
STEPS = ("dense-train-keras", "cnn-train-keras", "mish-train-keras")
EPOCHS = ("dense-epoch-keras", "cnn-epoch-keras")
ALL = (*STEPS, *EPOCHS, "logged-training-keras")


def built(name: str, seed: int = 0, **options: Any) -> Arm:
    return find_workload(name).build(Setting(seed=seed), device="cpu", **options)


def output(name: str, seed: int = 0, **options: Any) -> Any:
    return check.output_of(built(name, seed, **options), load("tensorflow"))


@pytest.mark.parametrize("name", ALL)
def test_a_reset_arm_repeats_its_output_exactly(name: str) -> None:
    arm = built(name)
    first = check.output_of(arm, load("tensorflow"))
    arm.step()
    assert check.relative_error(check.output_of(arm, load("tensorflow")), first) == 0
    assert check.fault(first) is None
    assert check.relative_error(output(name, seed=1), first) > 0.1


@pytest.mark.parametrize("name", STEPS)
def test_steps_learn_and_their_inputs_vary(name: str) -> None:
    arm = built(name)
    outputs = [load("tensorflow").to_host(arm.step()) for _ in range(VARIANTS + 1)]
    assert check.relative_error(outputs[1], outputs[0]) > 1e-3
    assert check.relative_error(outputs[VARIANTS], outputs[0]) > 1e-3  # the same batch again


@pytest.mark.parametrize(
    ("name", "loop"), [(EPOCHS[0], "fit"), (EPOCHS[1], "eager"), (EPOCHS[1], "xla"), (EPOCHS[1], "fit")]
)
def test_every_loop_learns_the_same_in_an_epoch(name: str, loop: str) -> None:
    tolerance = find_technique("tensorflow", "loop").tolerance_at(loop)
    assert check.relative_error(output(name, loop=loop), output(name, loop="function")) < tolerance


def test_a_loop_that_leaves_one_batch_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.workloads.tensorflow.trainer import KerasTrainer

    honest, epoch = output("cnn-epoch-keras"), KerasTrainer.epoch
    monkeypatch.setattr(KerasTrainer, "epoch", lambda trainer, dataset: epoch(trainer, dataset.skip(1)))
    tolerance = find_technique("tensorflow", "loop").tolerance_at("function")
    assert check.relative_error(output("cnn-epoch-keras"), honest) > 10 * tolerance


@pytest.mark.parametrize("level", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", STEPS)
def test_mixed_precision_stays_within_its_tolerance_and_is_not_float32(name: str, level: str) -> None:
    import keras

    technique = find_technique("tensorflow", "mixed_precision")
    assert 1e-5 < check.relative_error(output(name, dtype_policy=level), output(name)) < technique.tolerance_at(level)
    assert keras.config.dtype_policy().name == "float32"


def test_weights_stay_in_float32_and_float16_scales_the_loss() -> None:
    import keras

    from harness.workloads.tensorflow import models
    from harness.workloads.tensorflow.trainer import KerasTrainer

    trainer = KerasTrainer(models.dense(), seed=0, dtype_policy="mixed_float16")
    assert [layer.compute_dtype for layer in trainer.model.layers] == ["float16", "float32"]
    assert {weight.dtype for weight in trainer.model.trainable_variables} == {"float32"}
    assert isinstance(trainer.model.optimizer, keras.optimizers.LossScaleOptimizer)


def test_a_round_trip_computes_the_same_on_the_host() -> None:
    resident, sent = (output("dense-train-keras", data_location=place) for place in ("resident", "round-trip"))
    assert check.relative_error(sent, resident) == 0


def test_reading_the_loss_changes_nothing_but_the_waiting() -> None:
    silent, read = (output("logged-training-keras", log_interval=interval) for interval in (None, 10))
    assert check.relative_error(read, silent) == 0


def test_the_residual_branches_of_resnet_begin_at_zero() -> None:
    arm = built("resnet50-train-keras", side=32, batch_size=2, loop="eager")
    loss, *_ = load("tensorflow").to_host(arm.step())
    assert 4 < loss < 10  # near ln 1000 = 6.9, where a network whose activations blow up starts far above


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
    with pytest.raises(Unavailable, match=r"tensorflow \S+ sees no GPU:7; it sees CPU:0"):
        find_workload("dense-train-keras").build(Setting(), device="GPU:7")
