"""What a technique could bring at most, from the share of the time that it can touch.

By Amdahl's law (1967, AFIPS 30), a technique that touches a share *s* of the time brings at most 1 / (1 - *s*), however
well it works on that share. What it does to the rest, such as fewer copies or warmer caches, no profile shows. Larger
batches are not among them: they also make operators cheaper per item, by as much as only a larger batch shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from accelbench.explain.causes import format_share
from accelbench.explain.profile import OperatorTime, Profile, StepShare
from accelbench.measuring.applicable import Applicable, describe_present
from accelbench.schema.run_explanation import highest_speedup
from accelbench.text import format_table, hyphenate
from accelbench.units import speedup

# Operators of linear algebra; the short names are whole words, unlike in "cummax" and "upsample_bilinear2d".
_PRODUCT = re.compile(
    r"addmm|baddbmm|convolution|conv2d|attention|matmul|tensordot|(?<![a-z])(?:mm|bmm|linear|dot|vdot|inner)(?![a-z])"
)
DECOMPOSITIONS = ("svd", "qr", "cholesky", "eigh", "eig", "solve", "inv", "lstsq")  # NumPy's, in LAPACK over BLAS
NO_SWITCH = "nothing outside can switch it"
OF_IMAGES = ("conv", "pool", "batch_norm")  # operators that read channels
UNKNOWN = StepShare(share=0.0, low=0.0, high=1.0)  # the share of what the profile does not show


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What techniques touch, as a share of the time, and the most that each of them could bring.

    ``present`` are levels that the program already has, ``left_out`` the reasons for which others cannot be switched.
    Both are of techniques that touch the same, and are not among ``techniques``.
    """

    techniques: tuple[str, ...]
    touches: str
    share: StepShare
    present: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def at_most(self) -> float:
        """The highest speedup that the interval of the share allows."""
        return highest_speedup(self.share.high)


def predict(profile: Profile) -> list[Prediction]:
    """Return the techniques that a program's profile says anything of, those first that could bring most."""
    found = PREDICTED[profile.framework](profile)
    return sorted(found, key=lambda each: each.share.share, reverse=True)


def leave_out(predictions: Iterable[Prediction], applicable: Iterable[Applicable]) -> list[Prediction]:
    """Return predictions without techniques that a program already has or that cannot be switched in it.

    Where no technique is left, the prediction comes last, with the reasons alone.
    """
    fixed = {each.technique: each for each in applicable if len(each.levels) < 2}
    found = []
    for each in predictions:
        gone = [fixed[name] for name in each.techniques if name in fixed]
        found.append(
            replace(
                each,
                techniques=tuple(name for name in each.techniques if name not in fixed),
                present={one.technique: one.present for one in gone if one.present},
                left_out={one.technique: NO_SWITCH for one in gone if not (one.refused or one.present)}
                | {name: why for one in gone for name, why in one.left_out.items()},
            )
        )
    return sorted(found, key=lambda each: not each.techniques)


def _predict_arrays(profile: Profile) -> list[Prediction]:
    arrays = _sum_operators(profile, lambda each: not each.is_function)
    outside = "Python" if profile.outside_is_python else "what lies outside of recorded operations"
    found = [
        Prediction(techniques=("dtype",), touches="array operations", share=arrays),
        Prediction(
            techniques=("expression_compiler", "in_place", "blocking", "thread_pool"),
            touches="array operations other than linear algebra",
            share=_sum_operators(profile, lambda each: not (each.is_function or _is_linear_algebra(each))),
        ),
        Prediction(techniques=("larger arrays", "Numba"), touches=outside, share=profile.outside or UNKNOWN),
    ]
    if profile.threads < profile.cores:
        algebra = _sum_operators(profile, _is_linear_algebra)
        found.append(Prediction(techniques=("threads",), touches="linear algebra", share=algebra))
    return found


