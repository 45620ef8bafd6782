"""Each trial's section: closed until it is wanted, with everything about one trial in it."""

import re
from dataclasses import replace
from html import unescape

import pytest
from pages import write_report
from runs import arm, effect, run, save, trial

from accelbench.results import find_results
from accelbench.schema.reasons import reason
from accelbench.schema.result import Price, Visit, VisitEffect


@pytest.fixture
def section_of(tmp_path, monkeypatch):
    monkeypatch.setattr("accelbench.report.page.render", lambda *_: [])  # the figures are not asked about

    def of(*arms, run_fields=None, **fields):
        path = save(run(trial(*arms, **fields), **(run_fields or {})), tmp_path / "0001_a.json")
        return sections(write_report(find_results(path).results[0], tmp_path / "reports"))[0]

    return of


def sections(page):
    return re.findall(r'<details class="trial".*?</details>', page.read_text(), re.DOTALL)


def text(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def summary(html):
    return text(html[: html.index("</summary>")])


def slow_to_start(**timing):
    """Return a candidate that is twice as fast, 10 ms against 20 ms, and starts 1 s later."""
    made = arm({"amp": "bf16"}, 0.01, effect=effect(2.0, 1.8, 2.2, "faster"))
    return replace(made, timing=replace(made.timing, cold_s=1.2, **timing))


BASELINE = arm({"amp": "fp32"}, 0.02)


@pytest.mark.parametrize("over", [{"builds": 8}, {"workers": 5}])
def test_the_pairs_say_over_how_many_builds_or_workers_the_interval_spans(section_of, over):
    faster = replace(effect(2.0, 1.8, 2.2, "faster"), **over)
    ((several, count),) = over.items()
    assert f"50, {count} {several}" in text(section_of(BASELINE, arm({"amp": "bf16"}, 0.01, effect=faster)))


@pytest.mark.parametrize(
    ("in_interval", "words"),
    [((True,) * 4, "50, 4 visits"), ((True, False, True, True), "50, 3 of 4 visits"), ((True,), "50, 1 visit")],
)
def test_the_pairs_say_over_how_many_visits_the_interval_spans(section_of, in_interval, words):
    shown = [VisitEffect(visit=n, log_speedup=0.7, pairs=12, in_interval=each) for n, each in enumerate(in_interval)]
    faster = replace(effect(2.0, 1.8, 2.2, "faster"), workers=sum(in_interval), visits=tuple(shown))
    html = section_of(BASELINE, arm({"amp": "bf16"}, 0.01, effect=faster))
    assert f"<td>{words}</td>" in html.replace('<td class="number">', "<td>")
    assert "workers" not in text(html)


@pytest.mark.parametrize(("blocks", "words"), [(1, "1 block"), (1200, "1,200 blocks")])
def test_a_warm_up_counts_its_blocks(section_of, blocks, words):
    warmed = replace(BASELINE, timing=replace(BASELINE.timing, warmup_blocks=blocks))
    assert f">{words}</td>" in section_of(warmed, arm({"amp": "bf16"}, 0.01))


def test_an_odd_visit_says_in_its_text_what_was_odd(section_of):
    far = reason("cores-far-apart", latency_s=4.3e-7, best_s=2.1e-7)
    shown = (VisitEffect(visit=0, log_speedup=0.7, pairs=12), VisitEffect(visit=1, log_speedup=0.1, pairs=10))
    faster = replace(effect(2.0, 1.8, 2.2, "faster"), visits=shown)
    visits = [Visit(begun_s=1.0), Visit(begun_s=90.0, core_latency_s=4.3e-7, odd=[far])]
    html = section_of(BASELINE, arm({"amp": "bf16"}, 0.01, effect=faster), visits=visits)
    assert re.findall("<title>(.*?)</title>", html) == [
        "visit 1: 2.01×, 12 pairs",
        f"visit 2: 1.11×, 10 pairs, core to core 430 ns; {far}",
    ]
    assert html.count('class="hole"') == 1


def test_every_trial_is_closed_and_can_be_linked_to(stored_report):
    found = sections(stored_report)
    assert len(found) == 22
    assert all(re.match(r'<details class="trial" id="trial-[\w-]+">', each) for each in found)


def test_its_summary_says_what_came_out_best(section_of):
    slower = arm({"amp": "fp16"}, 0.5, effect=effect(0.5, 0.4, 0.6, "slower"))
    said = summary(section_of(BASELINE, slower, slow_to_start()))
    assert said == "amp on net torch ▲ faster, amp bf16 2.00× (1.80–2.20)"


def test_a_trial_in_which_nothing_was_compared_says_so(section_of):
    assert summary(section_of(BASELINE, arm({"amp": "bf16"}))).endswith("nothing compared")


def test_what_starts_slower_says_after_how_much_work_it_pays(section_of):
    said = text(section_of(BASELINE, slow_to_start()))
    assert "after 101 iterations (93–114)" in said
    assert "amp bf16 pays after 101 iterations (93–114): its first call takes 1.20 s, the baseline’s 200 ms" in said


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (effect(2.0, 1.9, 2.1, "faster"), "from the first call"),
        (effect(0.5, 0.4, 0.6, "slower"), "never"),
        (effect(1.0, 0.995, 1.005, "same"), "no difference"),
    ],
)
def test_every_other_candidate_says_whether_it_pays(section_of, found, words):
    said = section_of(BASELINE, arm({"amp": "bf16"}, 0.01, effect=found))
    assert f"<td>{words}</td>" in said


