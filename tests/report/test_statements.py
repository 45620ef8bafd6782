"""The answer: what pays, what does not, and what would decide the rest."""

from dataclasses import replace

import pytest
from pages import between, result_of, text
from runs import arm, effect, memory, run, trial

from accelbench.report.statements import circumstances, describe_price, state_findings
from accelbench.results import Findings
from accelbench.schema.reasons import reason
from accelbench.schema.result import Price

HANDICAPPED = reason("handicapped-baseline", share=0.02, ceiling="cpu memory")
SETTINGS = {"noise": 0.01, "budget_s": 0.7}
UNDECIDED = (1.111, 0.9, 1.3, "undecided", 12)  # its lower half is about twice its distance from the noise zone


def measured(*trials, **fields):
    """Return the statements by verdict."""
    found = run(*trials, **{"settings": SETTINGS} | fields)
    told = state_findings(Findings(result_of(found)).effect_rows, circumstances(found))
    return {part.verdict: part for part in told}


def amp(workload="net", flags=(), fields=None, **levels):
    """Return a trial of amp's levels at these effects."""
    candidates = [arm({"amp": level}, 1.0, effect=effect(*found)) for level, found in levels.items()]
    named = {"id": f"benchmarks/test_amp.py::test_amp[{workload}]", "workload": workload}
    return trial(arm({"amp": "fp32"}, 1.0, flags=list(flags)), *candidates, **named, **fields or {})


def sentences(statement):
    return ". ".join([statement.finding, *statement.more])


def test_the_answer_comes_first_with_what_most_programs_gain_on_top(stored_report):
    said = text(stored_report.read_text())
    pays = between(said, "What pays", "What slows down")
    items = [
        "batch-size 64 instead of 1",
        "workers 2 instead of 0",
        "threads 2 instead of 1",
        "amp bf16 instead of fp32",
    ]
    places = [pays.index(each) for each in items]
    assert places == sorted(places)
    assert "(torch) makes resnet18-train 1.83× as fast (1.79–1.87); pays on 1 of 3 workloads." in pays
    assert "Price: numeric error 0.42 %, 74.0 MiB less memory, first call 2.10 s." in pays
    assert "Slower on mlp-train (0.759×, 0.751–0.767). Undecided on bert-train." in pays
    assert said.index("What pays") < said.index("Machine and configuration") < said.index("Every arm")


def test_a_technique_whose_levels_do_different_things_is_one_item():
    told = measured(
        amp("a", bf16=(1.5, 1.4, 1.6, "faster"), fp16=(0.1, 0.09, 0.11, "slower"), tf32=(1.1, 1.05, 1.2, "faster")),
        amp("b", bf16=(0.8, 0.7, 0.9, "slower"), fp16=(0.2, 0.19, 0.21, "slower"), tf32=UNDECIDED),
    )
    (statement,) = told["faster"].statements
    assert statement.what == "amp bf16"
    assert sentences(statement) == (
        "makes a 1.50× as fast (1.40–1.60); pays on 1 of 2 workloads. Slower on b (0.800×, 0.700–0.900). "
        "fp16 is slower on a (0.100×, 0.0900–0.110) and b (0.200×, 0.190–0.210). Also pays: tf32"
    )
    assert [each.slows for each in told["slower"].mixed] == ["amp fp16 on a (0.100×)"]
    assert not told["slower"].statements


def test_a_statement_has_the_recipe_of_the_level_that_it_is_about():
    recipes = {"bf16": ["with autocast():"], "fp16": ["scaler = GradScaler()", "with autocast():"]}
    levels = {"bf16": effect(1.5, 1.4, 1.6, "faster"), "fp16": effect(1.2, 1.1, 1.3, "faster")}
    arms = [arm({"amp": level}, 0.5, effect=found, recipe=recipes[level]) for level, found in levels.items()]
    (statement,) = measured(trial(arm({"amp": "fp32"}, 1.0), *arms))["faster"].statements
    assert (statement.what, statement.recipe) == ("amp bf16", "with autocast():")


def test_the_surest_gain_counts_not_the_largest_estimate():
    told = measured(amp("wide", bf16=(3.0, 1.1, 9.0, "faster")), amp("sure", bf16=(1.5, 1.4, 1.6, "faster")))
    assert told["faster"].statements[0].finding.startswith("makes sure 1.50× as fast")


