"""The command that measures a trial again, under the conditions of its run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from harness.record import ArmRecord, TrialRecord

Settings = Mapping[str, str | int | float | bool | None]

_OPTIONS = {  # setting: the plugin's option, and the option's default
    "size": ("--accel-size", None),
    "budget_s": ("--accel-budget", 2.0),
    "workers": ("--accel-workers", 1),
    "noise": ("--accel-noise", 0.01),
    "max_batch": ("--accel-max-batch", {"small": 64, "full": 16384}),  # at full, a machine without a GPU tries fewer
    "max_workers": ("--accel-max-workers", "cores"),
    "seed": ("--accel-seed", 0),
}
_KEYWORD = re.compile(r"[\w:+\-.\[\]\\/]+")  # what pytest takes as one word of -k


def rerun(trial: TrialRecord, settings: Settings) -> str:
    """Return the command, safe to paste into a shell whatever the names in the file are."""
    return shlex.join(["pytest", *_selection(trial), "--benchmark-save=again", *_options(settings)])


def _selection(trial: TrialRecord) -> list[str]:
    """Return what selects the trial's tests and no others.

    A trial's id is its tests' without the levels, which stand last in theirs: ``test_amp[net]`` is run as
    ``test_amp[net-amp-fp32]`` and ``test_amp[net-amp-bf16]``.
    """
    path, separator, name = trial.id.partition("::")
    function, bracket, rest = name.partition("[")
    test = path + separator + function
    if not re.match(r"\w", test):
        test = f"./{test}"  # a file, and neither an option nor a file of options
    if not bracket:
        return [test]
    keyword = f"[{rest.removesuffix(']')}-{_in_id(trial.techniques[0])}-" if trial.techniques else ""
    if _KEYWORD.fullmatch(keyword):
        return [test, "-k", keyword]
    return [f"{test}[{rest.removesuffix(']')}-{_levels(arm)}]" for arm in trial.arms]


def _levels(arm: ArmRecord) -> str:
    return "-".join(_in_id(f"{name}-{level.replace(':', '')}") for name, level in arm.levels.items())


def _in_id(text: str) -> str:
    """Return a technique or a level as the plugin writes it into a test's id."""
    return re.sub(r"[^A-Za-z0-9.+]+", "-", text)


def _options(settings: Settings) -> Iterator[str]:
    """Yield the options that were not left at their defaults; a folder of images is not known by name."""
    for name, (option, default) in _OPTIONS.items():
        if isinstance(default, dict):
            default = default.get(str(settings.get("size")))
        elif default == "cores":
            default = settings.get("cores")
        value = settings.get(name)
        if value is not None and value != default:
            yield f"{option}={value}"
    if settings.get("cache") == "cold":
        yield "--accel-cold-cache"
    if settings.get("own_images") is not None:
        yield "--data-dir=FOLDER"
