"""Says why effects are surprising: `python -m studies.explain.surprises RESULT` (three minutes).

Each effect of the list is explained by two profiles, without the technique and with it, as `accelbench explain RESULT`
explains those that it chooses by itself. With --write the texts are put into studies/explain_evaluation.md, where they
are checked by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from accelbench.explain import explain_effects
from accelbench.explained_run import write_effect
from accelbench.results import find_results
from accelbench.schema.result import ArmRecord, TrialRecord
from studies.marked_tables import show_tables

PAGE = Path(__file__).parents[1] / "explain_evaluation.md"

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


def find_surprises(trials: Sequence[TrialRecord]) -> Iterator[tuple[TrialRecord, ArmRecord]]:
    """Yield the trial and the arm of each effect of the list that the run has."""
    for workload, name, level in SURPRISES:
        for trial in trials:
            if (trial.workload, trial.techniques) == (workload, [name]):
                arm = next((each for each in trial.arms if each.levels == {name: level}), None)
                if arm is not None and arm.effect is not None:
                    yield trial, arm
                    break


def main() -> None:
    """Explain, and print the texts, and write them into the page if wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="a result file")
    parser.add_argument("--write", action="store_true", help="write the texts into studies/explain_evaluation.md")
    options = parser.parse_args()
    (result,) = find_results(options.result).results
    lines = (
        line
        for found, explained in explain_effects(result.run, find_surprises(result.run.trials))
        for line in write_effect(explained, found, heading=lambda text: f"### {text}", fence="```")
    )
    show_tables(PAGE, "surprises", lines, write=options.write)


if __name__ == "__main__":
    main()
