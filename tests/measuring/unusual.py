"""Honest arms that look unusual, each of which must pass without a flag. The docstring of each is its sentence."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench import Bench, Epoch, Product, Regression
from examination import Builder, Examination

from accelbench.core import Arm
from accelbench.core.arm import DeferredOutput

HONEST: dict[str, Examination] = {}


def honest(**options: Any) -> Callable[[Any], Any]:
    """Add a class of arms, or a function that builds one, to the honest arms; it is compared with itself."""

    def add(declared: Any) -> Any:
        build: Builder = (lambda bench: declared(bench).arm()) if isinstance(declared, type) else declared
        sentence = " ".join(declared.__doc__.split()).rstrip(".")
        assert sentence not in HONEST, sentence
        HONEST[sentence] = Examination(**{"candidate": build, "baseline": build, **options})
        return declared

    return add


def computing(sentence: str, compute: Callable[[np.ndarray], Any], **options: Any) -> None:
    """Add an honest arm that computes something from a batch of rows."""

    class Computing(Product):
        def compute(self) -> Any:
            self.bench.work()
            return compute(self.batch)

    HONEST[sentence] = Examination(
        **{
            "candidate": lambda bench: Computing(bench).arm(),
            "baseline": lambda bench: Computing(bench).arm(),
            **options,
        }
    )


# Outputs that do not depend on every item.
computing("Returns the largest value of each column", lambda batch: batch.max(axis=0))
computing("Returns the largest value of all", lambda batch: batch.max())
computing("Returns percentiles", lambda batch: np.percentile(batch, [5, 50, 95], axis=0))
computing("Returns a median as a number", lambda batch: float(np.median(batch)))
computing("Returns a histogram", lambda batch: np.histogram(batch, bins=10, range=(-10, 10))[0])
computing("Returns the edges of a histogram", lambda batch: np.histogram(batch, bins=5))
computing("Returns where the largest value lies", lambda batch: batch.argmax(axis=0))
computing("Returns where the largest value of all lies", lambda batch: int(batch.argmax()))
computing("Returns the number of positive values", lambda batch: int((batch > 0).sum()))
computing("Returns the three largest values", lambda batch: np.sort(batch, axis=None)[-3:])
computing("Returns which values lie above 2", lambda batch: batch > 2)
computing("Clips its values to a narrow range", lambda batch: batch.clip(-0.1, 0.1))
computing("Returns what most rows say", lambda batch: np.bincount(batch.argmax(axis=1)).argmax())

# Outputs without finite, without any or with zero values.
computing("Returns an empty array, since nothing passes its filter", lambda batch: batch[batch[:, 0] > 1e9])
computing("Returns an empty list of boxes beside an answer", lambda batch: (batch.sum(axis=1), np.empty((0, 4))))
computing("Returns a mask that is false everywhere", lambda batch: batch > 1e9)
computing("Returns zeros", lambda batch: batch - batch)
computing("Returns the number 0", lambda batch: int((batch > 1e9).sum()))


def _log_of_zero(batch: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(batch.clip(0))


computing("Returns the logarithm of zero", _log_of_zero)


def _with_gaps(batch: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.sqrt(batch)


computing("Returns NaN where the baseline does", _with_gaps)
computing("Returns infinity where a mask forbids attention", lambda batch: np.where(batch > 0, batch, -np.inf))

# Outputs of other types.
computing("Returns indices of 64 bits", lambda batch: np.argsort(batch, axis=0))
computing("Returns booleans", lambda batch: batch > 0)
computing("Returns a Python boolean", lambda batch: bool(batch.sum() > 0))
computing("Returns a Python complex number", lambda batch: complex(batch.sum(), batch.std()))
computing("Returns complex numbers", lambda batch: np.fft.fft(batch, axis=0))
computing("Returns float16", lambda batch: batch.astype(np.float16))
computing("Returns eight-bit integers", lambda batch: (batch * 20).clip(-127, 127).astype(np.int8))
computing("Returns very large integers", lambda batch: (batch * 1e3).astype(np.int64) + 2**60)
computing("Returns an array of texts", lambda batch: np.array([f"row {row.sum():.6f}" for row in batch]))
computing("Returns a list of texts", lambda batch: [f"row {row.sum():.6f}" for row in batch])
computing("Returns a text", lambda batch: f"the sum is {batch.sum():.9f}")
computing("Returns bytes", lambda batch: np.array([row.tobytes()[:8].hex().encode() for row in batch]))
computing(
    "Returns dates",
    lambda batch: np.datetime64("2026-01-01") + np.round(1e4 * batch.sum(axis=1)).astype("timedelta64[s]"),
)
computing("Returns spans of time", lambda batch: np.round(1e6 * batch.sum(axis=1)).astype("timedelta64[us]"))
computing("Returns a fraction", lambda batch: Fraction(float(batch.sum())).limit_denominator(10**9))


def _records(batch: np.ndarray) -> np.ndarray:
    records = np.empty(len(batch), [("sum", "f8"), ("count", "i4"), ("name", "U8")])
    records["sum"], records["count"], records["name"] = batch.sum(axis=1), (batch > 0).sum(axis=1), "row"
    return records


computing("Returns structured arrays", _records)
computing("Returns masked arrays", lambda batch: np.ma.masked_less(batch, 0))
computing("Returns a dictionary of arrays", lambda batch: {"sum": batch.sum(axis=1), "parts": [batch.mean()]})
computing("Returns None beside an answer", lambda batch: (batch.sum(axis=1), None))
computing("Returns columns in Fortran's order", lambda batch: np.asfortranarray(batch * 2))
computing("Returns a view with strides", lambda batch: (batch * 2)[::-1, ::2])
computing("Returns an array without axes", lambda batch: np.array(batch.sum()))
computing("Returns one value seen many times", lambda batch: np.broadcast_to(batch.sum(axis=0), batch.shape))


@dataclass(frozen=True)
class Scores:
    """What a model says of a batch."""

    values: np.ndarray
    best: int


class Pair(NamedTuple):
    """The same as a named tuple."""

    values: np.ndarray
    best: int


computing("Returns a dataclass", lambda batch: Scores(batch.sum(axis=1), int(batch.sum(axis=1).argmax())))
computing("Returns a named tuple", lambda batch: Pair(batch.sum(axis=1), int(batch.sum(axis=1).argmax())))


def _typed(kind: Any) -> Builder:
    class Typed(Product):
        def compute(self) -> Any:
            self.bench.work()
            return np.argsort(self.batch, axis=0, kind="stable").astype(kind)

    return lambda bench: Typed(bench).arm()


HONEST["Returns indices of 32 bits where the baseline's have 64"] = Examination(
    candidate=_typed(np.int32), baseline=_typed(np.int64)
)


def _ties(order: int) -> Builder:
    class Ties(Product):
        def compute(self) -> Any:
            self.bench.work()
            line = np.round(self.batch[:, 0])
            places = np.arange(len(line))[::order]
            return places[np.argsort(line[places], kind="stable")]

        def compared(self, output: Any) -> Any:
            return np.round(self.batch[:, 0])[output[0].astype(int)]

        def facts(self) -> dict[str, Any]:
            return super().facts() | {"compare_by": self.compared}

    return lambda bench: Ties(bench).arm()


HONEST["Sorts ties in another order, and says what is compared"] = Examination(candidate=_ties(-1), baseline=_ties(1))


# Work in place, and memory.


@honest()
class OwnBuffer(Product):
    """Writes every answer into the same buffer."""

    def compute(self) -> Any:
        self.bench.work()
        if self.kept is None:
            self.kept = np.empty((self.bench.rows, self.bench.outputs))
        return np.matmul(self.batch, self.weights, out=self.kept)


@honest()
class InPlace(Product):
    """Sorts a copy of its inputs in place."""

    def compute(self) -> Any:
        self.bench.work()
        copy = self.batch.copy()
        copy.sort(axis=0)
        return copy


@honest()
class Allocating(Product):
    """Allocates new memory in every step."""

    def compute(self) -> Any:
        self.bench.work()
        large = np.ones((100, 1000))
        return self.batch @ self.weights + large[0, 0]


@honest()
class ManyObjects(Product):
    """Makes many Python objects, and cycles of them, in every step."""

    def compute(self) -> Any:
        self.bench.work()
        for _ in range(20):
            knot: list[Any] = []
            knot.append(knot)
        return [float(value) for value in self.batch[:, 0]]


class Mapped(Product):
    """An arm that reads its batch from a memory map."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.folder = tempfile.TemporaryDirectory(prefix="honest-")
        path = Path(self.folder.name) / "batch.npy"
        np.save(path, self.batch)
        self.batch = np.load(path, mmap_mode=self.mode)

    mode: Any = "r+"

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"close": self.folder.cleanup}


