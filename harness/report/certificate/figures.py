"""Figures of a certificate: how more work is seen, and how often intervals hold the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.ticker import FixedLocator

from harness.certificate import Coverage, Duel
from harness.reading.certificates import Share, by, called, found_dose
from harness.report.certificate.words import beside_in_words, dose_in_words
from harness.report.figures.drawing import INK, Drawn, styled, write_ticks
from harness.report.verdicts import COLOURS


def dose_figure(duels: Sequence[Duel]) -> Drawn:
    """Draw how many comparisons saw that an arm does more work, and how much more they found."""
    shares = pd.DataFrame(
        {"dose": dose, "share": called(group, "slower").value, "beside": _beside(neighbours)}
        for (neighbours, dose), group in _ordered(duels)
    )
    errors = pd.DataFrame(
        {"dose": duel.dose, "error": found_dose(duel) - duel.dose, "beside": _beside(duel.neighbours)}
        for duel in duels
        if duel.dose
    )
    doses = sorted(shares["dose"].unique())
    with styled(2, height_in=4.4) as (figure, (top, bottom)):
        look = {"hue": "beside", "style": "beside", "markers": True, "palette": "colorblind"}
        sns.lineplot(shares, x="dose", y="share", dashes=False, markersize=7, ax=top, **look)
        top.set(ylabel="called slower", ylim=(-0.05, 1.08), xlabel="")
        top.legend(title=None, loc="center right")
        write_ticks(top.yaxis, dose_in_words)
        sns.scatterplot(errors, x="dose", y="error", s=22, alpha=0.6, legend=False, ax=bottom, **look)
        bottom.axhline(0, color=INK, linewidth=0.8)
        bottom.set(ylabel="found less known", xlabel="more work")
        write_ticks(bottom.yaxis, dose_in_words)
        bottom.xaxis.set_major_locator(FixedLocator(doses))
        write_ticks(bottom.xaxis, dose_in_words)
    return Drawn(
        kind="dose",
        name="dose-response",
        title="More work is called slower",
        alt="How many comparisons called the arm with more work slower, by how much more it did.",
        note="above, how many comparisons called the arm with more work slower; below, each comparison's error",
        data=shares,
        figure=figure,
    )


def coverage_figure(found: Sequence[Coverage]) -> Drawn:
    """Draw for each kind of noise how many intervals hold the truth, with the exact 95 % bounds."""
    with styled(height_in=0.35 * len(found) + 0.9) as (figure, (axes,)):
        for place, each in enumerate(found):
            share = Share(count=each.covered, of=each.series)
            axes.hlines(place, *share.interval, color=COLOURS["faster"], linewidth=2)
            axes.plot(share.value, place, marker="o", color=COLOURS["faster"], markersize=6)
        axes.axvline(found[0].nominal, color=INK, linewidth=0.8, linestyle="dashed")
        axes.set_yticks(range(len(found)), [each.noise for each in found])
        axes.set(ylim=(len(found) - 0.5, -0.5), xlabel="intervals that hold the truth; dashed: what they claim")
        axes.set_xlim(right=1.002)
        write_ticks(axes.xaxis, lambda share: f"{100 * share:.3g} %")
    return Drawn(
        kind="coverage",
        name="coverage",
        title="Intervals hold the truth",
        alt="How many intervals hold the truth, by the kind of noise.",
        note="",
        data=pd.DataFrame({"noise": each.noise, "held": each.covered, "series": each.series} for each in found),
        figure=figure,
    )


def _ordered(duels: Sequence[Duel]) -> list[tuple[tuple[object, ...], list[Duel]]]:
    ordered = sorted(duels, key=lambda duel: (duel.neighbours, duel.dose))
    return list(by(ordered, "neighbours", "dose").items())


def _beside(neighbours: Any) -> str:
    return beside_in_words(neighbours) or "alone"
