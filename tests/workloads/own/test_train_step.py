"""A program may train by itself, and what it has already is no technique for it."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench import Arm, Program, Setting, program
from accelbench.core import apply_all, find_technique
from accelbench.errors import BadInput, Unavailable
from accelbench.workloads.torch import compile as compiling
from accelbench.workloads.torch.user_program import ProgramLoop

pytestmark = pytest.mark.usefixtures("one_thread")

DATA = TensorDataset(torch.randn(64, 1, 8, 8), torch.randint(3, (64,)))
loss_of = nn.functional.cross_entropy


def build() -> Program:
    """Clip and accumulate gradients, warm up, and let a second model follow the first by an optimizer of its own."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(4 * 36, 3))
    judge = nn.Linear(3, 1)
    optimizers = [torch.optim.AdamW(model.parameters(), 1e-2), torch.optim.SGD(judge.parameters(), 1e-2)]
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizers[0], lambda number: min(1.0, (number + 1) / 4))
    counted = 0

    def train_step(batch: Any) -> dict[str, Any]:
        nonlocal counted
        images, labels = batch
        logits = model(images)
        loss = loss_of(logits, labels)
        (loss / 2).backward()
        counted += 1
        if counted % 3 == 0:  # not as often as an iteration has batches
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizers[0].step()
            optimizers[0].zero_grad()
            warm_up.step()
        judged = judge(logits.detach()).square().mean()
        optimizers[1].zero_grad()
        judged.backward()
        optimizers[1].step()
        return {"loss": loss, "judged": judged.item()}

    return Program(
        model=nn.ModuleList([model, judge]),
        loader=DataLoader(DATA, batch_size=4),
        train_step=train_step,
        optimizer=optimizers,
        state=[warm_up],
        batches=8,
    )


def simple(**changes: Any) -> Callable[[], Program]:
    """Return a builder of a program with a step, in which something is changed."""

    def built() -> Program:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(4 * 16, 3))
        made = Program(
            model=model,
            loader=DataLoader(DATA, batch_size=4),
            step=lambda model, batch: loss_of(model(batch[0]), batch[1]),
            optimizer=torch.optim.SGD(model.parameters(), 0.1),
            batches=4,
        )
        return replace(made, **{name: make(made) if callable(make) else make for name, make in changes.items()})

    return built


def arm_of(built: Callable[[], Any] = build, *, only_check: bool = False, **options: Any) -> Arm:
    return program(built).build(Setting(cores=2, only_check=only_check), **options)


def losses_of(arm: Arm) -> torch.Tensor:
    arm.reset()
    losses: torch.Tensor = arm.step()
    return losses


def test_its_losses_are_those_of_its_own_loop_and_a_reset_forgets_everything() -> None:
    arm = arm_of()
    losses = losses_of(arm)
    mine = build()
    batches = list(mine.loader)[:8]  # a loader draws a number when it is iterated
    torch.manual_seed(0)
    trained = list(map(mine.train_step, batches))
    assert losses.tolist() == [pytest.approx([each["loss"].item(), each["judged"]]) for each in trained]
    assert not torch.equal(arm.step(), losses)
    assert torch.equal(losses_of(arm), losses), "weights, both optimizers, the warm-up and the count are the first ones"


def test_outputs_of_a_step_that_remembers_what_it_saw_are_not_compared() -> None:
    def build_with_memory() -> Program:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        seen: list[Any] = []

        def train_step(batch: Any) -> torch.Tensor:
            seen.append(batch)
            images, labels = random.choice(seen)
            loss = loss_of(model(images), labels) * len(seen)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        loader = DataLoader(DATA, batch_size=4)
        return Program(model=model, loader=loader, train_step=train_step, optimizer=optimizer, batches=8)

    arm = arm_of(build_with_memory)
    assert arm.ignore_output
    assert [remark.code for remark in arm.remarks] == ["program-differs"]
    told = program(build_with_memory).build(Setting(cores=2, compares_outputs=False), device="cpu")
    assert told.ignore_output


