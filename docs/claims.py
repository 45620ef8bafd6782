"""The table of docs/explanation/claims.md: what articles say, held against what committed runs measured.

A claim selects the effects that test it. Everything that the table says of them is computed: in how many cases the
claim holds, in which, from which size on and by how much. Where a run has no such effect, the table names the run that
would have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accelbench import price, units
from accelbench.text import format_place, list_some

MOST_NAMED = 3  # workloads of a cell
Effect = Mapping[str, str]  # a row of effects.csv


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim of the articles, and where the suite tests it.

    ``module`` is the benchmark module to run for it. ``tests`` and ``level`` are regular expressions which the trial
    and the level of an effect must match. ``slower`` claims warn of a level. A claim holds for an effect from a
    speedup of ``least`` on, by the interval's near end; with ``memory``, where an arm takes at most this share of its
    baseline's memory. ``at_smallest`` is about the smallest of several sizes only. One that ``needs_gpu`` cannot be
    tested on a CPU. ``thresholds`` names the findings that say from which size on.
    """

    text: str
    module: str
    tests: str
    level: str
    slower: bool = False
    at_smallest: bool = False
    needs_gpu: bool = False
    least: float = 1.0
    memory: float | None = None
    thresholds: str = "crossovers"

    def selects(self, effect: Mapping[str, Any]) -> bool:
        """Return whether an effect, or a threshold of several, tests the claim."""
        place = str(effect.get("trial", effect.get("test", "")))
        return bool(re.search(self.tests, place) and re.search(self.level, str(effect.get("level", ""))))

    def holds(self, effect: Effect) -> bool:
        """Return whether the claim holds for an effect."""
        if self.memory is not None:
            return _memory_ratio(effect) <= self.memory
        return effect["verdict"] == self.wanted and (self.slower or float(effect["low"]) >= self.least)

    @property
    def wanted(self) -> str:
        """The verdict of an effect for which the claim holds."""
        return "slower" if self.slower else "faster"


ON_GPU = r"^device (?!cpu)|accelerator|^array-library (resident|fused|round-trip)"
CLAIMS = (
    Claim(
        text="GPUs are tens of times faster",
        module="test_device",
        tests="device|science|image",
        level=ON_GPU,
        least=10,
        needs_gpu=True,
    ),
    Claim(
        text="Small arrays lose on a GPU",
        module="test_cupy_numpy",
        tests="cupy_numpy|by_size",
        level=ON_GPU,
        slower=True,
        at_smallest=True,
        needs_gpu=True,
    ),
    Claim(
        text="Small arrays lose: threads, compilers and PyTorch's arrays on the CPU",
        module="test_numpy_threads",
        tests="numpy_threads|two_computations|science_torch|image_processing_torch|expression_compiler",
        level="^(threads all|overlap|array-library torch-cpu|expression-compiler)",
        slower=True,
        at_smallest=True,
    ),
    Claim(
        text="Keep data on the device",
        module="test_transfers",
        tests="transfers|round-trip",
        level="^(transfers per-step|intermediates round-trip)",
        slower=True,
        needs_gpu=True,
    ),
    Claim(
        text="Avoid `.item()` in loops",
        module="test_log_interval",
        tests="log_interval|log_by",
        level="^log-(interval every-step|by (item|float))",
        slower=True,
    ),
    Claim(
        text="Fuse kernels: `torch.compile`",
        module="test_compile",
        tests="test_compile",
        level="^compile ",
    ),
    Claim(
        text="Fuse kernels: XLA",
        module="test_xla",
        tests="test_xla",
        level="^xla ",
    ),
    Claim(
        text="Fuse kernels: Numba and NumExpr",
        module="test_vectorise",
        tests="expression_compiler",
        level="^expression-compiler ",
    ),
    Claim(
        text="Fuse kernels: a fused optimizer",
        module="test_optimizer",
        tests="test_optimizer",
        level="fused",
    ),
    Claim(
        text="Pin memory",
        module="test_pinned_memory",
        tests="pinned|bandwidth",
        level="^pin-memory on",
        needs_gpu=True,
    ),
    Claim(
        text="Larger batches raise throughput",
        module="test_batch_size",
        tests="test_batch_size",
        level="^batch-size",
        thresholds="knees",
    ),
    Claim(
        text="Larger batches learn sooner",
        module="test_accuracy",
        tests="larger_batches",
        level="^batch-size",
        thresholds="times_to_accuracy",
    ),
    Claim(
        text="Mixed precision is faster",
        module="test_mixed_precision",
        tests="mixed_precision",
        level="^(amp|mixed-precision) ",
    ),
    Claim(
        text="Mixed precision halves memory",
        module="test_mixed_precision",
        tests="mixed_precision",
        level="^(amp bf16|mixed-precision mixed_bfloat16)$",
        memory=0.55,
    ),
    Claim(
        text="Add workers",
        module="test_workers",
        tests="test_workers",
        level="^workers ",
        thresholds="knees",
    ),
    Claim(
        text="Prefetch in `tf.data`",
        module="test_tf_data",
        tests="tf_data.py::test_prefetch",
        level="^prefetch ",
    ),
)


