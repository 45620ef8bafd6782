"""What `accelbench explain` is asked for: a program and a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from joblib import cpu_count

from accelbench.advise.time_limit import LONGEST
from accelbench.core import Host, Levels, Setting, Trial, Workload
from accelbench.core.workload import Size
from accelbench.errors import BadInput

ROUND_S = 10  # of a budget that a message names


@dataclass(frozen=True, kw_only=True)
class ExplanationRequest:
    """What a user asks for: a program, how many seconds the answer may take, and what an hour of the machine costs.

    ``workload`` is a user's program, or one of the suite's; ``fixed`` techniques have one level, and ``options`` are
    the workload's own. It runs in its first framework, unless ``runs_in`` names another of them; ``size`` is that of a
    workload of the suite.
    """

    workload: Workload
    fixed: Levels = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    budget_s: float = 120.0
    price_per_hour: float | None = None
    seed: int = 0
    size: Size = "small"
    runs_in: str = ""

    @property
    def framework(self) -> str:
        """The program's framework."""
        return self.runs_in or self.workload.frameworks[0]

    @property
    def setting(self) -> Setting:
        """The setting in which the program is built for its profile."""
        return Setting(size=self.size, seed=self.seed, cores=cpu_count())

    @property
    def trial(self) -> Trial:
        """The trial of the program as it stands."""
        work = self.workload
        return Trial(
            framework=self.framework,
            workload=work if work.is_program else work.name,
            arms=({},),
            fixed=self.fixed,
            problem=self.options,
            setting=self.setting,
        )

    @property
    def longest_s(self) -> float:
        """The seconds after which measuring is cut short."""
        return LONGEST * self.budget_s

    @property
    def build(self) -> Callable[[], Any]:
        """The user's function that builds the program.

        Raises:
            BadInput: the workload is no program of a user's own.
        """
        builder: Any = self.workload.builder
        if not (self.workload.is_program and isinstance(builder, partial) and builder.args):
            raise BadInput(f"{self.workload.name} is no program of a user's own")
        build: Callable[[], Any] = builder.args[0]
        return build


def describe_host(accelerators: tuple[str, ...] = ()) -> Host:
    """Return what the levels of a technique may depend on: this machine's cores, and what the framework sees."""
    cores = cpu_count()
    return Host(cores=cores, accelerators=accelerators, max_workers=cores)


def name_budget(needed_s: float) -> str:
    """Return a budget of at least that many seconds as a user writes it, such as ``120s``."""
    return f"{ROUND_S * math.ceil(needed_s / ROUND_S)}s"
