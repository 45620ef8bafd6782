"""Write every table of numbers in README.md and docs/: `python docs/make_tables.py`, or `tox -e docs`.

A table stands between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``. A function of this file makes its lines. The
numbers come from committed results, through the commands that users have: from the newest committed run of each
published name, whose report is rendered into ``reports/`` first, and from the newest committed certificate of the
machine of the quick run. The JSON Schema of result files is written, too. With ``--check`` nothing is written, and the
exit status is 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
import reference_tables
from claims import PublishedRun, claims

from accelbench import price, units
from accelbench.report.machine import describe_machine
from accelbench.schema.result import KEY, Environment
from accelbench.schema.verdict import GLYPHS

CHECKOUT = Path(__file__).parent.parent
REPORTS = CHECKOUT / "reports"
DRAFTS = CHECKOUT / ".tox" / "docs-report"
QUICK, GPU = "quick", "h200"
FURTHER = {  # published runs that pages only name
    "bundles": "Ladders and attributions of ResNet-18, BERT, Keras and arrays",
    "resnet50": "Ladder and attribution of ResNet-50",
}
SCHEMA = "docs/reference/result.schema.json"
LOADS = {False: "the other core idle", True: "beside a busy process"}
MARKED = re.compile(r"(<!-- ([\w-]+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)

# The README's rows, by test, level and what the row is called: gains, losses, no difference and no decision.
FIRST_SCREEN = (
    ("test_batch_size[cnn-train]", "batch-size 32", "batch size 1 → 32"),
    ("test_mixed_precision[bert-train]", "amp bf16", "float32 → bfloat16"),
    ("test_mixed_precision[resnet18-train]", "amp bf16", "float32 → bfloat16"),
    ("test_mixed_precision[mlp-train]", "amp fp16", "float32 → float16"),
    ("test_precision_and_layout[cnn-train]", "amp bf16, memory-format channels-last", "bfloat16 and channels-last"),
    ("test_compile[chain-torch]", "compile default", "eager → `torch.compile`"),
    ("test_workers[image-loading]", "workers 2", "loader workers 0 → 2"),
    ("test_cache", "cache memory", "`tf.data` cache off → memory"),
    ("test_xla[cnn-train-keras]", "xla jit-compile", "XLA off → on"),
    ("test_numpy_threads[matrix-product-1000000]", "threads all", "threads 1 → 2"),
    ("test_expression_compiler[polynomial-1000000]", "expression-compiler numba", "NumPy → Numba"),
    ("test_expression_compiler[elementwise-chain-1000000]", "expression-compiler numba", "NumPy → Numba"),
)
# The rows of a GPU: the test, the level, and what the row is called.
BERT, RESNET = "BERT-base, 64 × 128 tokens", "ResNet-50"
ON_GPU = (
    ("test_mixed_precision[bert-train]", "amp bf16", f"{BERT}: bfloat16"),
    ("test_mixed_precision[bert-train]", "amp fp16", f"{BERT}: float16"),
    ("test_mixed_precision_searched", "amp fp16", f"{RESNET}, batch 128, cuDNN's search: float16"),
    (
        "test_precision_layout_and_large_batch",
        "amp bf16, memory-format channels-last, batch-size 256",
        f"{RESNET}, batch 32: bfloat16, channels-last, batch 256",
    ),
)
# What others published for an H200: what was measured, their figure, whose it is, and the test and level beside it.
LAMBDA = "[Lambda](https://github.com/lambdal/deeplearning-benchmark), one H200"
PUBLISHED = (
    ("ResNet-50 training, AMP, NCHW", 3079.0, "images/s", LAMBDA, "test_mixed_precision_searched", "amp fp16"),
    ("BERT-base training, AMP", 1.81, "×", LAMBDA, "test_mixed_precision[bert-train]", "amp fp16"),
    ("BERT-large training, AMP", 1.93, "×", LAMBDA, "test_mixed_precision[bert-large-train]", "amp fp16"),
)


@dataclass(frozen=True)
class CommittedRun:
    """A committed run: its file, and the findings and the rows of effects.csv of its report."""

    path: Path
    findings: dict[str, Any]
    effects: list[dict[str, str]]

    @property
    def name(self) -> str:
        """Its name, which is that of its report."""
        return _name_of(self.path)

    @cached_property
    def effect_of(self) -> dict[tuple[str, str], dict[str, str]]:
        """The rows of its effects by test and level."""
        return {(row["trial"].partition("::")[2], row["level"]): row for row in self.effects}

    def find(self, test: str, level: str) -> dict[str, str]:
        """Return the row of an effect that a table shows."""
        if (test, level) not in self.effect_of:
            sys.exit(f"{self.path}: no effect of {level} in {test}; choose another row in {__file__}")
        return self.effect_of[test, level]

    def origin(self, what: str, page: Path) -> str:
        """Return a line on where numbers come from."""
        document = json.loads(self.path.read_text())
        machine = describe_machine(msgspec.convert(document[KEY]["environment"], Environment).identity)
        return (
            f"{what} on {document['datetime'][:10]}, on {machine}: [result file]({_link(self.path, page)}), "
            f"[report]({_link(REPORTS / self.name / 'summary.md', page)})."
        )


@cache
def published(name: str) -> CommittedRun:
    """Render the report of the newest committed run of this name."""
    return render(_newest(f"results/*/*_{name}.json"))


def render(path: Path) -> CommittedRun:
    """Render the report of a run into a folder of ``DRAFTS``, by its name."""
    draft = DRAFTS / _name_of(path)
    shutil.rmtree(draft, ignore_errors=True)
    command = [sys.executable, "-m", "accelbench", "report", str(path), "--json", "--output", str(DRAFTS)]
    printed = subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE).stdout
    rows = csv.DictReader(io.StringIO((draft / "effects.csv").read_text()))
    return CommittedRun(path, json.loads(printed), list(rows))


def quick_run(page: Path, run: CommittedRun) -> Iterator[str]:
    """Yield the README's table: chosen effects of one run, gains and losses, and where they come from."""
    yield "| technique | workload | speedup | interval | verdict | price |"
    yield "|---|---|---|---|---|---|"
    for test, level, label in FIRST_SCREEN:
        row = run.find(test, level)
        options = re.sub(r"\d+", lambda number: f"{int(number[0]):,}", row["problem"])
        workload = ", ".join(filter(None, (row["workload"], options)))
        yield _row(label, workload, *_effect_cells(row), _price(row))
    yield ""
    yield run.origin("Measured by `tox -e quick`", page)


