"""A program of a user's own as a workload."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from accelbench.core import Arm, Program, Setting, Workload
from accelbench.core.technique import summary_of
from accelbench.errors import BadInput
from accelbench.workloads.torch.training_loop import Files, TorchTraining, TrainOptions, train


def program(build: Callable[[], Program], *, unit: str = "item") -> Workload:
    """Return the workload of a program of one's own, to which PyTorch's techniques apply as to the suite's workloads.

    Args:
        build: makes the program; it is called afresh for every arm, in a worker process, from the same seed.
        unit: an item of the program's data set, in the singular, such as ``"image"``.
    """
    name = f"{build.__module__.rpartition('.')[2]}:{build.__name__}"
    summary = summary_of(build) or name
    return Workload(
        name=name,
        frameworks=("torch",),
        unit=unit,
        summary=summary,
        builder=partial(train_program, build),
        shared=TrainOptions,
    )


def train_program(build: Callable[[], Program], setting: Setting, options: TrainOptions) -> Arm:
    """Return the arm of an epoch of a program: its data loaded, sent to the device, computed with, and learnt from.

    The program's loader decides the options that are not set. The amount of work, and whether all data are used, is
    unknown.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
        Unavailable: an option cannot apply.
    """
    from accelbench.workloads.torch.training_step import ProgramTask

    stored = setting.storage.values  # to check options, one program is enough
    program: Any = stored.get(build) if setting.only_check else None
    if program is None:
        program = build()
    if setting.only_check:
        stored[build] = program
    if not isinstance(program, Program):
        raise BadInput(f"the function returned a {type(program).__name__}; expected an accelbench.Program")
    own = _loader_of(program)
    held = len(own.dataset)

    def data(size: int) -> Files:
        return Files(
            dataset=own.dataset,
            items=min(held, max(size, program.batches * own.batch_size)) // size * size,  # whole batches
            batch_size=size,
            workers=own.num_workers,
            persistent_workers=own.persistent_workers,
            prefetch_factor=own.prefetch_factor or 2,
            pin_memory=own.pin_memory,
            collate=own.collate_fn,
        )

    task = ProgramTask(program, setting.seed)
    training = TorchTraining(
        task=task, data=data, batch_size=own.batch_size, location="loaded", most=held, watched=True
    )
    return train(setting, options, training)


def _loader_of(program: Program) -> Any:
    """Return the program's loader.

    Raises:
        BadInput: it is not a data loader over a data set that has a length.
    """
    from torch.utils.data import DataLoader, IterableDataset

    own = program.loader
    if not isinstance(own, DataLoader):
        found = f"is a {type(own).__name__}"
    elif isinstance(own.dataset, IterableDataset):
        found = f"reads a {type(own.dataset).__name__}, an IterableDataset, whose items cannot be drawn by number"
    elif own.batch_size is None:
        found = "has no batch_size, since it has a batch_sampler, or batches come from its data set"
    else:
        return own
    raise BadInput(
        f"the program's loader {found}; expected a torch.utils.data.DataLoader with a batch_size, over a data set that "
        "has a length"
    )
