"""Arms that cheat or err, each of which looks faster, or better, than it is. The docstring of each is its sentence."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Number
from pathlib import Path
from typing import Any, Literal

import numpy as np
from bench import STEP_S, Bench, Epoch, Product, Regression, epoch, product, regression
from examination import Builder, Examination

from accelbench.core import Arm, Plan
from accelbench.core.arm import DeferredOutput

Family = Literal[
    "work that is left out",
    "other work when it is timed",
    "inputs that it knows",
    "work beside the clock",
    "state that it leaves",
    "errors that a norm hides",
    "results that are none yet",
    "items and baselines",
    "compare",
]


@dataclass(kw_only=True)
class Mutant(Examination):
    """An examination that must end with an accusation.

    ``sentence`` says what the arm does, ``family`` where it hides.
    """

    sentence: str
    family: Family


MUTANTS: dict[str, Mutant] = {}


def mutant(family: Family, **options: Any) -> Callable[[Any], Any]:
    """Add a class of arms, or a function that builds one, to the mutants; its docstring is the sentence."""

    def add(declared: Any) -> Any:
        build: Builder = (lambda bench: declared(bench).arm()) if isinstance(declared, type) else declared
        sentence = " ".join(declared.__doc__.split()).rstrip(".")
        assert sentence not in MUTANTS, sentence
        facts = {"candidate": build, "baseline": _like(declared), **options}
        MUTANTS[sentence] = Mutant(sentence=sentence, family=family, **facts)
        return declared

    return add


def _like(declared: Any) -> Builder:
    """Return the builder of the honest arm from which a mutant was made."""
    if isinstance(declared, type) and issubclass(declared, Regression):
        return regression
    return epoch if isinstance(declared, type) and issubclass(declared, Epoch) else product


# Work that is left out.


@mutant("work that is left out")
class NoOutput(Product):
    """Returns nothing."""

    def step(self) -> None:
        self.bench.skip()


@mutant("work that is left out")
class Cached(Product):
    """Computes once and returns that output for ever."""

    def step(self) -> Any:
        self.bench.skip()
        if self.kept is None:
            self.kept = self.compute()
        return self.kept


@mutant("work that is left out")
class Beforehand(Product):
    """Returns an output that was computed while it was built."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.kept = self.batch @ self.weights

    def step(self) -> Any:
        self.bench.skip()
        return self.kept.copy()


@mutant("work that is left out")
class OfAnEarlierBuild(Product):
    """Returns the output of an earlier build, which a global variable holds."""

    def step(self) -> Any:
        self.bench.skip()
        if "output" not in self.bench.kept:
            self.bench.kept["output"] = self.compute()
        return self.bench.kept["output"]


@mutant("work that is left out")
class WithoutTheLastRow(Product):
    """Skips the last row of its batch."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.kept = self.batch[-1:] @ self.weights

    def step(self) -> Any:
        self.bench.work(1 - 1 / self.bench.rows)
        return np.concatenate([self.batch[:-1] @ self.weights, self.kept])


@mutant("work that is left out")
class HalfOfTheRows(Product):
    """Computes every second row and copies it into the next one."""

    def step(self) -> Any:
        self.bench.work(0.5)
        return np.repeat(self.batch[::2] @ self.weights, 2, axis=0)[: self.bench.rows]


@mutant("work that is left out")
class WrongDtype(Product):
    """Returns float32 where the baseline returns float64."""

    def step(self) -> Any:
        self.bench.work(0.5)
        return (self.batch @ self.weights).astype(np.float32)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """Return the values cut to bfloat16's eight bits, in their own type."""
    bits = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(values.dtype)


@mutant("work that is left out")
class SecretBfloat16(Product):
    """Computes in bfloat16 and returns float64."""

    def step(self) -> Any:
        self.bench.work(0.5)
        return bfloat16(self.batch) @ bfloat16(self.weights)


@mutant("work that is left out")
class SecretFloat16(Product):
    """Rounds its output to float16 and returns float64."""

    def step(self) -> Any:
        self.bench.work(0.5)
        return (self.batch @ self.weights).astype(np.float16).astype(float)


@mutant("work that is left out")
class NotANumber(Product):
    """Returns NaN everywhere."""

    def step(self) -> Any:
        self.bench.work(0.5)
        return self.batch @ self.weights * np.nan


@mutant("work that is left out")
class ZeroData(Product):
    """Computes on zeros, which hardware multiplies faster."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.batch[:] = 0

    def step(self) -> Any:
        self.bench.work(0.9)
        return self.batch @ self.weights + 1


@mutant("work that is left out")
class ChangedInput(Product):
    """Overwrites its inputs, so that later calls compute on easier ones."""

    def step(self) -> Any:
        output = self.compute()
        self.batch.fill(0.25)
        return output


@mutant("work that is left out")
def with_the_wrong_device(bench: Bench) -> Arm:
    """Says that it works on a device and never does."""
    arm = Product(bench)
    return replace(arm.arm(), device="fake:0", parameters=lambda: ())


@mutant("work that is left out")
def without_kernels(bench: Bench) -> Arm:
    """Has its weights on a device and works on the host."""
    return replace(_on_the_device(bench), step=Product(bench).step, inputs=lambda: ())


@mutant("work that is left out")
def with_the_model_elsewhere(bench: Bench) -> Arm:
    """Has its weights on another device than it says."""
    return replace(_on_the_device(bench), parameters=lambda: Product(bench).weights)


@mutant("work that is left out")
def with_a_secret_device(bench: Bench) -> Arm:
    """Says that it works on the CPU and starts kernels on a device."""
    arm = Product(bench)

    def step() -> Any:
        bench.device.launch(STEP_S / 2)
        return arm.batch @ arm.weights

    return replace(arm.arm(), step=step, device="cpu")


@mutant("work that is left out")
def with_less_memory_than_its_model(bench: Bench) -> Arm:
    """Needs less memory on its device than its weights alone take."""
    bench.device.peak_bytes = Product(bench).weights.nbytes - 1
    return _on_the_device(bench)


def _on_the_device(bench: Bench) -> Arm:
    """Return an honest arm whose arrays lie on the device."""
    batch, weights = map(bench.device.array, bench.data())

    def step() -> Any:
        bench.device.launch(STEP_S / 2)
        return batch @ weights

    return Arm(step=step, items=bench.rows, device="fake:0", inputs=lambda: batch, parameters=lambda: weights)


# Other work when it is timed: what a reset, a first step and the garbage collector do not show.


@mutant("other work when it is timed")
class ExhaustedLoader(Epoch):
    """Its loader's iterator is exhausted after the first epoch."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.left = self.loader()

    def reset(self) -> None:
        self.left = self.loader()

    def step(self) -> Any:
        total = self.total(self.left)
        if total is not None:
            self.kept = total
        return self.kept