@honest()
class FromAMemoryMap(Mapped):
    """Reads its batch from a memory map."""


@honest()
class FromAReadOnlyMap(Mapped):
    """Reads its batch from a memory map that cannot be written."""

    mode = "r"


@honest()
class IntoAMemoryMap(Mapped):
    """Writes its answer into a memory map and returns it."""

    def compute(self) -> Any:
        self.bench.work()
        answer = np.lib.format.open_memmap(
            Path(self.folder.name) / "answer.npy", "w+", shape=(self.bench.rows, self.bench.outputs)
        )
        np.matmul(self.batch, self.weights, out=answer)
        return answer


@honest()
class IntoAFile(Product):
    """Writes a file, which is read when it is checked."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.folder = tempfile.TemporaryDirectory(prefix="honest-")

    def compute(self) -> Any:
        self.bench.work()
        path = Path(self.folder.name) / "answer.npy"
        np.save(path, self.batch @ self.weights)
        return DeferredOutput(lambda: {"answer": np.load(path)})

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"close": self.folder.cleanup}


# Iterators, generators and loaders.


@honest()
class AGeneratorInside(Epoch):
    """Consumes a generator inside its step."""

    def step(self) -> Any:
        def answers() -> Iterator[np.ndarray]:
            for part in self.parts:
                self.bench.work(len(part) / self.bench.rows)
                yield np.tanh(part @ self.weights).sum(axis=0)

        return sum(answers())


class Rewinding:
    """An iterator over batches that rewinds itself when it has ended."""

    def __init__(self, parts: list[np.ndarray]) -> None:
        self.parts, self.place = parts, 0

    def __iter__(self) -> Iterator[np.ndarray]:
        return self

    def __next__(self) -> np.ndarray:
        if self.place == len(self.parts):
            self.place = 0
            raise StopIteration
        self.place += 1
        return self.parts[self.place - 1]


@honest()
class RewindsItself(Epoch):
    """Has an iterator that rewinds itself after each epoch."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.iterator = Rewinding(self.parts)

    def loader(self) -> Iterator[np.ndarray]:
        return iter(self.iterator)


