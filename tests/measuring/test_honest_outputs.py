"""Honest arms with unusual outputs: none is accused, and none is doubted but where nothing can be known."""

import datetime as dt
import enum
import json
import math
import uuid
import zlib
from collections import Counter, OrderedDict, UserDict, deque, namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, Workload
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

ROWS, COLUMNS = 40, 6
Compute = Callable[[np.ndarray], Any]
CompareBy = Callable[[Sequence[np.ndarray]], Any]


def numbers() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(ROWS, COLUMNS))


def labels() -> np.ndarray:
    """Return labels among which many are equal."""
    return np.random.default_rng(4).integers(0, 5, ROWS)


def images() -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (ROWS, 4, 4), dtype=np.uint8)


def measure_trial(
    *computed: Compute,
    inputs: Callable[[], np.ndarray] = numbers,
    compare_by: CompareBy | None = None,
    seed: int = 1,
    read_only: bool = False,
) -> TrialResult:
    """Measure a trial of arms that compute this from the same inputs, which are fed if they are read only."""
    device = FakeDevice(FakeClock())

    def build(_: Setting, *, number: int = 0) -> Arm:
        held = {"batch": inputs()}
        held["batch"].flags.writeable = not read_only

        def step() -> Any:
            device.launch(1e-3)
            return computed[number](held["batch"])

        def feed(shown: Any) -> None:
            held["batch"] = shown

        shown = held["batch"]
        return Arm(step=step, items=ROWS, inputs=lambda: shown, feed=feed if read_only else None, compare_by=compare_by)

    def numbered(build: Build, level: str) -> Arm:
        return build(number=int(level))

    levels = tuple(str(number) for number in range(len(computed)))
    trial = Trial(
        framework="fake",
        workload=Workload(name="unusual", frameworks=("fake",), unit="row", summary="", builder=build),
        arms=tuple({"number": level} for level in levels),
        techniques=(Technique(name="number", framework="fake", levels=levels, summary="", apply=numbered),),
        plan=Plan(budget_s=0.02, min_span_s=0, builds=2),
    )
    return TrialRun(trial, device, clock=device.clock, coin=Random(seed)).run()


def measure(*computed: Compute, **options: Any) -> list[ArmRecord]:
    """Measure arms as a trial does, and return their records."""
    return measure_trial(*computed, **options).arms


def doubts(arms: Sequence[ArmRecord]) -> list[str]:
    """Return what is said against arms: why they have no speed, and their flags."""
    return [str(what) for arm in arms for what in [*([arm.reason] if arm.reason else []), *arm.flags]]


Pair = namedtuple("Pair", "low high")


@dataclass
class Summary:
    """A result with a name for each of its parts."""

    mean: float
    parts: list[np.ndarray]


@dataclass(frozen=True, slots=True)
class Slotted:
    """A result without a dictionary of attributes."""

    mean: float