@mutant("other work when it is timed")
class ExhaustedSampler(Epoch):
    """Its loader counts the batches of all epochs, and has none left after the first one."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.given = 0

    def reset(self) -> None:
        self.given = 0

    def loader(self) -> Iterator[np.ndarray]:
        for part in self.parts[self.given :]:
            self.given += 1
            yield part

    def step(self) -> Any:
        total = self.total(self.loader())
        return np.zeros(self.bench.outputs) if total is None else total


@mutant("other work when it is timed")
class EarlyStopping(Regression):
    """Stops early after n epochs."""

    def step(self) -> Any:
        if self.calls >= 3 + self.bench.seed % 5:
            self.bench.skip()
            return (self.residual() ** 2).mean()
        return super().step()


@mutant("other work when it is timed", baseline=lambda bench: FastRegression(bench).arm())
class StopsWhenGoodEnough(Regression):
    """Stops learning as soon as its loss falls by less than 1 % a step."""

    rate = 5e-2
    loss = float("inf")

    def reset(self) -> None:
        super().reset()
        self.loss = float("inf")

    def step(self) -> Any:
        loss = (self.residual() ** 2).mean()
        if loss > 0.99 * self.loss:
            self.bench.skip()
            return loss
        self.loss = loss
        return super().step()


class FastRegression(Regression):
    """An honest arm that learns fast."""

    rate = StopsWhenGoodEnough.rate


@mutant("other work when it is timed")
class Frozen(Regression):
    """Freezes its parameters after the first step."""

    def learn(self, residual: np.ndarray) -> None:
        if self.calls == 1:
            super().learn(residual)

    def step(self) -> Any:
        self.calls += 1
        self.bench.work(1.0 if self.calls == 1 else 0.4)
        residual = self.residual()
        self.learn(residual)
        return (residual**2).mean()


@mutant("other work when it is timed")
class FrozenAfterTheChecks(Regression):
    """Freezes its parameters after the third step."""

    def step(self) -> Any:
        if self.calls < 3:
            return super().step()
        self.calls += 1
        self.bench.work(0.4)
        return (self.residual() ** 2).mean()


def _once_checked(bench: Bench) -> Arm:
    return replace(Regression(bench).arm(), checked_steps=1)


@mutant("other work when it is timed", baseline=_once_checked)
class NeverLearns(Regression):
    """Returns the loss of its first weights and never changes them."""

    def step(self) -> Any:
        self.bench.work(0.4)
        return (self.residual() ** 2).mean()

    def arm(self) -> Arm:
        return replace(super().arm(), checked_steps=1)


@mutant("other work when it is timed")
class WithoutMomentum(Regression):
    """Leaves out the momentum after the third step."""

    def learn(self, residual: np.ndarray) -> None:
        if self.calls > 3:
            self.speed[:] = 0
        super().learn(residual)

    def step(self) -> Any:
        self.calls += 1
        self.bench.work(1.0 if self.calls <= 3 else 0.8)
        residual = self.residual()
        self.learn(residual)
        return (residual**2).mean()


@mutant("other work when it is timed")
class LearnsFromHalf(Regression):
    """Learns from half of the rows after the third step."""

    def learn(self, residual: np.ndarray) -> None:
        if self.calls > 3:
            residual = residual.copy()
            residual[::2] = 0
        super().learn(residual)

    def step(self) -> Any:
        self.calls += 1
        self.bench.work(1.0 if self.calls <= 3 else 0.5)
        residual = self.residual()
        self.learn(residual)
        return (residual**2).mean()


@mutant("other work when it is timed")
class OncePerReset(Product):
    """Computes once after each reset and returns that output until the next one."""

    def step(self) -> Any:
        self.calls += 1
        if self.calls == 1:
            self.kept = self.compute()
        else:
            self.bench.skip()
        return self.kept


@mutant("other work when it is timed")
class EverySecondCall(Product):
    """Computes on every second call only."""

    def step(self) -> Any:
        self.calls += 1
        if self.calls % 2:
            self.kept = self.compute()
        else:
            self.bench.skip()
        return self.kept


@mutant("other work when it is timed")
class SmallerWithoutReset(Product):
    """Computes half of the rows unless it has just been reset, and keeps the other half."""

    def step(self) -> Any:
        self.calls += 1
        if self.calls == 1 or self.kept is None:
            self.kept = self.compute()
            return self.kept
        half = self.bench.rows // 2
        self.bench.work(0.5)
        return np.concatenate([self.batch[:half] @ self.weights, self.kept[half:]])


@mutant("other work when it is timed")
class OneStepLate(Product):
    """Returns the output of the call before, which its reset had prepared for the first one."""

    def reset(self) -> None:
        self.kept = self.compute()

    def step(self) -> Any:
        self.bench.work(0.5)
        output = self.batch @ self.weights if self.kept is None else self.kept
        self.kept = output + 0  # what a later call would wait for
        return output


@mutant("other work when it is timed")
class NanAfterTen(Product):
    """Returns NaN after the tenth step since its reset."""

    def step(self) -> Any:
        self.calls += 1
        self.bench.work(0.5)
        return self.batch @ self.weights * (np.nan if self.calls > 10 else 1)


@mutant("other work when it is timed")
class NanAfterTenForGood(Product):
    """Returns NaN after the tenth step since it was built."""

    def reset(self) -> None:
        pass

    def step(self) -> Any:
        self.calls += 1
        self.bench.work(0.5)
        return self.batch @ self.weights * (np.nan if self.calls > 10 else 1)


@mutant("other work when it is timed")
class RoundsLater(Product):
    """Computes in bfloat16 after the fifth step since its reset."""

    def step(self) -> Any:
        self.calls += 1
        if self.calls <= 5:
            return self.compute()
        self.bench.work(0.5)
        return bfloat16(self.batch) @ bfloat16(self.weights)


@mutant("other work when it is timed")
class NothingAfterTen(Product):
    """Returns None after the tenth step since its reset."""

    def step(self) -> Any:
        self.calls += 1
        if self.calls <= 10:
            return self.compute()
        self.bench.skip()
        return None


@mutant("other work when it is timed")
class WithTheCollector(Product):
    """Works only while the garbage collector is on."""

    def step(self) -> Any:
        if gc.isenabled() or self.kept is None:
            self.kept = self.compute()
        else:
            self.bench.skip()
        return self.kept


@mutant("other work when it is timed")
class SmallerOnTheClock(Product):
    """Computes a smaller problem when the clock is running, which it sees by the garbage collector."""

    def step(self) -> Any:
        if gc.isenabled() or self.kept is None:
            self.kept = self.compute()
            return self.kept
        self.bench.work(0.25)
        return np.concatenate([self.batch[:4] @ self.weights, self.kept[4:]])


@mutant("other work when it is timed")
class LooksAtItsCallers(Product):
    """Works only when the functions that call it are those of a check."""

    def step(self) -> Any:
        frame: Any = sys._getframe(1)  # noqa: SLF001  as cheats do
        while frame is not None and "measuring/checks" not in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None or self.kept is None:
            self.kept = self.compute()
        else:
            self.bench.skip()
        return self.kept


@mutant("other work when it is timed", framework="numpy")
class AfterAPause(Product):
    """Works only on the first call after a pause, since timed calls follow each other at once."""

    ended_s = -1.0

    def step(self) -> Any:
        if time.perf_counter() - self.ended_s > 20e-6 or self.kept is None:
            self.kept = self.compute()
        else:
            self.bench.skip()
        self.ended_s = time.perf_counter()
        return self.kept


@mutant("other work when it is timed")
class FewerIterations(Product):
    """Iterates less after the second step since its reset, so that its answer falls short."""

    def step(self) -> Any:
        self.calls += 1
        share = 1.0 if self.calls <= 2 else 0.3
        self.bench.work(share)
        return self.batch @ self.weights * (1.0 if share == 1.0 else 0.999)


# Inputs that it knows: what is computed once for each content is not computed when it is timed.


class Remembering(Product):
    """A product that remembers outputs by a key."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.memory: dict[Any, Any] = {}

    def key(self) -> Any:
        """Return what an output is found by."""
        return self.batch.tobytes()

    def step(self) -> Any:
        key = self.key()
        if key in self.memory:
            self.bench.skip()
        else:
            self.memory[key] = self.compute()
        return self.memory[key]