@dataclass(frozen=True)
class PublishedRun:
    """What a committed run holds: the rows of its effects.csv, and its findings as JSON."""

    effects: Sequence[Effect]
    findings: Mapping[str, Any]


def claims(cpu: Sequence[PublishedRun], gpu: Sequence[PublishedRun]) -> Iterator[str]:
    """Yield the lines of the table, from the runs on a CPU and those on a GPU; there may be none of either."""
    yield "| claim | on this CPU | where it holds | from which size on | by how much | on a GPU |"
    yield "|---|---|---|---|---|---|"
    for claim in CLAIMS:
        yield f"| {' | '.join([claim.text, *_on_cpu(claim, cpu), _on_gpu(claim, gpu)])} |"


def _on_cpu(claim: Claim, runs: Sequence[PublishedRun]) -> list[str]:
    effects = _selected(claim, runs)
    if not effects:
        needed = "it takes a GPU" if claim.needs_gpu else "the published run does not test it"
        return [f"{needed}: `pytest benchmarks/{claim.module}.py`", "", "", ""]
    places = dict.fromkeys(_place(effect) for effect in effects if claim.holds(effect))
    return [
        _verdict(claim, effects, runs),
        list_some(places, MOST_NAMED),
        "; ".join(_THRESHOLDS[claim.thresholds](claim, runs)),
        _amount(claim, effects),
    ]


def _on_gpu(claim: Claim, runs: Sequence[PublishedRun]) -> str:
    if not runs:
        return f"no run on a GPU is published yet; it would be `pytest benchmarks/{claim.module}.py`"
    effects = _selected(claim, runs)
    if not effects:
        return f"not tested by the published run: `pytest benchmarks/{claim.module}.py`"
    said = [_verdict(claim, effects, runs), *_THRESHOLDS[claim.thresholds](claim, runs), _amount(claim, effects)]
    return "; ".join(said)


def _selected(claim: Claim, runs: Sequence[PublishedRun]) -> list[Effect]:
    chosen = [effect for run in runs for effect in run.effects if claim.selects(effect)]
    if claim.at_smallest:
        chosen = list(_smallest(chosen))
    return [effect for effect in chosen if claim.memory is None or _memory_ratio(effect) < float("inf")]


def _smallest(effects: Sequence[Effect]) -> Iterator[Effect]:
    """Yield the effect at the smallest size of each problem that was measured at several."""
    problems: dict[tuple[str, ...], list[Effect]] = {}
    for effect in effects:
        kind = re.sub(r"\d+", "", effect["problem"])
        test = effect["trial"].partition("[")[0]
        problems.setdefault((test, effect["workload"], kind, effect["fixed"], effect["level"]), []).append(effect)
    for sizes in problems.values():
        if len(sizes) > 1:
            yield min(sizes, key=lambda effect: [int(number) for number in re.findall(r"\d+", effect["problem"])])


def _verdict(claim: Claim, effects: Sequence[Effect], runs: Sequence[PublishedRun]) -> str:
    """Return in how many of the cases a claim holds, and how the others were decided."""
    holding = [effect for effect in effects if claim.holds(effect)]
    others = [effect for effect in effects if effect not in holding]
    opposite = {"faster": "slower", "slower": "faster"}[claim.wanted]
    counted: dict[str, int]
    if claim.memory is not None:
        changes = [_memory_change(effect) for effect in others]
        counted = {
            "less memory, but not half,": changes.count("less"),
            "the same memory": changes.count("same"),
            "more memory": changes.count("more"),
        }
    else:
        verdicts = [effect["verdict"] for effect in others]
        counted = {
            f"faster by less than {claim.least:g}×": verdicts.count("faster") if claim.wanted == "faster" else 0,
            opposite: verdicts.count(opposite),
            "no difference": verdicts.count("same"),
            "undecided": verdicts.count("undecided"),
            "never there": _missed(runs) if claim.thresholds == "times_to_accuracy" else 0,
        }
    cases = len(holding) + sum(counted.values())
    if counted.get("undecided") == cases:
        return f"**undecided** in {cases} of {cases}"
    held = f"**holds** in {len(holding)} of {cases}" if holding else f"**does not hold** in any of {cases}"
    return ", ".join([held, *(f"{what} in {count}" for what, count in counted.items() if count)])


