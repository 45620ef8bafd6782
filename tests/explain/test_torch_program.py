"""A program without a part does the rest as before, and the profile names the lines that read and copy."""

import copy
import multiprocessing
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._dynamo.utils import get_compilation_metrics
from torch.utils.data import DataLoader, Dataset, TensorDataset

from accelbench import Program
from accelbench.core import Setting
from accelbench.errors import BadInput
from accelbench.explain.parts import build_without
from accelbench.explain.torch_profile import profile_program
from accelbench.explain.torch_program import AblationBuilder, CallCounter
from accelbench.workloads.torch.training_loop import TrainOptions

CALLS: Counter[str] = Counter()


def build(dtype: torch.dtype = torch.float32) -> Program:
    """A program that reads its loss and copies its batch in every step."""
    torch.manual_seed(0)
    model = nn.Linear(4, 2, dtype=dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train_step(batch):
        kept = batch[0].clone()
        loss = nn.functional.cross_entropy(model(kept), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        CALLS["positive"] += loss.item() > 0
        return loss

    data = TensorDataset(torch.randn(32, 4, dtype=dtype), torch.arange(32) % 2)
    return Program(
        model=model, loader=DataLoader(data, batch_size=8), train_step=train_step, optimizer=optimizer, batches=4
    )


def numbers_of(arm) -> list[float]:
    return [number for each in arm.parameters() for number in each.detach().flatten().tolist()]


def weights_after_a_step(taken_off: str) -> tuple[list[float], list[float]]:
    arm = build_without(build, Setting(), TrainOptions(), taken_off=taken_off)
    before = numbers_of(arm)
    with arm.enter():
        arm.step()
    after = numbers_of(arm)
    arm.close()
    return before, after


@pytest.mark.parametrize("taken_off", ["none", "input", "readings-twice", "copies-twice", "anomaly", "readings"])
def test_a_program_without_a_burden_learns_what_it_learnt(taken_off: str) -> None:
    before, after = weights_after_a_step(taken_off)
    assert after == pytest.approx(weights_after_a_step("none")[1])
    assert after != pytest.approx(before)


@pytest.mark.parametrize("taken_off", ["update", "backward+update", "input+update"])
def test_a_program_without_its_update_learns_nothing(taken_off: str) -> None:
    before, after = weights_after_a_step(taken_off)
    assert after == before


def test_a_program_in_float64_runs_in_float32() -> None:
    arm = build_without(lambda: build(torch.float64), Setting(), TrainOptions(), taken_off="float64")
    assert {each.dtype for each in arm.parameters()} == {torch.float32}
    with arm.enter():
        assert torch.isfinite(arm.step()).all()


def test_nothing_of_pytorch_stays_replaced() -> None:
    methods = {name: getattr(torch.Tensor, name) for name in ("item", "clone", "backward", "to")}
    weights_after_a_step("readings-twice+copies-twice+backward+update")
    assert {name: getattr(torch.Tensor, name) for name in methods} == methods
    assert copy.deepcopy.__module__ == "copy"


def test_anomaly_mode_is_off_only_inside_a_block() -> None:
    torch.autograd.set_detect_anomaly(True)
    try:
        arm = build_without(build, Setting(), TrainOptions(), taken_off="anomaly")
        with arm.enter():
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    finally:
        torch.autograd.set_detect_anomaly(False)


def test_the_profile_names_the_lines_of_the_program_alone() -> None:
    profile = profile_program(build, Setting(), {})
    assert [(line.file, line.call, line.times) for line in profile.readings] == [("test_torch_program.py", "item()", 4)]
    assert [(line.file, line.call, line.times) for line in profile.copies] == [("test_torch_program.py", "clone()", 4)]
    assert not profile.anomaly
    assert (profile.items, profile.batch_size, profile.most, profile.is_epoch) == (32, 8, 32, True)


def without_anomaly_mode(batch: list[torch.Tensor]) -> torch.Tensor:
    with torch.autograd.set_detect_anomaly(False):
        return batch[0].sum()


def with_anomaly_mode(batch: list[torch.Tensor]) -> torch.Tensor:
    with torch.autograd.set_detect_anomaly(True):
        return batch[0].sum()


@pytest.mark.parametrize(("step", "switches"), [(with_anomaly_mode, True), (without_anomaly_mode, False)])
def test_anomaly_mode_within_a_step_is_seen(step, switches) -> None:
    def build_with_step() -> Program:
        return replace(build(), train_step=step)

    assert profile_program(build_with_step, Setting(), {}).anomaly == switches


class Sequences(Dataset[list[torch.Tensor]]):
    """Four batches of eight items."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> list[torch.Tensor]:
        return [torch.full((8, 4), float(index)), torch.arange(8) % 2]


class Growing(Sequences):
    """Batches of which each is larger than the one before."""

    def __getitem__(self, index: int) -> list[torch.Tensor]:
        return [part.repeat_interleave(index + 1, dim=0) for part in super().__getitem__(index)]


class Rectified(nn.Linear):
    """A layer with a forward pass of the program's own, which torch.compile compiles."""

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        return super().forward(numbers).relu()


def growing(model: nn.Module) -> Program:
    """Return a program that learns from batches of which each is larger than the one before."""
    return Program(
        model=model,
        loader=DataLoader(Growing(), batch_size=None),
        step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        batches=4,
    )


def test_anomaly_mode_of_torch_compile_is_not_the_programs() -> None:
    def build_compiled() -> Program:
        model = Rectified(4, 2)
        model.compile(backend="aot_eager", dynamic=False)
        return growing(model)

    profile = profile_program(build_compiled, Setting(), {})
    assert profile.compilation.recompilations
    assert not profile.anomaly


class Breaking(nn.Module):
    """A compiled part that reads and copies between two graphs, for batches of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()  # noqa: SLF001  documented
        if numbers.sum().item() > 1e9:
            return self.layer(numbers.clone())
        return self.layer(numbers)


def build_breaking(*, is_compiled: bool = True) -> Program:
    model = Breaking()
    if is_compiled:
        model.compile(backend="aot_eager", dynamic=False)
    return growing(model)


def test_what_the_profile_says_of_a_compiled_program_names_its_own_lines_alone() -> None:
    profile = profile_program(build_breaking, Setting(), {})
    found = profile.compilation
    assert found.breaks
    assert found.recompilations
    for line in (*found.breaks, *found.recompilations):
        assert "test_torch_program.py" in line
        assert line.count(".py") == 1
        assert "  " not in line
        assert "# " not in line
        assert not line.endswith(".")
    assert [line.call for line in profile.readings] == ["item()"]


def test_nothing_is_compiled_again_where_calls_are_counted(monkeypatch) -> None:
    compiled: list[int] = []
    count = CallCounter.count

    @contextmanager
    def watch(self, *arguments):
        with count(self, *arguments):
            before = len(get_compilation_metrics())
            yield
            compiled.append(len(get_compilation_metrics()) - before)

    monkeypatch.setattr(CallCounter, "count", watch)
    profile_program(build_breaking, Setting(), {})
    assert compiled == [0, 0]


@pytest.mark.parametrize("taken_off", ["readings-twice", "copies-twice", "readings"])
def test_methods_that_are_replaced_are_not_compiled(taken_off: str) -> None:
    torch.compiler.reset()
    arm = build_without(build_breaking, Setting(), TrainOptions(), taken_off=taken_off)
    known = len(get_compilation_metrics())
    with arm.enter():
        arm.step()
    arm.close()
    files = {Path(each.co_filename).name for each in get_compilation_metrics()[known:] if each.co_filename}
    assert files == {"test_torch_program.py"}


def test_the_batches_of_a_data_set_that_makes_them_are_counted() -> None:
    def build_batches() -> Program:
        return replace(build(), loader=DataLoader(Sequences(), batch_size=None))

    profile = profile_program(build_batches, Setting(), {})
    assert (profile.items, profile.batches, profile.batch_size) == (32, 4, None)
    assert profile.loading is not None


@pytest.mark.parametrize("draws", [False, True])
def test_a_program_whose_own_process_draws_random_numbers_for_its_data_is_known_by_its_profile(draws: bool) -> None:
    def augment(items: list[tuple[torch.Tensor, ...]]) -> list[torch.Tensor]:
        numbers, kinds = map(torch.stack, zip(*items, strict=True))
        return [numbers + torch.rand(()) if draws else numbers, kinds]

    def build_augmented() -> Program:
        program = build()
        return replace(program, loader=DataLoader(program.loader.dataset, batch_size=8, collate_fn=augment))

    assert profile_program(build_augmented, Setting(), {}).draws == draws


def test_what_a_loader_takes_that_the_profiler_does_not_see_is_unknown() -> None:
    def build_list() -> Program:
        return replace(build(), loader=[Sequences()[index] for index in range(4)])

    profile = profile_program(build_list, Setting(), {})
    assert profile.batches == 4
    assert profile.loading is None


def load(index: int) -> list[torch.Tensor]:
    return [torch.full((8, 4), float(index)), torch.arange(8) % 2]


class Pooled:
    """Batches that a pool of processes loads."""

    def __init__(self) -> None:
        self.pool = multiprocessing.get_context("fork").Pool(2)

    def __iter__(self):
        yield from self.pool.imap(load, range(4))


def test_processes_that_a_program_itself_starts_to_load_are_counted() -> None:
    loaders: list[Pooled] = []

    def build_pooled() -> Program:
        loaders[:] = loaders or [Pooled()]
        return replace(build(), loader=loaders[0])

    try:
        assert profile_program(build_pooled, Setting(), {}).pool == 2
        assert profile_program(build, Setting(), {}).pool == 0
    finally:
        loaders[0].pool.terminate()
        loaders[0].pool.join()


def test_the_profile_counts_the_operations_of_products() -> None:
    profile = profile_program(build, Setting(), {})
    product = next(each for each in profile.operators if each.name == "addmm")
    assert product.operations == 4 * 2 * 8 * 4 * 2  # batches, multiply and add, rows, inputs, outputs
    assert product.moved_bytes
    assert product.precision == "fp32"


@pytest.mark.parametrize(
    ("found", "words"), [(3, "returned an int;"), ("text", "returned a str;"), (None, "returned None;")]
)
def test_what_is_no_program_is_named_with_its_article(found, words):
    with pytest.raises(BadInput, match=words):
        AblationBuilder(lambda: found, frozenset({"input"}))()
