"""Settings that everything in a process shares, and arms that leave them changed for the others.

An arm sets such a thing in a context around its blocks. What its build or its steps set for good also holds while other
arms are timed, and in the next trial of the process. If all arms of a trial leave the same, as where a user's program
sets its number of threads, they are timed alike and nothing is wrong; only the next trial gets another process.

Libraries change settings when they are first used, and never again. So before an arm is blamed for a change, the change
is taken back, and the arm is built and called once more: a first use does not repeat itself. It then holds for all
arms.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from accelbench.core import Arm
from accelbench.frameworks import Framework, load
from accelbench.frameworks.protocol import IN_USE_ONCE_IMPORTED, Switch
from accelbench.measuring.arm_run import ArmRun, Building
from accelbench.measuring.checks import output as check
from accelbench.measuring.trial_result import TrialResult
from accelbench.schema.environment import VARIABLES
from accelbench.schema.reasons import reason

State = dict[str, Any]  # the value of each setting, by the name under which people know it

# Variables that libraries set when they are imported or first used: PyTorch, its compiler and its profiler, TensorFlow
# and Keras, scikit-learn and joblib, transformers, OpenCV, pytest.
_SET_BY_LIBRARIES = frozenset(
    {
        "CUDA_MODULE_LOADING",
        "DISABLE_CUPTI_LAZY_REINIT",
        "ENABLE_RUNTIME_UPTIME_TELEMETRY",
        "HDF5_PLUGIN_PATH",
        "KERAS_BACKEND",
        "KMP_DUPLICATE_LIB_OK",
        "KMP_INIT_AT_FORK",
        "NCCL_GRAPH_MIXING_SUPPORT",
        "PYTEST_CURRENT_TEST",
        "QT_QPA_FONTDIR",
        "QT_QPA_PLATFORM_PLUGIN_PATH",
        "TEARDOWN_CUPTI",
        "TF2_BEHAVIOR",
        "TF_CPP_MIN_LOG_LEVEL",
        "TF_FORCE_GPU_ALLOW_GROWTH",
        "TOKENIZERS_PARALLELISM",
        "TORCHINDUCTOR_CACHE_DIR",
        "TORCH_WARM_POOL",
        "TPU_ML_PLATFORM",
        "TPU_ML_PLATFORM_VERSION",
        "TRITON_CACHE_DIR",
        "TRITON_LIBDEVICE_PATH",
        "TRITON_PTXAS_PATH",
        "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR",
    }
)
_VARIABLE = "the environment variable "
_HANDLER = "the handler of "
_SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGPROF")
_LONGEST = 60  # characters of a value in a reason


@dataclass(frozen=True, kw_only=True)
class SettingChange:
    """A setting that is no longer what it was; None stands for an environment variable that is not set."""

    setting: str
    before: Any
    after: Any

    @property
    def affects_arms(self) -> bool:
        """Whether it may change the results or the speed of other arms in the same process."""
        if self.setting.startswith(_VARIABLE):
            return self.setting.removeprefix(_VARIABLE) in VARIABLES
        return not self.setting.startswith(_HANDLER)


def describe(changes: Sequence[SettingChange]) -> dict[str, str | int]:
    """Return the values of a reason that names the first of these changes and the number of the others."""
    first = changes[0]
    before, after = _texts(first.before, first.after)
    others = {"others": len(changes) - 1} if len(changes) > 1 else {}
    return {"setting": first.setting, "before": before, "after": after, **others}


class ProcessSettings:
    """The settings of this process that may change the results or the speed of what runs in it.

    They are environment variables, the switches of the interpreter, of NumPy and of the framework, the sizes of the
    thread pools that have been started by now, and the functions of the main modules, which may have been replaced.
    """

    def __init__(self, *frameworks: Framework) -> None:
        self._tables = [*(framework.switches() for framework in frameworks), _INTERPRETER, _pools()]
        self._owners: dict[str, Any] = {"time": time, "numpy": np, "numpy.linalg": np.linalg}
        for framework in frameworks:
            self._owners |= framework.namespaces()

    def read(self) -> State:
        """Return the settings as they are."""
        variables = {_VARIABLE + name: text for name, text in os.environ.items() if name not in _SET_BY_LIBRARIES}
        switches = {name: switch.read() for table in self._tables for name, switch in table.items()}
        return variables | switches | _read_handlers() | {name: _Names(of) for name, of in self._owners.items()}

    def changes_since(self, state: State) -> list[SettingChange]:
        """Return the settings that are no longer as in this state.

        What can be read only since a library was loaded has not changed.
        """
        now = self.read()
        return [
            change
            for name in dict.fromkeys((*now, *state))
            if ((name in now and name in state) or name.startswith(_VARIABLE))
            and not _same(state.get(name), now.get(name))
            for change in _changes(name, state.get(name), now.get(name))
        ]

    def write(self, state: State) -> list[SettingChange]:
        """Put the settings that affect arms into this state, and return those that cannot be put back."""
        if not any(change.affects_arms for change in self.changes_since(state)):
            return []
        for name in set(VARIABLES) - _SET_BY_LIBRARIES:
            _set_variable(name, state.get(_VARIABLE + name))
        for table in self._tables:
            for name, switch in table.items():
                if name in state and not _same(switch.read(), state[name]):
                    with suppress(Exception):  # it can be set once only, or by the administrator
                        switch.write(state[name])
        for name, of in self._owners.items():
            for change in _changes(name, state[name], _Names(of)):
                with suppress(Exception):  # a type that cannot be changed
                    _set_function(of, change.setting.rpartition(".")[2], change.before)
        return [change for change in self.changes_since(state) if change.affects_arms]

    def changed(self, state: State, changes: Iterable[SettingChange]) -> State:
        """Return this state after these changes."""
        state = dict(state)
        for change in changes:
            owner, _, name = change.setting.rpartition(".")
            if owner in self._owners and change.setting not in state:
                state[owner] = state[owner].replaced(name, change.after)
            else:
                state[change.setting] = change.after
        return state


@contextmanager
def first_calls_taken_back(builders: Iterable[Callable[[], Arm]], framework: str | None) -> Iterator[None]:
    """Take back what the first calls of arms, made within, change for other arms.

    Each arm is then called once more by itself. What none of these calls changes again was a first use of a library,
    or is what a program sets once, and holds from now on. Without the name of a ``framework``, the settings of
    frameworks that have been imported count.
    """
    names = [framework] if framework else [name for name in IN_USE_ONCE_IMPORTED if sys.modules.get(name)]
    settings = ProcessSettings(*map(load, names))
    before = settings.read()
    yield
    changes = [change for change in settings.changes_since(before) if change.affects_arms]
    again: set[str] = set()
    for build in builders if changes else ():
        settings.write(before)
        with suppress(Exception):  # which is reported where the arm is measured
            build().step()
        again |= {change.setting for change in settings.changes_since(before)}
    settings.write(settings.changed(before, (change for change in changes if change.setting not in again)))


Left = dict[str, SettingChange]  # what an arm leaves changed, by the names of the settings


class SharedStateCheck:
    """Keeps what an arm sets in the process from the other arms of its trial, and from the next trial.

    An arm is to blame if it leaves something changed that affects other arms, unless they leave the same: it fails, and
    the others are measured without the change. What two arms set anew in every step, neither of them finds changed.
    """

    def __init__(self, framework: Framework, building: Building) -> None:
        self.framework = framework
        self.building = building
        self.settings = ProcessSettings(framework)
        self.found = self.settings.read()
        self.start = self.found
        self.first: ArmRun | None = None  # the arm that others are compared with: the baseline, unless that failed
        self.common: Left = {}  # what the first arm leaves, and so every other one that is measured
        self.set_in_steps: set[str] = set()
        self.noted: list[SettingChange] = []

    def separate(self, arm_runs: Sequence[ArmRun]) -> Iterator[ArmRun]:
        """Yield the arms to be prepared, each in the process as the first one finds it; fail those that are to blame.

        What all arms leave changed holds again after the last one.
        """
        self.start = self.settings.read()
        is_changed = False
        for arm_run in arm_runs:
            yield arm_run
            left = self._changes_since(self.start)
            is_changed = is_changed or bool(left)
            if not arm_run.ok:
                self.noted += left.values()
            elif self.first is None:
                self.first, self.common = arm_run, left
            elif self.first.ok:
                self._compare(self.first, arm_run, left)
            if is_changed:
                self._write(self.start)
        if is_changed:
            self._write(self._expected_state())

    def judge_timing(self, arm_runs: Sequence[ArmRun]) -> None:
        """Fail the arms that changed something while they were timed, and flag those that were timed with them."""
        expected = self._expected_state()
        changed = [each for name, each in self._changes_since(expected).items() if name not in self.set_in_steps]
        if not changed:
            return
        names = {each.setting for each in changed}
        for arm_run in [each for each in arm_runs if each.arm is not None]:
            self._write(expected)
            with arm_run.failing(self.framework), arm_run.built.enter():
                arm_run.built.step()
                self.framework.synchronize()
            if again := [each for name, each in self._changes_since(expected).items() if name in names]:
                self._blame(arm_run, again)
        self._write(expected)
        self.noted += changed
        for arm_run in arm_runs:
            if arm_run.ok:
                arm_run.flags.append(reason("changed-while-timed", **describe(changed)))

    def conclude(self, measured: TrialResult) -> TrialResult:
        """Return the result of the trial, which asks for another process if this one is not as the trial found it.

        A remark says so if what changed affects arms. Other variables and handlers are left alone: libraries set many.
        """
        changed = {each.setting: each for each in (*self.noted, *self.settings.changes_since(self.found))}
        affecting = [each for each in changed.values() if each.affects_arms]
        remarks = [reason("process-changed", **describe(affecting))] if affecting else []
        return replace(measured, remarks=[*measured.remarks, *remarks], changes_process=bool(changed))

    def _expected_state(self) -> State:
        """Return the state in which the arms are timed."""
        return self.settings.changed(self.start, self.common.values())

    def _changes_since(self, state: State) -> Left:
        """Return the changes since this state that affect arms."""
        return {each.setting: each for each in self.settings.changes_since(state) if each.affects_arms}

    def _write(self, state: State) -> None:
        """Put the settings into this state; those that cannot be put back hold for all arms from now on."""
        self.start = self.settings.changed(self.start, self.settings.write(state))

    def _compare(self, first: ArmRun, arm_run: ArmRun, left: Left) -> None:
        """Fail the arm, or the first one, if the two do not leave the same."""
        both = (arm_run, left), (first, self.common)
        unlike = _unlike(left, self.common)
        for each, its in both:
            for use in self._find_first_uses(each, its, unlike):
                _take_out(use, left, self.common)
        unlike = _unlike(left, self.common)
        if not (unlike and first.ok and arm_run.ok):
            return
        of_first, of_arm = self._expected_state(), self.settings.changed(self.start, left.values())
        kept = self._settings_of_steps(first, of_first, of_arm) & self._settings_of_steps(arm_run, of_arm, of_first)
        self.set_in_steps |= unlike & kept
        for each, its in both:
            changes = [change for name, change in its.items() if name in unlike - kept]
            if changes and first.ok and arm_run.ok:
                self._blame(each, changes)

    def _find_first_uses(self, arm_run: ArmRun, its: Left, names: Collection[str]) -> list[SettingChange]:
        """Build the arm once more from the start; return what it does not change again, which holds from now on."""
        changes = [change for name, change in its.items() if name in names]
        if not changes or not arm_run.ok:
            return []
        self._write(self.start)
        with arm_run.failing(self.framework), self.building.spending.charge("checks"):
            arm_run.close()
            self.building.build(arm_run)
            self._run(arm_run)
        again = self._changes_since(self.start)
        uses = [change for change in changes if arm_run.ok and change.setting not in again]
        self.start = self.settings.changed(self.start, uses)
        return uses

    def _settings_of_steps(self, arm_run: ArmRun, own: State, other: State) -> set[str]:
        """Return what the arm's steps put back into its own state after it was put into another arm's."""
        self._write(other)
        unlike = self._changes_since(own).keys()
        with arm_run.failing(self.framework), self.building.spending.charge("checks"):
            self._run(arm_run)
        return unlike - self._changes_since(own).keys()

    def _run(self, arm_run: ArmRun) -> None:
        with arm_run.built.enter():
            check.run(arm_run.built, self.framework)

    def _blame(self, arm_run: ArmRun, changes: list[SettingChange]) -> None:
        self.noted += changes
        if arm_run.ok:
            arm_run.fail("wrong-work", reason("left-changed", **describe(changes)))


def _unlike(left: Left, other: Left) -> set[str]:
    """Return the names of what two arms leave with other values."""
    both = left.keys() & other.keys()
    return (left.keys() | other.keys()) - {name for name in both if _same(left[name].after, other[name].after)}


def _take_out(use: SettingChange, *held: Left) -> None:
    for left in held:
        if use.setting in left and _same(left[use.setting].after, use.after):
            del left[use.setting]


def _same(before: Any, after: Any) -> bool:
    if before is after:
        return True
    if isinstance(before, _Names) and isinstance(after, _Names):
        return _same(before.values, after.values)
    try:
        return bool(before == after)
    except Exception:  # of any library's objects
        return False


def _texts(before: Any, after: Any) -> tuple[str, str]:
    """Return both values as text; of several values in one, those that differ."""
    if is_dataclass(before) and is_dataclass(after):
        before, after = vars(before), vars(after)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [name for name in {**before, **after} if not _same(before.get(name), after.get(name))]
        pairs = [(_name(name), *_texts(before.get(name), after.get(name))) for name in names]
        before, after = (", ".join(f"{name} {pair[place]}" for name, *pair in pairs) for place in (0, 1))
    old, new = _text(before), _text(after)
    return old, f"another {new}" if new == old else new


def _name(key: Any) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _text(value: Any) -> str:
    if value is None:
        return "unset"
    if name := getattr(value, "__qualname__", ""):
        return ".".join(filter(None, (getattr(value, "__module__", ""), name)))[:_LONGEST]
    return str(value)[:_LONGEST] or "nothing"


def _set_variable(name: str, value: str | None) -> None:
    if value is not None:
        os.environ[name] = value
    else:
        os.environ.pop(name, None)


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # it was deleted
        return ""


def _errors() -> list[Any]:
    """Return the filters that turn warnings into errors."""
    return [each for each in warnings.filters if each[0] == "error"]


def _set_errors(wanted: list[Any]) -> None:
    others = [each for each in warnings.filters if each[0] != "error"]
    with warnings.catch_warnings():
        pass  # its end makes Python forget which warnings it has shown and which filters applied
    warnings.filters[:] = [*wanted, *others]  # type: ignore[index]  # a list behind a type that cannot be changed


def _start_method() -> str:
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


_INTERPRETER = {
    "the working directory": Switch(read=_working_directory, write=os.chdir),
    "gc.isenabled()": Switch(read=gc.isenabled, write=lambda wanted: gc.enable() if wanted else gc.disable()),
    "gc.get_threshold()": Switch(read=gc.get_threshold, write=lambda wanted: gc.set_threshold(*wanted)),
    "sys.gettrace()": Switch(read=sys.gettrace, write=sys.settrace),
    "sys.getprofile()": Switch(read=sys.getprofile, write=sys.setprofile),
    "sys.getswitchinterval()": Switch(read=sys.getswitchinterval, write=sys.setswitchinterval),
    "tracemalloc.is_tracing()": Switch(
        read=tracemalloc.is_tracing, write=lambda wanted: tracemalloc.start() if wanted else tracemalloc.stop()
    ),
    "multiprocessing.get_start_method()": Switch(
        read=_start_method, write=lambda wanted: multiprocessing.set_start_method(wanted, force=True)
    ),
    "the warnings that are errors": Switch(read=_errors, write=_set_errors),
    "numpy.geterr()": Switch(read=np.geterr, write=lambda wanted: np.seterr(**wanted)),
}
if hasattr(os, "sched_getaffinity"):
    _INTERPRETER["os.sched_getaffinity(0)"] = Switch(
        read=lambda: os.sched_getaffinity(0), write=lambda wanted: os.sched_setaffinity(0, wanted)
    )
if hasattr(os, "getpriority"):
    _INTERPRETER["os.getpriority()"] = Switch(
        read=lambda: os.getpriority(os.PRIO_PROCESS, 0),
        write=lambda wanted: os.setpriority(os.PRIO_PROCESS, 0, wanted),
    )


def _read_handlers() -> State:
    known = [name for name in _SIGNALS if hasattr(signal, name)]
    return {_HANDLER + name: signal.getsignal(getattr(signal, name)) for name in known}


def _pools() -> dict[str, Switch]:
    """Return the sizes of the thread pools that were started so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that two OpenMP libraries are loaded
        pools = threadpoolctl.ThreadpoolController().lib_controllers
    switches = {
        f"the threads of {Path(pool.filepath).name}": Switch(read=pool.get_num_threads, write=pool.set_num_threads)
        for pool in pools
    }
    if (numexpr := sys.modules.get("numexpr")) is not None and hasattr(numexpr, "get_num_threads"):
        switches["numexpr.get_num_threads()"] = Switch(read=numexpr.get_num_threads, write=numexpr.set_num_threads)
    if getattr(sys.modules.get("numba.np.ufunc.parallel"), "_is_initialized", False):  # else asking starts them
        numba = sys.modules["numba"]
        switches["numba.get_num_threads()"] = Switch(read=numba.get_num_threads, write=numba.set_num_threads)
    return switches