def ladder(*rungs):
    """Return a trial of a ladder: of each rung its effects over the start and over the rung below."""
    levels = ["start", *(f"+{name}" for name, *_ in rungs)]
    arms = [arm({"ladder": levels[0]}, 1.0)]
    for place, (_, over_start, over_below) in enumerate(rungs, start=1):
        below = replace(effect(*over_below), against={"ladder": levels[place - 1]})
        found = [effect(*over_start), *([below] if place > 1 else [])]
        arms.append(arm({"ladder": levels[place]}, 1 / over_start[0], effects=found))
    return trial(*arms)


def test_a_rung_that_brings_nothing_over_the_one_below_is_not_advised():
    first = ("sum", (13.5, 11.4, 15.9, "faster"), (13.5, 11.4, 15.9, "faster"))
    dot = ("dot", (27.3, 20.6, 36.1, "faster"), (2.0, 1.7, 2.5, "faster"))
    idle = ("layout", (26.3, 22.2, 31.3, "faster"), (0.977, 0.776, 1.23, "undecided"))
    (statement,) = measured(ladder(first, dot, idle))["faster"].statements
    assert statement.what == "ladder +dot"
    assert sentences(statement).endswith("Also pays: +sum and +layout")
    better = (*idle[:2], (1.1, 1.05, 1.2, "faster"))
    (statement,) = measured(ladder(first, dot, better))["faster"].statements
    assert statement.what == "ladder +layout"


def test_what_pays_everywhere_comes_before_what_pays_most_in_one_place_and_loops_in_python_come_last():
    def pays(technique, workload, *found, group="precision"):
        candidate = arm({technique: "on"}, 1.0, effect=effect(*found))
        groups = {"technique_groups": {technique: group}}
        return trial(
            arm({technique: "off"}, 1.0), candidate, id=f"t[{technique}-{workload}]", workload=workload, **groups
        )

    once = [pays("once", "a", 1.9, 1.8, 2.0, "faster"), pays("once", "b", 0.7, 0.6, 0.8, "slower")]
    always = [pays("always", each, 1.5, 1.4, 1.6, "faster") for each in ("a", "b")]
    loops = [pays("loops", each, 90.0, 80.0, 99.0, "faster", group="Python loops") for each in ("a", "b")]
    statements = measured(*loops, *once, *always)["faster"].statements
    assert [each.technique for each in statements] == ["always", "once", "loops"]


def test_a_gain_over_a_doubtful_baseline_comes_last_with_its_doubt():
    doubtful = amp("slow", flags=[HANDICAPPED], bf16=(90.0, 80.0, 99.0, "faster"))
    other = trial(arm({"tf32": "off"}, 1.0), arm({"tf32": "on"}, 0.9, effect=effect(1.1, 1.05, 1.2, "faster")))
    statements = measured(doubtful, other)["faster"].statements
    assert [each.what for each in statements] == ["tf32 on", "amp bf16"]
    assert [each.doubt for each in statements] == ["", "the baseline reaches 2.0 % of cpu memory"]


def test_places_are_unique_labels_by_what_differs_only():
    def add(elements, speedup):
        candidate = arm({"threads": "2"}, 1.0, effect=effect(speedup, speedup - 0.1, 3.0, "faster"))
        problem = {"elements": elements, "seed": 1}
        return trial(arm({"threads": "1"}, 1.0), candidate, id=f"t[{elements}]", problem=problem)

    told = measured(add(1000, 1.5), add(10000, 2.0))
    assert told["faster"].statements[0].finding.startswith("makes net (elements 10,000) 2.00× as fast")


def test_what_is_undecided_says_why_and_what_would_decide_it():
    remark = reason("timing-disturbed", share=0.6, cpu_slowdown=1.3)
    (statement,) = measured(amp(bf16=UNDECIDED, fields={"remarks": [remark]}))["undecided"].statements
    assert sentences(statement) == (
        "may be slower, the same or faster on net: 0.900× to 1.30× after 12 pairs. "
        "Why: 60 % of the timing was disturbed. "
        "To decide: about 5 times the pairs (--accel-budget=4), fewer on a quieter machine"
    )


