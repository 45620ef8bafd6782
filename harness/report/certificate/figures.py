"""Figures of a certificate: how more work is seen, how exactly, and how often intervals hold the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from harness import units
from harness.certificate import Coverage, Duel
from harness.reading.certificates import Share, by, called, found_dose
from harness.report.certificate.words import dose_in_words, where_in_words
from harness.report.figures.drawing import INK, Drawn, styled, write_ticks
from harness.report.figures.words import sampled
from harness.report.verdicts import COLOURS

_LOOK: Any = {"hue": "beside", "style": "beside", "markers": True, "palette": "colorblind"}
_NEARLY_ALL = 0.95  # of comparisons, whose error is told


def dose_figure(duels: Sequence[Duel]) -> Drawn:
    """Draw how many comparisons called an arm slower, by how much more work it did."""
    ordered = sorted(duels, key=lambda duel: (duel.neighbours, duel.dose))
    groups = [(called(group, "slower"), group[0]) for group in by(ordered, "neighbours", "dose").values()]
    shares = pd.DataFrame(
        {
            "more work": first.dose,
            "beside": where_in_words(first),
            "comparisons": share.of,
            "called slower": share.count,
            "share called slower": share.value,
        }
        for share, first in groups
    )
    title = _least_seen(shares)
    with styled(height_in=2.2, title=title) as (figure, (axes,)):
        sns.lineplot(shares, x="more work", y="share called slower", dashes=False, markersize=7, ax=axes, **_LOOK)
        axes.set(ylabel="called slower", ylim=(-0.05, 1.08))
        write_ticks(axes.yaxis, dose_in_words)
        _mark(axes, shares)
    each = [
        f"{share.count} of {share.of} at {dose_in_words(first.dose)}, {where_in_words(first)}"
        for share, first in groups
    ]
    return Drawn(
        kind="dose",
        name="dose-response",
        title=title,
        alt=f"{title}. Called slower: {'; '.join(each)}.",
        note="How many comparisons called the arm with more work slower; at 0 % both arms do the same. "
        f"{sampled(shares['comparisons'], 'comparison')} at each point.",
        data=shares,
        figure=figure,
    )


def error_figure(duels: Sequence[Duel]) -> Drawn:
    """Draw by how much each comparison missed the amount of work that is known; some arms must do more work."""
    errors = pd.DataFrame(
        {"more work": duel.dose, "beside": where_in_words(duel), "found less known": found_dose(duel) - duel.dose}
        for duel in duels
        if duel.dose
    )
    nearly_all = float(errors["found less known"].abs().quantile(_NEARLY_ALL))
    title = f"{units.percent(_NEARLY_ALL)} of comparisons were off by at most {units.percent(nearly_all)} of the work"
    with styled(height_in=2.2, title=title) as (figure, (axes,)):
        sns.scatterplot(errors, x="more work", y="found less known", s=22, alpha=0.6, ax=axes, **_LOOK)
        axes.axhline(0, color=INK, linewidth=0.8)
        write_ticks(axes.yaxis, dose_in_words)
        _mark(axes, errors)
    return Drawn(
        kind="error",
        name="dose-error",
        title=title,
        alt=f"{title}, over {units.plural(len(errors), 'comparison')}.",
        note=f"Each point is one of {units.plural(len(errors), 'comparison')}: how much more work it found, less how "
        "much more there was, both as shares of the baseline's work.",
        data=errors,
        figure=figure,
    )


def coverage_figure(found: Sequence[Coverage]) -> Drawn:
    """Draw for each kind of noise how many intervals hold the truth, with the exact 95 % bounds."""
    shares = [Share(count=each.covered, of=each.series) for each in found]
    held = pd.DataFrame(
        {
            "noise": each.noise,
            "series": share.of,
            "held the truth": share.count,
            "share": share.value,
            "from": share.interval[0],
            "to": share.interval[1],
        }
        for each, share in zip(found, shares, strict=True)
    )
    claimed = units.percent(found[0].nominal)
    title = f"Intervals that claim {claimed} held the truth in {100 * held['share'].min():.1f} % of series or more"
    with styled(height_in=0.35 * len(found) + 0.6, title=title) as (figure, (axes,)):
        axes.hlines(range(len(found)), held["from"], held["to"], color=COLOURS["faster"], linewidth=2)
        axes.plot(held["share"], range(len(found)), linestyle="", marker="o", color=COLOURS["faster"], markersize=6)
        axes.axvline(found[0].nominal, color=INK, linewidth=0.8, linestyle="dashed")
        axes.set_yticks(range(len(found)), held["noise"])
        axes.set(ylim=(len(found) - 0.5, -0.5), xlabel="intervals that hold the truth")
        axes.set_xlim(right=1.002)
        write_ticks(axes.xaxis, lambda share: f"{100 * share:.3g} %")
    return Drawn(
        kind="coverage",
        name="coverage",
        title=title,
        alt=f"{title}: "
        + ", ".join(f"{each.covered} of {each.series} under {each.noise} noise" for each in found)
        + ".",
        note="Points are shares of the simulated series, lines their exact 95 % bounds; dashed is what the intervals "
        f"claim. At least {units.count(held['series'].min())} series of each kind.",
        data=held,
        figure=figure,
    )


def _least_seen(shares: pd.DataFrame) -> str:
    """Say from how much more work on every comparison saw it."""
    missed = shares[(shares["called slower"] < shares["comparisons"])]["more work"].max()
    seen = shares[~(shares["more work"] <= missed)]
    if seen.empty:
        most = shares[shares["more work"] == shares["more work"].max()]
        count, of = most["called slower"].sum(), most["comparisons"].sum()
        return f"{dose_in_words(most['more work'].iloc[0])} more work was called slower in {count} of {of} comparisons"
    counted = units.plural(int(seen["comparisons"].sum()), "comparison")
    return f"From {dose_in_words(seen['more work'].min())} more work on, every one of {counted} called it slower"


def _mark(axes: Axes, drawn: pd.DataFrame) -> None:
    """Mark the amounts of work that were compared, and beside what, where that differs."""
    axes.xaxis.set_major_locator(FixedLocator(sorted(drawn["more work"].unique())))
    write_ticks(axes.xaxis, dose_in_words)
    if drawn["beside"].nunique() > 1:
        axes.legend(title=None)
    elif legend := axes.get_legend():
        legend.remove()