class _Names:
    """What the names of a module stand for, or those of a class, inherited or not."""

    def __init__(self, owner: Any) -> None:
        is_module = isinstance(owner, ModuleType)
        bases = (owner,) if is_module else reversed(owner.__mro__)
        self.values: dict[str, Any] = {name: value for base in bases for name, value in vars(base).items()}
        self.package: str = (owner.__name__ if is_module else owner.__module__).partition(".")[0]

    def replaced(self, name: str, value: Any) -> _Names:
        """Return the same with another value of one name."""
        changed = copy(self)
        changed.values = self.values | {name: value}
        return changed


def _changes(name: str, before: Any, after: Any) -> Iterator[SettingChange]:
    """Yield the change of a setting, or those of the functions in a namespace of this name."""
    if not isinstance(before, _Names):
        yield SettingChange(setting=name, before=before, after=after)
        return
    for part, value in before.values.items():
        now = after.values.get(part, value)
        if now is not value and callable(value) and not isinstance(value, type) and not _is_own(now, before):
            yield SettingChange(setting=f"{name}.{part}", before=value, after=now)


def _is_own(function: Any, names: _Names) -> bool:
    """Return whether a library has replaced its own function, as PyTorch does when it compiles for the first time."""
    module: str = getattr(function, "__globals__", {}).get("__name__", "")
    return module.partition(".")[0] == names.package


def _set_function(owner: Any, name: str, value: Any) -> None:
    """Put a function back, by removing what hides it if the class inherits it."""
    bases = () if isinstance(owner, ModuleType) else owner.__mro__[1:]
    if any(vars(base).get(name) is value for base in bases):
        delattr(owner, name)
    else:
        setattr(owner, name, value)