class Wrapping(torch.optim.Optimizer):
    """Steps by another optimizer, whose momentum is no part of its own state, as implementations of SAM do."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})
        self.base = torch.optim.SGD(self.param_groups, lr=0.1, momentum=0.9)

    def step(self) -> None:  # type: ignore[override]
        self.base.step()


@pytest.mark.parametrize("is_wrapped", [True, False])
def test_an_optimizer_within_another_one_or_held_by_the_step_alone_is_reset(is_wrapped: bool) -> None:
    def build_nested() -> Program:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        outer = Wrapping(model.parameters())
        used = outer if is_wrapped else outer.base

        def train_step(batch: Any) -> torch.Tensor:
            loss = loss_of(model(batch[0]), batch[1])
            used.zero_grad()
            loss.backward()
            used.step()
            return loss

        loader = DataLoader(DATA, batch_size=4)
        return Program(
            model=model, loader=loader, train_step=train_step, optimizer=outer if is_wrapped else (), batches=8
        )

    arm = arm_of(build_nested)
    first = losses_of(arm)
    assert torch.equal(losses_of(arm), first)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_schedule_that_ends_begins_again_and_is_reset_whether_or_not_it_is_named_as_state(is_named: bool) -> None:
    rates: list[float] = []

    def build_short() -> Program:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)

        def train_step(batch: Any) -> torch.Tensor:
            loss = loss_of(model(batch[0]), batch[1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rates.append(optimizer.param_groups[0]["lr"])
            schedule.step()
            return loss

        return Program(
            model=model,
            loader=DataLoader(DATA, batch_size=4),
            train_step=train_step,
            optimizer=optimizer,
            state=[schedule] if is_named else [],
            batches=8,
        )

    arm = arm_of(build_short)
    first = losses_of(arm)
    for _ in range(3):
        arm.step()
    assert max(rates) == pytest.approx(0.1)
    rates.clear()
    assert torch.equal(losses_of(arm), first)
    assert rates[0] == pytest.approx(0.1 / 25)  # the first rate, by default


class Loop:
    """Learns from every second batch."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.seen = 0

    def train(self, batch: Any) -> float:
        self.seen += 1
        loss = loss_of(self.model(batch[0]), batch[1])
        if self.seen % 2 == 0:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


def test_the_method_of_an_object_counts_from_the_first_number_after_a_reset() -> None:
    def built() -> Program:
        loop = Loop()
        return Program(
            model=loop.model,
            loader=[*DataLoader(DATA, batch_size=4)],
            train_step=loop.train,
            optimizer=loop.optimizer,
            batches=3,
        )

    arm = arm_of(built)
    assert torch.equal(losses_of(arm), losses_of(arm))


@pytest.mark.parametrize(
    ("name", "level"),
    [("amp", "bf16"), ("memory_format", "channels-last"), ("workers", "1"), ("threads", "all"), ("device", "cpu")],
)
def test_a_technique_that_makes_sense_applies_and_computes_the_same(name: str, level: str) -> None:
    switch = find_technique("torch", name)
    arm = apply_all([(switch, level)], arm_of)
    try:
        with arm.enter():
            error = (losses_of(arm) - losses_of(arm_of())).norm() / losses_of(arm_of()).norm()
        assert error <= max(switch.tolerance_at(level), 1e-5)
    finally:
        arm.close()


@pytest.fixture
def compiled_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that were compiled, one for each call."""
    compiled: list[str] = []

    def compile_forward(function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
        return lambda *arguments: compiled.append(function.__name__) or function(*arguments)

    monkeypatch.setattr(compiling, "obstacle", lambda _: "")
    monkeypatch.setattr(torch, "compile", compile_forward)
    return compiled


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_every_model_of_a_list_is_compiled_in_place(compiled_calls: list[str]) -> None:
    arm = arm_of(compile="default")
    assert torch.equal(losses_of(arm), losses_of(arm_of()))
    arm.close()
    assert len(set(compiled_calls)) == 2
    assert len(compiled_calls) == 2 * 8


class Encoding(nn.Module):
    """A model of two parts, neither of which is reached by a call of the whole."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.Dropout(0.1))
        self.decoder = nn.Linear(4, 64)
        self.unused = nn.Linear(4, 4)


