"""Says why effects are surprising: `python -m studies.explain.surprises RESULT` (ten minutes).

Each effect of the list is measured again beside two profiles, without the technique and with it. What
`accelbench explain --technique` says of it stands beside the effect in the run. With --write the texts are put into
studies/explain_evaluation.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import find_workload
from accelbench.errors import AccelbenchError
from accelbench.explain import ExplanationRequest, explain_technique, reasons_as_text
from accelbench.results import find_results
from accelbench.schema.result import ArmRecord, TrialRecord
from accelbench.text import format_case, format_levels
from accelbench.units import ratio
from studies.marked_tables import write_tables

PAGE = Path(__file__).parents[1] / "explain_evaluation.md"
BUDGET_S = 20.0

# Workload, technique and level of effects that practitioners would not expect, or not so large.
SURPRISES = (
    ("mlp-train", "amp", "fp16"),
    ("house-prices-train", "amp", "fp16"),
    ("house-prices-train", "amp", "bf16"),
    ("mlp-train", "accumulation", "4"),
    ("independent-products", "overlap", "threads"),
    ("inception-inference", "branches", "parallel"),
    ("inception-train", "branches", "parallel"),
    ("image-loading", "workers", "1"),
    ("bert-train", "activation_checkpointing", "on"),
    ("cnn-train-keras", "xla", "jit-compile"),
    ("cnn-train-keras", "mixed_precision", "mixed_float16"),
)


def find_surprises(trials: Sequence[TrialRecord]) -> Iterator[tuple[TrialRecord, ArmRecord, str, str]]:
    """Yield the trial and the arm of each effect of the list that the run has, with the technique and its level."""
    for workload, name, level in SURPRISES:
        for trial in trials:
            if (trial.workload, trial.techniques) == (workload, [name]):
                arm = next((each for each in trial.arms if each.levels == {name: level}), None)
                if arm is not None and arm.effect is not None:
                    yield trial, arm, name, level
                    break


def explain_effect(trial: TrialRecord, arm: ArmRecord, name: str, level: str) -> Iterator[str]:
    """Yield the lines about one effect."""
    effect = arm.effect
    assert effect is not None
    case = format_case(workload=trial.workload, problem=trial.problem, fixed=trial.fixed)
    yield f"### {case}: {format_levels({name: level})}"
    yield ""
    yield f"In the run: {ratio(effect.speedup, effect.low, effect.upper)}, {effect.verdict}."
    request = ExplanationRequest(
        workload=find_workload(trial.workload), fixed=trial.fixed, options=trial.problem, budget_s=BUDGET_S
    )
    try:
        text = reasons_as_text(explain_technique(request, name, level))
    except AccelbenchError as error:
        text = str(error)
    yield ""
    yield "```text"
    yield text.rstrip()
    yield "```"
    yield ""


def main() -> None:
    """Explain, and print the texts or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="a result file")
    parser.add_argument("--write", action="store_true", help="write the texts into studies/explain_evaluation.md")
    options = parser.parse_args()
    (result,) = find_results(options.result).results
    lines: list[str] = []
    for found in find_surprises(result.run.trials):
        lines += explain_effect(*found)
    if options.write:
        write_tables(PAGE, "surprises", lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
