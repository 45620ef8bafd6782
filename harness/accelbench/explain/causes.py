"""What holds a program back: causes, each with its share of the time, where it lies and what to do about it.

A cause is named only where an interval says so, or where the program was seen to do it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from accelbench.core import Levels, find_technique
from accelbench.explain.parts import ABLATION, SMALL_CALL_S, StepPart
from accelbench.explain.profile import OperatorTime, Profile, StepShare
from accelbench.roofline.ceilings import find_ceiling
from accelbench.roofline.probes.probe import PER_CORE, memory_ceiling
from accelbench.schema.result import Ceiling
from accelbench.text import FRAMEWORK_NAMES, format_levels, list_some
from accelbench.units import count, percent, plural, seconds

NEAR = 0.5  # of a ceiling
LEFT = 0.25  # of the memory's bandwidth, which neighbours leave at least
BOUND = 0.3  # of the time, which what binds a program takes for certain
MOST = 0.5  # of the time, which operators near a ceiling take on average if it binds
CORE_CACHE_BYTES = 2**20  # what a call moves at most within the cache of one core
MANY_RECOMPILATIONS = 3  # one follows a last, smaller batch; PyTorch then makes the size a variable
TINY_BATCH = 0.2  # share of the time that does not grow with the batch
BURDENS = ("input", "readings", "copies", "anomaly")  # parts that are also taken off at once
LIBRARIES = FRAMEWORK_NAMES | {"numpy": "BLAS"}
QUICK_TO_START = ("assignment", "indexing")  # operations on arrays that look up no function
SHOWN = 3  # lines of a program in a sentence
LAUNCH_BOUND = "launch-bound"
MOSTLY = 0.5  # of the time in which an accelerator waits, from which what the host does decides

RooflineBound = Literal["memory", "arithmetic", "neither", "unknown"]
TechniqueLevel = tuple[str, str]  # a technique's name and its level


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A cause, by its code; ``share`` is that of the time, None where only the fact is known.

    ``what`` states it in a sentence, ``advice`` what to do. ``techniques`` may help, ``recipe`` has lines to write.
    """

    code: str
    what: str
    advice: str
    share: StepShare | None = None
    techniques: tuple[TechniqueLevel, ...] = ()
    recipe: str = ""