def gpu_run(page: Path, _: CommittedRun) -> Iterator[str]:
    """Yield the README's table of a GPU."""
    run = published(GPU)
    yield "| training on a GPU, in place of float32 | speedup | interval | verdict | per second | of the peak |"
    yield "|---|---|---|---|---|---|"
    for test, level, label in ON_GPU:
        row = run.find(test, level)
        yield _row(label, *_effect_cells(row), _throughput(row), units.percent(float(row["share"])))
    yield ""
    yield run.origin("Measured", page)


def public_figures(*_: object) -> Iterator[str]:
    """Yield what others published for a GPU beside what the published run measured there."""
    yield "| what | theirs | whose | measured here | share |"
    yield "|---|---|---|---|---|"
    for what, figure, unit, whose, test, level in PUBLISHED:
        is_ratio = unit == "×"
        theirs = units.speedup(figure) if is_ratio else f"{figure:,.0f} {unit}"
        row = published(GPU).effect_of.get((test, level))
        if row is None:
            yield _row(what, theirs, whose, f"not yet: `{test}`", "")
            continue
        here = units.ratio(*_ends(row)) if is_ratio else _throughput(row)
        share = float(row["speedup" if is_ratio else "items_per_s"]) / figure
        yield _row(what, theirs, whose, f"{here}: `{test}`, {level}", f"{units.significant(share, 2)}×")


def gpu_costs(*_: object) -> Iterator[str]:
    """Yield where the seconds of each trial on a GPU went."""
    trials = json.loads(published(GPU).path.read_text())[KEY]["trials"]
    known = "framework import", "build", "cold calls", "price passes", "energy", "placement proof", "timed blocks"
    kinds = [kind for kind in known if any(kind in (trial["spent_s"] or {}) for trial in trials)]
    yield _row("trial", "arms", "in all", *kinds, "other")
    yield _row(*["---"] * (4 + len(kinds)))
    for trial in trials:
        if spent_s := trial["spent_s"]:
            total_s, named_s = sum(spent_s.values()), [spent_s.get(kind, 0.0) for kind in kinds]
            shown = map(units.seconds, (total_s, *named_s, total_s - sum(named_s)))
            yield _row(f"`{trial['id'].partition('::')[2]}`", str(len(trial["arms"])), *shown)