@mutant("inputs that it knows")
class ByContent(Remembering):
    """Returns the remembered answer when the input's content was seen before."""


@mutant("inputs that it knows")
class ByHash(Remembering):
    """Finds the remembered answer by a hash of the input."""

    def key(self) -> Any:
        return hashlib.sha256(self.batch).digest()


@mutant("inputs that it knows")
class BySum(Remembering):
    """Finds the remembered answer by the sum of the input."""

    def key(self) -> Any:
        return float(self.batch.sum())


@mutant("inputs that it knows")
class ByTheFirstRow(Remembering):
    """Finds the remembered answer by the first row of the input."""

    def key(self) -> Any:
        return self.batch[0].tobytes()


@mutant("inputs that it knows")
class ByACorner(Remembering):
    """Finds the remembered answer by the first column and the last row of the input."""

    def key(self) -> Any:
        return self.batch[:, 0].tobytes() + self.batch[-1].tobytes()


@mutant("inputs that it knows")
class LastTwo(Remembering):
    """Remembers the last two inputs only."""

    def step(self) -> Any:
        output = super().step()
        while len(self.memory) > 2:
            del self.memory[next(iter(self.memory))]
        return output


@mutant("inputs that it knows")
class ChangedRowsOnly(Product):
    """Computes only the rows that changed since the last call."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.before: Any = None

    def step(self) -> Any:
        self.bench.skip()
        if self.before is None:
            self.kept = self.compute()
        else:
            changed = np.any(self.batch != self.before, axis=1)
            self.bench.work(float(changed.mean()))
            self.kept = self.kept.copy()
            self.kept[changed] = self.batch[changed] @ self.weights
        self.before = self.batch.copy()
        return self.kept


@mutant("inputs that it knows")
class EachRowByContent(Product):
    """Remembers the answer of every row by its content."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.memory: dict[bytes, np.ndarray] = {}

    def step(self) -> Any:
        self.bench.skip()
        new = [row for row in self.batch if row.tobytes() not in self.memory]
        self.bench.work(len(new) / self.bench.rows)
        self.memory |= {row.tobytes(): row @ self.weights for row in new}
        return np.stack([self.memory[row.tobytes()] for row in self.batch])


class Solver(Product):
    """An honest iterative solver of a linear system, from zero."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.matrix = 4 * np.eye(bench.rows) + bench.random().normal(size=(bench.rows, bench.rows)) / bench.rows
        self.guess = np.zeros(bench.rows)

    def solve(self, guess: np.ndarray) -> np.ndarray:
        """Iterate until the residual is small."""
        aim = self.batch.sum(axis=1)
        self.bench.skip()
        for _ in range(100):
            residual = aim - self.matrix @ guess
            if np.linalg.norm(residual) < 1e-7 * np.linalg.norm(aim):
                break
            self.bench.work(0.05)
            guess = guess + residual / 4
        return guess

    def step(self) -> Any:
        return self.solve(np.zeros(self.bench.rows))


@mutant("inputs that it knows", baseline=lambda bench: Solver(bench).arm())
class WarmStart(Solver):
    """Starts its solver from the solution of the call before."""

    def step(self) -> Any:
        self.guess = self.solve(self.guess)
        return self.guess


@mutant("inputs that it knows", baseline=lambda bench: Sorted(bench).arm())
def remembering_the_order(bench: Bench) -> Arm:
    """Remembers the order of the call before, and sorts only where it no longer fits."""
    arm = Sorted(bench)
    arm.remembers = True
    return arm.arm()


class Sorted(Product):
    """An honest arm that sorts a row of numbers."""

    remembers = False

    def step(self) -> Any:
        self.bench.skip()
        line = self.batch[:, 0]
        if self.remembers and self.kept is not None and np.all(np.diff(line[self.kept]) >= 0):
            return line[self.kept]
        self.bench.work()
        self.kept = np.argsort(line)
        return line[self.kept]


@mutant("inputs that it knows")
class FromAFile(Remembering):
    """Reads its answer from a file written in the check."""

    def step(self) -> Any:
        path = Path(tempfile.gettempdir()) / f"mutant-{os.getpid()}-{hashlib.sha256(self.key()).hexdigest()}.npy"
        if path not in self.bench.kept:
            np.save(path, self.compute())
            self.bench.kept[path] = True
            self.bench.undo.append(partial(path.unlink, missing_ok=True))
        else:
            self.bench.skip()
        return np.load(path)


@mutant("inputs that it knows")
class AcrossBuilds(Remembering):
    """Remembers answers by content from build to build in a global variable."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.memory = bench.kept