# By the part of the time that shows it. Facts of the program replace the braces: see `_collect_facts`. A part that is
# taken off by a technique gets that technique's recipe. What helps a Keras program's input depends on its data set.
CAUSES_BY_PART = {
    "input": Cause(
        code="input-bound",
        what="waiting for the loader takes {share} of the time: with batches that lie in memory it is gone",
        advice="load in processes of their own, decode less, or store what is decoded",
    ),
    "restarts": Cause(
        code="worker-restarts",
        what="starting loader processes anew in every epoch takes {share} of it",
        advice="let them live on",
    ),
    "transfer": Cause(
        code="transfer-bound",
        what="loading batches and sending them to the device takes {share} of the time",
        advice="pin the memory of batches and send them ahead",
        techniques=(("pin_memory", "on"), ("non_blocking", "on")),
    ),
    "readings": Cause(
        code="synchronisation-bound",
        what="reading numbers out of tensors takes {share} of the time{readings}",
        advice="sum up on the device with `+=`, and read once in many steps",
    ),
    "copies": Cause(
        code="copies",
        what="copying tensors takes {share} of the time{copies}",
        advice="make the copy once before the loop, or work on the tensor itself",
    ),
    "anomaly": Cause(
        code="anomaly-mode",
        what="autograd's anomaly mode is on and takes {share} of the time",
        advice="switch it on only to look for an error",
        recipe="torch.autograd.set_detect_anomaly(False)",
    ),
    "float64": Cause(
        code="float64",
        what="computing in float64 takes {share} of the time beyond what float32 would",
        advice="make data and model float32",
        recipe="model.float(); batch = batch.float()",
    ),
    "threads": Cause(
        code="one-thread",
        what="{library} computes with {threads} on {cores}, which costs {share} of the time",
        advice="let it use all cores",
    ),
    "loop": Cause(
        code="optimizer-loop",
        what="the optimizer loops over {tensors} tensors, which costs {share} of the time",
        advice="update all of them at once",
        techniques=(("optimizer", "fused"),),
    ),
    "batch": Cause(
        code="small-batch",
        what="with {larger_batch} items in a batch in place of {batch_size}, {share} of the time per item is gone: it "
        "does not grow with the batch{small_calls}",
        advice="take larger batches, if the model still learns as well",
    ),
}
KERAS_CAUSES_BY_PART = CAUSES_BY_PART | {
    "batch": replace(
        CAUSES_BY_PART["batch"],
        advice="take larger batches, if the model still learns as well, or let a call execute several steps",
        techniques=(("steps_per_execution", "8"),),
    ),
}
ARRAY_CAUSES_BY_PART = CAUSES_BY_PART | {
    "interpreter": Cause(
        code="interpreter-bound",
        what="Python takes {share} of the time between {calls} array operations: with these alone, done again from a "
        "recording, it is gone{functions}",
        advice="compute with larger arrays in fewer calls, or compile the loop, as Numba does",
        recipe="@numba.njit  # on the function with the loop",
    ),
    "float64": replace(
        CAUSES_BY_PART["float64"],
        advice="keep the arrays in float32, if the result is exact enough",
        recipe="",  # that of the technique
    ),
}
# By the ceiling that operators are near to; what helps depends on the framework.
CAUSES_BY_BOUND = {
    "memory": Cause(
        code="memory-bound",
        what="{operators} move bytes at more than half of the rate of this machine's memory, for {share} of the time, "
        "by profile",
        advice="fuse them, or store in fewer bits: more operations per second would not help",
    ),
    "arithmetic": Cause(
        code="compute-bound",
        what="{operators} compute at more than half of this machine's peak, for {share} of the time, by profile",
        advice="compute in fewer bits, or compute less: there is nothing to waste here",
    ),
}
TECHNIQUES_BY_BOUND: dict[str, dict[str, tuple[TechniqueLevel, ...]]] = {
    "memory": {"torch": (("compile", "default"), ("amp", "bf16")), "numpy": (("dtype", "float32"),)},
    "arithmetic": {"torch": (("amp", "bf16"),), "numpy": (("dtype", "float32"),)},
}


# What is left of a cause's advice once these of its techniques were measured and made the program slower.
LEFT_ADVICE: dict[str, dict[frozenset[str], str]] = {
    "input-bound": {frozenset({"workers"}): "decode less, or store what is decoded"},
    "transfer-bound": {
        frozenset({"pin_memory"}): "send batches ahead",
        frozenset({"non_blocking"}): "pin the memory of batches",
        frozenset({"pin_memory", "non_blocking"}): "send fewer bytes",
    },
    "small-batch": {frozenset({"steps_per_execution"}): CAUSES_BY_PART["batch"].advice},
    "memory-bound": {
        frozenset({"compile"}): "store in fewer bits: more operations per second would not help",
        frozenset({"amp"}): "fuse them: more operations per second would not help",
        frozenset({"dtype"}): "fuse them: more operations per second would not help",
        frozenset({"compile", "amp"}): "move fewer bytes: more operations per second would not help",
    },
    "compute-bound": {
        frozenset({"amp"}): "compute less: there is nothing to waste here",
        frozenset({"dtype"}): "compute less: there is nothing to waste here",
    },
    LAUNCH_BOUND: {frozenset({"compile"}): CAUSES_BY_PART["batch"].advice},
}


