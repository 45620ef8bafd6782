"""The study that measures effects again in a way of its own."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import runs

from accelbench.core import Arm, Host, declared_for, load_builtins
from accelbench.errors import BadInput
from accelbench.results import find_results
from accelbench.text import hyphenate
from studies.remeasure import __main__ as remeasure
from studies.remeasure.__main__ import EFFECTS, Remeasured, find_effects, measure, table
from studies.remeasure.time_arms import BLOCK_S, LEAST_ROUNDS, Order, time_in_turn

CHECKOUT = Path(__file__).parents[2]


class Machine:
    """A clock that only steps advance, and what ran on it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.steps: list[str] = []

    def clock(self) -> float:
        return self.now_s

    def arm(self, name: str, step_s: float, *, items: float = 1, after_another_s: float = 0.0) -> Arm:
        """Return an arm; a step after one of another arm takes longer."""

        def step() -> None:
            self.now_s += step_s + (after_another_s if self.steps and self.steps[-1] != name else 0.0)
            self.steps.append(name)

        return Arm(step=step, items=items)

    def time(self, *arms: Arm, budget_s: float = 0.1) -> list[float]:
        return time_in_turn(arms, budget_s=budget_s, coin=Random(1), clock=self.clock)


def test_times_are_medians_per_item():
    machine = Machine()
    found = machine.time(machine.arm("one", 1e-4), machine.arm("batch", 3e-4, items=6))
    assert found == pytest.approx([1e-4, 5e-5])


def test_a_block_lasts_as_long_as_it_must_and_the_blocks_change_places_by_chance():
    machine = Machine()
    machine.time(machine.arm("a", 1e-3), machine.arm("b", 1e-3))
    ran = re.findall("a+|b+", "".join(machine.steps))[2:]  # after the warm-up and the choice of the length
    assert all((len(block) - 1) * 1e-3 >= BLOCK_S for block in ran)
    assert {len(block) for block in ran} > {len(ran[0])}  # an arm whose turn comes last and then first runs twice


def test_the_step_after_a_change_of_arms_is_not_timed_unless_a_block_is_one_step():
    machine = Machine()
    short, long = machine.arm("a", 1e-4, after_another_s=1e-3), machine.arm("b", 1e-2, after_another_s=1e-3)
    found = machine.time(short, long)
    assert found[0] == pytest.approx(1e-4)
    assert found[1] > 1e-2


def test_long_steps_are_timed_a_few_times_whatever_the_budget():
    machine = Machine()
    machine.time(machine.arm("a", 1.0), machine.arm("b", 1.0), budget_s=0.1)
    assert machine.steps.count("a") == machine.steps.count("b") == 3 + 1 + LEAST_ROUNDS


def test_the_state_that_a_technique_sets_holds_in_all_steps_of_its_arm_and_in_no_other():
    machine, state = Machine(), SimpleNamespace(on=False)

    @contextmanager
    def switched_on() -> Iterator[None]:
        state.on = True
        yield
        state.on = False

    def step(expected: bool) -> None:
        assert state.on is expected
        machine.now_s += 1e-3

    machine.time(Arm(step=lambda: step(False)), Arm(step=lambda: step(True)).inside(switched_on))


def _remeasured(
    *ratios: float, suite: tuple[float, float, float | None] = (1.0, 0.9, 1.1), **fields: Any
) -> Remeasured:
    arms = (runs.arm({"amp": "fp32"}, 1.0), runs.arm({"amp": "bf16"}, 1.0))
    return Remeasured(
        trial=runs.trial(*arms),
        levels={"amp": "bf16"},
        suite=runs.effect(*suite, "undecided"),
        log_ratios=[math.log(ratio) for ratio in ratios],
        **fields,
    )


def test_the_interval_is_students_over_the_processes():
    estimate = _remeasured(math.exp(0.1), math.exp(0.2), math.exp(0.3)).estimate()
    assert estimate is not None
    half = 4.302653 * 0.1 / math.sqrt(3)  # the table of t at 2 degrees of freedom, 95 %
    assert list(map(math.log, estimate)) == pytest.approx([0.2, 0.2 - half, 0.2 + half])
    assert _remeasured(2.0).estimate() is None


def test_intervals_agree_that_share_a_value():
    near, far = (2.0, 2.01, 2.02), (3.0, 3.01, 3.02)
    assert _remeasured(*near, suite=(1.9, 1.8, 2.0)).agrees() is True
    assert _remeasured(*far, suite=(1.9, 1.8, 2.0)).agrees() is False
    assert _remeasured(*far, suite=(1.9, 1.8, None)).agrees() is True
    assert _remeasured(3.0).agrees() is None


