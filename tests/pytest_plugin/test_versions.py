"""Callables of one's own are compared by one line in a test module."""

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
from project import Project

from accelbench import versions
from accelbench.errors import BadInput
from accelbench.measuring.workers.process import is_user_code

SQUARES = """
import time

import accelbench

values = list(range(1000))


def slow():
    time.sleep(0.002)
    return [value * value for value in values]


test_square = accelbench.versions("square", {"power": slow, "product": lambda: [v * v for v in values]}, unit="list")
"""


def arms(project: Project) -> list[dict[str, Any]]:
    project.run("--benchmark-json=out.json", "test_square.py")
    document = json.loads((project.path / "out.json").read_text())
    (trial,) = document["accelbench"]["trials"]
    assert (trial["workload"], trial["techniques"], trial["unit"]) == ("square", ["square"], "list")
    found: list[dict[str, Any]] = trial["arms"]
    return found


@pytest.mark.slow
def test_callables_become_a_trial_whose_first_is_the_baseline(project: Project) -> None:
    project.write("test_square.py", SQUARES)
    power, product = arms(project)
    assert (power["levels"], product["levels"]) == ({"square": "power"}, {"square": "product"})
    assert (power["effects"], [effect["against"] for effect in product["effects"]]) == ([], [{"square": "power"}])


def test_a_class_may_hold_them_like_any_other_test(project: Project) -> None:
    held = SQUARES.replace("test_square =", "class TestSquares:\n    test_square =")
    held += "\n\nclass TestSquaresAgain(TestSquares): pass\n"
    project.write("test_square.py", held)
    result = project.run("-v", "--benchmark-disable", "test_square.py")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["test_square.py::TestSquares::test_square[[]square-power[]] PASSED*"])


@pytest.mark.slow
def test_a_callable_with_another_answer_has_no_speed(project: Project) -> None:
    project.write("test_square.py", SQUARES.replace("v * v for", "v * v + 1 for"))
    assert arms(project)[1]["outcome"] == "wrong-output"


PREPARED = """
import pathlib

import accelbench


def power():
    with pathlib.Path("prepared").open("a") as prepared:
        prepared.write("power ")
    values = list(range(1000))
    return lambda: [value**2 for value in values]


def product():
    values = list(range(1000))
    return lambda: [value * value for value in values]


test_square = accelbench.versions("square", {"power": power, "product": product}, unit="list", rebuild=True)
"""


@pytest.mark.slow
def test_functions_that_prepare_their_data_are_called_for_every_build(project: Project) -> None:
    project.write("test_square.py", PREPARED)
    assert [arm["outcome"] for arm in arms(project)] == ["measured", "measured"]
    assert len((project.path / "prepared").read_text().split()) > 1


def test_a_function_that_prepares_nothing_to_time_is_an_error_with_a_way_out(project: Project) -> None:
    project.write("test_square.py", PREPARED.replace("return lambda: [value * value", "return [value * value"))
    product = arms(project)[1]
    assert product["outcome"] == "failed"
    assert "with rebuild, expected a function without arguments" in product["reason"]["values"]["message"]


def test_bound_methods_partials_and_functions_of_other_modules_travel_to_the_worker(project: Project) -> None:
    project.write("sums.py", "def by_loop(values):\n    return float(sum(values.tolist()))\n")
    project.write(
        "test_square.py",
        """
from functools import partial

import numpy as np
import sums

import accelbench

values = np.arange(1000.0)
versions = {"loop": partial(sums.by_loop, values), "method": values.sum}
test_square = accelbench.versions("square", versions, unit="list")
""",
    )
    assert [arm["outcome"] for arm in arms(project)] == ["measured", "measured"]


def test_functions_of_python_itself_travel_to_the_worker(project: Project) -> None:
    project.write(
        "test_square.py",
        """
import math
from functools import partial

import accelbench

test_square = accelbench.versions("square", {"pow": partial(pow, 6.0, 2), "math": partial(math.pow, 6, 2)}, unit="list")
""",
    )
    assert [arm["outcome"] for arm in arms(project)] == ["measured", "measured"]


def test_methods_of_arrays_which_belong_to_no_module_travel_by_value() -> None:
    values = np.arange(3.0)
    test: Any = versions("total", {"sum": values.sum, "dot": partial(values.dot, np.ones(3))})
    assert is_user_code(test.compared.builder)


def test_another_framework_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadInput, match="unknown framework 'jax'; expected one of: numpy, torch, tensorflow, cupy"):
        versions("square", {"a": int, "b": float}, framework="jax")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tolerance": -1}, "versions of square: tolerance must be a number from 0, and finite, got -1"),
        ({"tolerance": "1e-4"}, "versions of square: tolerance must be a number from 0, and finite, got '1e-4'"),
        ({"items": 0}, "versions of square: items must be above 0 and finite, got 0"),
        ({"items": float("nan")}, "versions of square: items must be above 0 and finite, got nan"),
        ({"items": True}, "versions of square: items must be above 0 and finite, got True"),
    ],
)
def test_a_number_out_of_its_range_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        versions("square", {"a": int, "b": float}, **given)


@pytest.mark.parametrize(
    ("name", "callables", "sentence"),
    [
        ("two words", {"a": int, "b": int}, "the name 'two words'; expected a Python name"),
        ("square", [pow, abs], r"got a list; as in versions\('square', {'pow': pow, 'abs': abs}\)"),
        ("square", {"a": int}, "versions of square has 1 callable; expected two or more"),
        ("square", {"a": int, "b": 5}, "versions of square: 'b' is not callable: its type is int; give a function"),
        ("square", {"a": int, "b": pow}, "versions of square: 'b' needs the arguments base and exp; give a function"),
    ],
)
def test_what_cannot_be_compared_is_refused(name: str, callables: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        versions(name, callables)