@pytest.mark.parametrize(
    ("found", "fields", "words"),
    [
        (UNDECIDED, {}, "about 5 times the pairs (--accel-budget=4)"),
        ((2.0, 0.0, None, "undecided", 1), {}, "at least twice the pairs (--accel-budget=2)"),
        ((2.0, 0.0, None, "undecided", 1), {"remarks": ["noisy"]}, "a quieter machine, and at least twice the pairs"),
        ((1.03, 0.7, 1.5, "undecided"), {}, "about 400 times the pairs, more than one budget gives"),
        ((1.03, 0.7, 1.5, "undecided"), {"remarks": ["noisy"]}, "a quieter machine; as it was, about 400 times"),
        ((1.03, 0.5, 2.5, "undecided"), {}, "more than 1,000 times the pairs"),
    ],
)
def test_what_would_decide_depends_on_what_kept_it_open(found, fields, words):
    (statement,) = measured(amp(bf16=found, fields=fields))["undecided"].statements
    assert any(sentence.startswith(f"To decide: {words}") for sentence in statement.more)


def test_what_little_would_decide_comes_before_what_much_would():
    much = trial(arm({"tf32": "off"}, 1.0), arm({"tf32": "on"}, 1.0, effect=effect(1.02, 0.9, 1.2, "undecided")))
    statements = measured(much, amp(bf16=UNDECIDED))["undecided"].statements
    assert [each.what for each in statements] == ["amp bf16", "tf32 on"]


def test_a_run_that_does_not_tell_its_budget_still_says_how_many_pairs():
    (statement,) = measured(amp(bf16=UNDECIDED), settings={})["undecided"].statements
    assert statement.more[-1] == "To decide: about 5 times the pairs"


def test_less_memory_is_part_of_the_price_and_rounding_is_not():

    baseline = arm({"amp": "fp32"}, 0.001, price=memory(3 * 2**30))
    candidate = arm(
        {"amp": "bf16"}, 0.001, price=Price(peak_rss_bytes=2**30, error=1e-6), effect=effect(2.0, 1.9, 2.1, "faster")
    )
    assert measured(trial(baseline, candidate))["faster"].statements[0].price == "2.00 GiB less memory"


def test_beyond_the_first_ones_statements_wait_behind_their_names(text_of):
    names = [f"technique-{place}" for place in range(8)]
    trials = [
        trial(
            arm({name: "off"}, 1.0),
            arm({name: "on"}, 0.5, effect=effect(2.0 - place / 10, 1.1, 3.0, "faster")),
            id=name,
        )
        for place, name in enumerate(names)
    ]
    assert "2 more: technique-6, technique-7" in text_of(*trials)


SLOW_TO_START = {
    "error": None, "memory_bytes": None, "baseline_memory_bytes": None, "verdict": "faster", "unit": "image",
    "energy_j_per_item": None, "baseline_energy_j_per_item": None, "energy_of": "", "baseline_energy_of": "",
    "cold_s": 1.02, "baseline_cold_s": 0.02, "s_per_iteration": 0.01, "baseline_s_per_item": 0.02 / 8,
    "items": 8.0, "baseline_items": 8.0, "speedup": 2.0, "low": 2.0, "high": 2.0,
}  # fmt: skip


def test_a_slow_first_call_says_when_it_is_paid_back() -> None:
    assert describe_price(SLOW_TO_START) == "first call 1.02 s paid back after 101 iterations"


@pytest.mark.parametrize("verdict", ["slower", "same", "undecided"])
def test_what_is_not_faster_pays_nothing_back(verdict: str) -> None:
    assert describe_price(SLOW_TO_START | {"verdict": verdict}) == "first call 1.02 s"


def test_a_quick_first_call_is_not_worth_a_word() -> None:
    assert describe_price(SLOW_TO_START | {"cold_s": 0.02}) == ""


COUNTED = SLOW_TO_START | {"cold_s": 0.02, "baseline_energy_j_per_item": 0.2, "baseline_energy_of": "GPU"}


@pytest.mark.parametrize(
    ("joules", "device", "said"),
    [
        (0.11, "GPU", "45 % less energy per image"),
        (0.24, "GPU", "20 % more energy per image"),
        (0.197, "GPU", ""),
        (0.02, "CPU", ""),
        (None, "", ""),
    ],
    ids=["less", "more", "about-the-same", "another-device", "not-counted"],
)
def test_energy_is_compared_on_one_kind_of_device_where_it_differs_enough(
    joules: float | None, device: str, said: str
) -> None:
    assert describe_price(COUNTED | {"energy_j_per_item": joules, "energy_of": device}) == said