def encode(model: Any, batch: Any) -> torch.Tensor:
    decoded: torch.Tensor = model.decoder(model.encoder(batch[0]))
    return (decoded - batch[0].flatten(1)).square().mean()


def by_hand(model: Any, batch: Any) -> torch.Tensor:
    answer: torch.Tensor = batch[0].flatten(1) @ model.decoder.weight
    return answer.square().mean()


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_what_a_step_calls_of_a_model_is_compiled_and_nothing_else(compiled_calls: list[str]) -> None:

    def encoding(step: Callable[..., Any]) -> Callable[[], Program]:
        def build_encoding() -> Program:
            model = Encoding()
            loader, optimizer = DataLoader(DATA, batch_size=4), torch.optim.SGD(model.parameters(), 0.1)
            return Program(model=model, loader=loader, step=step, optimizer=optimizer, batches=4)

        return build_encoding

    arm = arm_of(encoding(encode), compile="default")
    assert torch.equal(losses_of(arm), losses_of(arm_of(encoding(encode))))
    arm.close()
    assert (len(set(compiled_calls)), len(compiled_calls)) == (2, 2 * 4)
    with pytest.raises(Unavailable, match="calls none of its modules, so there is nothing to compile"):
        arm_of(encoding(by_hand), compile="default")


def test_a_compiled_model_that_only_the_step_holds_is_seen() -> None:
    def built() -> Program:
        made = simple()()
        model = torch.compile(made.model, backend="eager")
        return replace(made, step=lambda _, batch: loss_of(model(batch[0]), batch[1]))

    for mode, why in (("default", "the program has this already"), ("max-autotune", "the program compiles its model")):
        with pytest.raises(Unavailable, match=why):
            arm_of(built, only_check=True, compile=mode)


def test_a_batch_with_tensors_of_several_lengths_is_not_divided() -> None:
    def clouds(items: list[Any]) -> tuple[list[torch.Tensor], torch.Tensor]:
        images, labels = zip(*items, strict=True)
        return [image.flatten()[: 8 + number] for number, image in enumerate(images)], torch.stack(labels)

    def step(model: Any, batch: Any) -> torch.Tensor:
        points = torch.stack([cloud[:8] for cloud in batch[0]])
        return loss_of(model(nn.functional.pad(points, (0, 56)).reshape(-1, 1, 8, 8)), batch[1])

    built = simple(loader=lambda _: DataLoader(DATA, batch_size=4, collate_fn=clouds), step=lambda _: step)
    with pytest.raises(Unavailable, match="a batch holds tensors of several lengths"):
        arm_of(built, accumulation=2).step()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"amp": "fp16"}, "makes the backward pass, in which float16 needs a gradient scaler"),
        ({"accumulation": 4}, "learns from a batch as it comes"),
        ({"optimizer": "fused"}, "steps the optimizers that it holds"),
        ({"log_interval": 10}, "reads its loss where it wants to"),
        ({"log_by": "float"}, "reads its loss as it wants to"),
        ({"ablation": "silent"}, "reads its loss where it wants to"),
        ({"cuda_graphs": True}, "may call its models in any way"),
    ],
)
def test_what_a_training_step_of_its_own_decides_is_refused_in_a_sentence(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Unavailable, match=f"the program's own training step {sentence}"):
        arm_of(only_check=True, **options)


def learn_in_step(*, clears: bool) -> Callable[[Program], Callable[[Any, Any], Any]]:
    def make(made: Program) -> Callable[[Any, Any], Any]:
        def step(model: Any, batch: Any) -> Any:
            loss = loss_of(model(batch[0]), batch[1])
            loss.backward()
            made.optimizer.step()
            if clears:
                made.optimizer.zero_grad()
            return loss

        return step

    return make