def test_every_measured_arm_has_its_small_figures_with_words(section_of):
    timing = {"warmup_s": (0.012, 0.01)}
    ordered = replace(
        slow_to_start(**timing), effects=[replace(slow_to_start().effect, log_ratios_in_order=(0.6, 0.7))]
    )
    html = section_of(replace(BASELINE, timing=replace(BASELINE.timing, **timing)), ordered, arm({"amp": "fp16"}))
    labels = [label.partition(":")[0] for label in re.findall(r'role="img" aria-label="([^"]*)"', html)]
    each = ["Seconds per iteration", "Warm-up"]
    assert labels == [*each, each[0], "Speedup of 50 pairs in order", each[1]]


def test_a_file_that_kept_no_courses_in_time_says_so(section_of):
    said = "kept neither warm-ups nor the order of pairs"
    assert said in section_of(BASELINE)
    assert said not in section_of(replace(BASELINE, timing=replace(BASELINE.timing, warmup_s=(0.02,))))


def test_how_it_was_measured_and_the_command_stand_in_it(section_of):
    configuration = {"torch.version": "2.13", "torch.threads": "2", "numpy.version": "2", "python": "CPython 3.11"}
    said = text(
        section_of(
            BASELINE,
            slow_to_start(),
            spent_s={"build": 1.0, "timed blocks": 2.0},
            disturbance={"other_cores": 0.5},
            span_s=3.0,
            run_fields={
                "environment": replace(run().environment, configuration=configuration),
                "settings": {"size": "small", "budget_s": 0.7, "noise": 0.01},
            },
        )
    )
    assert "measured with torch 2.13, threads 2, CPython 3.11" in said
    assert "measuring took 3.00 s" in said
    assert "the time went to timed blocks 2.00 s, build 1.00 s" in said
    assert "meanwhile other cores 0.500" in said
    assert (
        "pytest benchmarks/test_amp.py::test_amp -k '[net-amp-' --benchmark-save=again "
        "--accel-size=small --accel-budget=0.7" in said
    )


def test_how_busy_the_device_was_stands_in_a_column_where_an_arm_has_a_device_clock(section_of):
    said = text(section_of(BASELINE, slow_to_start(device_s=0.0025)))
    assert "device busy" in said
    assert " 25 % " in said
    assert "device busy" not in section_of(BASELINE, slow_to_start())


def test_energy_stands_beside_memory_where_it_is_known(section_of):
    hungry = replace(BASELINE, price=Price(energy_j_per_item=0.0123, energy_of="GPU"))
    said = text(section_of(hungry, slow_to_start()))
    assert "energy per item" in said
    assert "12.3 mJ (GPU)" in said
    assert "energy per item" not in text(section_of(BASELINE, slow_to_start()))