@honest()
class OneBatchAStep(Epoch):
    """Takes one batch a step from an endless iterator, and begins again at a reset."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.parts = self.parts[: bench.rows // self.size]  # of one size
        self.reset()

    def reset(self) -> None:
        self.endless = cycle(self.parts)

    def step(self) -> Any:
        self.bench.work()
        return np.tanh(next(self.endless) @ self.weights)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {
            "items": self.size,
            "inputs": lambda: self.batch[: self.size],
        }


@honest()
class Shuffled(Epoch):
    """Shuffles its batches in another order in every epoch."""

    def reset(self) -> None:
        self.coin = random.Random(7)

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.reset()

    def loader(self) -> Iterator[np.ndarray]:
        return iter(self.coin.sample(self.parts, len(self.parts)))


# Randomness.


@honest()
class SeedPerItem(Product):
    """Augments every item by a random number whose seed is the item's place."""

    def compute(self) -> Any:
        self.bench.work()
        shifts = [np.random.default_rng(place).normal() for place in range(self.bench.rows)]
        return (self.batch + np.array(shifts)[:, None]) @ self.weights


@honest()
class SeedPerStep(Product):
    """Drops values at random, with a seed for each step since the reset."""

    def compute(self) -> Any:
        self.bench.work()
        kept = np.random.default_rng(self.calls).random(self.batch.shape) > 0.1
        return (self.batch * kept) @ self.weights


