"""Which arms that cheat are seen, and which honest ones are accused?

Every mutant of ``tests/measuring/mutants.py`` is measured beside its honest baseline, once for each seed; so is every
arm of ``tests/measuring/unusual.py``. A mutant is seen if one of its two arms has no speed, or a doubtful one. Most
of them work by a fake clock, so that only what is drawn from the seed differs. `python -m studies.detection --write`
takes some minutes.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from accelbench.frameworks import load
from studies.marked_tables import show_tables

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "measuring")]  # where the arms are

from examination import Examination, Examined  # noqa: E402
from mutants import MUTANTS  # noqa: E402
from unusual import HONEST  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "detection.md"
SEEDS = 20
HONEST_SEEDS = 25


@dataclass
class Tally:
    """What was said of an arm in all trials: how often it was accused, by which codes, and the verdicts otherwise."""

    trials: int = 0
    accused: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    seeds: list[int] = field(default_factory=list)

    def add(self, seed: int, examined: Examined) -> None:
        """Count one trial."""
        self.trials += 1
        if examined.is_accused:
            self.accused += 1
            self.codes[examined.codes[0]] += 1
            self.seeds.append(seed)
        else:
            self.verdicts[str(examined.verdict)] += 1

    @property
    def reasons(self) -> str:
        """The codes of the reasons, the most frequent first."""
        return ", ".join(f"`{code}`" for code, _ in self.codes.most_common())

    @property
    def verdict(self) -> str:
        """The most frequent verdict where nothing was said."""
        return self.verdicts.most_common(1)[0][0] if self.verdicts else ""


def examine(arms: Mapping[str, Examination], seeds: Sequence[int]) -> dict[str, Tally]:
    """Measure every arm with every seed, and return what was said by its sentence."""
    tallies: dict[str, Tally] = {}
    for sentence, examination in arms.items():
        tally = tallies[sentence] = Tally()
        if examination.framework != "fake":
            load(examination.framework)
        gc.collect()
        gc.freeze()  # collections around every arm need not look through what was imported
        for seed in seeds:
            tally.add(seed, examination.of(seed))
        print(f"{tally.accused:3} of {tally.trials}  {sentence}: {tally.reasons or tally.verdict}", file=sys.stderr)
    return tallies


def mutants_table(tallies: Mapping[str, Tally]) -> Iterator[str]:
    """Yield the lines of the table of mutants, and of the list of those that are not always seen."""
    seen = sum(tally.accused == tally.trials for tally in tallies.values())
    yield f"{seen} of {len(tallies)} are seen in each of {_trials(tallies)} trials."
    for family in dict.fromkeys(MUTANTS[sentence].family for sentence in tallies):
        yield ""
        yield f"| {family} | seen | by |"
        yield "|---|---:|---|"
        for sentence, tally in tallies.items():
            if MUTANTS[sentence].family == family:
                yield f"| {sentence} | {tally.accused} of {tally.trials} | {tally.reasons} |"
    missed = {sentence: tally for sentence, tally in tallies.items() if tally.accused < tally.trials}
    yield ""
    yield "What is still not seen, or not always:" if missed else "Each of them is seen each time."
    if missed:
        yield ""
    for sentence, tally in missed.items():
        count = tally.trials - tally.accused
        yield f"- {sentence}: missed in {count} of {tally.trials}, then mostly `{tally.verdict}`."


def honest_table(tallies: Mapping[str, Tally]) -> Iterator[str]:
    """Yield the lines on honest arms: how many were accused, and which."""
    trials, accused = (sum(getattr(tally, name) for tally in tallies.values()) for name in ("trials", "accused"))
    yield f"{accused} of {trials:,} trials of {len(tallies)} unusual honest arms were flagged."
    if accused:
        yield ""
    for sentence, tally in tallies.items():
        if tally.accused:
            yield f"- {sentence}: {tally.accused} of {tally.trials}, {tally.reasons}."


def _trials(tallies: Mapping[str, Tally]) -> int:
    return next(iter(tallies.values())).trials


def main() -> None:
    """Examine every arm and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"of each mutant ({SEEDS})")
    parser.add_argument("--honest-seeds", type=int, default=HONEST_SEEDS, help=f"of each honest arm ({HONEST_SEEDS})")
    parser.add_argument("--only", default="", help="only arms whose sentence has this in it; the page stays as it is")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/explanation/detection.md")
    options = parser.parse_args()
    mutants = {sentence: mutant for sentence, mutant in MUTANTS.items() if options.only in sentence}
    unusual = {sentence: arm for sentence, arm in HONEST.items() if options.only in sentence}
    write = options.write and not options.only
    if mutants:
        show_tables(PAGE, "mutants", mutants_table(examine(mutants, range(options.seeds))), write=write)
    if unusual:
        show_tables(PAGE, "honest arms", honest_table(examine(unusual, range(options.honest_seeds))), write=write)


if __name__ == "__main__":
    main()
