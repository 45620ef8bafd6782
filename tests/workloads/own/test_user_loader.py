"""Every epoch of a program's own loader has the same items, whatever the form of the loader and whoever loads it."""

import os
import random
from collections import UserDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    Subset,
    TensorDataset,
    get_worker_info,
)

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench import Arm, Program, Setting, program
from accelbench.core import Plan, Trial
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.trial_run import TrialRun
from accelbench.workloads.torch.batch import items_in, map_parts, send_part, tensors_of
from accelbench.workloads.torch.user_loader import Processes, UserLoader

pytestmark = pytest.mark.usefixtures("one_thread")

ROWS = 24
IN_PROCESS = Processes(workers=0, persistent_workers=False, prefetch_factor=2, pin_memory=False)


class Drawing(Dataset[torch.Tensor]):
    """Rows to which random numbers of every kind are added; ``hidden`` ones come from nowhere that could be seeded."""

    def __init__(self, *, hidden: bool = False) -> None:
        self.hidden = hidden
        self.generators = [np.random.default_rng(), random.Random(), torch.Generator(), np.random.RandomState()]

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> torch.Tensor:
        own, python, torch_own, legacy = self.generators
        drawn = [random.random(), np.random.rand(), float(torch.rand(())), own.random(), python.random()]  # noqa: NPY002
        drawn += [float(torch.rand((), generator=torch_own)), legacy.rand()]
        hidden = int.from_bytes(os.urandom(2)) if self.hidden else 0
        return torch.tensor([float(index), *drawn, float(hidden)])


class Text(IterableDataset[torch.Tensor]):
    """Numbers in turn, divided among loader processes if they are ``shared``."""

    def __init__(self, *, shared: bool, count: int = 1000) -> None:
        self.shared, self.count = shared, count

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker and self.shared else (0, 1)
        return (torch.tensor([float(number)]) for number in range(first, self.count, step))


class Prepared(Dataset[torch.Tensor]):
    """Rows of a file that a loader process opens when it starts, to which random numbers are added if they ``draw``."""

    file: Any = None

    def __init__(self, *, draws: bool) -> None:
        self.draws = draws

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> torch.Tensor:
        drawn = torch.rand(()) if self.draws else torch.zeros(())
        return torch.stack([self.file[index], drawn])


def open_file(_: int) -> None:
    """Prepare a loader process, as PyTorch's documentation does."""
    get_worker_info().dataset.file = torch.arange(float(ROWS))


class Span(IterableDataset[torch.Tensor]):
    """Yields numbers in order; each loader process learns which of them are its own."""

    def __init__(self) -> None:
        self.start, self.end = 0, ROWS

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (torch.tensor([float(number)]) for number in range(self.start, self.end))


def divide(number: int) -> None:
    """Give a loader process its part, as PyTorch's documentation does."""
    worker = get_worker_info()
    each = ROWS // worker.num_workers
    worker.dataset.start, worker.dataset.end = number * each, (number + 1) * each


class Backwards(Sampler[int]):
    """The last rows first."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(ROWS - 1, -1, -1))

    def __len__(self) -> int:
        return ROWS


@dataclass
class Batch:
    """A batch with names."""

    rows: torch.Tensor
    note: str = "rows"


class Tokens(UserDict[str, Any]):
    """A mapping whose values are attributes, too, as a tokenizer's."""

    def __getattr__(self, name: str) -> Any:
        return self.data[name]


def named(items: list[torch.Tensor]) -> Batch:
    return Batch(rows=torch.stack(items))


def numbered() -> TensorDataset:
    return TensorDataset(torch.arange(float(ROWS)).unsqueeze(1))


def rows_of(batches: Any) -> list[list[float]]:
    return [[float(row[0]) for row in next(tensors_of(batch))] for batch in batches]


