"""Parts of a step's time, each measured by taking it off in pairs with the program as it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from accelbench.core import Arm, Build, Levels, Setting, Technique
from accelbench.explain.profile import Profile, StepShare
from accelbench.schema.result import AS_IS, ArmRecord, Effect

PHASES = ("backward+update", "update")
LARGER = 4  # times the program's own batch
DONE_TWICE = "-twice"  # ends the name of a part that is done twice, since the program needs it
NEGLIGIBLE = 0.05  # a share of the time that holds nothing back
DISTURBED = 2.0  # times as long as the program, without a part, or as fast with it twice: no part is the reason
# Parts in whose place something else works, which may take far longer.
REPLACED = ("compiled", "threads", "restarts", "loop", "float64")
TOO_LATE = "the budget is too short for it: raise --budget"
INTERRUPTED = "it was interrupted"
ALL = "all"  # threads: one per core
MANY_TENSORS = 20  # of an optimizer, below which a loop over them takes little
SMALL_CALL_S = 30e-6  # an operator's mean time below which launching it weighs as much as its work
FIXED_SHARE = 0.02  # by profile, of a part that is worth an arm


def build_without(build: Callable[[], Any], setting: Setting, options: Any, *, taken_off: str = "none") -> Arm:
    """Return the arm of a PyTorch program without the parts that ``taken_off`` names; see ``torch_program``."""
    from accelbench.explain import torch_program  # in a worker: this process imports no framework

    return torch_program.build_without(build, setting, options, taken_off=taken_off)


def build_keras_without(build: Callable[[], Any], setting: Setting, options: Any, *, taken_off: str = "none") -> Arm:
    """Return the arm of a Keras program without the parts that ``taken_off`` names; see ``keras_program``."""
    from accelbench.explain import keras_program  # in a worker, too

    return keras_program.build_without(build, setting, options, taken_off=taken_off)


def build_arrays_without(
    build: Callable[[], Any],
    setting: Setting,
    *,
    array_library: str = "numpy",
    dtype: str = "float64",
    taken_off: str = "none",
) -> Arm:
    """Return the arm of an array program without the part that ``taken_off`` names; see ``array_replay``."""
    from accelbench.explain import array_replay  # in a worker, too

    return array_replay.build_without(build, setting, array_library=array_library, dtype=dtype, taken_off=taken_off)


def _take_off(build: Build, level: str) -> Arm:
    return build(taken_off=level)


ABLATION = Technique(
    name="taken_off",
    framework="torch",
    levels=("none",),
    summary="The program as it stands, or without a part of it.",
    apply=_take_off,
    kind="ablation",
    same_output=("none", "input", "transfer", "anomaly", "copies-twice", "readings-twice"),
    tolerance={"*": 5e-2},
    not_recommended={"*": "it takes off work that a program needs, to show what holds it back"},
)


# By the framework of the programs of which parts are taken off: the technique that does it, and what builds the arm.
ABLATIONS: dict[str, tuple[Technique, Callable[..., Arm]]] = {
    "torch": (ABLATION, build_without),
    "tensorflow": (replace(ABLATION, framework="tensorflow"), build_keras_without),
    "numpy": (replace(ABLATION, framework="numpy"), build_arrays_without),
}


@dataclass(frozen=True, kw_only=True)
class StepPart:
    """A part of a step's time, or a technique that was tried, and what the pairs say of it.

    ``share`` is None where it was not measured, for the ``reason``. ``effect`` is the speedup without the part, or with
    the technique; where a part was done twice, it is the slowdown. ``item_j`` is the energy of an item then, in
    joules; None where it was not counted.
    """

    name: str
    levels: Levels
    share: StepShare | None = None
    effect: Effect | None = None
    reason: str = ""
    item_j: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether the interval says that the part takes any time."""
        return self.share is not None and self.share.low > 0

    @property
    def is_relevant(self) -> bool:
        """Whether it surely takes time, and enough of it to matter."""
        return self.share is not None and self.share.low > 0 and self.share.share >= NEGLIGIBLE

    @property
    def is_negligible(self) -> bool:
        """Whether the interval says that it takes too little to matter."""
        return self.share is not None and self.share.high <= NEGLIGIBLE and not self.is_disturbed

    @property
    def is_done_twice(self) -> bool:
        """Whether it was not taken off but done twice."""
        return self.levels.get(ABLATION.name, "").endswith(DONE_TWICE)

    @property
    def is_disturbed(self) -> bool:
        """Whether its share is so far below zero that something else than the part slowed the program down."""
        if self.share is None or self.name in REPLACED:
            return False
        return self.share.share < (1 / DISTURBED - 1 if self.is_done_twice else 1 - DISTURBED)

    @property
    def is_open(self) -> bool:
        """Whether it was measured, and the interval does not tell whether it matters."""
        return self.share is not None and not self.is_relevant and not self.is_negligible


