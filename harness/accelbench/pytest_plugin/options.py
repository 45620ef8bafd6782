"""The options of a run, and the configuration that follows from the options and the machine."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import pytest

from accelbench.core import MAX_BATCH, Host, Plan, Setting
from accelbench.core.workload import Size
from accelbench.locations import RESULTS_INI
from accelbench.schema.result import Identity
from accelbench.text import list_some

MAX_BATCH_ON_GPU = 16384  # training ResNet-18 takes some 22 MB per image: this batch would take 360 GB
MAX_BROKEN_NAMED = 10  # broken images that the header names; it counts the others


def _number(kind: type[int] | type[float], is_valid: Callable[[Any], bool], expected: str) -> Callable[[str], Any]:
    """Return a type for argparse whose error shows the value, what was expected, and an example."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not math.isfinite(value) or not is_valid(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return value

    return read


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("'' is not a folder; for example photographs")
    return Path(text).expanduser().absolute()


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("accelbench", "accelbench: which acceleration techniques pay")
    seconds = _number(float, lambda value: value > 0, "a number of seconds above 0; for example 2.5")
    count = _number(int, lambda value: value >= 1, "a whole number from 1; for example 4")
    group.addoption(
        "--accel-size",
        choices=("auto", "small", "full"),
        default="auto",
        help="size of the problems: small fits two cores, full fits a data-centre GPU; auto is full where NVML finds a "
        "GPU, else small. Default: auto",
    )
    group.addoption(
        "--accel-budget",
        dest="accel_budget_s",
        type=seconds,
        default=2.0,
        metavar="SECONDS",
        help="measuring time per arm. Default: 2.0",
    )
    group.addoption(
        "--accel-visits",
        type=count,
        default=4,
        metavar="N",
        help="measure every trial in N fresh worker processes that lie apart in time, each with its share of the "
        "budget, so that intervals hold for the next run too. Default: 4",
    )
    group.addoption(
        "--accel-within",
        dest="accel_within_minutes",
        type=_number(float, lambda value: value > 0, "a number of minutes above 0; for example 7"),
        metavar="MINUTES",
        help="minutes of measuring after which a trial gets no third or later visit; these only narrow its intervals. "
        "Default: no limit",
    )
    group.addoption(
        "--accel-noise",
        type=_number(float, lambda value: 0 < value < 0.5, "a fraction above 0 and below 0.5; for example 0.01"),
        default=0.01,
        metavar="FRACTION",
        help="half-width of the range of speedups around 1 that are neither faster nor slower. Default: 0.01",
    )
    group.addoption(
        "--accel-max-batch",
        type=count,
        metavar="N",
        help="largest batch size to try, memory permitting. Default: 64 at size small; at size full 1024, or 16384 "
        "where NVML finds a GPU",
    )
    group.addoption(
        "--accel-max-workers",
        type=count,
        metavar="N",
        help="most data loader workers to try. Default: the cores available to this process",
    )
    group.addoption(
        "--accel-timeout",
        dest="accel_timeout_s",
        type=seconds,
        default=300.0,
        metavar="SECONDS",
        help="stop a worker that has been silent for this long. Default: 300",
    )
    group.addoption(
        "--accel-minutes",
        type=_number(float, lambda value: value > 0, "a number of minutes above 0; for example 8"),
        metavar="MINUTES",
        help="measure in parts: stop after about this many minutes, with exit status 75 while trials are left; the "
        "same command continues where the last one stopped. Default: one part",
    )
    group.addoption(
        "--accel-seed",
        type=_number(int, lambda value: 0 <= value < 2**32, "a whole number from 0 to 4294967295; for example 0"),
        default=0,
        metavar="N",
        help="seed of random inputs and weights. Default: 0",
    )
    group.addoption(
        "--accel-data-dir",
        type=_folder,
        metavar="FOLDER",
        help="use your own images, one folder per class. Default: made from photographs that come with scikit-learn",
    )
    group.addoption(
        "--accel-resume",
        action="store_true",
        help="continue the newest unfinished run of the same command; what it measured is not measured again",
    )
    group.addoption(
        "--accel-cold-cache",
        action="store_true",
        help="flush the caches of the processor or of the GPU before every timed iteration, for all arms. Default: an "
        "iteration finds what the ones before it left",
    )
    group.addoption(
        "--accel-wait",
        action="store_true",
        help="wait while another run is measuring on this machine. Default: stop with a message",
    )
    parser.addini(RESULTS_INI, "folder that keeps saved runs, one subfolder per machine", default="")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command line, by the names under which pytest stores them; None if the machine decides."""

    size: str
    budget_s: float
    visits: int
    within_minutes: float | None
    noise: float
    max_batch: int | None
    max_workers: int | None
    timeout_s: float
    minutes: float | None
    seed: int
    data_dir: Path | None
    resume: bool
    wait: bool
    cold_cache: bool


def read_options(config: pytest.Config) -> Options:
    """Return the options of a session."""
    return Options(**{each.name: getattr(config.option, f"accel_{each.name}") for each in fields(Options)})


@cache
def this_machine() -> Identity:
    """Return the machine's identity, read once."""
    from accelbench.schema.environment import identify

    return identify()


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run. The machine is identified on first use."""

    options: Options
    rehearse: bool

    @cached_property
    def size(self) -> Size:
        """The size of the problems."""
        if self.options.size != "auto":
            return cast(Size, self.options.size)
        return "full" if self._has_gpu else "small"

    @property
    def _has_gpu(self) -> bool:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1")
        return bool(this_machine().gpus) and not hidden

    @cached_property
    def host(self) -> Host:
        """What the levels of a technique may depend on, without the accelerators."""
        from joblib import cpu_count

        cores = cpu_count()  # within the limits of affinity and the container
        max_batch = MAX_BATCH_ON_GPU if self.size == "full" and self._has_gpu else MAX_BATCH[self.size]
        return Host(
            cores=cores,
            size=self.size,
            max_batch=self.options.max_batch or max_batch,
            max_workers=self.options.max_workers or cores,
        )

    @property
    def time_limit_s(self) -> float | None:
        """How many seconds the session may take; None for no limit."""
        minutes = self.options.minutes
        return None if minutes is None or self.rehearse else 60 * minutes

    @property
    def narrowing_s(self) -> float:
        """The seconds of measuring after which no visit starts that only narrows intervals."""
        minutes = self.options.within_minutes
        return math.inf if minutes is None else 60 * minutes

    @property
    def setting(self) -> Setting:
        """What every workload receives."""
        options = self.options
        return Setting(size=self.size, seed=options.seed, data_dir=options.data_dir, cores=self.host.cores)

    @property
    def plan(self) -> Plan:
        """How long and how precisely to measure."""
        options = self.options
        return Plan(
            budget_s=options.budget_s,
            noise=options.noise,
            builds=1,
            visits=options.visits,
            silence_s=options.timeout_s,
            rehearse=self.rehearse,
            cold_cache=options.cold_cache,
        )

    @property
    def settings(self) -> dict[str, str | int | float | bool | None]:
        """The configuration as results store it. The user's image folder counts only by its number of images."""
        plan, host = self.plan, self.host
        return {
            "size": self.size,
            "budget_s": plan.budget_s,
            "alpha": plan.alpha,
            "noise": plan.noise,
            "half_width": plan.half_width,
            "builds": plan.builds,
            "visits": plan.visits,
            "cache": "cold" if plan.cold_cache else "hot",
            "max_batch": host.max_batch,
            "max_workers": host.max_workers,
            "cores": host.cores,
            "seed": self.options.seed,
            "own_images": count_images(self.options.data_dir) if self.options.data_dir else None,
        }


def count_images(folder: Path) -> int:
    """Return how many images in a folder can be decoded.

    Raises:
        BadInput: the folder does not exist, or contains none.
    """
    from accelbench.workloads.data.images import scan

    return len(scan(folder).paths)


def image_lines(folder: Path) -> Iterator[str]:
    """Yield the header's lines about the user's own images: their number, and the files that cannot be decoded."""
    from accelbench.workloads.data.images import scan

    found = scan(folder)
    yield f"accelbench: {len(found.paths)} images in {len(found.classes)} classes under {folder}"
    if found.broken:
        names = list_some((str(path.relative_to(folder)) for path in found.broken), MAX_BROKEN_NAMED)
        yield f"accelbench: {len(found.broken)} of its images cannot be decoded and are left out: {names}"
