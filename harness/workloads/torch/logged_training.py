"""Training whose loss is read while it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from harness.errors import BadInput
from harness.experiment import Arm, Setting, workload

STEPS = 100
ROWS = 32  # so few that a step stays far below a millisecond

READERS: dict[str, Callable[[Any], object]] = {
    "none": lambda loss: None,  # noqa: ARG005  called as the others are
    "item": lambda loss: loss.item(),
    "float": float,
    "print": lambda loss: print(loss),  # noqa: T201  what is measured
    "numpy": lambda loss: loss.numpy(force=True),  # an accelerator's tensor goes through the host
    "cpu": lambda loss: loss.cpu(),
}


@workload("torch", unit="step")
def logged_training(
    setting: Setting, *, device: str | None = None, log_interval: int | None = 1, log_by: str = "item"
) -> Arm:
    """A run of 100 small training steps of the network 784-128-10 on resident data, whose loss is read on the way.

    The loss is read in every ``log_interval``-th step, or in none. What is printed goes to memory instead of a
    terminal, so a print costs what PyTorch takes to format a tensor, and no more.
    """
    if log_by not in READERS:
        raise BadInput(f"unknown way to read the loss {log_by!r}; expected one of: {', '.join(READERS)}")
    import torch

    from harness.workloads.data.rotation import VARIANTS, Rotation
    from harness.workloads.torch import devices, models
    from harness.workloads.torch.trainer import Trainer

    problem = models.mlp()
    trainer = Trainer(problem.model, seed=setting.seed, device=devices.chosen(device))
    generator = torch.Generator().manual_seed(setting.seed)
    batches = [problem.batch(ROWS, generator) for _ in range(VARIANTS)]
    rotation = Rotation([tuple(part.to(trainer.device) for part in batch) for batch in batches])

    def run() -> Any:
        for number in range(1, STEPS + 1):
            loss, logits = trainer.train_on(*rotation.take())
            if log_interval and number % log_interval == 0:
                READERS[log_by](loss)
        return loss, logits

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    arm = trainer.arm(run, problem.network, STEPS * ROWS, items=STEPS, reset=reset, inputs=rotation.shown)
    return arm.inside(lambda: redirect_stdout(StringIO()))
