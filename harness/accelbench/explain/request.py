"""What `accelbench explain` is asked for: a program, a budget, and what profiles a program of its kind in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from joblib import cpu_count

from accelbench.core import Host, Levels, Setting, Trial, Workload, find_workload
from accelbench.core.workload import Size
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.explain.profile import Profile
from accelbench.schema.reasons import describe_error_at
from accelbench.text import join_names

PROFILED = {"torch": "PyTorch", "tensorflow": "TensorFlow", "numpy": "NumPy"}  # whose workloads have a profiler
LONGEST = 1.15  # times the budget, after which measuring is cut short


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

    @property
    def profiler(self) -> Callable[..., Profile]:
        """The function that profiles the program in a worker, given the setting and the levels of techniques.

        Raises:
            BadInput: nothing profiles workloads of this kind.
        """
        work = self.workload
        if work.is_program:
            return partial(_profile_program, self.framework, self.build)
        if self.framework in PROFILED:
            return partial(_profile_workload, self.framework, work.name, self.fixed, self.options)
        raise BadInput(
            f"{work.name} runs in {self.framework}; of the suite's workloads, explain takes those of "
            f"{join_names([*PROFILED.values()])}"
        )


def describe_host(accelerators: tuple[str, ...] = ()) -> Host:
    """Return what the levels of a technique may depend on: this machine's cores, and what the framework sees."""
    cores = cpu_count()
    return Host(cores=cores, accelerators=accelerators, max_workers=cores)


@contextmanager
def _in_one_line(what: str) -> Iterator[None]:
    """Turn what ``what`` raises into one line; in a worker, since an error that is sent from there loses its place.

    Raises:
        BadInput: what it raises is one.
        Unavailable: it raises anything else; the message has the reason and the line of the user's own.
    """
    try:
        yield
    except AccelbenchError:
        raise
    except (Exception, SystemExit) as error:
        raise Unavailable(f"{what} cannot be profiled: failed: {describe_error_at(error)}") from error


def _profile_workload(
    framework: str, name: str, fixed: Levels, options: Mapping[str, Any], setting: Setting, levels: Levels
) -> Profile:
    profile_workload: Callable[..., Profile]
    if framework == "torch":
        from accelbench.explain.torch_profile import profile_workload
    elif framework == "tensorflow":
        from accelbench.explain.tensorflow_profile import profile_workload
    else:
        from accelbench.explain.array_profile import profile_workload

    with _in_one_line(name):
        return profile_workload(find_workload(name), setting, {**fixed, **levels}, options)


def _profile_program(framework: str, build: Callable[[], Any], setting: Setting, levels: Levels) -> Profile:
    profile: Callable[..., Profile]
    if framework == "numpy":
        from accelbench.explain.array_profile import profile_array_program as profile
    elif framework == "tensorflow":
        from accelbench.explain.tensorflow_profile import profile_keras_program as profile
    else:
        from accelbench.explain.torch_profile import profile_program as profile

    with _in_one_line("your program"):
        return profile(build, setting, levels)
