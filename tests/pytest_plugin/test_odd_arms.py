"""Arms, builders and techniques that go wrong in odd ways: each costs itself one sentence, and nobody else anything."""

import json
import os
import re
import sys
from typing import Any

import pytest
from project import WALK, Project

from accelbench import versions
from accelbench.errors import BadInput
from accelbench.schema.reasons import Reason

ACTORS = '''
import asyncio
import os
import sys
import threading
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

from accelbench import Arm, technique, toggles, workload

TIMED_CALL = 300  # far beyond the calls of any check


@technique("numpy", levels=("plain", "odd", "other"))
def manner(build, level):
    """How an arm behaves: only the odd one does what the test names."""
    return build(manner=level)


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("an error whose message cannot be read")


@workload("numpy", unit="act")
def play(setting, *, manner="plain", deed):
    """Add numbers, or do something odd."""
    does, calls, numbers = deed if manner == "odd" else "", count(1), np.arange(1000.0)

    def stumble(*_):
        raise RuntimeError("stumbled")

    def step():
        call = next(calls)
        if does == "raises at its first call" or (does == "raises at a later call" and call == 2):
            stumble()
        if call == TIMED_CALL and does == "raises while it is timed":
            stumble()
        if call == TIMED_CALL and does == "raises KeyboardInterrupt":
            raise KeyboardInterrupt
        if call == TIMED_CALL and does == "calls sys.exit":
            sys.exit("done")
        if does == "raises what is no Exception":
            raise asyncio.CancelledError
        if does == "raises what cannot be read":
            raise Unspeakable
        if does == "calls pytest.skip":
            pytest.skip("no such thing here")
        if does == "aborts":
            os.abort()
        return numbers.sum()

    @contextmanager
    def around():
        if does == "raises in entering a context":
            stumble()
        try:
            yield
        except RuntimeError:
            if does != "has a context that swallows errors":
                raise
        if does == "raises in leaving a context":
            stumble()

    if does == "has a context that swallows errors":
        return Arm(step=stumble).inside(around)
    if does == "is built by a coroutine":
        return asyncio.sleep(0)
    made = {
        "is not returned": None,
        "is an array": numbers,
        "is a class": Arm,
    }
    if does in made:
        return made[does]
    if does == "has no step to call":
        return Arm(step=numbers.sum())
    if does == "has a context instead of a function that makes it":
        return Arm(step=step, contexts=(around(),))
    parts = {part: stumble for part in ("reset", "verify", "observe", "close") if does == f"raises in {part}"}
    return Arm(step=step, **parts).inside(around)


@pytest.mark.parametrize("deed", DEEDS)
@toggles("numpy", "manner")
def test_play(measure, deed):
    measure("play", deed=deed)
'''
STUMBLED = "RuntimeError: stumbled"
ENDS = "the arm raised {}, which ends a program, instead of returning or raising an error"
NO_ARM = "the builder of play returned {}, and an Arm was expected: it must end with return Arm(step=...)"
FAILED = {
    "raises at its first call": STUMBLED,
    "raises at a later call": STUMBLED,
    "raises while it is timed": STUMBLED,
    "raises in reset": STUMBLED,
    "raises in verify": STUMBLED,
    "raises in observe": STUMBLED,
    "raises in close": f"disposing of the arm failed: {STUMBLED}",
    "raises in entering a context": STUMBLED,
    "raises in leaving a context": STUMBLED,
    "has a context that swallows errors": STUMBLED,
    "raises KeyboardInterrupt": ENDS.format("KeyboardInterrupt"),
    "calls sys.exit": ENDS.format("SystemExit") + ": done",
    "raises what is no Exception": "CancelledError",
    "raises what cannot be read": "Unspeakable",
    "is not returned": NO_ARM.format("None"),
    "is an array": NO_ARM.format("an object of type ndarray"),
    "is a class": NO_ARM.format("the class Arm"),
    "is built by a coroutine": NO_ARM.format("an object of type coroutine"),
    "has no step to call": "Arm(step=...) was given an object of type float64; expected a function",
    "has a context instead of a function that makes it": (
        "Arm(contexts=...) was given an object of type _GeneratorContextManager; expected a tuple of functions that "
        "return context managers"
    ),
}  # fmt: skip


def trials(project: Project) -> list[dict[str, Any]]:
    document = json.loads((project.path / "out.json").read_text())
    found: list[dict[str, Any]] = document["accelbench"]["trials"]
    return found


def end(arm: dict[str, Any]) -> str:
    """Return an arm's outcome, or the reason for it in words, without its place."""
    why = str(Reason(**arm["reason"])) if arm.get("reason") else arm["outcome"]
    return re.sub(r" \(test_pace\.py, line \d+\)$", "", why)


def ends(project: Project) -> dict[str, list[str]]:
    """Return the end of each arm of each trial, by the deed of the odd arm."""
    return {trial["problem"]["deed"]: [end(arm) for arm in trial["arms"]] for trial in trials(project)}