def plan_parts(profile: Profile) -> list[tuple[str, Levels]]:
    """Return the parts that can be taken off a program, by name, with the levels of their arms.

    What may be a cause comes first. Phases, which every training has, come last.
    """
    parts: list[tuple[str, Levels]] = []
    if profile.framework in ABLATIONS:
        parts += [(name, {ABLATION.name: name}) for name in _list_ablations(profile)]
    if profile.framework == "numpy" and _may_matter(profile.float64):
        parts.append(("float64", {"dtype": "float32"}))
    if profile.threads < profile.cores and profile.device == "cpu":
        parts.append(("threads", {"threads": ALL}))
    if profile.workers and not profile.persistent and profile.is_epoch:
        parts.append(("restarts", {"persistent_workers": "on"}))
    if profile.optimizer == "for-loop" and profile.tensors >= MANY_TENSORS and _may_matter(profile.update):
        parts.append(("loop", {"optimizer": "foreach"}))
    if size := _choose_larger_batch(profile):
        parts.append(("batch", {"batch_size": str(size)}))
    if profile.optimizer:
        parts += [(name, {ABLATION.name: name}) for name in PHASES]
    return parts


def _list_ablations(profile: Profile) -> Iterator[str]:
    if profile.framework == "numpy":
        if _may_matter(profile.outside) or profile.call_s < SMALL_CALL_S:
            yield "interpreter"
        return
    yield "input"
    if profile.device != "cpu" and profile.framework == "torch":
        yield "transfer"
    if profile.readings:
        yield "readings" if profile.device != "cpu" else f"readings{DONE_TWICE}"
    if profile.copies:
        yield f"copies{DONE_TWICE}"
    if profile.anomaly:
        yield "anomaly"
    if _may_matter(profile.float64):
        yield "float64"
    if profile.compilation:
        yield "compiled"


def _may_matter(share: StepShare | None) -> bool:
    return share is not None and share.share > FIXED_SHARE


def _choose_larger_batch(profile: Profile) -> int | None:
    """Return a batch size some times as large as the program's, None where the program has no more items."""
    if not profile.batch_size:
        return None
    size = min(LARGER * profile.batch_size, profile.most or LARGER * profile.batch_size)
    return size if size >= 2 * profile.batch_size else None


def baseline_of(parts: list[tuple[str, Levels]]) -> Levels:
    """Return the levels of the program as it stands, for every technique that an arm switches."""
    names = dict.fromkeys(name for _, levels in parts for name in levels)
    return {name: "none" if name == ABLATION.name else AS_IS for name in names}


def skip_part(name: str, levels: Levels, reason: str = TOO_LATE) -> StepPart:
    """Return a part for which there was no time."""
    return StepPart(name=name.removesuffix(DONE_TWICE), levels=levels, reason=reason)


def read_part(name: str, levels: Levels, arm: ArmRecord) -> StepPart:
    """Return what the arm without a part says of it."""
    effect = arm.effect
    part = StepPart(name=name.removesuffix(DONE_TWICE), levels=levels)
    if arm.outcome != "measured" or effect is None:
        return replace(part, reason=str(arm.reason or arm.outcome))
    if name.endswith(DONE_TWICE):
        share, low, high = (_invert(each) - 1 for each in (effect.speedup, effect.upper, effect.low))
    else:
        share, low, high = (1 - _invert(each) for each in (effect.speedup, effect.low, effect.upper))
    return replace(part, share=StepShare(share=share, low=low, high=high), effect=effect)


def _invert(speedup: float) -> float:
    return 1 / speedup if speedup > 0 else float("inf")