def find_causes(
    profile: Profile, parts: Sequence[StepPart], ceilings: Iterable[Ceiling], *, least: float = MOST
) -> list[Cause]:
    """Return the causes that are sure, those with the largest share of the time first.

    A ceiling is a cause if the operators near it take at least the share ``least`` of the time on average.
    """
    found = [
        *_find_in_parts(profile, parts),
        *_find_in_anomaly_mode(profile, parts),
        *_find_in_compilation(profile, parts),
    ]
    if profile.framework == "numpy" or "float64" not in {cause.code for cause in found}:
        found += _find_bounds(profile, [*ceilings], least)
    if not any(part.name == "interpreter" and part.share for part in parts):
        found += _find_in_interpreter(profile)
    found += [*_find_in_launches(profile), *_find_in_waiting(profile)]
    return sorted(found, key=lambda cause: cause.share.share if cause.share else 0.0, reverse=True)


def _find_in_parts(profile: Profile, parts: Sequence[StepPart]) -> Iterator[Cause]:
    """Yield the causes whose part was taken off and surely takes time."""
    relevant = {part.name: part for part in parts if part.is_relevant}
    causes = {"tensorflow": KERAS_CAUSES_BY_PART, "numpy": ARRAY_CAUSES_BY_PART}.get(profile.framework, CAUSES_BY_PART)
    if profile.framework == "tensorflow":
        causes = causes | {"input": _advise_on_pipeline(causes["input"], profile.pipeline)}
    for name, cause in causes.items():
        part = relevant.get(name)
        if part is None or part.share is None or (name == "restarts" and "input" not in relevant):
            continue
        if name == "interpreter" and not profile.outside_is_python:
            continue
        if name == "batch" and (part.share.low < TINY_BATCH / 2 or part.share.share < TINY_BATCH):
            continue
        if name == "input" and profile.framework == "torch":
            cause = _advise_on_processes(cause, profile)
        loads_slowly = name == "input" and "restarts" not in relevant and profile.framework == "torch"
        yield replace(
            cause,
            share=part.share,
            what=cause.what.format(share=format_share(part.share), **_collect_facts(profile, part)),
            techniques=cause.techniques or (_choose_loader_techniques(profile) if loads_slowly else ()),
            recipe=cause.recipe or "".join(find_recipes(profile, part.levels)),
        )


def _find_in_anomaly_mode(profile: Profile, parts: Sequence[StepPart]) -> Iterator[Cause]:
    """Yield anomaly mode where it is on and the pairs leave open what it takes: no training needs it."""
    part = next((part for part in parts if part.name == "anomaly"), None)
    if profile.anomaly and not (part and (part.is_relevant or part.is_negligible)):
        what = "autograd's anomaly mode is on, which slows every operation down; how much, the pairs do not tell"
        yield replace(CAUSES_BY_PART["anomaly"], what=what)


def _advise_on_pipeline(cause: Cause, pipeline: tuple[str, ...] | None) -> Cause:
    """Return a cause with what may help a Keras program's data set, without what it does already."""
    if pipeline is None:
        return replace(cause, advice="return a tf.data.Dataset of batches, whose pipeline can be changed")
    has_map = "map" in pipeline or "parallel map" in pipeline
    may_cache = has_map and "cache" not in pipeline
    steps = {
        "map in parallel": "map" in pipeline,
        "prefetch": "prefetch" not in pipeline,
        "decode less": has_map,
        "do less for each item": not has_map,
        "cache what is decoded": may_cache,
    }
    *first, last = [step for step, may_help in steps.items() if may_help]
    recipe = ""
    if "map" in pipeline:
        rest = ".cache().map(augment)" if may_cache else ""
        recipe = f"dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE){rest}"
    elif may_cache:
        recipe = "dataset = dataset.cache()  # after a map whose results are the same in every epoch"
    return replace(
        cause,
        advice=f"{', '.join(first)}, or {last}" if first else last,
        techniques=() if "prefetch" in pipeline else (("prefetch", "autotune"),),
        recipe=recipe,
    )