def test_a_remark_says_what_the_figures_hide():
    suite = (2.0, 1.9, 2.1)
    assert _remeasured(2.0, 2.01, 2.02, suite=suite, alone_s={0: 2.0, 1: 1.0}).remark() == ""
    assert _remeasured(1.7, 2.0, 2.3, suite=suite).remark() == "the processes range over 1.70–2.30"
    inside = _remeasured(3.0, 3.01, 3.02, suite=suite, alone_s={0: 2.0, 1: 1.0})
    assert inside.remark() == "alone it lies within the suite's interval"
    outside = _remeasured(2.0, 2.01, 2.02, suite=suite, alone_s={0: 3.0, 1: 1.0})
    assert outside.remark() == "alone it lies outside the suite's interval"


def test_the_table_counts_what_agrees_and_shows_what_could_not_be_measured():
    yes = _remeasured(1.0, 1.01, 1.02, alone_s={0: 1.0, 1: 1.0})
    no = _remeasured(3.0, 3.01, 3.02)
    broken = _remeasured(failure="ValueError: a | b")
    _, _, first, second, third, fourth, _, last = table([yes, no, broken], ["test_gone, amp bf16"])
    assert first.startswith("| `test_amp[net], amp bf16` | 1.00× (0.900–1.10) | 1.01× (0.985–1.04) | 1.00× | yes |")
    assert second.endswith("| **no** |  |")
    assert third.endswith(r"| – | – | – | ValueError: a \| b |")
    assert fourth == "| `test_gone, amp bf16` | – | – | – | – | not measured in this run |"
    assert last == "1 of 2 agree; the median half-width of the intervals measured here is 1.7 %."
    assert [*table([broken], [])][-1] == "0 of 0 agree."


def _result(folder: Path, *trials: Any, machine: str = "example-2c-8g", **settings: Any) -> Any:
    settings = {"size": "small", "seed": 0, "cores": 2} | settings
    runs.save(runs.run(*trials, machine=machine, settings=settings), folder / "0001_quick.json")
    (result,) = find_results(folder).results
    return result


def test_effects_are_found_by_test_and_level(tmp_path):
    held = {"amp": "fp32", "compile": "off"}
    trial = runs.trial(
        runs.arm(held, 1.0),
        runs.arm(held | {"amp": "bf16"}, 1.0, effect=runs.effect(1.5, 1.4, 1.6, "faster")),
        runs.arm(held | {"amp": "fp16"}),
    )
    wanted = [("test_amp[net]", "amp bf16"), ("test_amp[net]", "amp fp16")]
    (found,), missing = find_effects(_result(tmp_path, trial), wanted)
    assert (found.name, found.suite.speedup, found.arms) == ("test_amp[net], amp bf16", 1.5, [held, found.levels])
    assert missing == ["test_amp[net], amp fp16"]


@pytest.mark.parametrize(
    ("setting", "value", "kind"), [("cache", "cold", "cold caches"), ("own_images", "photos", "a user's own images")]
)
def test_a_run_of_other_things_is_refused(setting, value, kind, tmp_path):
    trial = runs.trial(runs.arm({"amp": "fp32"}, 1.0))
    with pytest.raises(BadInput, match=f"a run with {kind}; expected one with warm caches"):
        find_effects(_result(tmp_path, trial, **{setting: value}), [])


def _normalisation(level: str) -> Any:
    return runs.trial(
        runs.arm({"vectorise": "loop"}, 1.0),
        runs.arm({"vectorise": level}, 1.0, effect=runs.effect(100, 90, 110, "faster")),
        id=f"benchmarks/test_vectorise.py::test_vectorise[{level}]",
        framework="numpy",
        workload="row-normalisation",
    )


def _effects(result: Any, *levels: str) -> list[Remeasured]:
    return find_effects(result, [(f"test_vectorise[{level}]", f"vectorise {level}") for level in levels])[0]


def test_every_effect_is_measured_once_before_any_is_measured_again(tmp_path, monkeypatch):
    orders = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        order = json.loads(command[-1])
        orders.append(order)
        times = [3.0 if levels["vectorise"] == "loop" else 1.5 for levels in order["arms"]]
        return SimpleNamespace(returncode=0, stdout=f"a library talks\n{json.dumps(times)}\n", stderr="")

    result = _result(tmp_path, _normalisation("array"), _normalisation("matmul"))
    effects = _effects(result, "array", "matmul")
    monkeypatch.setattr(subprocess, "run", run)
    measure(effects, result, processes=3, budget_s=1.0, seed=1)
    for effect in effects:
        assert effect.log_ratios == pytest.approx([math.log(2)] * 3)
        assert effect.alone() == 2
    levels = [sorted(each["vectorise"] for each in order["arms"]) for order in orders]
    both = [["array", "loop"], ["loop", "matmul"]]
    assert [sorted(levels[place : place + 2]) for place in (0, 2, 4)] == [both] * 3
    assert sorted(levels[6:]) == [["array"], ["loop"], ["loop"], ["matmul"]]
    assert len({order["coin"] for order in orders}) == len(orders)