def _predict_keras(profile: Profile) -> list[Prediction]:
    products = _sum_operators(profile, _is_product)
    others = [_sum_operators(profile, lambda each: not _is_product(each)), profile.outside or UNKNOWN]
    return [
        Prediction(techniques=("prefetch",), touches="waiting for a batch", share=profile.loading or UNKNOWN),
        Prediction(techniques=("mixed_precision",), touches="products and convolutions", share=products),
        Prediction(techniques=("xla",), touches="everything but products", share=StepShare.sum_of(others)),
        Prediction(
            techniques=("steps_per_execution",),
            touches="what lies outside of operators",
            share=profile.outside or UNKNOWN,
        ),
    ]


def _predict_training(profile: Profile) -> list[Prediction]:
    products = _sum_operators(profile, _is_product)
    others = _sum_operators(profile, lambda each: not _is_product(each))
    of_images = _sum_operators(profile, lambda each: any(part in each.name for part in OF_IMAGES))
    waiting, outside = profile.loading or UNKNOWN, profile.outside or UNKNOWN
    computing = StepShare(
        share=max(0.0, 1 - waiting.share), low=max(0.0, 1 - waiting.high), high=min(1.0, 1 - waiting.low)
    )
    fused = StepShare.sum_of([others, outside])
    found = [
        Prediction(
            techniques=("workers", "loading", "prefetch_factor"), touches="waiting for the loader", share=waiting
        ),
        Prediction(techniques=("amp",), touches="products and convolutions", share=products),
        Prediction(techniques=("memory_format",), touches="convolutions, pooling and normalisation", share=of_images),
        Prediction(techniques=("compile",), touches="everything but products and loading", share=fused),
    ]
    if profile.update:
        found.append(Prediction(techniques=("optimizer",), touches="updating the weights", share=profile.update))
    if profile.threads < profile.cores:
        found.append(Prediction(techniques=("threads",), touches="everything but loading", share=computing))
    return found


PREDICTED = {"numpy": _predict_arrays, "torch": _predict_training, "tensorflow": _predict_keras}


def predictable_techniques(framework: str) -> frozenset[str]:
    """Return the techniques of which a profile of a framework's programs may say anything."""
    if framework not in PREDICTED:
        return frozenset()
    anything = Profile(framework=framework, device="cpu", seconds=1.0, items=1.0, threads=1, cores=2, update=UNKNOWN)
    return frozenset(name for each in predict(anything) for name in each.techniques)


def _is_product(operator: OperatorTime) -> bool:
    return not operator.is_function and _PRODUCT.search(operator.name.lower()) is not None


def _is_linear_algebra(operator: OperatorTime) -> bool:
    return _is_product(operator) or operator.name in DECOMPOSITIONS


def _sum_operators(profile: Profile, is_one: Callable[[OperatorTime], bool]) -> StepShare:
    return StepShare.sum_of(each.share for each in profile.operators if is_one(each))


def prediction_table(predictions: Iterable[Prediction]) -> str:
    """Return the predictions as a table for a terminal, and below it what is left out."""
    listed = [*predictions]
    rows = []
    for each in listed:
        if not each.techniques:
            continue
        most = f"at most {speedup(each.at_most)}" if math.isfinite(each.at_most) else "not bounded"
        listing = ", ".join(map(hyphenate, each.techniques))
        rows.append((listing, each.touches, format_share(each.share), most))
    headings = ("technique", "touches", "share of the time", "speedup")
    table = format_table(rows, headings) if rows else "No technique is left to rank."
    present = {name: levels for each in listed for name, levels in each.present.items()}
    names: dict[str, list[str]] = {}
    for name, why in (pair for each in listed for pair in each.left_out.items()):
        names.setdefault(why, []).append(hyphenate(name))
    said = [describe_present(present)] if present else []
    reasons = [f"{', '.join(those)} ({why})" for why, those in names.items()]
    said += [f"Left out: {', '.join(reasons)}."] if reasons else []
    return "\n".join([table, *([""] if said else []), *said])
