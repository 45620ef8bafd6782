"""Why a technique paid or not is said from the difference of two profiles."""

import json

import pytest

from accelbench.explain import reasons_as_json, reasons_as_text
from accelbench.explain.parts import read_part
from accelbench.explain.prediction import Prediction, predict
from accelbench.explain.profile import Compilation, OperatorTime, Profile, StepShare
from accelbench.explain.why import TechniqueExplanation
from accelbench.schema.result import ArmRecord, Effect


def profiled(seconds, items=64.0, *, operators, **facts):
    listed = tuple(
        OperatorTime(name=name, calls=calls, seconds=spent_s, share=StepShare.of([spent_s / seconds]))
        for name, (spent_s, calls) in operators.items()
    )
    return Profile(framework="torch", device="cpu", seconds=seconds, items=items, operators=listed, **facts)


def reasons(before, after, *, speedup=1.5, prediction=None, name="amp bf16", verdict="faster"):
    effect = Effect(against={}, speedup=speedup, low=0.95 * speedup, high=1.05 * speedup, verdict=verdict, pairs=20)
    measured = read_part(name, {"amp": "bf16"}, ArmRecord(levels={}, outcome="measured", effects=[effect]))
    return TechniqueExplanation(
        workload="train.py:build", measured=measured, before=before, after=after, prediction=prediction
    )


BEFORE = profiled(0.1, operators={"mm": (0.06, 10), "add": (0.02, 30)})


def test_what_got_faster_and_what_it_cost_are_named():
    after = profiled(0.07, operators={"mm": (0.02, 10), "add": (0.02, 30), "_to_copy": (0.01, 40)})
    text = reasons_as_text(reasons(BEFORE, after))
    assert "train.py:build with amp bf16: 1.50× (1.42–1.58) as fast, faster." in text
    assert "saves time in mm (60.0 ms → 20.0 ms)" in text
    assert "adds time in _to_copy (0 s → 10.0 ms)" in text
    assert "Casts and copies between precisions take 10.0 ms more" in text
    assert "Operators are called 80 times in place of 40" in text


def test_iterations_of_other_sizes_are_compared_per_item():
    after = profiled(0.2, items=128.0, operators={"mm": (0.12, 20), "add": (0.04, 60)})
    assert [each.added_s for each in reasons(BEFORE, after).changes] == pytest.approx([0.0, 0.0])
    assert "No operator's time changes enough to name it" in reasons_as_text(reasons(BEFORE, after))


def test_graph_breaks_recompilations_and_compiling_are_said():
    compilation = Compilation(breaks=("net.py:8: a branch",), recompilations=("forward (net.py:3)",), seconds=12.0)
    after = profiled(0.1, operators={"mm": (0.06, 10)}, compilation=compilation, first_s=12.5)
    text = reasons_as_text(reasons(BEFORE, after, speedup=0.9))
    assert "The graph breaks at net.py:8: a branch" in text
    assert "compiled again 1 time: forward (net.py:3)" in text
    assert "The first iteration takes 12.5 s and a later one 100 ms" in text


def test_skipped_steps_of_float16_are_said():
    after = profiled(0.1, operators={"mm": (0.06, 10)}, observed={"skipped_steps": 3.0})
    assert "skipped 3 steps, which learn nothing" in reasons_as_text(reasons(BEFORE, after))


@pytest.mark.parametrize(("speedup", "is_surpassed"), [(1.5, False), (4.0, True)])
def test_a_prediction_stands_beside_the_measurement(speedup, is_surpassed):
    share = StepShare(share=0.6, low=0.58, high=0.62)
    found = reasons(
        BEFORE, BEFORE, speedup=speedup, prediction=Prediction(techniques=("amp",), touches="products", share=share)
    )
    text = reasons_as_text(found)
    assert "allows at most 2.63×, since it touches products alone" in text
    assert ("it brought more" in text) == is_surpassed
    assert json.dumps(reasons_as_json(found), allow_nan=False)


def test_operators_that_are_gone_save_no_time_that_a_profile_shows():
    after = profiled(0.07, operators={"add": (0.02, 30), "compiled graph": (0.04, 1)})
    text = reasons_as_text(reasons(BEFORE, after, name="compile default"))
    assert "Operators that no longer run, or where the profiler does not look: mm (60.0 ms)" in text
    assert "saves time" not in text


