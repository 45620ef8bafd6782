"""What a technique could bring at most, from the share of the time that it can touch.

By Amdahl's law (1967, AFIPS 30), a technique that touches a share *s* of the time brings at most 1 / (1 - *s*), however
well it works on that share. What it does to the rest, such as fewer copies or warmer caches, no profile shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from accelbench.explain.profile import Profile, Share
from accelbench.text import format_table
from accelbench.units import percent, speedup

PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "convolution", "attention", "matmul", "linear", "conv2d", "dot")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a technique touches, as a share of the time, and the most that it could bring."""

    technique: str
    touches: str
    share: Share

    @property
    def at_most(self) -> float:
        """The highest speedup that the interval of the share allows."""
        return 1 / (1 - self.share.high) if self.share.high < 1 else math.inf


def predict(profile: Profile) -> list[Prediction]:
    """Return the techniques that a program's profile says anything of, those first that could bring most."""
    found = _predict_arrays(profile) if profile.framework == "numpy" else _predict_training(profile)
    return sorted(found, key=lambda each: each.share.share, reverse=True)


def _predict_arrays(profile: Profile) -> list[Prediction]:
    arrays = _sum(profile, lambda name: ".py:" not in name)
    found = [
        Prediction(technique="dtype", touches="array operations", share=arrays),
        Prediction(technique="larger arrays, Numba", touches="Python", share=profile.outside or Share.of([0.0])),
    ]
    if profile.threads < profile.cores:
        found.append(Prediction(technique="threads", touches="products", share=_sum(profile, _is_product)))
    return found


def _predict_training(profile: Profile) -> list[Prediction]:
    products = _sum(profile, _is_product)
    convolutions = _sum(profile, lambda name: "convolution" in name)
    waiting = profile.loading or Share.of([0.0])
    outside = profile.outside or Share.of([0.0])
    computing = Share(share=max(0.0, 1 - waiting.share), low=max(0.0, 1 - waiting.high), high=min(1.0, 1 - waiting.low))
    others = _sum(profile, lambda name: not _is_product(name))
    fused = _add(others, outside)
    found = [
        Prediction(technique="workers, loading, prefetch factor", touches="waiting for the loader", share=waiting),
        Prediction(technique="amp", touches="products and convolutions", share=products),
        Prediction(technique="memory format", touches="convolutions", share=convolutions),
        Prediction(technique="compile", touches="everything but products and loading", share=fused),
        Prediction(technique="batch size", touches="what lies outside of operators", share=outside),
    ]
    if profile.update:
        found.append(Prediction(technique="optimizer", touches="updating the weights", share=profile.update))
    if profile.threads < profile.cores:
        found.append(Prediction(technique="threads", touches="everything but loading", share=computing))
    return found


def _is_product(name: str) -> bool:
    return any(part in name for part in PRODUCTS)


def _sum(profile: Profile, is_one: Callable[[str], bool]) -> Share:
    shares = [each.share for each in profile.operators if is_one(each.name)]
    return Share(
        share=sum(each.share for each in shares),
        low=sum(each.low for each in shares),
        high=min(1.0, sum(each.high for each in shares)),
    )


def _add(one: Share, other: Share) -> Share:
    return Share(share=one.share + other.share, low=one.low + other.low, high=min(1.0, one.high + other.high))


def prediction_table(predictions: Iterable[Prediction]) -> str:
    """Return the predictions as a table for a terminal."""
    rows = [
        (each.technique, each.touches, percent(each.share.share), f"at most {_bound(each)}") for each in predictions
    ]
    return format_table(rows, ("technique", "touches", "share of the time", "speedup"))


def _bound(each: Prediction) -> str:
    return speedup(each.at_most) if math.isfinite(each.at_most) else "anything"