@pytest.mark.slow
def test_arms_of_the_suite_are_timed_in_processes_of_their_own(tmp_path):
    result = _result(tmp_path, _normalisation("array"))
    (effect,) = _effects(result, "array")
    measure([effect], result, processes=2, budget_s=0.01, seed=1)
    assert (len(effect.log_ratios), effect.failure) == (2, "")
    assert all(map(math.isfinite, effect.log_ratios))
    assert min(effect.alone_s.values()) > 0


def test_an_effect_whose_process_breaks_off_says_why_and_is_not_tried_again(tmp_path, monkeypatch):
    result = _result(tmp_path, _normalisation("no-level"))
    (effect,) = _effects(result, "no-level")
    measure([effect], result, processes=1, budget_s=0.01, seed=1)
    assert (effect.log_ratios, effect.alone_s) == ([], {})
    assert "no-level" in effect.failure
    monkeypatch.setattr(subprocess, "run", None)
    measure([effect], result, processes=1, budget_s=0.01, seed=1)


@pytest.mark.slow
def test_nothing_of_the_suites_way_of_measuring_is_imported():
    order = Order(
        framework="numpy", workload="row-normalisation", problem={}, fixed={}, arms=[{"vectorise": "array"}],
        size="small", seed=0, cores=1, coin=0, budget_s=0.0,
    )  # fmt: skip
    program = (
        "import sys; from studies.remeasure import time_arms; time_arms.main()\n"
        "print(*[name for name in sys.modules if name.startswith("
        "('accelbench.measuring', 'accelbench.roofline', 'accelbench.pytest_plugin'))])"
    )
    command = [sys.executable, "-c", program, order.to_text()]
    times, imported = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.split(
        "\n", 1
    )
    assert times.startswith("[")
    assert imported.strip() == ""


def test_the_effects_exist_in_the_suite_and_need_no_process_that_starts_differently():
    load_builtins()
    host = Host(cores=2, max_batch=32, max_workers=2)
    techniques = [each for name in ("torch", "tensorflow", "numpy") for each in declared_for(name)]
    offered = {(hyphenate(each.name), level): each.scope for each in techniques for level in each.levels_on(host)}
    benchmarks = "".join(path.read_text() for path in (CHECKOUT / "benchmarks").glob("test_*.py"))
    assert len(set(EFFECTS)) == 26
    for test, levels in EFFECTS:
        name, level = levels.split()
        assert f"def {test.partition('[')[0]}(" in benchmarks
        assert offered[name, level] == "arm"


def _main(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["remeasure", *map(str, arguments)])
    monkeypatch.setattr(remeasure, "identify", lambda: None)
    monkeypatch.setattr(remeasure, "machine_key", lambda _: "example-2c-8g")
    remeasure.main()


def test_the_command_writes_the_table_into_the_page(tmp_path, monkeypatch, capsys):
    _result(tmp_path, _normalisation("array"))
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- remeasurement: begin -->\nold\n<!-- remeasurement: end -->\nbelow\n")
    monkeypatch.setattr(remeasure, "PAGE", page)
    monkeypatch.setattr(remeasure, "EFFECTS", (("test_vectorise[array]", "vectorise array"),))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0, stdout="[3.0, 0.03]"))
    _main(monkeypatch, tmp_path, "--only", "array", "--write")
    assert "| `test_vectorise[array], vectorise array` |" in capsys.readouterr().out
    assert "old" in page.read_text()
    _main(monkeypatch, tmp_path, "--write")
    assert capsys.readouterr().out in page.read_text()
    assert "1 of 1 agree; " in page.read_text()
    assert "\nAgainst 0001 quick of example-2c-8g: 5 builds of an effect, each in a fresh process" in page.read_text()


def test_the_command_answers_bad_input_in_one_line(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=r"studies\.remeasure: .*nowhere: no such file or folder"):
        _main(monkeypatch, tmp_path / "nowhere")
    _result(tmp_path, _normalisation("array"))
    with pytest.raises(SystemExit, match="no effect has 'warp' in its name; expected a part of a test's name"):
        _main(monkeypatch, tmp_path, "--only", "warp")
    _result(tmp_path, _normalisation("array"), machine="another-8c-64g")
    with pytest.raises(SystemExit, match="a run of another-8c-64g; expected one of this machine, example-2c-8g"):
        _main(monkeypatch, tmp_path)
