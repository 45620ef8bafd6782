"""A program of a user's own becomes a workload that techniques switch, or is refused in one sentence."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench import Arm, Program, Setting, program
from accelbench.core import apply_all, find_technique
from accelbench.errors import BadInput, Unavailable
from accelbench.workloads.torch import compile as compiling
from accelbench.workloads.torch.training_step import Trainer

pytestmark = pytest.mark.usefixtures("one_thread")


def build() -> Program:
    """Learn to tell noise from noise."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    data = TensorDataset(torch.randn(64, 1, 8, 8), torch.randint(3, (64,)))
    return Program(
        model=model,
        loader=DataLoader(data, batch_size=4, shuffle=True),
        step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=torch.optim.AdamW(model.parameters()),
        batches=8,
    )


def with_changes(**changes: Any) -> Callable[[], Program]:
    return lambda: replace(build(), **changes)


def arm_of(built: Callable[[], Any] = build, **options: Any) -> Arm:
    return program(built).build(Setting(cores=2), device="cpu", **options)


def losses_of(arm: Arm) -> list[float]:
    arm.reset()
    return [float(loss) for loss in arm.step()]


@pytest.mark.parametrize("batches", [2, 8])
def test_an_iteration_learns_from_as_many_batches_as_the_program_says(batches: int) -> None:
    arm = arm_of(with_changes(batches=batches))
    assert (arm.items, len(losses_of(arm))) == (4 * batches, batches)


class Stream:
    """A loader with a data stream of its own, which does not begin again."""

    def __init__(self, batches: int) -> None:
        self.batches = iter([(torch.randn(4, 1, 8, 8), torch.zeros(4, dtype=torch.int64))] * batches)

    def __iter__(self) -> Iterator[Any]:
        yield from self.batches


@pytest.mark.parametrize("batches", [1, 4, 16, 64])
def test_a_loader_that_never_begins_again_is_refused(batches: int) -> None:
    with pytest.raises(BadInput, match="the program's loader yields no batch; expected at least one, whenever"):
        losses_of(arm_of(with_changes(loader=Stream(batches), batches=None)))


def test_a_reset_forgets_what_was_learnt() -> None:
    arm = arm_of()
    first = losses_of(arm)
    assert [float(loss) for loss in arm.step()] != first
    assert losses_of(arm) == first


@pytest.mark.parametrize(
    ("name", "level"),
    [("amp", "bf16"), ("memory_format", "channels-last"), ("log_interval", "every-10"), ("workers", "1")],
)
def test_a_technique_of_the_suite_applies_and_computes_the_same(name: str, level: str) -> None:
    switch = find_technique("torch", name)
    arm = apply_all([(switch, level)], arm_of)
    try:
        with arm.enter():
            assert losses_of(arm) == pytest.approx(losses_of(arm_of()), rel=max(switch.tolerance_at(level), 1e-5))
    finally:
        arm.close()


def test_larger_batches_draw_as_many_items() -> None:
    arm = apply_all([(find_technique("torch", "batch_size"), "16")], arm_of)
    assert (arm.items, len(losses_of(arm))) == (32, 2)


def test_a_batch_larger_than_the_data_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="an epoch has 64 items here, too few for a batch of 128"):
        arm_of(batch_size=128)


def test_what_is_to_be_written_names_the_kind_of_optimizer_and_of_model_unless_the_program_says_otherwise() -> None:
    models = nn.ModuleList([build().model])
    several = with_changes(model=models, step=lambda models, batch: models[0](batch[0]).sum(), optimizer=None)
    own = with_changes(recipes={"optimizer": {"fused": "faster()"}})
    assert arm_of().recipes["optimizer"]["fused"] == "torch.optim.AdamW(model.parameters(), lr=lr, fused=True)"
    assert arm_of(several).recipes == {"compile": {"*": 'for each in models:\n    each.compile(mode="{level}")'}}
    assert arm_of(own).recipes == {"optimizer": {"fused": "faster()"}}


def test_a_step_may_ask_for_gradients_itself_and_has_its_precision_and_modules_observed() -> None:
    def step(model: Any, batch: Any) -> Any:
        images = batch[0].requires_grad_()
        (slopes,) = torch.autograd.grad(model(images).sum(), images, create_graph=True)
        return slopes.pow(2).mean()

    for options in ({"amp": "bf16"}, {"compile": "default"}):
        program(with_changes(step=step)).build(Setting(only_check=True, cores=2), device="cpu", **options)


@dataclass
class Boxes:
    """What a detector finds."""

    names: list[str]
    scores: torch.Tensor