@honest()
class DropoutThatIsOff(Product):
    """Has dropout that evaluation switches off."""

    is_training = False

    def compute(self) -> Any:
        self.bench.work()
        kept = np.random.default_rng().random(self.batch.shape) > 0.5 if self.is_training else 1.0
        return (self.batch * kept) @ self.weights


@honest(framework="torch")
def evaluating_a_network(bench: Bench) -> Arm:
    """Evaluates a network with dropout in PyTorch."""
    import torch

    batch, _ = bench.data()
    torch.manual_seed(bench.seed)
    inputs = torch.from_numpy(batch).float()
    network = torch.nn.Sequential(torch.nn.Linear(bench.columns, 8), torch.nn.Dropout(), torch.nn.Linear(8, 3)).eval()

    def step() -> Any:
        bench.work()
        with torch.inference_mode():
            return network(inputs)

    return Arm(step=step, items=bench.rows, inputs=lambda: inputs, parameters=lambda: list(network.parameters()))


@honest(framework="torch")
def training_a_network(bench: Bench) -> Arm:
    """Trains a network with momentum in PyTorch."""
    import torch

    batch, weights = bench.data()
    torch.manual_seed(bench.seed)
    inputs, targets = torch.from_numpy(batch).float(), torch.from_numpy(batch @ weights).float()
    network = torch.nn.Sequential(torch.nn.Linear(bench.columns, 8), torch.nn.ReLU(), torch.nn.Linear(8, bench.outputs))
    first = {name: value.clone() for name, value in network.state_dict().items()}
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-2, momentum=0.9)

    def reset() -> None:
        network.load_state_dict(first)
        optimizer.state.clear()

    def step() -> Any:
        bench.work()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Arm(
        step=step,
        reset=reset,
        items=bench.rows,
        checked_steps=2,
        inputs=lambda: (inputs, targets),
        parameters=lambda: list(network.parameters()),
    )


# State that changes from step to step.


@honest()
class Momentum(Regression):
    """Trains with momentum."""


@honest()
class Schedule(Regression):
    """Trains with a learning rate that falls from step to step."""

    def learn(self, residual: np.ndarray) -> None:
        self.rate = 1e-3 / (1 + self.calls / 10)
        super().learn(residual)


@honest()
class WarmUpOfTheRate(Regression):
    """Trains with a learning rate that is zero in the first step."""

    def learn(self, residual: np.ndarray) -> None:
        self.rate = 1e-3 * min(1.0, (self.calls - 1) / 5)
        super().learn(residual)


@honest()
class Converged(Regression):
    """Trains until nothing changes any more, and works on."""

    rate = 0.1


@honest()
class SlowlyGrowing(Regression):
    """Trains so slowly that its loss hardly changes."""

    rate = 1e-7


@honest()
class AnnouncesParameters(Regression):
    """Trains and returns its parameters beside the loss."""

    def step(self) -> Any:
        loss = super().step()
        return {"loss": loss, "weights": self.weights}


@honest()
class RunningMean(Product):
    """Keeps a running mean of its answers."""

    def reset(self) -> None:
        super().reset()
        self.kept = np.zeros((self.bench.rows, self.bench.outputs))

    def compute(self) -> Any:
        if self.kept is None:
            self.reset()
        self.bench.work()
        self.kept = 0.9 * self.kept + 0.1 * (self.batch @ self.weights)
        return self.kept


@honest()
class TimeSteps(Product):
    """Simulates a pendulum whose state grows older with every step."""

    def reset(self) -> None:
        super().reset()
        self.kept = np.zeros_like(self.batch), self.batch.copy()

    def compute(self) -> Any:
        if self.kept is None:
            self.reset()
        self.bench.work()
        speed, place = self.kept
        speed = speed - 0.01 * np.sin(place)
        self.kept = speed, place + 0.01 * speed
        return self.kept


# Times that are not the same in every step.


@lru_cache
def _roots(count: int) -> np.ndarray:
    return np.exp(2j * np.pi * np.arange(count) / count)


@honest()
class CachedConstants(Product):
    """Keeps constants that depend on the shape alone in a cache."""

    def compute(self) -> Any:
        self.bench.work()
        return self.batch * _roots(self.bench.rows)[:, None]


