"""What holds a program back: causes, each with its share of the time, where it lies and what to do about it.

A cause is named only where an interval says so, or where the program was seen to do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from accelbench.core import Levels, find_technique
from accelbench.explain.parts import Part
from accelbench.explain.profile import Operator, Profile, Share
from accelbench.roofline.ceilings import find_ceiling
from accelbench.schema.result import Ceiling
from accelbench.text import list_some
from accelbench.units import count, percent, plural, seconds

NEAR = 0.5  # of a ceiling
BOUND = 0.3  # of the time, which operators near a ceiling must take to name it
SMALL_CALL_S = 30e-6  # an operator's mean time below which launching it weighs as much as its work
MANY_RECOMPILATIONS = 3  # one follows a last, smaller batch; PyTorch then makes the size a variable
TINY_BATCH = 0.2  # share of the time that does not grow with the batch
FEWER_BYTES = {"torch": (("compile", "default"), ("amp", "bf16")), "numpy": (("dtype", "float32"),)}
FEWER_BITS = {"torch": (("amp", "bf16"),), "numpy": (("dtype", "float32"),)}
LIBRARIES = {"torch": "PyTorch", "numpy": "BLAS"}
SHOWN = 3  # lines of a program in a sentence

Bound = Literal["memory", "arithmetic", "neither", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A cause, by its code; ``share`` is that of the time, None where only the fact is known.

    ``what`` states it in a sentence, ``advice`` what to do. ``techniques`` may help, ``recipe`` has lines to write.
    """

    code: str
    what: str
    advice: str
    share: Share | None = None
    techniques: tuple[tuple[str, str], ...] = ()
    recipe: str = ""


def find_causes(profile: Profile, parts: Sequence[Part], ceilings: Iterable[Ceiling]) -> list[Cause]:
    """Return the causes that are sure, those with the largest share of the time first."""
    found = [*_measured(profile, {part.name: part for part in parts}), *_compiled(profile, parts)]
    found += [*_bounds(profile, [*ceilings], {cause.code for cause in found}), *_interpreter(profile)]
    return sorted(found, key=lambda cause: cause.share.share if cause.share else 0.0, reverse=True)


def _measured(profile: Profile, parts: dict[str, Part]) -> Iterator[Cause]:
    """Yield the causes whose part was taken off and surely takes time."""
    sure = {name: part for name, part in parts.items() if part.counts}
    if part := sure.get("input"):
        restarts = sure.get("restarts")
        yield Cause(
            code="input-bound",
            share=part.share,
            what=_of(part, "waiting for the loader takes {} of the time: with batches that lie in memory it is gone"),
            advice="load in processes of their own, decode less, or store what is decoded",
            techniques=() if restarts else _loader_techniques(profile),
        )
        if restarts:
            yield Cause(
                code="worker-restarts",
                share=restarts.share,
                what=_of(restarts, "starting loader processes anew in every epoch takes {} of it"),
                advice="let them live on",
                recipe=_recipe(profile, "persistent_workers", "on"),
            )
    if part := sure.get("transfer"):
        yield Cause(
            code="transfer-bound",
            share=part.share,
            what=_of(part, "loading batches and sending them to the device takes {} of the time"),
            advice="pin the memory of batches and send them ahead",
            techniques=(("pin_memory", "on"), ("non_blocking", "on")),
        )
    if part := sure.get("readings"):
        yield Cause(
            code="synchronisation-bound",
            share=part.share,
            what=_of(part, "reading numbers out of tensors takes {} of the time") + _lines(profile.readings),
            advice="sum up on the device with `+=`, and read once in many steps",
        )
    if part := sure.get("copies"):
        yield Cause(
            code="copies",
            share=part.share,
            what=_of(part, "copying tensors takes {} of the time") + _lines(profile.copies),
            advice="make the copy once before the loop, or work on the tensor itself",
        )
    if part := sure.get("anomaly"):
        yield Cause(
            code="anomaly-mode",
            share=part.share,
            what=_of(part, "autograd's anomaly mode is on and takes {} of the time"),
            advice="switch it on only to look for an error",
            recipe="torch.autograd.set_detect_anomaly(False)",
        )
    if part := sure.get("float64"):
        yield Cause(
            code="float64",
            share=part.share,
            what=_of(part, "computing in float64 takes {} of the time beyond what float32 would"),
            advice="make data and model float32",
            recipe="model.float(); batch = batch.float()",
        )
    if part := sure.get("threads"):
        library, threads, cores = LIBRARIES[profile.framework], profile.threads, profile.cores
        yield Cause(
            code="one-thread",
            share=part.share,
            what=_of(
                part,
                f"{library} computes with {plural(threads, 'thread')} on {plural(cores, 'core')}, which costs {{}} "
                "of the time",
            ),
            advice="let it use all cores",
            recipe=_recipe(profile, "threads", "all"),
        )
    if part := sure.get("loop"):
        yield Cause(
            code="optimizer-loop",
            share=part.share,
            what=_of(part, f"the optimizer loops over {count(profile.tensors)} tensors, which costs {{}} of the time"),
            advice="update all of them at once",
            recipe=_recipe(profile, "optimizer", "foreach"),
            techniques=(("optimizer", "fused"),),
        )
    part = parts.get("batch")
    if part and part.counts and part.share and part.share.low >= TINY_BATCH / 2 and part.share.share >= TINY_BATCH:
        yield Cause(
            code="small-batch",
            share=part.share,
            what=_of(
                part,
                f"with {part.levels['batch_size']} items in a batch in place of {profile.batch_size}, {{}} of the time "
                "per item is gone: it does not grow with the batch",
            )
            + _small_calls(profile),
            advice="take larger batches, if the model still learns as well",
            recipe=_recipe(profile, "batch_size", part.levels["batch_size"]),
        )