@pytest.mark.parametrize(
    ("loader", "rows"),
    [
        (lambda: DataLoader(numbered(), batch_size=4), [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (lambda: DataLoader(numbered(), batch_size=4, sampler=Backwards()), [[23, 22, 21, 20], [19, 18, 17, 16]]),
        (
            lambda: DataLoader(numbered(), batch_sampler=BatchSampler(Backwards(), 3, False)),
            [[23, 22, 21], [20, 19, 18]],
        ),
        (lambda: DataLoader(list(torch.arange(12.0).reshape(4, 3, 1)), batch_size=None), [[0, 1, 2], [3, 4, 5]]),
        (lambda: DataLoader(list(torch.arange(12.0).reshape(6, 2)), 2, collate_fn=named), [[0, 2], [4, 6]]),
        (lambda: DataLoader(Text(shared=True), batch_size=3), [[0, 1, 2], [3, 4, 5]]),
        (lambda: [{"rows": torch.ones(2, 1)}, {"rows": torch.zeros(3, 1)}, {}], [[1, 1], [0, 0, 0]]),
    ],
    ids=["sequence", "sampler", "batch-sampler", "whole-batches", "dataclass", "stream", "list"],
)
def test_every_epoch_has_the_first_batches_of_the_program_in_its_own_order(
    loader: Callable[[], Any], rows: list[list[float]]
) -> None:
    own = UserLoader(loader(), seed=0)
    epoch = own.epoch(2, own.batch_size, IN_PROCESS, draws=False)
    assert rows_of(epoch) == rows_of(epoch) == rows
    assert (epoch.count, epoch.items) == (2, sum(map(len, rows)))
    assert own.batches_of(epoch.items) == 2


def test_a_random_order_is_drawn_from_the_seed_and_is_the_beginning_of_the_programs_epoch() -> None:
    torch.manual_seed(1)
    orders = [
        rows_of(own.epoch(count, 4, IN_PROCESS, draws=False))
        for seed, count in [(0, 3), (0, 3), (0, 6), (1, 3)]
        if (own := UserLoader(DataLoader(numbered(), batch_size=4, shuffle=True), seed))
    ]
    assert orders[0] == orders[1] == orders[2][:3] != orders[3]
    assert sorted(row for batch in orders[2] for row in batch) == list(range(ROWS))


@pytest.mark.parametrize("data", [Drawing, lambda: Subset(Drawing(), range(ROWS))], ids=["data set", "subset"])
def test_an_item_that_is_drawn_at_random_is_the_same_in_every_process_order_and_epoch(data: Callable[[], Any]) -> None:
    def items(workers: int, batch_size: int) -> dict[float, list[float]]:
        own = UserLoader(DataLoader(data(), batch_size=4, shuffle=True), seed=0)
        epoch = own.epoch(3, batch_size, replace(IN_PROCESS, workers=workers), draws=True)
        try:
            return {float(row[0]): row.tolist() for batch in epoch for row in batch}
        finally:
            epoch.close()

    usual = items(0, 4)
    assert len({row[3] for row in usual.values()}) == 12, "items differ from each other"
    assert items(2, 4) == usual
    assert items(1, 6) == usual


def test_making_an_item_leaves_the_random_numbers_of_the_process_alone() -> None:
    own = UserLoader(DataLoader(Drawing(), batch_size=4), seed=0)
    drawn = []
    for _ in range(2):
        torch.manual_seed(5)
        random.seed(5)
        np.random.seed(5)  # noqa: NPY002
        if not drawn:
            list(own.epoch(2, 4, IN_PROCESS, draws=True))
        drawn.append((float(torch.rand(())), random.random(), float(np.random.rand())))  # noqa: NPY002
    assert drawn[0] == drawn[1]


def masked(items: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack(items) + torch.rand(len(items), 1)


@pytest.mark.parametrize(
    ("loader", "draws", "repeats"),
    [
        (lambda: DataLoader(numbered(), batch_size=4, shuffle=True), False, True),
        (lambda: DataLoader(Drawing(), batch_size=4), True, True),
        (lambda: DataLoader(Drawing(hidden=True), batch_size=4), True, False),
        (lambda: DataLoader(list(torch.ones(8, 1)), batch_size=4, collate_fn=masked), True, True),
        (lambda: DataLoader(Text(shared=True), batch_size=4), False, True),
        (lambda: [torch.ones(4, 1)] * 3, False, True),
    ],
    ids=["fixed", "drawn", "hidden", "collated", "stream", "list"],
)
def test_data_that_draw_random_numbers_are_found(loader: Callable[[], Any], draws: bool, repeats: bool) -> None:
    assert UserLoader(loader(), seed=0).find_draws() == (draws, repeats)


def test_a_collate_function_that_draws_makes_the_same_of_the_same_items() -> None:
    own = UserLoader(DataLoader(list(torch.ones(8, 1)), batch_size=4, collate_fn=masked), seed=0)
    first, second = (torch.cat(list(own.epoch(2, 4, IN_PROCESS, draws=True))) for _ in range(2))
    assert torch.equal(first, second)
    assert len(first.unique()) == 8


def test_loader_processes_divide_a_stream_and_yield_as_many_batches() -> None:
    own = UserLoader(DataLoader(Text(shared=True), batch_size=2), seed=0)
    epoch = own.epoch(3, 2, replace(IN_PROCESS, workers=2), draws=False)
    assert rows_of(epoch) == rows_of(epoch) == [[0, 2], [1, 3], [4, 6]]
    epoch.close()
    assert not own.repeats_in_processes()
    assert UserLoader(DataLoader(Text(shared=False), batch_size=2), seed=0).repeats_in_processes()


@pytest.mark.parametrize(
    ("loader", "sentence"),
    [
        (7, "the program's loader is an int; expected a torch.utils.data.DataLoader, or anything that yields"),
        (iter([torch.ones(2)]), "the program's loader is a list_iterator, which yields its batches once"),
    ],
)
def test_what_cannot_be_iterated_again_is_no_loader(loader: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        UserLoader(loader, seed=0)


@pytest.mark.parametrize("loader", [[], DataLoader(TensorDataset(torch.ones(0)), sampler=range(0))])
def test_a_loader_without_a_batch_is_refused(loader: Any) -> None:
    own = UserLoader(loader, seed=0)
    with pytest.raises(BadInput, match="yields no batch"):
        own.epoch(2, own.batch_size, IN_PROCESS, draws=False)


def test_a_loader_that_drops_its_only_batch_says_so() -> None:
    dropping = DataLoader(TensorDataset(torch.ones(4, 1)), batch_size=8, drop_last=True)
    with pytest.raises(BadInput, match="gives no batch: there are 4 items for a batch of 8, and drop_last=True leaves"):
        UserLoader(dropping, seed=0)


def test_batches_of_every_form_keep_it_when_their_tensors_change() -> None:
    batch = {"a": Batch(torch.ones(2)), "b": (torch.ones(2, 3), "text"), "c": Tokens(ids=torch.ones(2)), "d": None}
    doubled = map_parts(batch, lambda part: 2 * part if isinstance(part, torch.Tensor) else part)
    assert [float(part.max()) for part in tensors_of(doubled)] == [2, 2, 2]
    assert (doubled["a"].note, doubled["b"][1], doubled["d"]) == ("rows", "text", None)
    assert torch.equal(doubled["c"].ids, torch.tensor([2.0, 2.0]))
    assert float(batch["a"].rows.max()) == 1, "the program's own batch stays as it is"
    assert items_in(batch) == 2


def test_an_object_that_knows_how_is_sent_to_the_device() -> None:
    class Graph:
        device = "host"

        def to(self, device: str) -> "Graph":
            self.device = device
            return self

    assert send_part(Graph(), "meta", non_blocking=True).device == "meta"
    assert send_part("text", "meta") == "text"


def learning_from(loader: Callable[[], Any], width: int) -> Callable[[], Program]:
    def build() -> Program:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(width, 8), nn.Dropout(0.5), nn.Linear(8, 1))

        def step(model: Any, batch: Any) -> Any:
            return model(next(tensors_of(batch)) / ROWS).square().mean()

        return Program(
            model=model, loader=loader(), step=step, optimizer=torch.optim.SGD(model.parameters(), 0.1), batches=3
        )

    return build


def drawing() -> Any:
    return DataLoader(Drawing(), batch_size=4, shuffle=True)


def hidden() -> Any:
    return DataLoader(Drawing(hidden=True), batch_size=4)


def stream() -> Any:
    return DataLoader(Text(shared=True), batch_size=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loader", "width", "remarks"),
    [
        (drawing, 9, {"items-seeded"}),
        (hidden, 9, {"data-never-repeat"}),
        (stream, 1, {"other-batches"}),
    ],
)
def test_loader_processes_get_a_speed_whatever_the_data_draw(
    loader: Callable[[], Any], width: int, remarks: set[str]
) -> None:
    trial = Trial(
        framework="torch",
        workload=program(learning_from(loader, width)),
        arms=({"workers": "0"}, {"workers": "2"}),
        setting=Setting(cores=2),
        plan=Plan(budget_s=1.0, rehearse=True, prices=False),
    )
    measured = TrialRun(trial, load("torch")).run()
    assert [(arm.outcome, str(arm.reason)) for arm in measured.arms] == [("measured", "None")] * 2
    assert {remark.code for remark in measured.remarks} >= remarks
    compared = measured.arms[1].price
    assert compared is not None
    assert compared.error == (0 if loader is drawing else None)


def arm_of(loader: Callable[[], Any], width: int = 1, **options: Any) -> Arm:
    return program(learning_from(loader, width)).build(Setting(cores=2), **options)


@pytest.mark.parametrize(
    ("loader", "options", "sentence"),
    [
        (
            lambda: [torch.ones(4, 1)] * 3,
            {"workers": 1},
            "the program's loader is a list, which has no workers to switch",
        ),
        (lambda: [torch.ones(4, 1)] * 3, {"batch_size": 2}, "the program's loader is a list, which has no batch_size"),
        (lambda: DataLoader(list(torch.ones(4, 3, 1)), None), {"batch_size": 2}, "the program's data set makes whole"),
        (
            lambda: DataLoader(numbered(), batch_sampler=BatchSampler(Backwards(), 3, drop_last=False)),
            {"batch_size": 2},
            "the program's own batch_sampler decides how many items a batch has",
        ),
        (lambda: DataLoader(Text(shared=False), 4), {"workers": 2}, "gives every loader process all of its items"),
        (drawing, {"loading": "thread"}, "a thread that draws them beside the model's changes both"),
        (drawing, {"data_location": "resident"}, "makes its batches anew in every epoch: batches in memory would"),
    ],
    ids=["list-workers", "list-batch-size", "whole-batches", "batch-sampler", "repeated", "thread", "resident"],
)
def test_what_a_form_of_loader_cannot_switch_is_refused_in_a_sentence(
    loader: Callable[[], Any], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Unavailable, match=sentence):
        arm_of(loader, 9 if loader is drawing else 1, **options)


def test_a_stream_that_is_loaded_twice_by_the_program_itself_is_measured_as_it_stands() -> None:
    arm = arm_of(lambda: DataLoader(Text(shared=False), batch_size=4, num_workers=2))
    assert arm.items == 12
    arm.close()


def test_loader_processes_of_a_part_of_the_epoch_live_on() -> None:
    with pytest.raises(Unavailable, match="a part of the program's epoch, within which loader processes live on"):
        arm_of(lambda: DataLoader(numbered(), batch_size=4), workers=1, persistent_workers=False)
    arm = arm_of(lambda: DataLoader(numbered(), batch_size=8), workers=1, persistent_workers=False)
    arm.close()  # three batches are the whole epoch, in which processes begin anew


@pytest.mark.parametrize("draws", [False, True])
def test_a_data_set_that_loader_processes_must_prepare_is_only_read_in_them(draws: bool) -> None:
    loader = DataLoader(Prepared(draws=draws), batch_size=4, num_workers=2, worker_init_fn=open_file)
    own = UserLoader(loader, seed=0)
    assert own.find_draws() == (draws, True)
    assert rows_of([own.first()]) == [[0, 1, 2, 3]]
    assert rows_of(own.epoch(2, 4, own.processes, draws=draws)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert loader.dataset.file is None, "it was not prepared here"


@pytest.mark.parametrize("draws", [False, True])
def test_a_stream_that_is_divided_when_loader_processes_start_is_not_said_to_repeat_itself(draws: bool) -> None:
    own = UserLoader(DataLoader(Span(), batch_size=4, num_workers=2, worker_init_fn=divide), seed=0)
    assert not own.repeats_in_processes()
    assert rows_of(own.epoch(2, 4, own.processes, draws=draws)) == [[0, 1, 2, 3], [12, 13, 14, 15]]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_batches_of_sparse_tensors_are_compared(layout: str) -> None:
    def graphs(items: list[torch.Tensor]) -> tuple[Any, torch.Tensor]:
        links = torch.eye(len(items)) * (1 + torch.rand(()))
        return getattr(links, layout)(), torch.stack(items)

    own = UserLoader(DataLoader(list(torch.arange(8.0).reshape(8, 1)), batch_size=4, collate_fn=graphs), seed=0)
    assert own.find_draws() == (True, True)
