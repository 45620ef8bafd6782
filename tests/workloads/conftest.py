"""What the tests of workloads share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from accelbench.frameworks.torch import thread_count
from accelbench.workloads.torch import devices


class Stream:
    """A stream of the stand-in: it has a name, and says for which other it waits."""

    def __init__(self, cuda: "Cuda", name: str) -> None:
        self._cuda = cuda
        self.name = name
        self.device = torch.device("cpu")

    def wait_stream(self, other: "Stream") -> None:
        self._cuda.log.append(f"{self.name} waits for {other.name}")


class Cuda:
    """Stands in for ``torch.cuda`` on a CPU: what is launched runs at once, and the log says on which stream."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.current = Stream(self, "s0")

    def streams(self, count: int) -> list[Stream]:
        return [Stream(self, f"s{number}") for number in range(1, count + 1)]

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    def logged(self, method: Any, word: str) -> Any:
        def call(tensor: Any, *arguments: Any, **options: Any) -> Any:
            self.log.append(f"{self.current.name} {word}")
            return method(tensor, *arguments, **options)

        return call


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    """A CUDA device that is none: streams, page-locked memory and the copies of tensors."""
    stand_in = Cuda()
    monkeypatch.setattr(devices, "side_streams", lambda _, count: stand_in.streams(count))
    monkeypatch.setattr(torch.cuda, "stream", stand_in.on)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: stand_in.current)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    monkeypatch.setattr(torch.Tensor, "to", stand_in.logged(torch.Tensor.to, "sends"))
    monkeypatch.setattr(torch.Tensor, "copy_", stand_in.logged(torch.Tensor.copy_, "fetches"))
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda _, stream: stand_in.log.append(f"kept for {stream.name}"))
    return stand_in


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small steps are slower on several threads, and much slower where other processes take the cores."""
    with thread_count(1):
        yield