def _collect_facts(profile: Profile, part: StepPart) -> dict[str, Any]:
    """Return what sentences name of a program, by the names in their braces."""
    return {
        "readings": _list_after_colon(profile.readings),
        "copies": _list_after_colon(profile.copies),
        "library": LIBRARIES[profile.framework],
        "threads": plural(profile.threads, "thread"),
        "cores": plural(profile.cores, "core"),
        "tensors": count(profile.tensors),
        "larger_batch": part.levels.get("batch_size"),
        "batch_size": profile.batch_size,
        "small_calls": _describe_small_calls(profile),
        "calls": count(round(profile.calls)),
        "functions": _list_after_colon(_list_functions(profile)),
    }


def _describe_small_calls(profile: Profile) -> str:
    if profile.call_s > SMALL_CALL_S:
        return ""
    operators = count(round(profile.calls / profile.batches))
    return f" ({operators} operators per batch of {seconds(profile.call_s)} on average)"


def _advise_on_processes(cause: Cause, profile: Profile) -> Cause:
    """Return the cause of a loader that is waited for; no more processes are advised than there are cores for."""
    if not profile.loader_processes:
        return cause
    without = LEFT_ADVICE[cause.code][frozenset({"workers"})]
    has_room = profile.loader_processes < _choose_workers(profile)
    return replace(cause, advice=f"load in more processes, {without}" if has_room else without)


def _choose_workers(profile: Profile) -> int:
    """Return how many loader processes there are cores for."""
    return max(1, profile.cores - 1) if profile.cores > 2 else profile.cores


def _choose_loader_techniques(profile: Profile) -> tuple[TechniqueLevel, ...]:
    workers = _choose_workers(profile)
    more = [("workers", str(workers))] if profile.loads and profile.workers < workers else []
    return (*more, *([] if profile.draws else [("loading", "thread")]))


def _find_in_compilation(profile: Profile, parts: Sequence[StepPart]) -> Iterator[Cause]:
    """Yield what torch.compile was seen to do; the comparison with eager execution says whether it pays at all."""
    compilation = profile.compilation
    if compilation is None:
        return
    eager = next((part for part in parts if part.name == "compiled"), None)
    share = eager.share if eager and eager.is_sure else None
    pays = ""
    if eager and eager.share:
        slower = eager.share.low > 0
        faster = eager.share.high < 0
        pays = "; without torch.compile the program is " + (
            "faster" if slower else "slower" if faster else "as fast, or the pairs do not tell"
        )
    if compilation.breaks:
        yield Cause(
            code="graph-breaks",
            share=share,
            what=f"torch.compile breaks the graph: {list_some(compilation.breaks, SHOWN, separator='; ')}{pays}",
            advice="move what cannot be compiled out of the compiled function; `fullgraph=True` makes a break an error",
        )
    if len(compilation.recompilations) >= MANY_RECOMPILATIONS:
        yield Cause(
            code="recompilation",
            share=share,
            what=(
                f"torch.compile compiled again {plural(len(compilation.recompilations), 'time')} in the first "
                f"iterations ({seconds(compilation.seconds)} of compiling): "
                f"{list_some(compilation.recompilations, 1, separator='; ')}{pays}"
            ),
            advice="give it batches of one shape, or tell it which sizes change",
            recipe="torch.compile(model, dynamic=True)  # or pad batches to a few lengths",
        )


@dataclass(frozen=True, kw_only=True)
class NearestCeiling:
    """The ceiling that an operator is nearest to, and its rate as a share of it; None without a ceiling."""

    bound: RooflineBound
    of_ceiling: float | None = None