@honest()
class CompilesFirst(Product):
    """Compiles in its first calls, which take fifty times as long."""

    built = 0

    def compute(self) -> Any:
        self.built += 1
        self.bench.work(50.0 if self.built <= 2 else 1.0)
        return self.batch @ self.weights


@honest()
class CompilesOnceForAll(Product):
    """Compiles in the first call of its first build only."""

    def compute(self) -> Any:
        self.bench.work(1.0 if self.bench.kept.get("compiled") else 30.0)
        self.bench.kept["compiled"] = True
        return self.batch @ self.weights


@honest()
class ColdCaches(Product):
    """Takes a third longer in the first step on changed inputs, which are in no cache of the processor."""

    def compute(self) -> Any:
        content = self.batch.tobytes()
        self.bench.work(1.0 if content == self.kept else 1.33)
        self.kept = content
        return self.batch @ self.weights


@honest()
class BranchesByContent(Product):
    """Takes up to a tenth longer or shorter by what its inputs hold."""

    def compute(self) -> Any:
        self.bench.work(1 + 0.1 * float(np.tanh(self.batch.mean())))
        return self.batch @ self.weights


@honest()
class FirstAfterReset(Product):
    """Takes twice as long in the first step after a reset."""

    def compute(self) -> Any:
        self.bench.work(2.0 if self.calls == 1 else 1.0)
        return self.batch @ self.weights


@honest()
class TwoModes(Product):
    """Takes half as long again in some steps, at random."""

    def compute(self) -> Any:
        self.bench.work(1.0 if self.bench.chance() < 0.5 else 1.5)
        return self.batch @ self.weights


@honest()
class TwoLongModes(Product):
    """Takes a fifth longer for stretches of many steps."""

    def compute(self) -> Any:
        state = self.bench.kept
        if state.setdefault("left", 0) == 0:
            state["left"], state["pace"] = 5 + int(75 * self.bench.chance()), 1.0 if self.bench.chance() < 0.5 else 1.2
        state["left"] -= 1
        self.bench.work(state["pace"])
        return self.batch @ self.weights


@honest()
class Spikes(Product):
    """Takes ten times as long in one step of a hundred."""

    def compute(self) -> Any:
        self.bench.work(10.0 if self.bench.chance() < 0.01 else 1.0)
        return self.batch @ self.weights


@honest()
class CheapReset(Product):
    """Has a reset that takes a hundredth of a step."""

    def reset(self) -> None:
        super().reset()
        self.bench.work(0.01)


@honest()
class SlowBuild(Product):
    """Takes as long to build as ten steps."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        bench.work(10.0)


@honest()
class CheapContext(Product):
    """Works in a context that changes how NumPy treats errors."""

    @contextmanager
    def context(self) -> Iterator[None]:
        """Ignore what overflows."""
        with np.errstate(over="ignore"):
            self.bench.work(0.005)
            yield

    def arm(self) -> Arm:
        return super().arm().inside(self.context)


# Inputs of other kinds.


@honest()
class Embedding(Product):
    """Looks up rows of a table by indices."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.batch = bench.random().integers(0, bench.columns, size=bench.rows)
        self.weights = bench.random().normal(size=(bench.columns, bench.outputs))

    def compute(self) -> Any:
        self.bench.work()
        return self.weights[self.batch]


@honest()
class Fed(Product):
    """Is fed copies of the inputs that it shows."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.own = self.batch.copy()

    def feed(self, shown: Any) -> None:
        """Take new inputs."""
        self.own = shown.copy()

    def compute(self) -> Any:
        self.bench.work()
        return self.own @ self.weights

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"feed": self.feed}


@honest()
class ReadOnly(Product):
    """Has inputs that cannot be written."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.batch.flags.writeable = False


@honest()
class WithoutInputs(Product):
    """Shows no inputs."""

    def facts(self) -> dict[str, Any]:
        return {"items": self.bench.rows}


@honest()
class SeveralInputs(Product):
    """Shows a dictionary of inputs of several types."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.ids = np.arange(bench.rows)
        self.mask = np.ones(bench.rows, bool)

    def compute(self) -> Any:
        self.bench.work()
        return np.where(self.mask[:, None], self.batch @ self.weights, 0) + self.ids[:, None]

    def facts(self) -> dict[str, Any]:
        shown = {"batch": self.batch, "ids": self.ids, "mask": self.mask}
        return super().facts() | {"inputs": lambda: shown}


@honest()
class OneRow(Product):
    """Has a single item."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.batch = self.batch[:1].copy()

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"items": 1}


