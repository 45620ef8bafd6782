"""Write every table of numbers in README.md and docs/: `python docs/make_tables.py`, or `tox -e docs`.

A table stands between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``. A function of this file makes its lines. The
numbers come from committed results, through the commands that users have. With ``--check`` nothing is written, and the
exit status is 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from accelbench import price, units

CHECKOUT = Path(__file__).parent.parent
QUICK = "results/amd-epyc-2c-24g-a1550a/0010_quick.json"
CERTIFICATE = "certificates/amd-epyc-2c-24g-a1550a/0002.json"
GLYPHS = {"faster": "▲", "slower": "▼", "same": "=", "undecided": "?"}
MARKED = re.compile(r"(<!-- ([\w-]+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)

# The README's rows, by test, level and what the row is called: gains, losses, no difference and no decision.
FIRST_SCREEN = (
    ("test_batch_size[cnn-train]", "batch-size 32", "batch size 1 → 32"),
    ("test_loop[dense-epoch-keras]", "loop function", "eager → `tf.function`"),
    ("test_xla[cnn-train-keras]", "xla jit-compile", "XLA off → on"),
    ("test_compile[chain-torch]", "compile default", "eager → `torch.compile`"),
    ("test_cache", "cache memory", "`tf.data` cache off → memory"),
    ("test_optimizer[narrow-mlp-train]", "optimizer fused", "optimizer loop → fused"),
    ("test_expression_compiler[polynomial-1000000]", "expression-compiler numba", "NumPy → Numba"),
    ("test_expression_compiler[elementwise-chain-1000000]", "expression-compiler numba", "NumPy → Numba"),
    ("test_numpy_threads[matrix-product-10000]", "threads all", "threads 1 → 2"),
    ("test_numpy_threads[matrix-product-1000000]", "threads all", "threads 1 → 2"),
    ("test_workers[image-loading]", "workers 2", "loader workers 0 → 2"),
    ("test_mixed_precision[bert-train]", "amp bf16", "float32 → bfloat16"),
    ("test_mixed_precision[resnet18-train]", "amp bf16", "float32 → bfloat16"),
    ("test_mixed_precision[mlp-train]", "amp fp16", "float32 → float16"),
    ("test_precision_and_layout[cnn-train]", "amp bf16, memory-format channels-last", "bfloat16 and channels-last"),
)


def quick_run() -> Iterator[str]:
    """Yield the README's table: chosen effects of one run, gains and losses."""
    effects = {(row["trial"].partition("::")[2], row["level"]): row for row in _effects(QUICK)}
    yield "| technique | workload | speedup | interval | verdict | price |"
    yield "|---|---|---|---|---|---|"
    for test, level, label in FIRST_SCREEN:
        row = effects[test, level]
        options = re.sub(r"\d+", lambda number: f"{int(number[0]):,}", row["problem"])
        workload = ", ".join(filter(None, (row["workload"], options)))
        low, high = float(row["low"]), float(row["high"] or "inf")
        yield _row(
            label, workload, units.speedup(float(row["speedup"])), units.interval(low, high),
            f"{GLYPHS[row['verdict']]} {row['verdict']}", _price(row),
        )  # fmt: skip


def bundle() -> Iterator[str]:
    """Yield what each technique of a bundle brings alone, on average and on top of the others."""
    (attribution,) = (
        each for each in _findings(QUICK)["attributions"] if each["trial"].endswith("test_precision_layout_and_batch")
    )
    yield "| technique | alone | on average | on top of the others |"
    yield "|---|---|---|---|"
    for name, label in attribution["techniques"].items():
        yield _row(label, *(_ratio(attribution[share][name]) for share in ("alone", "average", "on_top")))
    yield _row("all together", _ratio(attribution["bundle"]), "", "")


def ladder() -> Iterator[str]:
    """Yield the rungs of the NumPy ladder."""
    (numpy_ladder,) = (each for each in _findings(QUICK)["ladders"] if each["trial"].endswith("test_ladder_numpy"))
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


def certificate() -> Iterator[str]:
    """Yield how often the referee was right about comparisons whose answer is known, idle and beside a neighbour."""
    comparisons = json.loads((CHECKOUT / CERTIFICATE).read_text())["comparisons"]
    yield "| what was compared | verdict | the other core idle | beside a busy process |"
    yield "|---|---|---|---|"
    expected = [
        (0.0, "faster", "slower"),
        (0.0, "same"),
        *((effect_size, "slower") for effect_size in (0.01, 0.02, 0.03, 0.05, 0.1)),
    ]
    for effect_size, *verdicts in expected:
        what = f"{100 * effect_size:g} % more work" if effect_size else "identical code"
        counts = []
        for is_busy in (False, True):
            found = [
                each["verdict"]
                for each in comparisons
                if each["effect_size"] == effect_size and bool(each["busy_processes"]) == is_busy
            ]
            counts.append(f"{sum(verdict in verdicts for verdict in found)} of {len(found)}")
        yield _row(what, " or ".join(f"`{verdict}`" for verdict in verdicts), *counts)


def techniques() -> Iterator[str]:
    """Yield every technique with its levels, from the declarations."""
    from accelbench.techniques.__main__ import catalogue

    yield from catalogue().strip().splitlines()


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "quick-run": quick_run,
    "bundle": bundle,
    "ladder": ladder,
    "certificate": certificate,
    "techniques": techniques,
}


def main() -> None:
    """Bring the pages up to date, or print which are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a page is out of date")
    check = parser.parse_args().check
    stale = []
    for page in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))):
        before = page.read_text()
        after = MARKED.sub(_fill, before)
        if after != before:
            stale.append(str(page.relative_to(CHECKOUT)))
            if not check:
                page.write_text(after)
    if stale:
        print(f"{'out of date' if check else 'written'}: {', '.join(stale)}")
    sys.exit(1 if stale and check else 0)


def _fill(marked: re.Match[str]) -> str:
    """Return the table of this name between its markers; those of the studies stay as they are."""
    return f"{marked[1]}{_table(marked[2])}\n{marked[3]}" if marked[2] in TABLES else marked[0]


@cache
def _table(name: str) -> str:
    return "\n".join(TABLES[name]())


def _effects(results: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_report(results, "--format", "csv"))))


@cache
def _findings(results: str) -> dict[str, Any]:
    return json.loads(_report(results, "--json", "--no-history", "--output", ".tox/docs-report"))  # type: ignore[no-any-return]


def _report(*arguments: str) -> str:
    """Return what `accelbench report` prints."""
    done = subprocess.run(["accelbench", "report", *arguments], cwd=CHECKOUT, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


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
