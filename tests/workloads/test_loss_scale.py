"""Training in float16: the gradient scale settles before an output is compared, and skipped steps are counted."""

from dataclasses import replace
from functools import partial
from random import Random

import pytest
import torch
from torch.nn.functional import cross_entropy

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Plan, Setting, Trial, Workload
from accelbench.frameworks import load
from accelbench.measuring.trial_run import TrialRun
from accelbench.workloads.torch import models
from accelbench.workloads.torch.training_loop import TrainOptions, train_in_turn
from accelbench.workloads.torch.training_step import LossScale, Precision

pytestmark = pytest.mark.usefixtures("one_thread")

USUAL = 2.0**16
# Its gradients overflow in float16 at the usual scale, and at the next few.
STEEP = replace(
    models.mlp(),
    loss=lambda logits, labels: 100 * cross_entropy(logits, labels),
    optimizer=partial(torch.optim.SGD, lr=1e-3),
)


def learn(setting: Setting, options: TrainOptions) -> Arm:
    """Learn from steep losses."""
    return train_in_turn(setting, options, STEEP, 4)


def built(setting: Setting) -> Arm:
    return learn(setting, TrainOptions(device="cpu", amp="fp16"))


def observed(arm: Arm) -> dict[str, float]:
    assert arm.observe is not None
    return dict(arm.observe())


def weights(arm: Arm) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in arm.parameters()]


def learns(arm: Arm) -> bool:
    """Return whether a step changes the weights."""
    before = weights(arm)
    arm.step()
    return any(not torch.equal(*pair) for pair in zip(before, weights(arm), strict=True))


def test_the_usual_scale_makes_the_first_steps_overflow_and_only_they_are_skipped() -> None:
    arm = built(Setting())
    assert not learns(arm)
    assert [learns(arm) for _ in range(20)][-1]


def test_every_step_after_a_reset_learns() -> None:
    arm = built(Setting())
    for _ in range(2):
        arm.reset()
        assert learns(arm)
        assert learns(arm)


def test_a_later_build_of_the_arm_begins_with_the_scale_that_settled_in_the_first_one() -> None:
    setting = Setting()
    first = built(setting)
    first.reset()
    later = built(setting)
    assert learns(later)
    assert observed(later)["loss_scale"] == observed(first)["loss_scale"] < USUAL
    assert not learns(built(Setting()))


def test_a_model_whose_gradients_are_never_finite_ends_its_search_for_a_scale() -> None:
    broken = replace(STEEP, loss=lambda logits, labels: float("nan") * cross_entropy(logits, labels))
    arm = train_in_turn(Setting(), TrainOptions(device="cpu", amp="fp16"), broken, 4)
    arm.reset()
    assert not learns(arm)


def test_training_in_float16_passes_its_check_and_says_from_which_scale_and_how_many_steps_were_skipped() -> None:
    workload = Workload(name="steep", frameworks=("torch",), unit="row", summary="", builder=learn, shared=TrainOptions)
    trial = Trial(
        framework="torch",
        workload=workload,
        arms=({"amp": "fp32"}, {"amp": "fp16"}),
        problem={"device": "cpu"},
        plan=Plan(budget_s=0.1, builds=2, min_span_s=0, prices=False),
    )
    exact, rounded = TrialRun(trial, load("torch"), coin=Random(3)).run().arms
    assert rounded.outcome == "measured", rounded.reason
    assert exact.observed == {}
    assert rounded.observed.keys() == {"loss_scale", "skipped_steps"}
    assert rounded.observed["loss_scale"] < USUAL


def step(precision: Precision, value: float) -> None:
    """Train on one number whose gradient this is."""
    weight = torch.ones(1, requires_grad=True)
    precision.backward((weight * value).sum())
    precision.update_weights(torch.optim.SGD([weight], lr=0.1))


@pytest.mark.parametrize(
    ("gradients", "skipped"),
    [([1.0, 1.0], 0), ([float("inf"), 1.0], 1), ([1.0, float("nan"), float("inf")], 2), ([float("inf")] * 200, 200)],
    ids=["none", "first", "some", "all"],
)
def test_steps_that_are_skipped_inside_a_block_are_counted(gradients: list[float], skipped: int) -> None:
    precision = Precision("fp16", torch.device("cpu"))
    with precision.counting():
        for gradient in gradients:
            step(precision, gradient)
    assert precision.loss_scale.skipped == skipped


def test_a_scale_that_has_doubled_hides_no_step_that_was_skipped() -> None:
    usual = Precision("fp16", torch.device("cpu"))
    usual.settle()
    growing = LossScale(first=usual.loss_scale.first | {"growth_interval": 4})
    precision = Precision("fp16", torch.device("cpu"), growing)
    for gradients in ([1.0] * 3, [1.0, 1.0], [float("inf"), 1.0]):
        with precision.counting():
            for gradient in gradients:
                step(precision, gradient)
    assert precision.loss_scale.skipped == 1
    with precision.counting():
        for gradient in [1.0, 1.0, 1.0, float("inf")]:
            step(precision, gradient)
    assert precision.loss_scale.skipped == 2


def test_precisions_that_skip_nothing_have_nothing_to_observe() -> None:
    for amp in ("fp32", "bf16"):
        assert learn(Setting(), TrainOptions(device="cpu", amp=amp)).observe is None