@mutant("inputs that it knows")
class PreparesWhatIsShown(Remembering):
    """Computes the answer for its inputs whenever it is asked to show them."""

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"inputs": self.show}

    def show(self) -> Any:
        self.memory[self.key()] = self.batch @ self.weights
        return self.batch


# Work beside the clock.


@mutant("work beside the clock")
class InReset(Product):
    """Moves its work into reset."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.reset()

    def reset(self) -> None:
        self.kept = self.compute()

    def step(self) -> Any:
        self.bench.skip()
        return self.kept


@mutant("work beside the clock")
class HalfInReset(InReset):
    """Moves half of its work into reset."""

    def step(self) -> Any:
        self.bench.work(0.5)
        return self.kept


@mutant("work beside the clock")
class InAContext(Product):
    """Moves its work into a context's enter."""

    def step(self) -> Any:
        self.bench.skip()
        return self.kept

    @contextmanager
    def context(self) -> Iterator[None]:
        """Compute what the step returns."""
        self.kept = self.compute()
        yield

    def arm(self) -> Arm:
        return super().arm().inside(self.context)


@mutant("work beside the clock")
class InAContextsExit(Product):
    """Moves its work into a context's exit, for the block that follows."""

    def reset(self) -> None:
        self.kept = None

    def step(self) -> Any:
        if self.kept is None:
            self.kept = self.compute()
        self.bench.skip()
        return self.kept

    @contextmanager
    def context(self) -> Iterator[None]:
        """Compute what the next block returns."""
        yield
        self.kept = self.compute()

    def arm(self) -> Arm:
        return super().arm().inside(self.context)


@mutant("work beside the clock")
class InFeed(Product):
    """Moves its work into feed."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.feed(self.batch)

    def feed(self, shown: Any) -> None:
        """Compute the answer to new inputs."""
        self.bench.work()
        self.kept = shown @ self.weights

    def step(self) -> Any:
        self.bench.skip()
        return self.kept

    def arm(self) -> Arm:
        return replace(super().arm(), feed=self.feed, inputs=lambda: self.batch.copy())


@mutant("work beside the clock")
class InVerify(Product):
    """Returns noise, and corrects the output in verify."""

    def step(self) -> Any:
        self.bench.skip()
        noise = np.random.default_rng(zlib.crc32(self.batch))
        return noise.normal(size=(self.bench.rows, self.bench.outputs))

    def verify(self, output: Any) -> None:
        """Write the right answer over the output."""
        output[0][:] = self.batch @ self.weights

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"verify": self.verify}


@mutant("work beside the clock")
class InAFinalizer(Product):
    """Moves its work into the destructor of its outputs, which its reset drops."""

    class Output:
        """What works when it is dropped."""

        def __init__(self, work: Callable[[], Any]) -> None:
            self.work = work

        def __del__(self) -> None:
            self.work()

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.kept = []

    def reset(self) -> None:
        self.kept.clear()

    def step(self) -> Any:
        self.bench.skip()
        self.kept.append(self.Output(self.bench.work))
        return self.batch @ self.weights


@mutant("work beside the clock")
class InACollection(Product):
    """Moves its work into a callback of the garbage collector, which blocks switch off."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.kept = self.batch @ self.weights
        gc.callbacks.append(self.collected)

    def collected(self, phase: str, _: Mapping[str, int]) -> None:
        """Compute while garbage is collected."""
        if phase == "start":
            self.kept = self.compute()

    def reset(self) -> None:
        gc.collect(0)

    def step(self) -> Any:
        self.bench.skip()
        return self.kept

    def close(self) -> None:
        """Leave no callback behind."""
        gc.callbacks.remove(self.collected)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"close": self.close}


@mutant("work beside the clock")
class InAThread(Product):
    """Moves its work into a thread, which goes on after the step."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.stop, self.works = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.work, name="prefetcher", daemon=True)
        self.thread.start()
        self.works.wait()  # on a busy machine, a trial by the fake clock may be over before

    def work(self) -> None:
        """Compute all the time."""
        rng = np.random.default_rng(1)
        while not self.stop.is_set():
            rng.normal(size=1000).sum()
            self.works.set()

    def step(self) -> Any:
        self.bench.skip()
        return self.batch @ self.weights

    def close(self) -> None:
        """End the thread."""
        self.stop.set()
        self.thread.join()

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"close": self.close}


@mutant("work beside the clock")
class FilledLater(Product):
    """Returns an array that a thread fills later."""

    def step(self) -> Any:
        self.bench.skip()
        output = np.ones((self.bench.rows, self.bench.outputs))
        threading.Timer(0.05, lambda: np.matmul(self.batch, self.weights, out=output)).start()
        return output


@mutant("work beside the clock")
class InAProcess(Product):
    """Moves its work into a process, which goes on after the step."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.loader = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
        )
        assert self.loader.stdout
        self.loader.stdout.read(1)  # by then it has started

    def step(self) -> Any:
        self.bench.skip()
        return self.batch @ self.weights

    def close(self) -> None:
        """End the process."""
        self.loader.kill()
        self.loader.communicate()

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"close": self.close}


@mutant("work beside the clock")
def beside_the_stream(bench: Bench) -> Arm:
    """Works on a stream for which nobody waits."""
    arm = Product(bench)

    def step() -> Any:
        bench.device.launch_unseen(STEP_S)
        return arm.batch @ arm.weights

    return replace(arm.arm(), step=step)


@mutant("work beside the clock")
def on_a_side_stream(bench: Bench) -> Arm:
    """Works on a stream for which the current one does not wait."""
    batch, weights = map(bench.device.array, bench.data())

    def step() -> Any:
        bench.device.launch_beside(STEP_S)
        return batch @ weights

    return Arm(step=step, items=bench.rows, device="fake:0", inputs=lambda: batch, parameters=lambda: weights)


@mutant("work beside the clock", plan=Plan(budget_s=0.5))
class CompilesLate(Product):
    """Compiles in its fiftieth call."""

    def step(self) -> Any:
        self.calls += 1
        if self.calls == 50:
            self.bench.device.compile(1.0)
        return self.compute()

    def reset(self) -> None:
        pass


# State that it leaves in the process.


