"""The Inception block, its branches in turn or at once, and one convolution of about its cost. Needs PyTorch.

Block 3a of GoogLeNet (Szegedy et al. 2015, arXiv 1409.4842, table 1) takes 192 channels of 28×28 pixels to 256 and does
163,328 multiply-adds per pixel. The convolution in its place is the usual 3×3, to 96 channels: 165,888, or 1.6 % more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from accelbench.core.arm import nothing
from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import reason
from accelbench.workloads import networks
from accelbench.workloads.networks import INCEPTION_BRANCHES, INCEPTION_CHANNELS, INCEPTION_SIDE
from accelbench.workloads.torch import devices
from accelbench.workloads.torch.models import Problem

Tasks = Sequence[Callable[[], Any]]
Run = Callable[[Tasks], list[Any]]


@dataclass(frozen=True, kw_only=True)
class InceptionBlock:
    """A block to be made: its function, its output's channels, and the function that ends its threads."""

    make: Callable[[], Any]
    channels: int
    close: Callable[[], None] = nothing

    is_fused: bool = False

    def classifier(self, classes: int) -> Any:
        """Return the block with the head of an image classifier."""
        return nn.Sequential(self.make(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(self.channels, classes))


def problem(block: InceptionBlock, *, classes: int) -> Problem:
    """Return the problem of classifying random images by the block under a small head."""
    return Problem(
        model=partial(block.classifier, classes),
        inputs=images,
        classes=classes,
        network=networks.inception(fused=block.is_fused, classes=classes),
        enter=_enter,
        has_convolutions=True,
    )


def images(size: int, generator: Any) -> Any:
    """Return normally distributed images, shape ``(size, 192, 28, 28)``."""
    return torch.randn(size, INCEPTION_CHANNELS, INCEPTION_SIDE, INCEPTION_SIDE, generator=generator)


def _enter(images: Any) -> Any:
    """Return images to which gradients flow back, as they do to the layer before the block in a network."""
    leaf = images.detach().requires_grad_()
    return leaf.view_as(leaf)


def block(branches: str, device: Any, cores: int) -> InceptionBlock:
    """Return the block, its branches run in turn or at once, or the convolution of about its cost.

    Raises:
        BadInput: there is no such way.
        Unavailable: nothing can run at once here.
    """
    check_choice(branches, INCEPTION_BRANCHES, "way to run branches")
    if branches == "fused":
        return InceptionBlock(make=lambda: _convolution(INCEPTION_CHANNELS, 96, 3), channels=96, is_fused=True)
    if branches == "serial":
        return InceptionBlock(make=partial(Inception, in_turn), channels=256)
    if device.type != "cpu":
        return InceptionBlock(make=partial(Inception, on_streams(device)), channels=256)
    threads = Threads(cores)
    return InceptionBlock(make=partial(Inception, threads.run), channels=256, close=threads.close)


class Inception(nn.Module):  # type: ignore[misc]  # mypy is not shown PyTorch
    """Four branches over the same images, shape ``(images, 192, 28, 28)``, whose outputs make 256 channels."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self.branches = nn.ModuleList(
            [
                _convolution(INCEPTION_CHANNELS, 64, 1),
                nn.Sequential(_convolution(INCEPTION_CHANNELS, 96, 1), _convolution(96, 128, 3)),
                nn.Sequential(_convolution(INCEPTION_CHANNELS, 16, 1), _convolution(16, 32, 5)),
                nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), _convolution(INCEPTION_CHANNELS, 32, 1)),
            ]
        )

    def forward(self, images: Any) -> Any:
        """Return the branches' outputs, put together."""
        return torch.cat(self._run([partial(branch, images) for branch in self.branches]), dim=1)


def _convolution(channels: int, filters: int, side: int) -> Any:
    return nn.Sequential(nn.Conv2d(channels, filters, side, padding=side // 2), nn.ReLU())


def in_turn(tasks: Tasks) -> list[Any]:
    """Run the tasks one after another."""
    return [task() for task in tasks]


def on_streams(device: Any) -> Run:
    """Return what runs each task on a CUDA stream of its own; autograd runs its backward pass on the same one.

    Raises:
        Unavailable: it is no CUDA device.
    """
    lanes = devices.side_streams(device, 4)

    def run(tasks: Tasks) -> list[Any]:
        caller = torch.cuda.current_stream(device)
        outputs = []
        for lane, task in zip(lanes, tasks, strict=True):
            lane.wait_stream(caller)  # on the device, until the images and the weights are there
            with torch.cuda.stream(lane):
                outputs.append(task())
        for lane, output in zip(lanes, outputs, strict=True):
            caller.wait_stream(lane)
            output.record_stream(caller)  # else its memory could be given away while the caller still reads it
        return outputs

    return run


class Threads:
    """Threads that run tasks at once and share the cores.

    Each records for autograd what its task does, but a backward pass on the CPU runs in the thread that asks for it,
    so there the branches follow one another. ``torch.jit.fork`` would bring nothing: outside of TorchScript, which is
    deprecated, it runs its task in the calling thread.

    Raises:
        Unavailable: there is one core.
    """

    def __init__(self, cores: int) -> None:
        if cores == 1:
            raise Unavailable(reason("one-core"))
        count = min(4, cores)
        # PyTorch has a number of intra-op threads for each calling thread, so each thread of the pool sets its own.
        self._pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(cores // count,))

    def run(self, tasks: Tasks) -> list[Any]:
        """Run the tasks at once, in the caller's inference mode, which each thread has for itself."""
        inferring = torch.is_inference_mode_enabled()

        def inferred(task: Callable[[], Any]) -> Any:
            with torch.inference_mode(inferring):
                return task()

        return list(self._pool.map(inferred, tasks))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
        torch.set_num_threads(torch.get_num_threads())  # threads to come start with the number that was set last
