"""Measure effects again, in another way than the suite does: `python -m studies.remeasure RESULT` (up to 20 minutes).

Each effect is timed in fresh processes, minutes apart, by a loop of the study's own: blocks of 4 ms or more of both
arms, in an order that a coin decides. Two more processes time one arm each. The result file says what to build, and
what to compare with; it must come from this machine, which should be idle. The table is printed; with --write it is
put into studies/interval_evaluation.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median, stdev

from scipy.stats import t as student_t

from accelbench.errors import BadInput
from accelbench.results import Result, find_newest
from accelbench.schema.environment import identify
from accelbench.schema.machine_id import machine_key
from accelbench.schema.result import Effect, TrialRecord
from accelbench.text import format_levels
from accelbench.units import interval, minutes, percent, plural, ratio, speedup
from studies.marked_tables import show_tables
from studies.remeasure.time_arms import Order

PAGE = Path(__file__).parents[1] / "interval_evaluation.md"
CONFIDENCE = 0.95
TIMEOUT_S = 120  # for one process
SPREAD = 1.1  # between the processes' ratios, above which the table says so

# Tests without their module, and the levels that are compared with the test's baseline.
EFFECTS = (
    ("test_expression_compiler[polynomial-10000]", "expression-compiler numba"),
    ("test_expression_compiler[polynomial-1000000]", "expression-compiler numba"),
    ("test_expression_compiler[polynomial-1000000]", "expression-compiler numexpr"),
    ("test_expression_compiler[elementwise-chain-1000000]", "expression-compiler numba"),
    ("test_expression_compiler[elementwise-chain-1000000]", "expression-compiler numexpr"),
    ("test_vectorise_numpy[distance-matrix]", "vectorise matmul"),
    ("test_vectorise_numpy[row-normalisation]", "vectorise array"),
    ("test_numpy_threads[matrix-product-100000]", "threads all"),
    ("test_numpy_threads[matrix-product-1000000]", "threads all"),
    ("test_science_torch[n-body-256]", "array-library torch-cpu"),
    ("test_science_torch[heat-1000000]", "array-library torch-cpu"),
    ("test_image_processing_torch[image-resize-1]", "array-library torch-cpu"),
    ("test_cpu_threads[cnn-train]", "threads all"),
    ("test_mixed_precision[bert-train]", "amp bf16"),
    ("test_memory_format[cnn-train-fp32]", "memory-format channels-last"),
    ("test_compile[chain-torch]", "compile default"),
    ("test_batch_size[cnn-train]", "batch-size 32"),
    ("test_optimizer[narrow-mlp-train]", "optimizer foreach"),
    ("test_optimizer[narrow-mlp-train]", "optimizer fused"),
    ("test_checkpoint_format[checkpoint-load-cnn]", "checkpoint-format safetensors"),
    ("test_workers[image-loading]", "workers 2"),
    ("test_parallel_map", "parallel-map 2"),
    ("test_loop[dense-epoch-keras]", "loop function"),
    ("test_xla[cnn-train-keras]", "xla jit-compile"),
    ("test_mixed_precision_keras[cnn-train-keras]", "mixed-precision mixed_bfloat16"),
    ("test_batch_size_keras", "batch-size 16"),
)


@dataclass(kw_only=True)
class Remeasured:
    """An effect of the suite, and what the study's own processes measured.

    ``log_ratios`` are the natural logarithms of the speedups, one from each process that timed both arms. ``alone_s``
    are the seconds per item of each arm, baseline first, from processes in which it was alone. ``failure`` is the last
    line of a process that broke off.
    """

    trial: TrialRecord
    levels: dict[str, str]
    suite: Effect
    log_ratios: list[float] = field(default_factory=list)
    alone_s: dict[int, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def arms(self) -> list[dict[str, str]]:
        """The levels of both arms, the baseline's first."""
        return [self.trial.arms[0].levels, self.levels]

    @property
    def name(self) -> str:
        """The test, and the levels that are compared with its baseline."""
        return f"{_test(self.trial)}, {_difference(self.trial, self.levels)}"

    def estimate(self) -> tuple[float, float, float] | None:
        """Return the speedup and its interval, by Student's t over the processes; None from fewer than two."""
        number = len(self.log_ratios)
        if number < 2:
            return None
        half = float(student_t.isf((1 - CONFIDENCE) / 2, number - 1)) * stdev(self.log_ratios) / math.sqrt(number)
        middle = fmean(self.log_ratios)
        return math.exp(middle), math.exp(middle - half), math.exp(middle + half)

    def agrees(self) -> bool | None:
        """Return whether the interval and the suite's share a value; None where there is none."""
        estimate = self.estimate()
        return None if estimate is None else estimate[1] <= self.suite.upper and self.suite.low <= estimate[2]

    def alone(self) -> float | None:
        """Return the speedup between arms that ran alone in their processes."""
        return self.alone_s[0] / self.alone_s[1] if len(self.alone_s) == 2 else None

    def remark(self) -> str:
        """Return what a reader should know about the figures, "" if there is nothing."""
        return "; ".join(self._remarks())

    def _remarks(self) -> Iterator[str]:
        if self.failure:
            yield self.failure
        estimate, alone = self.estimate(), self.alone()
        if estimate is None:
            return
        least, most = math.exp(min(self.log_ratios)), math.exp(max(self.log_ratios))
        if most > SPREAD * least:
            yield f"the processes range over {interval(least, most)}"
        if alone is None:
            return
        if not self.suite.low <= alone <= self.suite.upper:
            yield "alone it lies outside the suite's interval"
        elif not self.agrees():
            yield "alone it lies within the suite's interval"