def detached(_: Program) -> Callable[[Any, Any], Any]:
    return lambda model, batch: loss_of(model(batch[0]), batch[1]).detach()


@pytest.mark.parametrize("step", [learn_in_step(clears=False), learn_in_step(clears=True), detached])
def test_a_step_that_makes_the_backward_pass_itself_is_told_of_train_step(step: Callable[..., Any]) -> None:
    with pytest.raises(BadInput, match=r"makes the backward pass itself; pass it as train_step\(batch\)"):
        arm_of(simple(step=step)).step()


def nothing(_: Program) -> Callable[[Any], None]:
    return lambda _: None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_step": nothing}, "the program has both step and train_step; expected"),
        ({"step": None}, "the program has neither step nor train_step; expected"),
        ({"recipes": {"amp": "autocast"}}, "the program's recipes are a dict; expected code by technique and level"),
        (
            {"step": None, "train_step": nothing, "optimizer": None},
            "has a train_step and no optimizer; expected .* or op",
        ),
        ({"step": None, "train_step": nothing}, "the program's train_step returned None; expected its loss"),
        (
            {"optimizer": lambda made: made.model.parameters()},
            "optimizer holds a generator; expected objects with state_d",
        ),
        ({"state": [3]}, "the program's state holds an int; expected objects with state_dict and load_state_dict"),
        ({"model": lambda _: nn.LazyLinear(3)}, "weights without a shape, .*; expected a model that has seen a batch"),
        (
            {"optimizer": lambda made: torch.optim.LBFGS(made.model.parameters())},
            r"LBFGS computes the loss several times in a step; expected train_step\(batch\)",
        ),
    ],
)
def test_a_program_that_cannot_run_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        arm_of(simple(**changes)).step()


def channels_last(made: Program) -> Any:
    return made.model.to(memory_format=torch.channels_last)


def autocast(_: Program) -> Callable[[Any, Any], Any]:
    def step(model: Any, batch: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return loss_of(model(batch[0]), batch[1])

    return step


def compiled(made: Program) -> Any:
    made.model[0].compile(backend="eager")
    return made.model


def two_workers(_: Program) -> Any:
    return DataLoader(DATA, batch_size=4, num_workers=2, persistent_workers=True, prefetch_factor=4)


@pytest.mark.parametrize(
    ("changes", "options", "has_already"),
    [
        ({}, {"batch_size": 4}, True),
        ({}, {"batch_size": 8}, False),
        ({}, {"workers": 0}, True),
        ({"loader": two_workers}, {"workers": 2}, True),
        ({"loader": two_workers}, {"workers": 1}, False),
        ({"loader": two_workers}, {"persistent_workers": True}, True),
        ({"loader": two_workers}, {"prefetch_factor": 4}, True),
        ({}, {"pin_memory": False}, True),
        ({}, {"device": "cpu"}, True),
        ({}, {"memory_format": "contiguous"}, True),
        ({"model": channels_last}, {"memory_format": "channels-last"}, True),
        ({"model": channels_last}, {"memory_format": "contiguous"}, False),
        ({}, {"amp": "fp32"}, True),
        ({}, {"amp": "bf16"}, False),
        ({"step": autocast}, {"amp": "bf16"}, True),
        ({}, {"compile": "eager"}, True),
        ({"model": compiled}, {"compile": "default"}, True),
        ({}, {"optimizer": "for-loop"}, True),
        ({}, {"optimizer": "foreach"}, False),
        ({}, {"amp": "bf16", "workers": 0}, False),
    ],
)
def test_what_the_program_has_already_is_no_technique_where_options_are_checked(
    changes: dict[str, Any], options: dict[str, Any], has_already: bool
) -> None:
    built = simple(**changes)
    if not has_already:
        arm_of(built, only_check=True, **options)
        return
    with pytest.raises(Unavailable, match=r"^the program has this already$"):
        arm_of(built, only_check=True, **options)


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, {"batch_size": 4, "workers": 0}),
        ({"loader": two_workers}, {"batch_size": 4, "workers": 2}),
        ({"loader": lambda _: [DATA[:4]]}, {"workers": 0}),
    ],
)
def test_the_programs_own_numbers_are_told_where_options_are_checked(
    changes: dict[str, Any], numbers: dict[str, int]
) -> None:
    assert arm_of(simple(**changes), only_check=True).own_numbers == numbers