class ModelOutput(OrderedDict):  # type: ignore[type-arg]
    """A mapping that can also be indexed by number, as those of transformers."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]


class Grade(enum.IntEnum):
    """A number with a name."""

    LOW = 1
    HIGH = 2


class Celsius(float):
    """A number with a name of its own."""


def structured(batch: np.ndarray) -> np.ndarray:
    return np.array([(row[0], row[1] > 0, f"{row[2]:.3f}") for row in batch], dtype="f8, ?, U8")


def ragged(batch: np.ndarray) -> np.ndarray:
    rows = np.empty(len(batch), dtype=object)
    rows[:] = [row[row > 0] for row in batch]
    return rows


def of_sorted(batch: np.ndarray) -> np.ndarray:
    """Return places among sorted numbers; refuse numbers that are not sorted."""
    if np.any(np.diff(batch) < 0):
        raise ValueError("not sorted")
    return np.searchsorted(batch, [-1.0, 0.0, 1.0])


def vote(batch: np.ndarray) -> Any:
    return np.bincount(batch, minlength=5).argmax()


def day(number: float) -> dt.date:
    return dt.date(2026, 1, 1) + dt.timedelta(days=abs(number) * 100)


def trimmed_mean(batch: np.ndarray) -> Any:
    return np.sort(batch, axis=0)[4:-4].mean(axis=0)


@pytest.fixture
def mapped(tmp_path: Path) -> np.memmap:
    return np.memmap(tmp_path / "values", np.float64, "w+", shape=(ROWS, COLUMNS))


OF_NUMBERS: dict[str, Compute] = {
    "maximum": np.max,
    "maximum of a column": lambda batch: batch.max(axis=0),
    "minimum": np.min,
    "percentile": lambda batch: np.percentile(batch, 90),
    "median": np.median,
    "trimmed mean": trimmed_mean,
    "histogram": lambda batch: np.histogram(batch, bins=8, range=(-4, 4))[0],
    "coarse histogram": lambda batch: np.histogram(batch, bins=[-np.inf, 0, np.inf])[0],
    "argmax": np.argmax,
    "argmax of a column": lambda batch: batch.argmax(axis=0),
    "argsort": lambda batch: np.argsort(batch, axis=0),
    "top-k": lambda batch: np.sort(batch, axis=None)[-5:],
    "indices of top-k": lambda batch: np.argsort(batch, axis=None)[-5:],
    "any": lambda batch: bool((batch > 2.5).any()),
    "all": lambda batch: (batch > -3.5).all(),
    "count": lambda batch: int((batch > 0).sum()),
    "clipped": lambda batch: np.clip(batch, -0.1, 0.1),
    "saturated": lambda batch: np.where(batch > 0, 1.0, -1.0),
    "signs": lambda batch: (batch > 0).tolist(),
    "first match": lambda batch: np.argmax(batch[:, 0] > 1),
    "minus infinity": lambda batch: np.log(np.maximum(batch, 0)),
    "NaN": np.sqrt,
    "a mean of nothing beside another": lambda batch: (np.full(3, np.nan), batch.mean()),
    "huge": lambda batch: np.exp(batch) * 1e300,
    "tiny": lambda batch: batch * 1e-300,
    "rounded": lambda batch: np.round(batch),
    "float16": lambda batch: batch.astype(np.float16),
    "spectrum": lambda batch: np.fft.fft(batch, axis=0),
    "one complex number": lambda batch: complex(batch[:, 0].sum(), batch[:, 1].sum()),
    "texts": lambda batch: np.array([f"{row.sum():.3f}" for row in batch]),
    "texts of objects": lambda batch: np.array([f"{row.sum():.3f}" for row in batch], dtype=object),
    "one text": lambda batch: json.dumps(batch.tolist()),
    "bytes": lambda batch: batch.tobytes(),
    "compressed": lambda batch: bytearray(zlib.compress(batch.tobytes())),
    "memory": lambda batch: memoryview(batch * 2),
    "checksum": lambda batch: zlib.crc32(batch.tobytes()),
    "wide checksum": lambda batch: np.uint64(2**63) + np.uint64(zlib.crc32(batch.tobytes())),
    "dates": lambda batch: np.datetime64("2026-01-01T00:00:00") + (batch * 1e6).astype("m8[s]"),
    "dates and gaps": lambda batch: np.where(batch > 0, np.datetime64("2026-01-01", "D"), np.datetime64("NaT", "D")),
    "days": lambda batch: [day(row.sum()) for row in batch],
    "spans": lambda batch: (batch * 1e6).astype("m8[s]"),
    "structured": structured,
    "records": lambda batch: structured(batch).view(np.recarray),
    "one record": lambda batch: np.rec.fromrecords([(batch.sum(), "sum")])[0],
    "masked": lambda batch: np.ma.masked_less(batch, 0),
    "matrix": lambda batch: np.asmatrix(batch).T @ np.asmatrix(batch),
    "ragged": ragged,
    "unequal parts": lambda batch: [row[row > 0] for row in batch],
    "nothing among others": lambda batch: (None, batch.sum(axis=1), None, []),
    "named tuple": lambda batch: Pair(batch.min(), batch.max()),
    "dataclass": lambda batch: Summary(mean=batch.mean(), parts=[batch[:3], batch[3:]]),
    "dataclass with slots": lambda batch: Slotted(mean=batch.mean()),
    "model output": lambda batch: ModelOutput(loss=batch.mean(), logits=batch * 2),
    "wrapped dictionary": lambda batch: UserDict(loss=batch.mean()),
    "namespace": lambda batch: SimpleNamespace(loss=batch.mean()),
    "queue": lambda batch: deque(batch.sum(axis=1)),
    "counter": lambda batch: Counter(np.round(batch[:, 0]).tolist()),
    "view of a dictionary": lambda batch: {"a": batch[:, 0], "b": batch[:, 1]}.values(),
    "set": lambda batch: set(np.round(batch, 1).ravel().tolist()),
    "set of texts": lambda batch: frozenset(f"{number:.1f}" for number in batch.ravel()),
    "set of mixed values": lambda batch: {round(float(batch.sum()), 2), "a", None, (1, 2)},
    "range": lambda batch: (range(3), batch.sum()),
    "decimals": lambda batch: [Decimal(float(row.sum())) for row in batch],
    "fraction": lambda batch: Fraction(float(batch.sum())),
    "factorial": lambda batch: math.factorial(500 + int(batch.sum() * 20)),
    "grade": lambda batch: [Grade.LOW if row.sum() > 0 else Grade.HIGH for row in batch],
    "named number": lambda batch: Celsius(batch.sum()),
    "identifier": lambda batch: uuid.UUID(bytes=batch.sum(axis=0)[:2].tobytes()),
    "view of the inputs": lambda batch: batch.T,
    "the inputs themselves": lambda batch: batch,
    "inverse": lambda batch: np.linalg.inv(batch.T @ batch),
    "factor": lambda batch: np.linalg.cholesky(batch.T @ batch),
    "correlations": lambda batch: np.corrcoef(batch.T),
    "ranks": lambda batch: batch.argsort(axis=0).argsort(axis=0),
}
OF_LABELS: dict[str, Compute] = {
    "counts of labels": lambda batch: np.bincount(batch, minlength=5),
    "distinct labels": np.unique,
    "set of labels": lambda batch: set(batch.tolist()),
    "vote": vote,
    "most common": lambda batch: Counter(batch.tolist()).most_common(1)[0][0],
    "largest label": np.max,
    "is any zero": lambda batch: bool((batch == 0).any()),
    "one-hot": lambda batch: np.eye(5)[batch],
    "names": lambda batch: np.array(["ant", "bee", "cat", "dog", "eel"])[batch],
    "median label": np.median,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::PendingDeprecationWarning")
def test_an_unusual_output_of_numbers_is_neither_refused_nor_doubted(name: str) -> None:
    for seed, read_only in enumerate((False, True)):
        arms = measure(OF_NUMBERS[name], OF_NUMBERS[name], seed=seed, read_only=read_only)
        assert doubts(arms) == []
        assert [arm.outcome for arm in arms] == ["measured"] * 2


@pytest.mark.parametrize("name", OF_LABELS)
def test_an_unusual_output_of_labels_is_neither_refused_nor_doubted(name: str) -> None:
    for seed, read_only in enumerate((False, True)):
        arms = measure(OF_LABELS[name], OF_LABELS[name], seed=seed, inputs=labels, read_only=read_only)
        assert doubts(arms) == []
        assert [arm.outcome for arm in arms] == ["measured"] * 2


@pytest.mark.parametrize(
    "compute",
    [
        lambda batch: np.nonzero(batch > 100),
        lambda batch: batch > 100,
        lambda batch: np.maximum(batch - 100, 0),
        lambda batch: (batch > 100).any(),
        len,
        lambda batch: f"{len(batch)} rows",
        lambda batch: np.log(batch * 0),
    ],
    ids=["empty", "all false", "zeros", "false", "length", "text", "minus infinity"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_output_that_never_changes_is_measured_and_says_that_nothing_shows_that_it_was_computed(
    compute: Compute,
) -> None:
    trial = measure_trial(compute, compute)
    assert [(arm.outcome, arm.flags) for arm in trial.arms] == [("measured", [])] * 2
    assert "output-unmoved" in [remark.code for remark in trial.remarks]  # beside those on a busy machine


def test_a_memory_map_and_a_copy_of_it_are_alike(mapped: np.memmap) -> None:
    def write(batch: np.ndarray) -> np.memmap:
        mapped[:] = batch * 2
        return mapped

    assert doubts(measure(write, lambda batch: batch * 2)) == []


@pytest.mark.parametrize(
    ("compute", "other"),
    [
        (lambda batch: batch.argmax(axis=1), lambda batch: batch.argmax(axis=1).astype(np.int32)),
        (lambda batch: batch > 0, lambda batch: (batch > 0).astype(np.uint8)),
        (lambda batch: f"{batch.sum():.2f}", lambda batch: np.array(f"{batch.sum():.2f}")),
        (lambda batch: {1, int(batch.sum() * 100)}, lambda batch: {int(batch.sum() * 100), 1}),
    ],
    ids=["narrow indices", "mask of bytes", "text", "set"],
)
def test_the_same_values_in_another_type_are_the_same(compute: Compute, other: Compute) -> None:
    assert doubts(measure(compute, other)) == []


def with_ties() -> np.ndarray:
    return np.round(numbers(), 0)


def reversed_ties(batch: np.ndarray) -> np.ndarray:
    """Return an order in which equal values come backwards."""
    return len(batch) - 1 - np.argsort(batch[::-1, 0], kind="stable")


def test_another_order_of_ties_is_wrong_unless_the_arm_says_what_is_compared() -> None:
    def order(batch: np.ndarray) -> np.ndarray:
        return np.argsort(batch[:, 0], kind="stable")

    _, strict = measure(order, reversed_ties, inputs=with_ties)
    assert strict.outcome == "wrong-output"

    def selected(output: Sequence[np.ndarray]) -> np.ndarray:
        return output[0][:, 0]

    arms = measure(
        lambda batch: batch[order(batch)],
        lambda batch: batch[reversed_ties(batch)],
        inputs=with_ties,
        compare_by=selected,
    )
    assert doubts(arms) == []


def test_rows_in_any_order_are_compared_as_a_set_of_rows_where_the_arm_says_so() -> None:
    def in_order(output: Sequence[np.ndarray]) -> np.ndarray:
        return output[0][np.lexsort(output[0].T)]

    assert doubts(measure(lambda batch: batch * 2, lambda batch: 2 * batch[::-1], compare_by=in_order)) == []


def test_a_comparison_that_does_not_use_the_output_is_refused() -> None:
    held = numbers()

    def instead(_: Sequence[np.ndarray]) -> np.ndarray:
        return held * 2

    arms = measure(lambda _: np.ones(3), inputs=lambda: held, compare_by=instead)
    assert (arms[0].outcome, arms[0].reason.code if arms[0].reason else "") == (
        "wrong-work",
        "comparison-ignores-output",
    )


@pytest.mark.parametrize("kind", ["sorted numbers", "images", "single row", "single number"])
def test_inputs_that_can_be_changed_in_few_ways_accuse_nobody(kind: str) -> None:
    made = {
        "sorted numbers": (lambda: np.sort(numbers()[:, 0]), of_sorted),
        "images": (images, lambda batch: batch.max(axis=(1, 2))),
        "single row": (lambda: numbers()[:1], np.argmax),
        "single number": (lambda: np.array(3.5), lambda number: float(number**2)),
    }
    inputs, compute = made[kind]
    assert doubts(measure(compute, compute, inputs=inputs)) == []