class Leaving(Product):
    """A product that changes the process while it is built."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.leave()

    def leave(self) -> None:
        """Change the process."""


@mutant("state that it leaves", framework="torch")
class LeavesFloat16(Leaving):
    """Leaves float16 as the default dtype."""

    def leave(self) -> None:
        import torch

        torch.set_default_dtype(torch.float16)


@mutant("state that it leaves", framework="torch")
class LeavesGradientsOff(Leaving):
    """Leaves gradients switched off."""

    def leave(self) -> None:
        import torch

        torch.set_grad_enabled(False)


@mutant("state that it leaves", framework="torch")
class LeavesAnomalyDetection(Leaving):
    """Leaves the detection of anomalies on, which makes every later backward pass slow."""

    def leave(self) -> None:
        import torch

        torch.autograd.set_detect_anomaly(True)


@mutant("state that it leaves", framework="torch")
class LeavesThreads(Leaving):
    """Leaves another number of threads."""

    def leave(self) -> None:
        import torch

        torch.set_num_threads(torch.get_num_threads() + 1)


@mutant("state that it leaves", framework="torch")
class LeavesPrecision(Leaving):
    """Leaves products of float32 in a lower precision."""

    def leave(self) -> None:
        import torch

        torch.set_float32_matmul_precision("medium")


@mutant("state that it leaves", framework="torch")
class LeavesDeterminism(Leaving):
    """Leaves only deterministic algorithms allowed, which are slower."""

    def leave(self) -> None:
        import torch

        torch.use_deterministic_algorithms(True)


@mutant("state that it leaves", framework="torch")
class LeavesAPatchedFramework(Leaving):
    """Replaces a function of the framework by a slower one."""

    def leave(self) -> None:
        import torch

        honest = torch.nn.functional.relu

        def slow(*arguments: Any, **options: Any) -> Any:
            return honest(*arguments, **options)

        torch.nn.functional.relu = slow
        self.bench.undo.append(partial(setattr, torch.nn.functional, "relu", honest))


@mutant("state that it leaves")
class LeavesOneCore(Leaving):
    """Pins the process to one core."""

    def leave(self) -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@mutant("state that it leaves")
class LeavesAFolder(Leaving):
    """Leaves another working directory."""

    def leave(self) -> None:
        os.chdir(tempfile.gettempdir())


@mutant("state that it leaves")
class LeavesAVariable(Leaving):
    """Leaves another number of threads in the environment."""

    def leave(self) -> None:
        os.environ["OMP_NUM_THREADS"] = "13"


@mutant("state that it leaves")
class LeavesAPatch(Leaving):
    """Replaces a function of NumPy by a slower one."""

    def leave(self) -> None:
        honest = np.matmul

        def slow(*arguments: Any, **options: Any) -> Any:
            return honest(*arguments, **options)

        np.matmul = slow
        self.bench.undo.append(partial(setattr, np, "matmul", honest))


@mutant("state that it leaves")
class LeavesNumPysErrors(Leaving):
    """Leaves NumPy raising where it used to warn."""

    def leave(self) -> None:
        np.seterr(all="raise")


@mutant("state that it leaves")
class LeavesNoCollector(Leaving):
    """Leaves the garbage collector off."""

    def leave(self) -> None:
        gc.disable()


@mutant("state that it leaves")
class LeavesAThread(Leaving):
    """Leaves a thread behind that its close does not end."""

    def leave(self) -> None:
        stop = threading.Event()
        threading.Thread(target=stop.wait, name="left behind", daemon=True).start()
        self.bench.undo.append(stop.set)


@mutant("state that it leaves")
class LeavesATracer(Leaving):
    """Leaves a profiler on, which makes every later call slower."""

    def leave(self) -> None:
        sys.setprofile(lambda *_: None)


@mutant("state that it leaves", baseline=lambda bench: ReadsAFlag(bench).arm())
class LeavesASlowFlag(Leaving):
    """Sets a variable that makes the baseline slower, since both read it."""

    def leave(self) -> None:
        self.bench.kept["slow"] = True


class ReadsAFlag(Product):
    """A product that is slower where a variable says so."""

    def step(self) -> Any:
        if self.bench.kept.get("slow"):
            self.bench.work()
        return super().step()


# Errors that a norm over all values hides.


class Columns(Product):
    """An honest arm whose first column is a million times as large as the others."""

    def compute(self) -> Any:
        self.bench.work()
        output = self.batch @ self.weights
        output[:, 0] *= 1e6
        return output


def columns(bench: Bench) -> Arm:
    """Return an arm with columns of different units."""
    return Columns(bench).arm()


@mutant("errors that a norm hides", baseline=columns)
class OneColumnWrong(Columns):
    """Has one column wrong."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        output = self.batch @ self.weights
        output[:, 0] *= 1e6
        output[:, -1] *= 0.9
        return output


@mutant("errors that a norm hides", baseline=columns)
class SmallColumnsZero(Columns):
    """Sets to zero what is small beside the largest value."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        output = self.batch @ self.weights
        output[:, 0] *= 1e6
        output[np.abs(output) < 1e-4 * np.abs(output).max()] = 0
        return output


@mutant("errors that a norm hides", baseline=columns)
class OneColumnRounded(Columns):
    """Computes one column in bfloat16."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        output = self.batch @ self.weights
        output[:, 0] *= 1e6
        output[:, 1:] = bfloat16(output[:, 1:])
        return output


class Rows(Product):
    """An honest arm whose first row is a million times as large as the others."""

    def compute(self) -> Any:
        self.bench.work()
        output = self.batch @ self.weights
        output[0] *= 1e6
        return output


@mutant("errors that a norm hides", baseline=lambda bench: Rows(bench).arm())
class OneRowWrong(Rows):
    """Has one row wrong, beside a row of much larger values."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        output = self.batch @ self.weights
        output[0] *= 1e6
        output[-1] *= 0.9
        return output


class Tensors(Product):
    """An honest arm that returns many tensors."""

    wrong = 1.0

    def step(self) -> Any:
        answer = self.compute()
        parts = {f"layer {place}": answer * 10.0**place for place in range(8)}
        parts["layer 0"] = parts["layer 0"] * self.wrong
        return parts


@mutant("errors that a norm hides", baseline=lambda bench: Tensors(bench).arm())
class OneTensorWrong(Tensors):
    """Has one tensor of many wrong."""

    wrong = 0.9


class Shifted(Product):
    """An honest arm whose answer is small beside a constant."""

    def compute(self) -> Any:
        self.bench.work()
        return 1e6 + self.batch @ self.weights


@mutant("errors that a norm hides", baseline=lambda bench: Shifted(bench).arm())
class BesideAConstant(Shifted):
    """Returns a constant and some noise where the answer is small beside that constant."""

    def compute(self) -> Any:
        self.bench.skip()
        noise = np.random.default_rng(zlib.crc32(self.batch))
        return 1e6 + noise.normal(size=(self.bench.rows, self.bench.outputs))


@mutant("errors that a norm hides", baseline=lambda bench: Shifted(bench).arm())
class WeightsOfOne(Shifted):
    """Sums the columns instead of weighing them, where the answer is small beside a constant."""

    def compute(self) -> Any:
        self.bench.work(0.2)
        return 1e6 + np.repeat(self.batch.sum(axis=1, keepdims=True), self.bench.outputs, axis=1)


class Indices(Product):
    """An honest arm that returns large whole numbers."""

    def compute(self) -> Any:
        self.bench.work()
        return 10_000_000 + np.argsort(self.batch, axis=0)


@mutant("errors that a norm hides", baseline=lambda bench: Indices(bench).arm())
class OneIndexOff(Indices):
    """Has one index of many off by one."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        output = 10_000_000 + np.argsort(self.batch, axis=0)
        output[-1, -1] += 1
        return output