@pytest.mark.parametrize("options", [{"persistent_workers": True}, {"prefetch_factor": 8}])
def test_without_loader_processes_there_is_none_to_live_on_or_to_load_ahead(options: dict[str, Any]) -> None:
    with pytest.raises(Unavailable, match="loads in its own process"):
        arm_of(simple(), only_check=True, **options)
    arm_of(simple(), only_check=True, workers=1, **options)


@pytest.mark.parametrize("level", ["bf16", "fp16"])
def test_a_program_that_sets_its_own_precision_keeps_it(level: str) -> None:
    with pytest.raises(Unavailable, match="has this already" if level == "bf16" else "sets its own precision, bf16"):
        arm_of(simple(step=autocast), amp=level)


def test_options_that_are_not_set_leave_the_program_as_it_is() -> None:
    def still(made: Program) -> Any:
        made.model[4].eval()
        return channels_last(made)

    models = []
    built = simple(model=lambda made: models.append(still(made)) or models[-1])
    arm_of(built).step()
    (model,) = models
    assert not model[2].weight.is_contiguous()
    assert (model[0].training, model[4].training) == (True, False)


@pytest.mark.parametrize(
    ("loading_s", "batch_s", "batches"),
    [
        (0.0, 2.0, 1),
        (0.0, 0.1, 2),
        (0.1, 0.2, 4),  # so many that loader processes have something to load
        (1.0, 2.0, 1),
        (0.0, 0.02, 8),
        (0.0, 0.001, 16),  # the whole epoch
    ],
)
def test_an_iteration_has_as_many_batches_as_their_time_allows(
    monkeypatch: pytest.MonkeyPatch, loading_s: float, batch_s: float, batches: int
) -> None:
    monkeypatch.setattr(ProgramLoop, "_time_batches", lambda _: (loading_s, batch_s))
    arm = arm_of(simple(batches=None))
    assert len(losses_of(arm)) == batches


def test_all_arms_of_a_trial_and_its_later_visits_have_as_many_batches_as_the_baseline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([0.1, 0.02])
    monkeypatch.setattr(ProgramLoop, "_time_batches", lambda _: (0.0, next(times)))
    mine, setting = program(simple(batches=None)), Setting(cores=2)
    items = [mine.build(setting, **options).items for options in ({}, {"amp": "bf16"}, {"batch_size": 8})]
    assert items == [8, 8, 8]
    assert mine.build(Setting(cores=2, items=12)).items == 12, "as an earlier visit chose"
    assert mine.build(Setting(cores=2)).items == 32, "another trial chooses anew"


def test_what_is_chosen_by_the_time_of_batches_is_small() -> None:
    arm = arm_of(simple(batches=None))
    first = losses_of(arm)
    assert 1 <= len(first) <= 16
    assert torch.equal(losses_of(arm), first), "timing them has taught nothing"


@pytest.mark.parametrize("options", [{"workers": 1}, {"loading": "thread"}])
def test_a_program_that_hardly_waits_for_its_batches_is_offered_no_other_way_of_loading(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(ProgramLoop, "_read_wait_shares", lambda _: [0.002] * 7 + [0.01])
    with pytest.raises(Unavailable, match=r"waits for its batches in at most 1.0 % of its time, which is all"):
        arm_of(simple(), only_check=True, **options)
    arm_of(simple(), **options)


class Slow(Dataset[Any]):
    """Data that take a while."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        time.sleep(2e-3)
        return DATA[index]


def test_a_program_that_waits_for_its_batches_is_offered_loader_processes() -> None:
    arm_of(simple(loader=DataLoader(Slow(), batch_size=2)), only_check=True, workers=1)
