"""Write every table of numbers in README.md and docs/: `python docs/make_tables.py`, or `tox -e docs`.

A table stands between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``. A function of this file makes its lines. The
numbers come from committed results, through the commands that users have: from the newest committed run named quick,
whose report is rendered into ``reports/quick`` first, and from the newest committed certificate of its machine. The
JSON Schema of result files is written, too. With ``--check`` nothing is written, and the exit status is 1 if a page is
out of date.
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
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
from claims import PublishedRun, claims

from accelbench import price, units
from accelbench.cli import main as accelbench_command
from accelbench.pytest_plugin.options import add_options
from accelbench.report.machine import describe_machine
from accelbench.schema.result import KEY, Environment, Run

CHECKOUT = Path(__file__).parent.parent
REPORT = "reports/quick"
DRAFTS = CHECKOUT / ".tox" / "docs-report"
DRAFT = DRAFTS / "quick"
SCHEMA = "docs/reference/result.schema.json"
GLYPHS = {"faster": "▲", "slower": "▼", "same": "=", "undecided": "?"}
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


@dataclass(frozen=True)
class CommittedRun:
    """A committed run: its file, and the findings and the rows of effects.csv of its report."""

    path: Path
    findings: dict[str, Any]
    effects: list[dict[str, str]]

    def origin(self, what: str, page: Path) -> str:
        """Return a line on where numbers come from."""
        document = json.loads(self.path.read_text())
        machine = describe_machine(msgspec.convert(document[KEY]["environment"], Environment).identity)
        return (
            f"{what} on {document['datetime'][:10]}, on {machine}: [result file]({_link(self.path, page)}), "
            f"[report]({_link(CHECKOUT / REPORT / 'summary.md', page)})."
        )


def render(path: Path) -> CommittedRun:
    """Render the report of a run into a folder of ``DRAFTS``, by its name."""
    draft = DRAFTS / path.stem.partition("_")[2]
    shutil.rmtree(draft, ignore_errors=True)
    command = [sys.executable, "-m", "accelbench", "report", str(path), "--json", "--output", str(DRAFTS)]
    printed = subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE).stdout
    rows = csv.DictReader(io.StringIO((draft / "effects.csv").read_text()))
    return CommittedRun(path, json.loads(printed), list(rows))


def quick_run(page: Path, run: CommittedRun) -> Iterator[str]:
    """Yield the README's table: chosen effects of one run, gains and losses, and where they come from."""
    effects = {(row["trial"].partition("::")[2], row["level"]): row for row in run.effects}
    yield "| technique | workload | speedup | interval | verdict | price |"
    yield "|---|---|---|---|---|---|"
    for test, level, label in FIRST_SCREEN:
        if (test, level) not in effects:
            sys.exit(f"{run.path}: no effect of {level} in {test}; choose another row in FIRST_SCREEN of {__file__}")
        row = effects[test, level]
        options = re.sub(r"\d+", lambda number: f"{int(number[0]):,}", row["problem"])
        workload = ", ".join(filter(None, (row["workload"], options)))
        low, high = float(row["low"]), float(row["high"] or "inf")
        yield _row(
            label, workload, units.speedup(float(row["speedup"])), units.interval(low, high),
            f"{GLYPHS[row['verdict']]} {row['verdict']}", _price(row),
        )  # fmt: skip
    yield ""
    yield run.origin("Measured by `tox -e quick`", page)


def picture(page: Path, _: CommittedRun) -> Iterator[str]:
    """Yield the README's picture: what pays most on the machine of the quick run, and what slows down most."""
    card = CHECKOUT / REPORT / "card.svg"
    yield f"![What pays most on one machine, and what slows down most, with intervals.]({_link(card, page)})"


