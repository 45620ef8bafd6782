"""Figures of a certificate: how often more work is detected, and how exactly it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import FigureWithData, describe_sample
from accelbench.report.figures.svg import INK
from accelbench.results.certificates import count_verdicts, group_by
from accelbench.schema.certificate import KnownComparison

if TYPE_CHECKING:  # seaborn and matplotlib take a second to load, so they load where such a figure is drawn
    from matplotlib.axes import Axes

_STYLE: Any = {"hue": "measured", "style": "measured", "markers": True, "palette": "colorblind"}
_QUANTILE = 0.95  # of the errors that the title states


def format_effect_size(effect_size: float) -> str:
    """Return a known amount of more work, exact to a tenth of a per cent."""
    return f"{round(100 * effect_size, 1):g} %"


def format_load(comparison: KnownComparison) -> str:
    """Return next to how many busy processes a comparison was measured."""
    busy = comparison.busy_processes
    return f"beside {units.plural(busy, 'busy neighbour')}" if busy else "alone"


def power_figure(comparisons: Sequence[KnownComparison]) -> FigureWithData:
    """Draw the share of comparisons with the verdict slower, by how much more work the candidate did."""
    import seaborn as sns

    from accelbench.report.seaborn_chart import SeabornChart, new_figure, write_ticks

    ordered = sorted(comparisons, key=lambda each: (each.busy_processes, each.effect_size))
    groups = [
        (count_verdicts(group, "slower"), group[0]) for group in group_by(ordered, "busy_processes", "effect_size")
    ]
    shares = pd.DataFrame(
        {
            "more work": first.effect_size,
            "measured": format_load(first),
            "comparisons": share.total,
            "called slower": share.count,
            "share called slower": share.value,
        }
        for share, first in groups
    )
    title = _describe_power(shares)
    with new_figure(height_in=2.2, title=title) as (figure, axes):
        sns.lineplot(shares, x="more work", y="share called slower", dashes=False, markersize=7, ax=axes, **_STYLE)
        axes.set(ylabel="called slower", ylim=(-0.05, 1.08))
        write_ticks(axes.yaxis, format_effect_size)
        _finish_axes(axes, shares)
    points = [
        f"{share.count} of {share.total} at {format_effect_size(first.effect_size)}, {format_load(first)}"
        for share, first in groups
    ]
    return FigureWithData(
        name="power-curve",
        title=title,
        alt=f"{title}. Called slower: {'; '.join(points)}.",
        note="How many comparisons called the arm with more work slower; at 0 % both arms do the same. "
        f"{describe_sample(shares['comparisons'], 'comparison')} at each point.",
        data=shares,
        figure=SeabornChart(figure, "power-curve"),
    )


def error_figure(comparisons: Sequence[KnownComparison]) -> FigureWithData:
    """Draw the error of each measured effect size; some of the comparisons must have more work."""
    import seaborn as sns

    from accelbench.report.seaborn_chart import SeabornChart, new_figure, write_ticks

    errors = pd.DataFrame(
        {
            "more work": each.effect_size,
            "measured": format_load(each),
            "error": each.measured_effect_size - each.effect_size,
        }
        for each in comparisons
        if each.effect_size
    )
    largest = float(errors["error"].abs().quantile(_QUANTILE))
    title = f"{units.percent(_QUANTILE)} of comparisons were off by at most {units.percent(largest)} of the work"
    with new_figure(height_in=2.2, title=title) as (figure, axes):
        sns.scatterplot(errors, x="more work", y="error", s=22, alpha=0.6, ax=axes, **_STYLE)
        axes.axhline(0, color=INK, linewidth=0.8)
        write_ticks(axes.yaxis, format_effect_size)
        _finish_axes(axes, errors)
    counted = units.plural(len(errors), "comparison")
    return FigureWithData(
        name="effect-size-error",
        title=title,
        alt=f"{title}, over {counted}.",
        note=f"Each point is one of {counted}: the measured minus the known amount of more work, as shares of the "
        "baseline's work.",
        data=errors,
        figure=SeabornChart(figure, "effect-size-error"),
    )


def _describe_power(shares: pd.DataFrame) -> str:
    """State the smallest amount of more work from which every comparison detected it."""
    missed = shares[shares["called slower"] < shares["comparisons"]]["more work"].max()
    detected = shares[~(shares["more work"] <= missed)]
    if detected.empty:
        most = shares[shares["more work"] == shares["more work"].max()]
        count, total = most["called slower"].sum(), most["comparisons"].sum()
        amount = format_effect_size(most["more work"].iloc[0])
        return f"{amount} more work was called slower in {count} of {total} comparisons"
    counted = units.plural(int(detected["comparisons"].sum()), "comparison")
    return f"With {format_effect_size(detected['more work'].min())} more work or above, all {counted} called it slower"


def _finish_axes(axes: Axes, data: pd.DataFrame) -> None:
    """Label the amounts of work that were compared; show a legend if the loads differ."""
    from matplotlib.ticker import FixedLocator

    from accelbench.report.seaborn_chart import write_ticks

    axes.xaxis.set_major_locator(FixedLocator(sorted(data["more work"].unique())))
    write_ticks(axes.xaxis, format_effect_size)
    if data["measured"].nunique() > 1:
        axes.legend(title=None)
    elif legend := axes.get_legend():
        legend.remove()