def gpu_bundle(page: Path, _: CommittedRun) -> Iterator[str]:
    """Yield what each technique of the ResNet-50 bundle brings on a GPU."""
    yield from _bundle(page, published(GPU), "test_precision_layout_and_large_batch", "Training of ResNet-50")


def bundle(page: Path, run: CommittedRun) -> Iterator[str]:
    """Yield what each technique of a bundle brings alone, on average and on top of the others."""
    yield from _bundle(page, run, "test_precision_layout_and_batch", "Training of a small CNN")


def _bundle(page: Path, run: CommittedRun, test: str, what: str) -> Iterator[str]:
    (attribution,) = (each for each in run.findings["attributions"] if each["trial"].endswith(test))
    yield run.origin(what, page)
    yield ""
    yield "| technique | alone | on average | on top of the others |"
    yield "|---|---|---|---|"
    for name, label in attribution["techniques"].items():
        yield _row(label, *(_ratio(attribution[share][name]) for share in ("alone", "average", "on_top")))
    yield _row("all together", _ratio(attribution["bundle"]), "", "")
    yield ""
    yield _picture(
        "What each technique brings alone, on average and on top of the others; and how they interact.",
        "attribution-amp-memory-format-batch-size-*.svg", page, run,
    )  # fmt: skip


def ladder(page: Path, run: CommittedRun) -> Iterator[str]:
    """Yield the rungs of the NumPy ladder."""
    (numpy_ladder,) = (each for each in run.findings["ladders"] if each["trial"].endswith("test_ladder_numpy"))
    yield run.origin("Ten elementwise operations in NumPy", page)
    yield ""
    yield "| rung | over the start | over the rung below | verdict of the rung |"
    yield "|---|---|---|---|"
    for rung in numpy_ladder["rungs"][1:]:
        verdict = rung["step_verdict"]
        yield _row(
            rung["rung"],
            units.ratio(rung["speedup"], rung["low"], rung["high"]),
            units.ratio(rung["step"], rung["step_low"], rung["step_high"]),
            f"{GLYPHS[verdict]} {verdict}",
        )
    yield ""
    yield _picture("Each rung over the start, and over the rung below.", "ladder-*-chain.svg", page, run)


def further_bundles(page: Path, _: CommittedRun) -> Iterator[str]:
    """Yield where further ladders and attributions were measured."""
    for name, what in FURTHER.items():
        yield f"- {published(name).origin(what, page)}"


def certificate(page: Path, run: CommittedRun) -> Iterator[str]:
    """Yield how often the referee was right about comparisons whose answer is known, idle and beside a neighbour."""
    source = _newest(f"certificates/{run.path.parent.name}/*.json")
    stored = json.loads(source.read_text())
    machine = describe_machine(msgspec.convert(stored["environment"], Environment).identity)
    yield f"From the [certificate]({_link(source, page)}) of {machine}, {stored['created'][:10]}:"
    yield ""
    measured = {bool(each["busy_processes"]) for each in stored["comparisons"]}
    loads = {is_busy: name for is_busy, name in LOADS.items() if is_busy in measured}
    yield _row("what was compared", "verdict", *loads.values())
    yield _row(*["---"] * (2 + len(loads)))
    expected = [
        (0.0, "faster", "slower"),
        (0.0, "same"),
        *((effect_size, "slower") for effect_size in (0.01, 0.02, 0.03, 0.05, 0.1)),
    ]
    for effect_size, *verdicts in expected:
        what = f"{100 * effect_size:g} % more work" if effect_size else "identical code"
        counts = []
        for is_busy in loads:
            found = [
                each["verdict"]
                for each in stored["comparisons"]
                if each["effect_size"] == effect_size and bool(each["busy_processes"]) == is_busy
            ]
            counts.append(f"{sum(verdict in verdicts for verdict in found)} of {len(found)}")
        yield _row(what, " or ".join(f"`{verdict}`" for verdict in verdicts), *counts)


def claims_of_articles(_: Path, run: CommittedRun) -> Iterator[str]:
    """Yield the articles' claims, held against what was measured on a CPU and on a GPU."""
    accuracy = [render(path) for path in sorted(CHECKOUT.glob("results/*/*_accuracy.json"))]
    on_cpu, on_gpu = (
        [PublishedRun(each.effects, each.findings) for each in runs] for runs in ((run, *accuracy), (published(GPU),))
    )
    yield from claims(on_cpu, on_gpu)


