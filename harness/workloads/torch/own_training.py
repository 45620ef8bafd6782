"""A program of a user's own as an arm: an epoch of it, with PyTorch's techniques around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Program, Setting


def own_training(
    build: Callable[[], Program],
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    memory_format: str = "contiguous",
    compile_mode: str = "eager",
    log_interval: int | None = None,
    non_blocking: bool = False,
    workers: int | None = None,
    persistent_workers: bool | None = None,
    prefetch_factor: int | None = None,
    pin_memory: bool | None = None,
) -> Arm:
    """An epoch of a program: its data loaded, sent to the device, computed with, and learnt from if it learns.

    What is None is as the program's loader has it. What its work is, and whether all data are used, is not known.

    Raises:
        BadInput: the function returned no program, or one that cannot be run.
    """
    from harness.workloads.torch import devices
    from harness.workloads.torch.compiling import RECORDING, compiled
    from harness.workloads.torch.program_run import ProgramRun, copied

    program = build()
    if not isinstance(program, Program):
        raise BadInput(f"the function returned a {type(program).__name__}; expected a harness.Program")
    run = ProgramRun(
        program, seed=setting.seed, device=devices.chosen(device), autocast=autocast, memory_format=memory_format
    )
    epochs, items = _epochs(
        program,
        setting,
        batch_size,
        num_workers=workers,
        persistent_workers=persistent_workers,
        prefetch_factor=prefetch_factor,
        pin_memory=pin_memory,
    )

    def step() -> Any:
        losses = []
        for number, batch in enumerate(epochs, start=1):
            output = run.take(batch, non_blocking=non_blocking)
            losses.append(copied(output) if compile_mode in RECORDING else output)
            if log_interval and number % log_interval == 0:
                losses[-1].sum().item()  # the host waits, which is what is measured
        return losses

    arm = Arm(
        step=step,
        items=items,
        reset=run.reset,
        device=devices.label(run.device),
        parameters=run.parameters,
        watched=True,
        close=epochs.close,
    )
    return compiled(arm, program.model, compile_mode, setting, autocast, memory_format, batch_size)


def _epochs(program: Program, setting: Setting, batch_size: int | None, **switched: Any) -> tuple[Any, int]:
    """Return the program's loader with what is switched, and how many items an epoch draws.

    Raises:
        BadInput: the program's loader is no data loader over a data set that has a length.
        Unavailable: a batch would be larger than the data set.
    """
    from torch.utils.data import DataLoader, IterableDataset

    from harness.workloads.torch.epochs import Epochs, worker_count

    own = program.loader
    if not isinstance(own, DataLoader) or isinstance(own.dataset, IterableDataset) or own.batch_size is None:
        raise BadInput(
            f"the program's loader is a {type(own).__name__}; expected a torch.utils.data.DataLoader with a "
            "batch_size, over a data set that has a length"
        )
    held = len(own.dataset)
    size = batch_size or own.batch_size
    if size > held:
        raise Unavailable(f"a batch of {size} is larger than the program's data set of {held}")
    items = min(held, max(size, program.batches * own.batch_size)) // size * size  # whole batches
    options = {name: getattr(own, name) if value is None else value for name, value in switched.items()}
    worker_count(options["num_workers"], setting.cores)
    epochs = Epochs(
        own.dataset,
        seed=setting.seed,
        items=items,
        batch_size=size,
        workers=options["num_workers"],
        persistent_workers=options["persistent_workers"],
        prefetch_factor=options["prefetch_factor"] or 2,
        pin_memory=options["pin_memory"],
        collate=own.collate_fn,
    )
    return epochs, items