@pytest.mark.parametrize("answer", ["text", 0.5, Boxes(["cat"], torch.ones(1)), {"label": "cat", "score": 0.5}])
def test_an_answer_may_hold_texts_and_numbers(answer: Any) -> None:
    arm = arm_of(with_changes(optimizer=None, step=lambda *_: answer))
    arm.step()
    assert arm.observe is not None
    assert 0 <= arm.observe()["wait_share"] <= 1


def test_a_model_without_parameters_computes() -> None:
    arm = arm_of(with_changes(model=nn.Flatten(), optimizer=None, step=lambda model, batch: model(batch[0])))
    assert arm.observe is not None
    assert 0 <= arm.observe()["wait_share"] <= 1


def test_batches_of_a_list_are_resident_on_the_cpu_already() -> None:
    batches = [(torch.ones(4, 1, 8, 8), torch.zeros(4, dtype=torch.long))]
    with pytest.raises(Unavailable, match="nothing is sent"):
        arm_of(with_changes(loader=batches), data_location="resident")


def test_batches_whose_size_nobody_knows_beforehand_are_not_divided() -> None:
    batches = [(torch.ones(4, 1, 8, 8), torch.zeros(4, dtype=torch.long))]
    with pytest.raises(Unavailable, match="nothing tells beforehand how many items a batch of the program has"):
        arm_of(with_changes(loader=batches), accumulation=2)


def test_without_an_optimizer_nothing_is_learnt_and_no_gradient_recorded() -> None:
    model = build().model
    arm = arm_of(with_changes(model=model, optimizer=None, step=lambda model, batch: model(batch[0])))
    before = [weight.clone() for weight in model.parameters()]
    outputs = arm.step()
    assert {tuple(output.shape) for output in outputs} == {(4, 3)}
    assert not any(output.requires_grad for output in outputs)
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


class Recorded(nn.Module):
    """Answers from the same memory every time, as a recorded graph does."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = torch.empty(4)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.answer.copy_(images.mean(dim=(1, 2, 3)))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's compiler, when it is loaded
def test_a_recorded_graph_leaves_the_outputs_of_earlier_batches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "obstacle", lambda _: "")
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    answering = with_changes(model=Recorded(), optimizer=None, step=lambda model, batch: model(batch[0]))
    arm = arm_of(answering, compile="max-autotune")
    outputs = arm.step()
    arm.close()
    assert len({float(output[0]) for output in outputs}) == len(outputs)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_recorded_graph_leaves_the_losses_of_earlier_batches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "obstacle", lambda _: "")
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    loss = torch.zeros(())
    monkeypatch.setattr(Trainer, "train_on", lambda *_: (loss.add_(1),))
    arm = arm_of(compile="max-autotune")
    loss.zero_()
    losses = arm.step().tolist()
    arm.close()
    assert losses == [float(number + 1) for number in range(len(losses))]
    assert len(losses) > 1


@pytest.mark.parametrize(
    ("built", "sentence"),
    [
        (lambda: 7, "the function returned an int; expected an accelbench.Program"),
        (with_changes(model=len), "the program's model is a builtin_function_or_method; expected a torch.nn.Module"),
        (with_changes(loader=None), "the program's loader is None; expected a torch.utils.data.DataLoader"),
    ],
)
def test_what_is_no_program_is_refused_in_a_sentence(built: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        arm_of(built)


def test_a_model_that_every_call_returns_is_refused_also_where_it_is_wrapped_anew() -> None:
    model = build().model
    arm_of(with_changes(model=model))
    with pytest.raises(BadInput, match=r"returned the same model twice.*: make the model and its optimizer inside"):
        arm_of(with_changes(model=torch.nn.Sequential(model)))
    model.requires_grad_(requires_grad=False)  # as the frozen part of a larger model, which may be loaded once
    for _ in "ab":
        arm_of(with_changes(model=torch.nn.Sequential(model, torch.nn.Linear(3, 3)), optimizer=None))


def test_a_step_that_returns_no_loss_is_refused() -> None:
    with pytest.raises(BadInput, match=r"returned a tensor of shape \(4, 3\); expected the loss"):
        arm_of(with_changes(step=lambda model, batch: model(batch[0])))


def test_it_is_called_by_its_module_and_its_function_and_summed_up_by_its_docstring() -> None:
    mine = program(build, unit="image")
    assert (mine.name, mine.unit, mine.summary) == (
        "test_own_program:build",
        "image",
        "Learn to tell noise from noise.",
    )