def run(project: Project, *deeds: str) -> pytest.RunResult:
    project.write("test_pace.py", ACTORS.replace("DEEDS", repr(list(deeds))))
    return project.run("--accel-budget=0.02", "--benchmark-json=out.json")


@pytest.mark.slow
def test_an_arm_that_goes_wrong_costs_itself_alone_one_sentence_and_the_other_arms_are_measured(
    project: Project,
) -> None:
    result = run(project, *FAILED)
    assert ends(project) == {deed: ["measured", sentence, "measured"] for deed, sentence in FAILED.items()}
    result.assert_outcomes(passed=2 * len(FAILED), failed=len(FAILED))
    result.stdout.fnmatch_lines([f"failed: {STUMBLED} (test_pace.py, line *)"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.slow
def test_an_arm_that_skips_is_skipped(project: Project) -> None:
    run(project, "calls pytest.skip").assert_outcomes(passed=2, skipped=1)
    assert ends(project) == {"calls pytest.skip": ["measured", "no such thing here", "measured"]}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGABRT")
def test_an_arm_that_aborts_costs_its_trial_and_the_next_one_is_measured(project: Project) -> None:
    run(project, "aborts", "raises in reset").assert_outcomes(passed=2, failed=4)
    aborted, next_one = ends(project).values()
    assert all(re.match("SIGABRT killed the worker during 'manner odd: ", sentence) for sentence in aborted)
    assert next_one == ["measured", STUMBLED, "measured"]


FORGETFUL = """
@technique("numpy", levels=("off", "on"))
def haste(build, level):
    if level == "on":
        build()
    else:
        return build()


@toggles("numpy", "haste")
def test_haste(measure):
    measure("walk")
"""


def test_a_technique_without_return_is_named_with_its_level(project: Project) -> None:
    project.benchmark("slow", "quick", tests=FORGETFUL)
    result = project.run("--accel-budget=0.02")
    result.assert_outcomes(passed=1, failed=1)
    sentence = "technique haste at level on returned None, and an Arm was expected: it must end with return build(...)"
    result.stdout.fnmatch_lines([f"failed: {sentence}"])


LEVELS = """
import enum


class Pace(enum.Enum):
    FAST = 1
    SLOW = 2


class Stride(str, enum.Enum):
    SHORT = "short"
    LONG = "long"


def raising(host):
    raise OSError("no list of levels")

"""
STRETCH = """
@technique("numpy", levels={levels})
def stretch_{number}(build, level):
    return build(stride=level)


@toggles("numpy", "stretch_{number}")
def test_stretch_{number}(measure, stretch_{number}):
    measure("walk")

"""
ARE_TEXTS = "levels are a tuple of texts, such as ('off', 'on')"
REFUSED_LEVELS = {
    "(1, 2)": f"contain 1 of type int; {ARE_TEXTS}",
    "('short', None)": f"contain None of type NoneType; {ARE_TEXTS}",
    "(Pace.FAST, Pace.SLOW)": f"contain <Pace.FAST: 1> of type Pace; {ARE_TEXTS}",
    "'short'": f"are the text 'short'; {ARE_TEXTS}",
    "None": f"cannot be listed (TypeError: 'NoneType' object is not iterable); {ARE_TEXTS}",
    "raising": f"cannot be listed (OSError: no list of levels); {ARE_TEXTS}",
}


def write_stretches(project: Project, *levels: str) -> None:
    stretches = [STRETCH.format(levels=each, number=number) for number, each in enumerate(levels)]
    project.benchmark("slow", "quick", tests="".join([LEVELS, *stretches, WALK]))


def test_levels_that_cannot_be_offered_cost_their_tests_alone_one_sentence_each(project: Project) -> None:
    write_stretches(project, *REFUSED_LEVELS)
    result = project.run("--accel-budget=0.02", "--benchmark-json=out.json")
    result.assert_outcomes(passed=2, failed=len(REFUSED_LEVELS))
    lines = [line for line in result.outlines if line.startswith("the levels of technique stretch_")]
    assert [line.partition(") ")[2] for line in lines] == list(REFUSED_LEVELS.values())
    assert [arm["outcome"] for arm in trials(project)[0]["arms"]] == ["measured", "measured"]
    assert result.ret == 2


@pytest.mark.slow
def test_members_of_an_enumeration_of_texts_are_levels(project: Project) -> None:
    write_stretches(project, "tuple(Stride)")
    project.run("--accel-budget=0.02", "--benchmark-json=out.json").assert_outcomes(passed=4)
    assert [arm["levels"] for arm in trials(project)[0]["arms"]] == [{"stretch_0": "short"}, {"stretch_0": "long"}]


UNSENDABLE = """
import threading

LOCK = threading.Lock()
LOG = open(os.devnull, "w")
LOG.close()
SPEEDS = {"usual": (speed for speed in range(3))}


class Guard:
    def __init__(self):
        self.gate = threading.Condition()


GUARD = Guard()


def lock_up():
    with LOCK:
        return 1.0


@workload("numpy", unit="step")
def wait(setting, *, pace="slow"):
    return Arm(step=lambda: LOCK.locked())


@workload("numpy", unit="step")
def wait_elsewhere(setting, *, pace="slow"):
    return Arm(step=lock_up)


@workload("numpy", unit="step")
def write(setting, *, pace="slow"):
    return Arm(step=lambda: LOG.write("walked"))


@workload("numpy", unit="step")
def speed_up(setting, *, pace="slow"):
    return Arm(step=lambda: next(SPEEDS["usual"]))


@workload("numpy", unit="step")
def stand_guard(setting, *, pace="slow"):
    return Arm(step=lambda: GUARD.gate.acquire())


@workload("numpy", unit="step")
def default(setting, *, pace="slow", by=LOCK):
    return Arm(step=by.locked)


def make(held):
    @workload("numpy", unit="step")
    def enclosed(setting, *, pace="slow"):
        return Arm(step=held.locked)


make(LOCK)


@pytest.mark.parametrize("name", NAMES)
@toggles("numpy", "pace")
def test_act(measure, name):
    measure(name)
"""
CULPRITS = {
    "wait": "wait uses LOCK of type lock",
    "wait-elsewhere": "lock_up uses LOCK of type lock",
    "write": "write uses LOG of type TextIOWrapper",
    "speed-up": "speed_up uses SPEEDS['usual'] of type generator",
    "stand-guard": "stand_guard uses GUARD.gate._lock of type RLock",
    "default": "default uses by of type lock",
    "enclosed": "make.enclosed uses held of type lock",
}


@pytest.mark.slow
def test_a_value_that_cannot_be_sent_to_a_worker_is_named_with_its_type_and_the_function_that_uses_it(
    project: Project,
) -> None:
    tests = UNSENDABLE.replace("NAMES", repr([*CULPRITS, "walk"]))
    project.benchmark("slow", "quick", tests=tests)
    project.run("--accel-budget=0.02", "--benchmark-json=out.json").assert_outcomes(passed=2, failed=2 * len(CULPRITS))
    remedy = "which cannot be sent to a worker process; make it inside the function that builds the arm"
    found = {trial["workload"]: [end(arm) for arm in trial["arms"]] for trial in trials(project)}
    expected = {name: [f"{culprit}, {remedy}"] * 2 for name, culprit in CULPRITS.items()}
    assert found == expected | {"walk": ["measured", "measured"]}


SENT_FROM_LAMBDAS = """
import math

half = lambda value: value / 2
halves = [lambda: half(math.pi)]


@workload("numpy", unit="step")
def act(setting, *, pace="slow"):
    return Arm(step=lambda: halves[0]())


@toggles("numpy", "pace")
def test_act(measure):
    measure("act")
"""


@pytest.mark.slow
def test_lambdas_among_the_globals_are_sent(project: Project) -> None:
    project.benchmark("slow", "quick", tests=SENT_FROM_LAMBDAS)
    project.run("--accel-budget=0.02").assert_outcomes(passed=2)


LEAVES_AT_IMPORT = """
import needy


@workload("numpy", unit="step")
def act(setting, *, pace="slow"):
    return Arm(step=needy.one)


@toggles("numpy", "pace")
def test_act(measure):
    measure("act")


@toggles("numpy", "pace")
def test_walk(measure):
    measure("walk")
"""


@pytest.mark.slow
def test_a_module_that_ends_the_worker_as_it_is_imported_costs_its_trial(project: Project) -> None:
    needy = f"import os, sys\nif os.getpid() != {os.getpid()}:\n    sys.exit()\n"
    project.write("needy.py", needy + "def one():\n    return 1.0\n")
    project.benchmark("slow", "quick", tests=LEAVES_AT_IMPORT)
    result = project.run("--accel-budget=0.02", "--accel-timeout=30")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["crashed: the worker ended with exit status 1 *: cannot take the order: SystemExit()"])


DECLARES_NONSENSE = """
@technique("numpy", levels=("1", "none"), parallelism=int)
def feet(build, level):
    return build()


@toggles("numpy", "feet")
def test_feet(measure):
    measure("walk")


@toggles("numpy", "pace")
def test_walk(measure):
    measure("walk")
"""


@pytest.mark.slow
def test_a_function_of_a_technique_that_raises_costs_its_trial(project: Project) -> None:
    project.benchmark("slow", "quick", tests=DECLARES_NONSENSE)
    result = project.run("--accel-budget=0.02")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["failed: ValueError: invalid literal for int() with base 10: 'none'"])


def test_versions_are_named_by_texts() -> None:
    with pytest.raises(BadInput, match="versions of square: the name 1 is no text; name each callable by a text"):
        versions("square", {1: int, 2: float})  # type: ignore[dict-item]
