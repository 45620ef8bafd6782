"""Puts what a profile predicts beside what was measured: `python -m studies.explain.predictions RESULT` (ten minutes).

The baseline of every trial of a run in PyTorch or TensorFlow is profiled. Of each technique that the profile says
anything of, the table has the share of the time that it touches, the most that it could bring, and the measured
speedup. With --write it is put into studies/explain_evaluation.md.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import spearmanr

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import find_workload
from accelbench.errors import AccelbenchError
from accelbench.explain import ExplanationRequest
from accelbench.explain.prediction import Prediction, predict
from accelbench.explain.session import profile_baseline
from accelbench.results import find_results
from accelbench.schema.result import Effect, TrialRecord
from accelbench.text import format_case, format_levels
from accelbench.units import percent, ratio, speedup
from studies.marked_tables import write_tables

PAGE = Path(__file__).parents[1] / "explain_evaluation.md"


@dataclass(frozen=True, kw_only=True)
class PredictedEffect:
    """A measured effect, and what the baseline's profile says of its technique."""

    case: str
    levels: str
    prediction: Prediction
    effect: Effect

    @property
    def is_surpassed(self) -> bool:
        """Whether the technique surely brought more than predicted."""
        return self.effect.low > self.prediction.at_most


def predict_effects(trials: Iterable[TrialRecord]) -> Iterator[PredictedEffect]:
    """Profile the baselines of trials, each once, and yield the effects of techniques of which they say anything."""
    known: dict[str, list[Prediction]] = {}
    for trial in trials:
        work = find_workload(trial.workload)
        if trial.framework != work.frameworks[0] or len(trial.techniques) != 1 or not trial.arms[0].timing:
            continue
        levels = {**trial.fixed, **trial.arms[0].levels}
        key = f"{trial.workload} {levels} {trial.problem}"
        if key not in known:
            request = ExplanationRequest(workload=work, fixed=levels, options=trial.problem)
            try:
                known[key] = predict(profile_baseline(request))
            except AccelbenchError as error:
                known[key] = []
                print(f"{key}: {error}", file=sys.stderr)
        for prediction in known[key]:
            if trial.techniques[0] not in prediction.techniques:
                continue
            for arm in trial.arms[1:]:
                if arm.effect is not None:
                    case = format_case(workload=trial.workload, problem=trial.problem, fixed=trial.fixed)
                    yield PredictedEffect(
                        case=case, levels=format_levels(arm.levels), prediction=prediction, effect=arm.effect
                    )


def make_table(found: Sequence[PredictedEffect]) -> Iterator[str]:
    """Yield the lines of the table, and what they come to."""
    bounded = [each for each in found if math.isfinite(each.prediction.at_most)]
    surpassed = [each for each in bounded if each.is_surpassed]
    correlation = spearmanr(
        [each.prediction.share.share for each in bounded], [each.effect.speedup for each in bounded]
    )
    yield f"{len(found)} effects, of which the profile bounds {len(bounded)}; {len(surpassed)} surpass their bound."
    yield f"Rank correlation of share and speedup (Spearman): {correlation.statistic:.2f}."
    yield ""
    yield "| workload | technique | touches | share of the time | at most | measured | |"
    yield "|---|---|---|---:|---:|---:|---|"
    for each in sorted(found, key=lambda each: each.prediction.share.share, reverse=True):
        most = each.prediction.at_most
        cells = (
            each.case,
            each.levels,
            each.prediction.touches,
            percent(each.prediction.share.share),
            speedup(most) if math.isfinite(most) else "anything",
            ratio(each.effect.speedup, each.effect.low, each.effect.upper),
            "surpassed" if each in surpassed else "",
        )
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Profile, and print the table or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="a result file")
    parser.add_argument("--write", action="store_true", help="write the table into studies/explain_evaluation.md")
    options = parser.parse_args()
    (result,) = find_results(options.result).results
    lines = [f"Of {Path(result.path).name}.", *make_table([*predict_effects(result.run.trials)])]
    if options.write:
        write_tables(PAGE, "predictions", lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
