"""The options of a run, read and checked before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.errors import BadInput

RESULTS_INI = "accelbench_results"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asked for. None where the machine decides."""

    size: str
    budget_s: float
    workers: int
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


@dataclass(frozen=True, kw_only=True)
class _Option:
    """One option: how it is written, what it accepts, and what is said of anything else."""

    field: str
    name: str
    default: str | None
    metavar: str
    help: str
    read: Callable[[str], Any]
    expected: str
    example: str


def _size(text: str) -> str:
    if text not in ("auto", "small", "full"):
        raise ValueError
    return text


def _positive(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise ValueError
    return value


def _noise(text: str) -> float:
    value = float(text)
    if not 0 < value < 0.5:
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise ValueError
    return value


def _folder(text: str) -> Path:
    if not text:
        raise ValueError
    return Path(text).expanduser().absolute()


_OPTIONS = (
    _Option(
        field="size",
        name="--accel-size",
        default="auto",
        metavar="SIZE",
        help="size of the problems: small fits two cores, full fits a data-centre GPU; "
        "auto is full where NVML finds a GPU, else small. Default: auto",
        read=_size,
        expected="auto, small or full",
        example="small",
    ),
    _Option(
        field="budget_s",
        name="--accel-budget",
        default="2.0",
        metavar="SECONDS",
        help="measuring time per arm. Default: 2.0",
        read=_positive,
        expected="a number of seconds above 0",
        example="2.0",
    ),
    _Option(
        field="workers",
        name="--accel-workers",
        default="1",
        metavar="N",
        help="repeat every trial in N fresh worker processes, so that intervals carry the spread between processes. "
        "Default: 1",
        read=_count,
        expected="a whole number from 1",
        example="3",
    ),
    _Option(
        field="noise",
        name="--accel-noise",
        default="0.01",
        metavar="FRACTION",
        help="half-width of the zone of speedups that count as the same. Default: 0.01",
        read=_noise,
        expected="a fraction above 0 and below 0.5",
        example="0.01",
    ),
    _Option(
        field="max_batch",
        name="--accel-max-batch",
        default=None,
        metavar="N",
        help="largest batch size to try, memory permitting. Default: 64 at size small, 1024 at size full, 16384 there "
        "where NVML finds a GPU",
        read=_count,
        expected="a whole number from 1",
        example="256",
    ),
    _Option(
        field="max_workers",
        name="--accel-max-workers",
        default=None,
        metavar="N",
        help="most data loader workers to try. Default: the cores available to this process",
        read=_count,
        expected="a whole number from 1",
        example="8",
    ),
    _Option(
        field="timeout_s",
        name="--accel-timeout",
        default="300",
        metavar="SECONDS",
        help="stop a worker that gave no sign of life for so long. Default: 300",
        read=_positive,
        expected="a number of seconds above 0",
        example="300",
    ),
    _Option(
        field="minutes",
        name="--accel-minutes",
        default=None,
        metavar="MINUTES",
        help="measure in parts: end in order after about so many minutes, with exit status 75 while trials are left; "
        "the same command goes on where the last one ended. Default: one part",
        read=_positive,
        expected="a number of minutes above 0",
        example="8",
    ),
    _Option(
        field="seed",
        name="--accel-seed",
        default="0",
        metavar="N",
        help="seed of random inputs and weights. Default: 0",
        read=_seed,
        expected="a whole number from 0 to 4294967295",
        example="0",
    ),
    _Option(
        field="data_dir",
        name="--data-dir",
        default=None,
        metavar="FOLDER",
        help="use your own images, one folder per class. Default: made from photographs that come with scikit-learn",
        read=_folder,
        expected="a folder",
        example="photographs",
    ),
)

_SWITCHES = {
    "--resume": "continue the newest unfinished run of the same command: what it finished is not measured again",
    "--accel-cold-cache": "flush the caches of the processor or of the GPU before every timed iteration, for all arms. "
    "Default: an iteration finds what the ones before it left",
    "--accel-wait": "where another run is measuring on this machine, wait for its end. Default: say so and stop",
}


def add_options(parser: pytest.Parser) -> None:
    """Declare the options. They arrive as text, so that a bad value is told in our words and with our exit status."""
    group = parser.getgroup("accelbench", "accelbench: which acceleration techniques pay")
    for option in _OPTIONS:
        group.addoption(option.name, default=option.default, metavar=option.metavar, help=option.help)
    for name, text in _SWITCHES.items():
        group.addoption(name, action="store_true", help=text)
    parser.addini(RESULTS_INI, "folder that keeps saved runs, one subfolder per machine", default="")


def read_options(config: pytest.Config) -> Options:
    """Return the options.

    Raises:
        BadInput: a value cannot be used; the message names the option, the value, what is expected and an example.
    """
    return Options(
        **{option.field: _read(option, config.getoption(option.name)) for option in _OPTIONS},
        resume=config.getoption("--resume"),
        wait=config.getoption("--accel-wait"),
        cold_cache=config.getoption("--accel-cold-cache"),
    )


def _read(option: _Option, text: str | None) -> Any:
    if text is None:
        return None
    try:
        return option.read(text)
    except ValueError:
        raise BadInput(
            f"{option.name}: {text!r} is not {option.expected}; for example {option.name}={option.example}"
        ) from None