def test_an_accelerator_that_saves_time_while_the_program_does_not_waits_for_the_host():
    before = profiled(0.010, operators={"mm": (0.006, 10)}, device_s=0.0091, kernels=400)
    after = profiled(0.010, operators={"mm": (0.003, 10)}, device_s=0.0052, kernels=800)
    text = reasons_as_text(reasons(before, after, speedup=1.0))
    assert "The accelerator is busy for 9.10 ms → 5.20 ms of 10.0 ms → 10.0 ms per iteration" in text
    assert "The host binds" in text
    assert "It starts 800 kernels in place of 400" in text


def test_a_program_whose_accelerator_waits_most_of_the_time_is_bound_by_its_host_however_little_it_saves():
    before = profiled(4.89e-3, operators={"addmm": (297e-6, 14)}, device_s=330e-6, kernels=75)
    after = profiled(5.68e-3, operators={"addmm": (216e-6, 14), "_to_copy": (601e-6, 80)}, device_s=267e-6, kernels=104)
    text = reasons_as_text(reasons(before, after, speedup=0.82))
    assert "The host binds: with and without it, the accelerator waits for more than 93 % of the time" in text


def test_an_accelerator_that_saves_as_much_as_the_program_does_not_wait():
    before = profiled(0.010, operators={"mm": (0.006, 10)}, device_s=0.0091, kernels=400)
    after = profiled(0.006, operators={"mm": (0.003, 10)}, device_s=0.0052, kernels=400)
    text = reasons_as_text(reasons(before, after))
    assert "The host binds" not in text
    assert "kernels in place of" not in text


def test_without_an_accelerator_nothing_is_said_of_one():
    assert "accelerator" not in reasons_as_text(reasons(BEFORE, BEFORE))


def test_a_function_that_one_profile_alone_lists_is_not_compared():
    function = "cg (solver.py:9)"
    after = profiled(0.1, operators={"mm": (0.06, 10), "add": (0.02, 30), function: (0.02, 1)})
    for found in (reasons(BEFORE, after), reasons(after, BEFORE)):
        assert function not in {each.name for each in found.changes}
        assert "solver.py" not in reasons_as_text(found)


def test_a_function_that_both_profiles_list_is_compared():
    before, after = (profiled(0.1, operators={"cg (solver.py:9)": (spent_s, 1)}) for spent_s in (0.06, 0.02))
    assert "saves time in cg (solver.py:9) (60.0 ms → 20.0 ms)" in reasons_as_text(reasons(before, after))


@pytest.mark.parametrize(("verdict", "is_named"), [("same", False), ("faster", True)])
def test_a_technique_with_the_same_speed_neither_saves_nor_adds_time(verdict, is_named):
    after = profiled(0.1, operators={"mm": (0.02, 10), "add": (0.06, 30)})
    text = reasons_as_text(reasons(BEFORE, after, verdict=verdict))
    assert ("it saves time in mm" in text, "it adds time in add" in text) == (is_named, is_named)


def test_page_faults_are_compared_for_as_many_items():
    before = profiled(0.1, items=1.0, operators={"mm": (0.06, 10)}, page_faults=100)
    alike = profiled(3.2, items=32.0, operators={"mm": (1.92, 320)}, page_faults=3200)
    more = profiled(3.2, items=32.0, operators={"mm": (1.92, 320)}, page_faults=320_000)
    assert "age faults" not in reasons_as_text(reasons(before, alike))
    assert "age faults rise from 100 to 10,000 per iteration" in reasons_as_text(reasons(before, more))


@pytest.mark.parametrize(
    ("name", "is_product"),
    [
        ("aten::mm", True),
        ("aten::_int_mm", True),
        ("mkldnn_linear", True),
        ("_FusedMatMul", True),
        ("Conv2DBackpropFilter", True),
        ("aten::cummax", False),
        ("aten::upsample_bilinear2d", False),
        ("ResizeBilinear", False),
        ("linear_term (simulation.py:40)", False),
    ],
)
def test_products_are_told_from_what_only_resembles_their_names(name, is_product):
    others = profiled(0.1, operators={name: (0.08, 10)})
    products = next(each for each in predict(others) if "amp" in each.techniques)
    assert products.share.share == pytest.approx(0.8 if is_product else 0.0)