def find_effects(result: Result, wanted: Iterable[tuple[str, str]]) -> tuple[list[Remeasured], list[str]]:
    """Return the effects that a run measured, and the names of those that it did not.

    Raises:
        BadInput: the run measured other things than the study would.
    """
    settings = result.run.settings
    if settings.get("cache", "hot") != "hot" or settings.get("own_images"):
        kind = "a user's own images" if settings.get("own_images") else "cold caches"
        raise BadInput(f"{result.path}: a run with {kind}; expected one with warm caches and the images of the suite")
    found = {}
    for trial in result.run.trials:
        for arm in trial.arms[1:]:
            if arm.outcome == "measured" and arm.effect:
                key = _test(trial), _difference(trial, arm.levels)
                found[key] = Remeasured(trial=trial, levels=arm.levels, suite=arm.effect)
    names = list(wanted)
    return [found[name] for name in names if name in found], [", ".join(name) for name in names if name not in found]


def _check_machine(result: Result) -> None:
    here = machine_key(identify())
    if result.run.machine != here:
        raise BadInput(f"{result.path}: a run of {result.run.machine}; expected one of this machine, {here}")


def _select(part: str) -> list[tuple[str, str]]:
    """Return the effects with this in their name."""
    selected = [name for name in EFFECTS if part in ", ".join(name)]
    if not selected:
        raise BadInput(f"no effect has {part!r} in its name; expected a part of a test's name, or of a technique's")
    return selected


def _test(trial: TrialRecord) -> str:
    return trial.id.rpartition("::")[2]


def _difference(trial: TrialRecord, levels: dict[str, str]) -> str:
    baseline = trial.arms[0].levels
    return format_levels({name: level for name, level in levels.items() if level != baseline.get(name)})


def measure(effects: Sequence[Remeasured], result: Result, *, processes: int, budget_s: float, seed: int) -> None:
    """Time each effect in ``processes`` processes, and each of its arms in one; all effects take turns."""
    chance = random.Random(seed)
    for number in range(processes):
        for effect in chance.sample(effects, len(effects)):
            if times := _run(effect, effect.arms, result, chance, budget_s):
                effect.log_ratios.append(math.log(times[0] / times[1]))
                print(f"{number + 1}: {effect.name}: {speedup(times[0] / times[1])}", file=sys.stderr, flush=True)
    each_alone = [(effect, place) for effect in effects for place in range(2)]
    for effect, place in chance.sample(each_alone, len(each_alone)):
        if times := _run(effect, [effect.arms[place]], result, chance, budget_s):
            effect.alone_s[place] = times[0]