@honest()
class ItemsOfAnotherKind(Product):
    """Counts elements as items in both arms."""

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"items": self.batch.size}


@honest()
class OneItemAnEpoch(Epoch):
    """Counts an epoch as one item in both arms."""

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"items": 1}


# Threads that end with the step.


@honest()
class ThreadsInside(Product):
    """Divides its work among threads that end with the step."""

    def compute(self) -> Any:
        self.bench.work()
        with ThreadPoolExecutor(2) as pool:
            return np.concatenate([*pool.map(self.part, (slice(None, 8), slice(8, None)))])

    def part(self, rows: slice) -> Any:
        """Compute some rows."""
        return self.batch[rows] @ self.weights


@honest()
class APoolThatWaits(Product):
    """Has threads that wait for the next step."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.pool = ThreadPoolExecutor(1)

    def compute(self) -> Any:
        self.bench.work()
        return self.pool.submit(lambda: self.batch @ self.weights).result()

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"close": self.pool.shutdown}


# Candidates that are faster for good reasons.


def _share(share: float, base: type = Product) -> Builder:
    class Faster(base):  # type: ignore[misc, valid-type]
        def compute(self) -> Any:
            self.bench.work(share)
            return self.batch @ self.weights

    return lambda bench: Faster(bench).arm()


HONEST["Is three times as fast"] = Examination(candidate=_share(0.33), baseline=_share(1.0))
HONEST["Is a hundred times as fast"] = Examination(candidate=_share(0.01), baseline=_share(1.0))
HONEST["Is half as fast"] = Examination(candidate=_share(2.0), baseline=_share(1.0))


def _float32(bench: Bench) -> Arm:
    arm = Product(bench)

    def step() -> Any:
        bench.work(0.5)
        return (arm.batch.astype(np.float32) @ arm.weights.astype(np.float32)).astype(float)

    return replace(arm.arm(), step=step)


HONEST["Computes in float32 within the tolerance"] = Examination(candidate=_float32, baseline=_share(1.0))


def _summing_in(order: int) -> Builder:
    class Summing(Product):
        def compute(self) -> Any:
            self.bench.work()
            return self.batch[::order].sum(axis=0)

    return lambda bench: Summing(bench).arm()


HONEST["Adds up in another order"] = Examination(candidate=_summing_in(-1), baseline=_summing_in(1))


def _larger_batches(times: int) -> Builder:
    class Larger(Product):
        def __init__(self, bench: Bench) -> None:
            super().__init__(bench)
            self.batch = np.tile(self.batch, (times, 1))

        def compute(self) -> Any:
            self.bench.work(0.2 + 0.8 * times)
            return self.batch @ self.weights

        def facts(self) -> dict[str, Any]:
            return super().facts() | {"items": len(self.batch)}

    return lambda bench: Larger(bench).arm()


HONEST["Works on batches of four times the size"] = Examination(
    candidate=_larger_batches(4), baseline=_larger_batches(1), same_output=False
)


# Given to `compare`.

HONEST["Given to compare: multiplies"] = Examination(candidate=_share(1.0), baseline=_share(1.0), door="compare")
HONEST["Given to compare: is twice as fast"] = Examination(candidate=_share(0.5), baseline=_share(1.0), door="compare")
for _sentence, _kind in {
    "Given to compare: trains with momentum": Momentum,
    "Given to compare: returns the mean of its answers so far": RunningMean,
    "Given to compare: keeps constants in a cache": CachedConstants,
    "Given to compare: has an iterator that rewinds itself": RewindsItself,
}.items():
    HONEST[_sentence] = Examination(
        candidate=partial(lambda kind, bench: kind(bench).arm(), _kind),
        baseline=partial(lambda kind, bench: kind(bench).arm(), _kind),
        door="compare",
    )

# The reason that accuses each honest arm which is accused today. None should be here.
ACCUSED_BY: dict[str, str] = {}