def _loader_techniques(profile: Profile) -> tuple[tuple[str, str], ...]:
    workers = str(max(1, profile.cores - 1) if profile.cores > 2 else profile.cores)
    tried = [("workers", workers)] if profile.loads and profile.workers < int(workers) else []
    return (*tried, ("loading", "thread"))


def _compiled(profile: Profile, parts: Sequence[Part]) -> Iterator[Cause]:
    """Yield what torch.compile was seen to do; the comparison with eager execution says whether it pays at all."""
    compilation = profile.compilation
    if compilation is None:
        return
    eager = next((part for part in parts if part.name == "compiled"), None)
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
            share=eager.share if eager and eager.is_sure else None,
            what=f"torch.compile breaks the graph: {list_some(compilation.breaks, SHOWN, separator='; ')}{pays}",
            advice="move what cannot be compiled out of the compiled function; `fullgraph=True` makes a break an error",
        )
    if len(compilation.recompilations) >= MANY_RECOMPILATIONS:
        yield Cause(
            code="recompilation",
            share=eager.share if eager and eager.is_sure else None,
            what=(
                f"torch.compile compiled again {plural(len(compilation.recompilations), 'time')} in the first "
                f"iterations ({seconds(compilation.seconds)} of compiling): "
                f"{list_some(compilation.recompilations, 1, separator='; ')}{pays}"
            ),
            advice="give it batches of one shape, or tell it which sizes change",
            recipe="torch.compile(model, dynamic=True)  # or pad batches to a few lengths",
        )


@dataclass(frozen=True, kw_only=True)
class Rate:
    """An operator beside the ceilings: the larger of its shares of them, and which one that is."""

    bound: Bound
    of_ceiling: float | None = None


def rate(operator: Operator, ceilings: Sequence[Ceiling], device: str) -> Rate:
    """Return which ceiling an operator is nearest to, and how near."""
    if not operator.calls or operator.seconds <= 0:
        return Rate(bound="unknown")
    found: dict[Bound, float] = {}
    moved = operator.moved_bytes or 0.0
    memory = find_ceiling(ceilings, f"{device} memory", moved / operator.calls)
    if memory and moved:
        found["memory"] = moved / operator.seconds / memory.per_s
    products = [
        ceiling
        for suffix in ("", ", cores apart")
        if (ceiling := find_ceiling(ceilings, f"{device} matrix {operator.precision or 'fp32'}{suffix}"))
    ]
    if products and operator.operations:
        found["arithmetic"] = operator.operations / operator.seconds / max(each.per_s for each in products)
    if not found:
        return Rate(bound="unknown")
    nearest = max(found, key=lambda bound: found[bound])
    return Rate(bound=nearest if found[nearest] >= NEAR else "neither", of_ceiling=found[nearest])