def _run(
    effect: Remeasured, arms: list[dict[str, str]], result: Result, chance: random.Random, budget_s: float
) -> list[float]:
    """Return seconds per item of arms in a fresh process; none if it broke off, now or earlier."""
    if effect.failure:
        return []
    trial, settings = effect.trial, result.run.settings
    order = Order(
        framework=trial.framework,
        workload=trial.workload,
        problem=trial.problem,
        fixed=trial.fixed,
        arms=arms,
        size=str(settings.get("size", "small")),
        seed=int(settings.get("seed") or 0),
        cores=int(settings.get("cores") or os.cpu_count() or 1),
        coin=chance.getrandbits(32),
        budget_s=budget_s,
    )
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "studies.remeasure.time_arms", order.to_text()],
            cwd=PAGE.parents[1],
            env=os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        effect.failure = f"took more than {TIMEOUT_S} s"
        return []
    if ended.returncode:
        effect.failure = (ended.stderr.strip() or f"ended with status {ended.returncode}").splitlines()[-1]
        return []
    times: list[float] = json.loads(ended.stdout.splitlines()[-1])
    return times


def table(effects: Sequence[Remeasured], missing: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table, and how many effects agree."""
    yield "| effect | the suite | measured again | alone | agree | remark |"
    yield "|---|---|---|---|---|---|"
    for effect in effects:
        estimate, alone, agrees = effect.estimate(), effect.alone(), effect.agrees()
        suite = ratio(effect.suite.speedup, effect.suite.low, effect.suite.upper)
        cells = (
            f"`{effect.name}`", suite, ratio(*estimate) if estimate else "–", speedup(alone) if alone else "–",
            "–" if agrees is None else "yes" if agrees else "**no**", effect.remark().replace("|", "\\|"),
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"
    for name in missing:
        yield f"| `{name}` | – | – | – | – | not measured in this run |"
    yield ""
    estimates = [(estimate, effect.agrees()) for effect in effects if (estimate := effect.estimate())]
    agreeing = f"{sum(bool(agrees) for _, agrees in estimates)} of {len(estimates)} agree"
    if not estimates:
        yield f"{agreeing}."
        return
    half_width = median(high / middle - 1 for (middle, _, high), _ in estimates)
    yield f"{agreeing}; the median half-width of the intervals measured here is {percent(half_width)}."


def main() -> None:
    """Measure the effects again, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", metavar="RESULT", help="a result file of this machine, or a folder with its newest")
    parser.add_argument("--processes", type=int, default=5, help="processes that time both arms of an effect (5)")
    parser.add_argument("--seconds", type=float, default=0.75, help="seconds of an arm in a process (0.75)")
    parser.add_argument("--only", default="", help="only effects with this in their name; the page stays as it is")
    parser.add_argument("--write", action="store_true", help="put the table into studies/interval_evaluation.md")
    options = parser.parse_args()
    try:
        (result,) = find_newest(options.result).results
        _check_machine(result)
        effects, missing = find_effects(result, _select(options.only))
    except BadInput as error:
        sys.exit(f"studies.remeasure: {error}")
    load, start_s = os.getloadavg()[0], time.perf_counter()
    measure(effects, result, processes=options.processes, budget_s=options.seconds, seed=0)
    builds = plural(options.processes, "build")
    around = (
        f"Against {result.number:04} {result.name} of {result.run.machine}: {builds} of an effect, each in a fresh "
        f"process, {options.seconds:g} s an arm, intervals at {percent(CONFIDENCE)} by Student's t; made in "
        f"{minutes(time.perf_counter() - start_s)}; load average before: {load:.2f}."
    )
    lines = [*table(effects, missing), "", around]
    show_tables(PAGE, "remeasurement", lines, write=options.write and not options.only)


if __name__ == "__main__":
    main()