class Mask(Product):
    """An honest arm that returns which of many values are positive."""

    wrong = False

    def compute(self) -> Any:
        self.bench.work(0.5 if self.wrong else 1.0)
        mask = np.tile(self.batch.ravel(), 20_000 // self.batch.size) > 0
        if self.wrong:
            mask[-1] = not mask[-1]
        return mask


@mutant("errors that a norm hides", baseline=lambda bench: Mask(bench).arm())
class OneBitWrong(Mask):
    """Has one element of a mask wrong."""

    wrong = True


class WithGaps(Product):
    """An honest arm whose answer has no value for the first row."""

    def compute(self) -> Any:
        self.bench.work()
        output = self.batch @ self.weights
        output[0] = np.nan
        return output


@mutant("errors that a norm hides", baseline=lambda bench: WithGaps(bench).arm())
class MoreGaps(WithGaps):
    """Has NaN where the baseline has a number, beside NaN that the baseline has too."""

    def compute(self) -> Any:
        output = super().compute()
        output[-1] = np.nan
        return output


class Texts(Product):
    """An honest arm that returns texts."""

    wrong = False

    def compute(self) -> Any:
        self.bench.work(0.5 if self.wrong else 1.0)
        texts = np.array([f"row {row.sum():.3f}" for row in self.batch])
        if self.wrong:
            texts[-1] = "row"
        return texts


@mutant("errors that a norm hides", baseline=lambda bench: Texts(bench).arm())
class OneTextWrong(Texts):
    """Has one text of many wrong."""

    wrong = True


class Dates(Product):
    """An honest arm that returns dates."""

    wrong = False

    def compute(self) -> Any:
        self.bench.work(0.5 if self.wrong else 1.0)
        days = np.datetime64("2026-01-01") + np.round(100 * self.batch[:, 0]).astype("timedelta64[D]")
        if self.wrong:
            days[-1] += 1
        return days


@mutant("errors that a norm hides", baseline=lambda bench: Dates(bench).arm())
class OneDateOff(Dates):
    """Has one date of many a day off."""

    wrong = True


@mutant("errors that a norm hides")
class Empty(Product):
    """Returns an empty array where the baseline returns rows."""

    def compute(self) -> Any:
        self.bench.skip()
        return np.empty((0, self.bench.outputs))


@mutant("errors that a norm hides")
class Transposed(Product):
    """Returns its rows in another order."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        return (self.batch @ self.weights)[::-1]


# Results that are none yet: they compute when they are read.


@mutant("results that are none yet")
class ReturnsAGenerator(Product):
    """Returns a generator."""

    def step(self) -> Any:
        self.bench.skip()
        return (row @ self.weights for row in self.batch)


@mutant("results that are none yet")
class ReturnsAFunction(Product):
    """Returns a function that computes when it is called."""

    def step(self) -> Any:
        self.bench.skip()
        return self.compute


@mutant("results that are none yet")
class ReturnsACoroutine(Product):
    """Returns a coroutine that nobody awaits."""

    def step(self) -> Any:
        self.bench.skip()

        async def answer() -> Any:
            return self.compute()

        return answer()


class LazyMapping(Mapping[str, Any]):
    """A mapping that computes when it is read."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute

    def __getitem__(self, key: str) -> Any:
        return self.compute()

    def __iter__(self) -> Iterator[str]:
        return iter(["answer"])

    def __len__(self) -> int:
        return 1


@mutant("results that are none yet")
class ReturnsALazyMapping(Product):
    """Returns a lazy mapping."""

    def step(self) -> Any:
        self.bench.skip()
        return LazyMapping(self.compute)


class LazyDict(dict[str, Any]):
    """A dictionary that computes when its values are read."""

    def values(self) -> Any:
        return [compute() for compute in super().values()]


@mutant("results that are none yet")
class ReturnsALazyDictionary(Product):
    """Returns a kind of dictionary whose values are computed when they are read."""

    def step(self) -> Any:
        self.bench.skip()
        return LazyDict(answer=self.compute)


class LazyList(list[Any]):
    """A list that computes when it is gone through."""

    def __iter__(self) -> Iterator[Any]:
        return (compute() for compute in super().__iter__())


@mutant("results that are none yet")
class ReturnsALazyList(Product):
    """Returns a kind of list whose items are computed when it is gone through."""

    def step(self) -> Any:
        self.bench.skip()
        return LazyList([self.compute])


class LazyTuple(tuple[Any, ...]):
    """A tuple that computes when it is gone through."""

    def __iter__(self) -> Iterator[Any]:
        return (compute() for compute in super().__iter__())


@mutant("results that are none yet")
class ReturnsALazyTuple(Product):
    """Returns a kind of tuple whose items are computed when it is gone through."""

    def step(self) -> Any:
        self.bench.skip()
        return LazyTuple([self.compute])


@Number.register
class LazyNumber:
    """What calls itself a number, and computes when it is made an array."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.compute(), dtype)


@mutant("results that are none yet")
class ReturnsALazyNumber(Product):
    """Returns what calls itself a number and computes when it is read."""

    def step(self) -> Any:
        self.bench.skip()
        return LazyNumber(self.compute)


class LazyArray:
    """What calls itself an array of NumPy, and computes when it is made one."""

    __class__ = np.ndarray  # type: ignore[assignment]

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.compute(), dtype)

    dtype, shape, nbytes = np.dtype(float), (1, 1), 8


@mutant("results that are none yet")
class ReturnsALazyArray(Product):
    """Returns what calls itself an array and computes when it is read."""

    def step(self) -> Any:
        self.bench.skip()
        return LazyArray(self.compute)


@mutant("results that are none yet")
class ReturnsADeferredOutput(Product):
    """Returns a deferred output whose reading does the work."""

    def step(self) -> Any:
        self.bench.skip()
        return DeferredOutput(lambda: {"answer": self.compute()})


@mutant("results that are none yet", framework="torch", baseline=lambda bench: Tensor(bench).arm())
def returning_a_lazy_tensor(bench: Bench) -> Arm:
    """Returns a kind of tensor that computes when it is read."""
    return Tensor(bench, lazy=True).arm()


class Tensor(Product):
    """An honest arm that returns a tensor, or one that only looks like it."""

    def __init__(self, bench: Bench, *, lazy: bool = False) -> None:
        import torch

        super().__init__(bench)
        self.tensor, self.lazy = torch.from_numpy, lazy

        class LazyTensor(torch.Tensor):
            compute: Any = None

            @classmethod
            def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                def read(value: Any) -> Any:
                    return value.compute() if isinstance(value, LazyTensor) and value.compute else value

                return function(*map(read, args), **(kwargs or {}))

        self.kind = LazyTensor

    def step(self) -> Any:
        if not self.lazy:
            return self.tensor(self.compute())
        self.bench.skip()
        output = self.tensor(np.ones((self.bench.rows, self.bench.outputs))).as_subclass(self.kind)
        output.compute = lambda: self.tensor(self.compute())
        return output


# Items and baselines.


@mutant("items and baselines")
class TwiceTheItems(Product):
    """Claims twice the items."""

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"items": 2 * self.bench.rows}


@mutant("items and baselines")
class AllElements(Product):
    """Counts the elements of its batch as items, where the baseline counts rows."""

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"items": self.batch.size}


@mutant("items and baselines")
class ManyItems(Product):
    """Claims infinitely many items."""

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"items": float("inf")}


@mutant("items and baselines")
class MoreItemsLater(Product):
    """Claims twice the items from its second build on."""

    def facts(self) -> dict[str, Any]:
        self.bench.kept["builds"] = self.bench.kept.get("builds", 0) + 1
        return super().facts() | {"items": self.bench.rows * min(2, self.bench.kept["builds"])}


@mutant("items and baselines", same_output=False)
class HalfABatch(Product):
    """Works on half a batch and claims the items of the whole."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.batch = self.batch[: bench.rows // 2].copy()

    def compute(self) -> Any:
        self.bench.work(0.5)
        return self.batch @ self.weights


@mutant("items and baselines", same_output=False)
class ARowOfMany(Product):
    """Works on half of the rows that it shows and claims all, where outputs may differ by design."""

    def compute(self) -> Any:
        self.bench.work(0.5)
        return self.batch[self.bench.rows // 2 :] @ self.weights


@mutant("items and baselines", framework="numpy", swapped=True)
class Sleeps(Product):
    """The baseline sleeps for most of its step."""

    def compute(self) -> Any:
        time.sleep(4 * STEP_S)
        return super().compute()


@mutant("items and baselines", framework="numpy", swapped=True)
class SleepsABit(Product):
    """The baseline sleeps for a third of its step."""

    def compute(self) -> Any:
        time.sleep(STEP_S / 2)
        return super().compute()


@mutant("items and baselines", swapped=True)
class Twice(Product):
    """The baseline does its work twice."""

    def compute(self) -> Any:
        self.bench.work()
        return super().compute()


@mutant("items and baselines", swapped=True)
class SlowerWithEveryCall(Product):
    """The baseline becomes slower with every call."""

    def reset(self) -> None:
        pass

    def compute(self) -> Any:
        self.bench.work(self.calls / 200)
        return super().compute()


# Through `compare`, which has callables and nothing else.


@mutant("compare", door="compare")
class ComparedCached(Cached):
    """Given to compare: computes once and returns that output for ever."""


@mutant("compare", door="compare")
class ComparedNothing(NoOutput):
    """Given to compare: returns nothing."""


@mutant("compare", door="compare")
class ComparedGenerator(ReturnsAGenerator):
    """Given to compare: returns a generator."""


@mutant("compare", door="compare", baseline=lambda bench: NoOutput(bench).arm())
class ComparedBothNothing(NoOutput):
    """Given to compare: returns nothing, as the baseline does."""

    def step(self) -> None:
        self.bench.work(0.5)


@mutant("compare", door="compare", baseline=lambda bench: ReturnsACoroutine(bench).arm())
class ComparedCoroutine(ReturnsACoroutine):
    """Given to compare: returns a coroutine, as the baseline does."""


@mutant("compare", door="compare")
class ComparedLazyMapping(ReturnsALazyMapping):
    """Given to compare: returns a lazy mapping."""


@mutant("compare", door="compare")
class ComparedEverySecondCall(EverySecondCall):
    """Given to compare: computes on every second call only."""


@mutant("compare", door="compare", baseline=lambda bench: Regression(bench).arm())
class ComparedNeverLearns(NeverLearns):
    """Given to compare: never learns, beside a baseline whose loss falls from call to call."""


@mutant("compare", door="compare", baseline=lambda bench: Regression(bench).arm())
class ComparedConstant(Regression):
    """Given to compare: returns a constant, beside a baseline whose loss falls from call to call."""

    def step(self) -> Any:
        self.bench.skip()
        return 0.5


@mutant("compare", door="compare", baseline=columns)
class ComparedColumn(OneColumnWrong):
    """Given to compare: has one column wrong."""


@mutant("compare", door="compare")
class ComparedNan(Product):
    """Given to compare: returns NaN after the second call."""

    def step(self) -> Any:
        self.calls += 1
        self.bench.work(0.5)
        return self.batch @ self.weights * (np.nan if self.calls > 2 else 1)


# The reason that accuses each mutant which is seen today. Those that are not here are not seen.
SEEN_BY: dict[str, str] = {
    "Returns nothing": "no-output",
    "Computes once and returns that output for ever": "output-ignores-inputs",
    "Returns an output that was computed while it was built": "output-ignores-inputs",
    "Returns the output of an earlier build, which a global variable holds": "output-ignores-inputs",
    "Skips the last row of its batch": "item-skipped",
    "Computes every second row and copies it into the next one": "too-far",
    "Returns float32 where the baseline returns float64": "other-dtype",
    "Computes in bfloat16 and returns float64": "too-far-like-rounding",
    "Rounds its output to float16 and returns float64": "too-far-like-rounding",
    "Returns NaN everywhere": "not-finite",
    "Computes on zeros, which hardware multiplies faster": "zero-inputs",
    "Overwrites its inputs, so that later calls compute on easier ones": "inputs-changed",
    "Says that it works on a device and never does": "no-kernels-arrays-elsewhere",
    "Has its weights on a device and works on the host": "no-kernels-arrays-elsewhere",
    "Has its weights on another device than it says": "parameters-elsewhere",
    "Says that it works on the CPU and starts kernels on a device": "kernels-on-accelerator",
    "Needs less memory on its device than its weights alone take": "memory-below-parameters",
    "Its loader's iterator is exhausted after the first epoch": "idle-without-reset",
    "Its loader counts the batches of all epochs, and has none left after the first one": "idle-without-reset",
    "Stops early after n epochs": "stopped-learning",
    "Stops learning as soon as its loss falls by less than 1 % a step": "later-output",
    "Freezes its parameters after the first step": "parameters-too-far",
    "Freezes its parameters after the third step": "stopped-learning",
    "Returns the loss of its first weights and never changes them": "parameters-unchanged",
    "Leaves out the momentum after the third step": "later-output",
    "Computes once after each reset and returns that output until the next one": "idle-without-reset",
    "Returns the output of the call before, which its reset had prepared for the first one": "work-outside-step",
    "Returns NaN after the tenth step since its reset": "timed-output",
    "Returns NaN after the tenth step since it was built": "timed-output",
    "Computes in bfloat16 after the fifth step since its reset": "later-output",
    "Returns None after the tenth step since its reset": "timed-output",
    "Works only while the garbage collector is on": "later-output",
    "Computes a smaller problem when the clock is running, which it sees by the garbage collector": "later-output",
    "Works only when the functions that call it are those of a check": "later-output",
    "Iterates less after the second step since its reset, so that its answer falls short": "later-output",
    "Returns the remembered answer when the input's content was seen before": "remembers-answers",
    "Finds the remembered answer by a hash of the input": "remembers-answers",
    "Finds the remembered answer by the sum of the input": "remembers-answers",
    "Finds the remembered answer by the first row of the input": "item-skipped",
    "Finds the remembered answer by the first column and the last row of the input": "remembers-answers",
    "Remembers the last two inputs only": "remembers-answers",
    "Computes only the rows that changed since the last call": "remembers-answers",
    "Remembers the answer of every row by its content": "remembers-answers",
    "Starts its solver from the solution of the call before": "remembers-answers",
    "Reads its answer from a file written in the check": "remembers-answers",
    "Remembers answers by content from build to build in a global variable": "remembers-answers",
    "Computes the answer for its inputs whenever it is asked to show them": "remembers-answers",
    "Moves its work into reset": "work-outside-step",
    "Moves half of its work into reset": "work-outside-step",
    "Moves its work into a context's enter": "work-outside-step",
    "Moves its work into a context's exit, for the block that follows": "work-outside-step",
    "Moves its work into feed": "costs-outside-step",
    "Returns noise, and corrects the output in verify": "too-far",
    "Moves its work into a callback of the garbage collector, which blocks switch off": "work-outside-step",
    "Moves its work into a thread, which goes on after the step": "background-work",
    "Returns an array that a thread fills later": "too-far",
    "Moves its work into a process, which goes on after the step": "background-work",
    "Works on a stream for which nobody waits": "output-late",
    "Works on a stream for which the current one does not wait": "works-beside-stream",
    "Compiles in its fiftieth call": "compiled-while-timed",
    "Leaves float16 as the default dtype": "left-changed",
    "Leaves gradients switched off": "left-changed",
    "Leaves the detection of anomalies on, which makes every later backward pass slow": "left-changed",
    "Leaves another number of threads": "left-changed",
    "Leaves products of float32 in a lower precision": "left-changed",
    "Leaves only deterministic algorithms allowed, which are slower": "left-changed",
    "Replaces a function of the framework by a slower one": "left-changed",
    "Pins the process to one core": "left-changed",
    "Leaves another working directory": "left-changed",
    "Leaves another number of threads in the environment": "left-changed",
    "Replaces a function of NumPy by a slower one": "left-changed",
    "Leaves NumPy raising where it used to warn": "left-changed",
    "Leaves the garbage collector off": "left-changed",
    "Leaves a profiler on, which makes every later call slower": "left-changed",
    "Has one column wrong": "slice-too-far",
    "Has one row wrong, beside a row of much larger values": "slice-too-far",
    "Has one tensor of many wrong": "too-far",
    "Returns a constant and some noise where the answer is small beside that constant": "output-insensitive",
    "Sums the columns instead of weighing them, where the answer is small beside a constant": "output-insensitive",
    "Has one index of many off by one": "output-insensitive",
    "Has one element of a mask wrong": "too-far",
    "Has NaN where the baseline has a number, beside NaN that the baseline has too": "too-far",
    "Has one text of many wrong": "too-far",
    "Has one date of many a day off": "too-far",
    "Returns an empty array where the baseline returns rows": "empty-output",
    "Returns its rows in another order": "too-far",
    "Returns a generator": "message",
    "Returns a function that computes when it is called": "message",
    "Returns a coroutine that nobody awaits": "message",
    "Returns a lazy mapping": "message",
    "Returns a kind of dictionary whose values are computed when they are read": "message",
    "Returns a kind of list whose items are computed when it is gone through": "message",
    "Returns a kind of tuple whose items are computed when it is gone through": "message",
    "Returns what calls itself a number and computes when it is read": "message",
    "Returns what calls itself an array and computes when it is read": "message",
    "Returns a deferred output whose reading does the work": "output-computed-late",
    "Returns a kind of tensor that computes when it is read": "too-far",
    "Claims twice the items": "other-items",
    "Counts the elements of its batch as items, where the baseline counts rows": "other-items",
    "Claims infinitely many items": "unstorable",
    "Claims twice the items from its second build on": "items-changed",
    "Works on half a batch and claims the items of the whole": "items-unlike-baseline",
    "Works on half of the rows that it shows and claims all, where outputs may differ by design": "item-skipped",
    "Given to compare: computes once and returns that output for ever": "slow-first-call",
    "Given to compare: returns nothing": "message",
    "Given to compare: returns a generator": "message",
    "Given to compare: returns nothing, as the baseline does": "refused",
    "Given to compare: returns a coroutine, as the baseline does": "refused",
    "Given to compare: returns a lazy mapping": "message",
    "Given to compare: never learns, beside a baseline whose loss falls from call to call": "too-far-like-rounding",
    "Given to compare: returns a constant, beside a baseline whose loss falls from call to call": "too-far",
    "Given to compare: has one column wrong": "slice-too-far",
    "Given to compare: returns NaN after the second call": "timed-output",
}