def find_nearest_ceiling(operator: OperatorTime, profile: Profile, ceilings: Sequence[Ceiling]) -> NearestCeiling:
    """Return which ceiling an operator of a profile is nearest to, and how near.

    What a call moves lies in a core's cache if it is small. Else it was moved out of the caches by the rest of the
    batch, unless the whole batch fits into them.
    """
    if not operator.calls or operator.seconds <= 0:
        return NearestCeiling(bound="unknown")
    found: dict[RooflineBound, float] = {}
    device, moved = profile.device, operator.moved_bytes or 0.0
    working_set_bytes = moved / operator.calls
    if working_set_bytes >= CORE_CACHE_BYTES:
        working_set_bytes = max(working_set_bytes, profile.batch_moved_bytes)
    memory = find_ceiling(ceilings, memory_ceiling(device), working_set_bytes)
    if memory and moved:
        found["memory"] = moved / operator.seconds / memory.per_s
    precision = operator.precision or "fp32"
    rates = [precision, f"{precision}{PER_CORE}"]
    if precision == "fp32":
        rates.append("tf32")  # which a program may allow
    products = [ceiling for rate in rates if (ceiling := find_ceiling(ceilings, f"{device} matrix {rate}"))]
    if products and operator.operations:
        found["arithmetic"] = operator.operations / operator.seconds / max(each.per_s for each in products)
    if not found:
        return NearestCeiling(bound="unknown")
    nearest = max(found, key=lambda bound: found[bound])
    return NearestCeiling(bound=nearest if found[nearest] >= NEAR else "neither", of_ceiling=found[nearest])


def may_be_memory_bound(profile: Profile, ceilings: Sequence[Ceiling]) -> bool:
    """Return whether memory may bind the program where neighbours use most of its bandwidth."""
    memory = memory_ceiling(profile.device)
    left = [replace(each, per_s=LEFT * each.per_s) if each.name == memory else each for each in ceilings]
    return CAUSES_BY_BOUND["memory"].code in {cause.code for cause in _find_bounds(profile, left, BOUND)}


def _find_bounds(profile: Profile, ceilings: Sequence[Ceiling], least: float) -> Iterator[Cause]:
    """Yield memory or arithmetic, if operators near its ceiling take enough of the time."""
    bounds = [find_nearest_ceiling(each, profile, ceilings).bound for each in profile.operators]
    for bound, cause in CAUSES_BY_BOUND.items():
        near = [each for each, nearest in zip(profile.operators, bounds, strict=True) if nearest == bound]
        share = StepShare.sum_of(each.share for each in near)
        if share.share >= least and share.low >= BOUND:
            names = list_some([each.name for each in near], SHOWN)
            yield replace(
                cause,
                share=share,
                what=cause.what.format(share=format_share(share), operators=names),
                techniques=TECHNIQUES_BY_BOUND[bound][profile.framework],
            )


def _find_in_interpreter(profile: Profile) -> Iterator[Cause]:
    """Yield Python, if array operations leave much of the time to it; PyTorch's profiler adds too much to tell."""
    share = profile.outside
    if profile.framework != "numpy" or share is None or share.low < BOUND or not profile.outside_is_python:
        return
    yield replace(
        ARRAY_CAUSES_BY_PART["interpreter"],
        share=share,
        what=f"{format_share(share)} of the time lies outside of array operations, by profile: in Python, and in "
        f"starting {count(round(profile.calls))} operations{_list_after_colon(_list_functions(profile))}",
    )


def _find_in_launches(profile: Profile) -> Iterator[Cause]:
    """Yield the starting of array operations, where they are so small that it takes much of the time."""
    if profile.launch_s is None:
        return
    others = [each for each in profile.operators if not each.is_function and each.name not in QUICK_TO_START]
    calls = sum(each.calls for each in others)
    share = min(calls * profile.launch_s / profile.seconds, 1.0)
    if share >= BOUND:
        yield replace(
            ARRAY_CAUSES_BY_PART["interpreter"],
            code=LAUNCH_BOUND,
            share=StepShare(share=share, low=share, high=1.0),
            what=f"starting {count(round(calls))} array operations takes at least {percent(share)} of the time, by "
            f"profile: one takes {seconds(profile.launch_s)} on arrays of a single element",
        )