def _bounds(profile: Profile, ceilings: Sequence[Ceiling], codes: set[str]) -> Iterator[Cause]:
    """Yield memory or arithmetic, if operators near its ceiling take much of the time."""
    for bound, code in (("memory", "memory-bound"), ("arithmetic", "compute-bound")):
        near = [each for each in profile.operators if rate(each, ceilings, profile.device).bound == bound]
        low = sum(each.share.low for each in near)
        if low < BOUND or "float64" in codes:
            continue
        share = Share(
            share=sum(each.share.share for each in near), low=low, high=min(1.0, sum(each.share.high for each in near))
        )
        names = list_some([each.name for each in near], SHOWN)
        if bound == "memory":
            yield Cause(
                code=code,
                share=share,
                what=f"{names} move bytes at more than half of the rate of this machine's memory, for {_share(share)} "
                "of the time, by profile",
                advice="fuse them, or store in fewer bits: more operations per second would not help",
                techniques=FEWER_BYTES[profile.framework],
            )
        else:
            yield Cause(
                code=code,
                share=share,
                what=f"{names} compute at more than half of this machine's peak, for {_share(share)} of the time, by "
                "profile",
                advice="compute in fewer bits, or compute less: there is nothing to waste here",
                techniques=FEWER_BITS[profile.framework],
            )


def _interpreter(profile: Profile) -> Iterator[Cause]:
    """Yield Python, if array operations leave much of the time to it; PyTorch's profiler adds too much to tell."""
    share = profile.outside
    if profile.framework != "numpy" or share is None or share.low < BOUND:
        return
    functions = [each.name for each in profile.operators if ".py:" in each.name]
    yield Cause(
        code="interpreter-bound",
        share=share,
        what=f"{_share(share)} of the time lies outside of array operations, by profile: in Python, and in starting "
        f"{count(round(profile.calls))} operations{_lines(functions)}",
        advice="compute with larger arrays in fewer calls, or compile the loop, as Numba does",
        recipe="@numba.njit  # on the function with the loop",
    )


def plan_remedies(profile: Profile, parts: Sequence[Part], causes: Sequence[Cause]) -> list[tuple[str, Levels]]:
    """Return what is tried in pairs: techniques that may help against the causes, and causes two at once."""
    tried = [
        (f"{name} {level}", {name: level})
        for cause in causes
        for name, level in cause.techniques
        if not (name == "compile" and profile.compilation)
    ]
    taken_off = [part for part in parts if part.counts and part.name in ("input", "readings", "copies", "anomaly")]
    names = [part.levels["taken_off"] for part in taken_off]
    together: dict[str, str] = {"taken_off": "+".join(names)} if len(names) > 1 else {}
    batch = next((part for part in parts if part.name == "batch" and part.counts), None)
    if batch and names:
        together = {"taken_off": "+".join(names), **batch.levels}
    if len(together) > 1 or "+" in together.get("taken_off", ""):
        tried.append(("together", together))
    return list(dict(tried).items())


def _recipe(profile: Profile, technique: str, level: str) -> str:
    return find_technique(profile.framework, technique).snippet_at(level)


def _of(part: Part, sentence: str) -> str:
    assert part.share is not None, f"{part.name} was not measured"
    return sentence.format(_share(part.share))


def interval_of_shares(share: Share) -> str:
    """Return an interval of shares such as ``12 % to 18 %``."""
    return f"{percent(share.low)} to {percent(share.high)}"


def _share(share: Share) -> str:
    return f"{percent(share.share)} ({interval_of_shares(share)})"


def _lines(lines: Iterable[object]) -> str:
    shown = list_some([str(line) for line in lines], SHOWN)
    return f": {shown}" if shown else ""


def _small_calls(profile: Profile) -> str:
    calls = profile.calls
    if not calls:
        return ""
    mean_s = sum(each.seconds for each in profile.operators) / calls
    if mean_s > SMALL_CALL_S:
        return ""
    return f" ({count(round(calls / profile.batches))} operators per batch of {seconds(mean_s)} on average)"
