"""What may be wrong with threads: more of them than cores, or than a container may run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from harness.doctor.facts import TITLES, Facts, number
from harness.units import significant

# How many threads a library starts: the variables that say so, which of them it heeds, and what it says of itself.
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
_HEEDED = {"PyTorch": "OMP_NUM_THREADS", "TensorFlow": "TF_NUM_INTRAOP_THREADS", "NumPy": "OMP_NUM_THREADS"}
_TOLD = (("torch", "threads"), ("tensorflow", "intra_op_threads"), ("numpy", "blas_threads"))


def more_threads_than_cores(facts: Facts) -> Iterator[str]:
    """Threads that take turns on the cores measure the scheduler."""
    cores = facts.visible_cores
    if many := {owner: count for owner, count in _threads(facts).items() if count > cores}:
        there = "one core" if cores == 1 else f"{cores} cores"
        yield f"more threads asked for ({_listed(many)}) than the {there} of this process: {_export(many, cores)}"


def quota_below_cores(facts: Facts) -> Iterator[str]:
    """A container that may use less time than the cores have makes libraries start too many threads."""
    quota = _quota(facts)
    if quota is None or quota >= facts.visible_cores:
        return
    whole = max(1, math.floor(quota))
    many = {owner: count for owner, count in _threads(facts).items() if whole < count <= facts.visible_cores}
    if many:
        yield (
            f"the container may use the time of {significant(quota, 2)} cores but sees {facts.visible_cores}, so "
            f"libraries start too many threads ({_listed(many)}) and are stopped in mid-work: "
            f"{_export(many, whole)}, or raise the quota (docker run --cpus)"
        )


RULES = (more_threads_than_cores, quota_below_cores)


def _threads(facts: Facts) -> dict[str, int]:
    """Return how many threads each variable asks for and each library starts."""
    found = {name: facts.variable(name) or "" for name in _VARIABLES}
    for name, fact in _TOLD:
        # TensorFlow's default is the variable's number, else one per core that it may be scheduled on.
        default = found["TF_NUM_INTRAOP_THREADS"] or str(facts.visible_cores)
        found[TITLES[name]] = facts.find(name).told(fact).replace("default", default)
    counts = {owner: number(text) for owner, text in found.items()}
    return {owner: int(count) for owner, count in counts.items() if count is not None}


def _quota(facts: Facts) -> float | None:
    return number(facts.configuration.get("cpu.quota_cores", "unlimited"))


def _export(owners: Iterable[str], count: int) -> str:
    """Return the command that gives these variables and libraries so many threads."""
    variables = dict.fromkeys(_HEEDED.get(owner, owner) for owner in owners)
    return " ".join(["export", *(f"{variable}={count}" for variable in variables)])


def _listed(threads: dict[str, int]) -> str:
    return ", ".join(f"{owner} {count}" for owner, count in threads.items())