TABLES: dict[str, Callable[[Path, CommittedRun], Iterable[str]]] = {
    "quick-run": quick_run,
    "gpu-run": gpu_run,
    "public-figures": public_figures,
    "gpu-bundle": gpu_bundle,
    "gpu-costs": gpu_costs,
    "bundle": bundle,
    "ladder": ladder,
    "further-bundles": further_bundles,
    "certificate": certificate,
    "claims": claims_of_articles,
    "techniques": lambda *_: reference_tables.techniques(),
    "options": lambda *_: reference_tables.options(),
    "commands": lambda *_: reference_tables.commands(),
}


def main() -> None:
    """Bring the pages up to date, or print which are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a page is out of date")
    check = parser.parse_args().check
    run = published(QUICK)
    made = {
        page: MARKED.sub(lambda marked, page=page: _fill(marked, page, run), page.read_text())
        for page in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md")))
    }
    made[CHECKOUT / SCHEMA] = reference_tables.schema()
    stale = [page for page, text in made.items() if not page.exists() or page.read_text() != text]
    if stale:
        print(
            f"{'out of date' if check else 'written'}: {', '.join(str(each.relative_to(CHECKOUT)) for each in stale)}"
        )
    if check:
        sys.exit(bool(stale))
    for page in stale:
        page.write_text(made[page])
    for name in (QUICK, GPU, *FURTHER):
        published(name)
        shutil.rmtree(REPORTS / name, ignore_errors=True)  # or what an earlier version drew would stay
        shutil.copytree(DRAFTS / name, REPORTS / name)


def _fill(marked: re.Match[str], page: Path, run: CommittedRun) -> str:
    """Return the table of this name between its markers; those of the studies stay as they are."""
    if marked[2] not in TABLES:
        return marked[0]
    return "\n".join([marked[1].rstrip(), *TABLES[marked[2]](page, run), marked[3]])


def _name_of(path: Path) -> str:
    """Return the name of a run without its number."""
    return path.stem.partition("_")[2]


def _newest(pattern: str) -> Path:
    """Return the committed file that was saved last."""
    listed = ["git", "ls-files", "-z", pattern]
    found = subprocess.run(listed, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")
    files = {CHECKOUT / each: json.loads((CHECKOUT / each).read_text()) for each in found if each}
    if not files:
        sys.exit(f"{pattern}: no such file is committed; add one with git add --force")
    return max(files, key=lambda path: str(files[path].get("datetime") or files[path]["created"]))


def _picture(text: str, pattern: str, page: Path, run: CommittedRun) -> str:
    """Return the figure of a run's report whose name matches."""
    drafts = DRAFTS / run.name / "figures"
    found = sorted(path.name for path in drafts.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{drafts}: expected one figure named {pattern}, found {', '.join(found) or 'none'}")
    return f"![{text}]({_link(REPORTS / run.name / 'figures' / found[0], page)})"


def _link(path: Path, page: Path) -> str:
    """Return the link from a page to a file of the checkout."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _ends(row: dict[str, str]) -> tuple[float, float, float]:
    """Return an effect's speedup and the ends of its interval."""
    return float(row["speedup"]), float(row["low"]), float(row["high"] or "inf")


def _effect_cells(row: dict[str, str]) -> tuple[str, str, str]:
    """Return an effect's speedup, interval and verdict."""
    speedup, low, high = _ends(row)
    return units.speedup(speedup), units.interval(low, high), f"{GLYPHS[row['verdict']]} {row['verdict']}"


def _throughput(row: dict[str, str]) -> str:
    return f"{float(row['items_per_s']):,.0f} {row['unit']}s"


def _price(row: dict[str, str]) -> str:
    """Return what an effect costs, in the report's words."""
    error, memory, baseline, cold_s = (
        float(row[name]) if row[name] else None for name in ("error", "memory_bytes", "baseline_memory_bytes", "cold_s")
    )
    parts = (
        price.describe_error(error),
        price.describe_memory(memory, baseline),
        price.describe_first_call(cold_s, None),
    )
    return ", ".join(filter(None, parts))


def _ratio(share: dict[str, Any]) -> str:
    return units.ratio(share["ratio"], share["low"], share["high"])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