def _find_in_waiting(profile: Profile) -> Iterator[Cause]:
    """Yield the starting of kernels, where an accelerator waits for it, and not for the loader, most of the time."""
    busy, loading = profile.busy, profile.loading
    if busy is None or loading is None:
        return
    share, low, high = (max(0.0, 1 - busy - each) for each in (loading.share, loading.high, loading.low))
    if share >= MOSTLY and low >= BOUND:
        yield Cause(
            code=LAUNCH_BOUND,
            share=StepShare(share=share, low=low, high=high),
            what=f"the accelerator waits for {percent(share)} of the time, by profile, until the host has started its "
            f"next kernel, of {count(round(profile.kernels or 0))} per iteration",
            advice="take larger batches, if the model still learns as well, or compile the model, so that fewer "
            "kernels are started",
            techniques=(("compile", "default"),) if profile.framework == "torch" else (),
        )


def _list_functions(profile: Profile) -> list[str]:
    """Return the program's own functions, with their lines, among the operators of a profile of arrays."""
    return [each.name for each in profile.operators if each.is_function]


def plan_remedies(profile: Profile, parts: Sequence[StepPart], causes: Sequence[Cause]) -> list[tuple[str, Levels]]:
    """Return what is tried in pairs: techniques that may help against the causes, and causes two at once."""
    remedies: dict[str, Levels] = {
        format_levels({name: level}): {name: level}
        for cause in causes
        for name, level in cause.techniques
        if not (name == "compile" and profile.compilation)
    }
    relevant = {part.name: part.levels for part in parts if part.is_relevant}
    burdens = [levels[ABLATION.name] for name, levels in relevant.items() if name in BURDENS]
    batch = relevant.get("batch", {})
    if burdens and len(burdens) + len(batch) > 1:
        remedies["together"] = {ABLATION.name: "+".join(burdens), **batch}
    return list(remedies.items())


def withdraw_slower(causes: Iterable[Cause], remedies: Iterable[StepPart], profile: Profile) -> list[Cause]:
    """Return the causes of a profile without the techniques that surely make the program slower, nor advice on them."""
    slower = [each.levels for each in remedies if each.effect is not None and each.effect.upper < 1]
    return [
        _withdraw(cause, [pair for pair in cause.techniques if dict([pair]) in slower], profile) for cause in causes
    ]


def _withdraw(cause: Cause, slower: Sequence[TechniqueLevel], profile: Profile) -> Cause:
    names = frozenset(name for name, _ in slower)
    advice = cause.advice
    if "prefetch" in names:
        advice = _advise_on_pipeline(cause, (*(profile.pipeline or ()), "prefetch")).advice
    else:
        left = LEFT_ADVICE.get(cause.code, {})
        advice = left.get(names & frozenset[str]().union(*left), advice)
    return replace(cause, advice=advice, techniques=tuple(pair for pair in cause.techniques if pair not in slower))


def find_recipes(profile: Profile, levels: Levels) -> list[str]:
    """Return the code that a user writes for techniques at these levels, without those that need none."""
    written = (
        find_technique(profile.framework, name).written_as(profile.recipes.get(name, {})).snippet_at(level)
        for name, level in levels.items()
        if name != ABLATION.name
    )
    return [recipe for recipe in written if recipe]


def format_share(share: StepShare) -> str:
    """Return a share with its interval, such as ``15 % (12 % to 18 %)``."""
    return f"{percent(share.share)} ({format_share_interval(share)})"


def format_share_interval(share: StepShare) -> str:
    """Return an interval of shares such as ``12 % to 18 %``; one without an end reads ``not known``."""
    if not (math.isfinite(share.low) and math.isfinite(share.high)):
        return "not known"
    return f"{percent(share.low)} to {percent(share.high)}"


def _list_after_colon(lines: Iterable[object]) -> str:
    shown = list_some([str(line) for line in lines], SHOWN)
    return f": {shown}" if shown else ""