def bundle(page: Path, run: CommittedRun) -> Iterator[str]:
    """Yield what each technique of a bundle brings alone, on average and on top of the others."""
    (attribution,) = (
        each for each in run.findings["attributions"] if each["trial"].endswith("test_precision_layout_and_batch")
    )
    yield run.origin("Training of a small CNN", page)
    yield ""
    yield "| technique | alone | on average | on top of the others |"
    yield "|---|---|---|---|"
    for name, label in attribution["techniques"].items():
        yield _row(label, *(_ratio(attribution[share][name]) for share in ("alone", "average", "on_top")))
    yield _row("all together", _ratio(attribution["bundle"]), "", "")
    yield ""
    yield _picture(
        "What each technique brings alone, on average and on top of the others; and how they interact.",
        "attribution-amp-memory-format-batch-size-cnn-train.svg", page,
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
    yield _picture("Each rung over the start, and over the rung below.", "ladder-*-chain.svg", page)


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
    """Yield the articles' claims, held against what was measured on a CPU; no run on a GPU is published yet."""
    accuracy = [render(path) for path in sorted(CHECKOUT.glob("results/*/*_accuracy.json"))]
    yield from claims([PublishedRun(each.effects, each.findings) for each in (run, *accuracy)], [])


def techniques(*_: object) -> Iterator[str]:
    """Yield every technique with its levels, from the declarations."""
    from accelbench.techniques.__main__ import catalogue

    yield from catalogue().strip().splitlines()


def options(*_: object) -> Iterator[str]:
    """Yield the plugin's options with their meaning and default, from their declarations."""
    declared: dict[str, dict[str, Any]] = {}
    group = SimpleNamespace(addoption=lambda name, **attributes: declared.update({name: attributes}))
    add_options(SimpleNamespace(getgroup=lambda *_: group, addini=lambda *_, **__: None))
    yield "| option | meaning | default |"
    yield "|---|---|---|"
    for name, attributes in declared.items():
        meaning, _, default = attributes["help"].partition(" Default: ")
        values = attributes.get("metavar") or "|".join(attributes.get("choices", ()))
        yield _row(f"`{' '.join((name, values)).strip()}`".replace("|", "\\|"), meaning.rstrip("."), default or "off")


def commands(*_: object) -> Iterator[str]:
    """Yield what every command of `accelbench` prints as its help."""
    parent = click.Context(accelbench_command, info_name="accelbench", **accelbench_command.context_settings)
    for name, command in sorted(accelbench_command.commands.items()):
        context = click.Context(command, parent, name, max_content_width=100, terminal_width=100)
        help_text = command.get_help(context)
        yield from (f"## accelbench {name}", "", "```text", *help_text.splitlines(), "```", "")


TABLES: dict[str, Callable[[Path, CommittedRun], Iterable[str]]] = {
    "quick-run": quick_run,
    "picture": picture,
    "bundle": bundle,
    "ladder": ladder,
    "certificate": certificate,
    "claims": claims_of_articles,
    "techniques": techniques,
    "options": options,
    "commands": commands,
}


def schema() -> str:
    """Return the JSON Schema of result files, whose fields are described as in results/README.md."""
    generated = msgspec.json.schema(Run)
    documented = (CHECKOUT / "results" / "README.md").read_text()
    for name, definition in generated["$defs"].items():
        definition.pop("description", None)  # docstrings are written for readers of the code
        title = {"TrialRecord": "Trial", "ArmRecord": "Arm"}.get(name, name)
        section = re.search(rf"^### {title}\n(.*?)(?=^#|\Z)", documented, re.MULTILINE | re.DOTALL)
        rows = re.findall(r"^\| (`[^|]+`) \|[^|]*\| (.*) \|$", section[1] if section else "", re.MULTILINE)
        meanings = {field: meaning for fields, meaning in rows for field in re.findall(r"`(\w+)`", fields)}
        for field, declared in definition.get("properties", {}).items():
            if field in meanings:
                declared["description"] = meanings[field]
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result file of accelbench",
        "description": "pytest-benchmark's JSON with one key of accelbench's own",
        "type": "object",
        "required": [KEY],
        "properties": {KEY: {"$ref": generated["$ref"]}},
        "$defs": generated["$defs"],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Bring the pages up to date, or print which are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a page is out of date")
    check = parser.parse_args().check
    run = render(_newest("results/*/*_quick.json"))
    made = {
        page: MARKED.sub(lambda marked, page=page: _fill(marked, page, run), page.read_text())
        for page in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md")))
    }
    made[CHECKOUT / SCHEMA] = schema()
    stale = [page for page, text in made.items() if not page.exists() or page.read_text() != text]
    if stale:
        print(
            f"{'out of date' if check else 'written'}: {', '.join(str(each.relative_to(CHECKOUT)) for each in stale)}"
        )
    if check:
        sys.exit(bool(stale))
    for page in stale:
        page.write_text(made[page])
    shutil.rmtree(CHECKOUT / REPORT, ignore_errors=True)  # or what an earlier version drew would stay
    shutil.copytree(DRAFT, CHECKOUT / REPORT)


def _fill(marked: re.Match[str], page: Path, run: CommittedRun) -> str:
    """Return the table of this name between its markers; those of the studies stay as they are."""
    if marked[2] not in TABLES:
        return marked[0]
    return "\n".join([marked[1].rstrip(), *TABLES[marked[2]](page, run), marked[3]])


def _newest(pattern: str) -> Path:
    """Return the committed file that was saved last."""
    listed = ["git", "ls-files", "-z", pattern]
    found = subprocess.run(listed, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")
    files = {CHECKOUT / each: json.loads((CHECKOUT / each).read_text()) for each in found if each}
    if not files:
        sys.exit(f"{pattern}: no such file is committed; add one with git add --force")
    return max(files, key=lambda path: str(files[path].get("datetime") or files[path]["created"]))


def _picture(text: str, pattern: str, page: Path) -> str:
    """Return the figure of the report whose name matches."""
    found = sorted(path.name for path in (DRAFT / "figures").glob(pattern))
    if len(found) != 1:
        sys.exit(f"{DRAFT}: expected one figure named {pattern}, found {', '.join(found) or 'none'}")
    return f"![{text}]({_link(CHECKOUT / REPORT / 'figures' / found[0], page)})"


def _link(path: Path, page: Path) -> str:
    """Return the link from a page to a file of the checkout."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


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