def _missed(runs: Sequence[PublishedRun]) -> int:
    """Return how many trainings never reached their accuracy."""
    return sum(
        arm["missed"] for run in runs for each in run.findings.get("times_to_accuracy", ()) for arm in each["arms"]
    )


def _amount(claim: Claim, effects: Sequence[Effect]) -> str:
    """Return the strongest and the weakest effect among those that are decided."""
    if claim.memory is not None:
        ends = [min(effects, key=_memory_ratio), max(effects, key=_memory_ratio)]
        said = [f"{units.significant(_memory_ratio(each), 2)}× the memory on {_place(each)}" for each in ends]
        return " to ".join(dict.fromkeys(said))
    decided = [effect for effect in effects if effect["verdict"] in ("faster", "slower", "same")]
    if not decided:
        return "nothing is decided"
    order = sorted(decided, key=lambda effect: float(effect["speedup"]), reverse=not claim.slower)
    said = [f"{_ratio(each)} with {each['level']} on {_place(each)}" for each in (order[0], order[-1])]
    return " to ".join(dict.fromkeys(said))


def _crossovers(claim: Claim, runs: Sequence[PublishedRun]) -> Iterator[str]:
    """Yield from which size on levels pay; a level that pays at the small sizes only is named as such."""
    for each in (each for run in runs for each in run.findings["crossovers"] if claim.selects(each)):
        if each["crossover"] is not None:
            side = "above" if each["direction"] == "up" else "only below"
            size = units.count(float(f"{each['crossover']:.2g}"))
            yield f"{each['level']} pays {side} {each['axis']} {size} on {each['workload']}"


def _knees(claim: Claim, runs: Sequence[PublishedRun]) -> Iterator[str]:
    """Yield up to which level throughput grows."""
    for each in (each for run in runs for each in run.findings["knees"]):
        level = f"{each['technique'].replace('_', '-')} {each['knee']}"
        if each["knee"] and re.search(claim.tests, each["trial"]) and re.search(claim.level, level):
            end = " and may grow beyond" if each["knee"] == each["limit"] else ""
            yield f"grows up to {each['knee']} on {each['workload']}{end}"


def _times_to_accuracy(claim: Claim, runs: Sequence[PublishedRun]) -> Iterator[str]:  # noqa: ARG001  as the others
    """Yield the sentence of each training to an accuracy; runs from before there were any have none."""
    for each in (each for run in runs for each in run.findings.get("times_to_accuracy", ())):
        yield f"{each['workload']}: {each['sentence']}"


_THRESHOLDS: dict[str, Callable[[Claim, Sequence[PublishedRun]], Iterator[str]]] = {
    "crossovers": _crossovers,
    "knees": _knees,
    "times_to_accuracy": _times_to_accuracy,
}


def _memory_ratio(effect: Effect) -> float:
    """Return an arm's memory over its baseline's, infinity where it was not measured."""
    memory, baseline = (float(effect[name] or 0) for name in ("memory_bytes", "baseline_memory_bytes"))
    return memory / baseline if memory and baseline else float("inf")


def _memory_change(effect: Effect) -> str:
    memory, baseline = float(effect["memory_bytes"]), float(effect["baseline_memory_bytes"])
    if price.is_same_memory(memory, baseline):
        return "same"
    return "less" if memory < baseline else "more"


def _place(effect: Effect) -> str:
    options = re.sub(r"\d+", lambda number: f"{int(number[0]):,}", effect["problem"])
    return format_place(effect["workload"], options, effect["fixed"])


def _ratio(effect: Effect) -> str:
    return units.ratio(float(effect["speedup"]), float(effect["low"]), float(effect["high"] or "inf"))
