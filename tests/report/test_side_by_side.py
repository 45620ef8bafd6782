"""Several runs on one page: what they are, what changed since the first, and where their verdicts differ."""

import re
from html.parser import HTMLParser

import pytest
from pages import write_report
from runs import arm, effect, run, save, trial

from accelbench.history.compare_runs import compare_runs
from accelbench.history.select_runs import add_results, empty_history
from accelbench.report.side_by_side import side_by_side
from accelbench.results import find_results
from accelbench.results.findings import Findings
from accelbench.schema.result import Environment, Identity

FASTER, SLOWER = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.45, 0.55, "slower")
SAME, UNSURE = effect(1.0, 0.995, 1.005, "same"), effect(1.2, 0.0, None, "undecided")
OTHER = Environment(
    identity=Identity(cpu_model="Other CPU", cpu_cores=64, memory_gib=256), configuration={"torch.version": "2.10.0"}
)


def amp(workload, found=None, **fields):
    candidate = arm({"amp": "bf16"}, 1.0, effect=found) if found else arm({"amp": "bf16"})
    return trial(arm({"amp": "fp32"}, 1.0), candidate, id=f"t.py::t[{workload}]", workload=workload, **fields)


@pytest.fixture
def results(tmp_path):
    def of(*runs):
        paths = [save(each, tmp_path / f"{place:04}_{name}.json") for place, (name, each) in enumerate(runs)]
        return [Findings(find_results(path).results[0]) for path in paths]

    return of


@pytest.fixture
def two(results):
    """Two runs on two machines."""
    here = [amp("a", FASTER), amp("b", FASTER), amp("c", SAME), amp("d", UNSURE), amp("e", FASTER), amp("only", SAME)]
    there = [amp("a", FASTER), amp("b", SLOWER), amp("c", SLOWER), amp("d", FASTER), amp("e")]
    return results(
        ("small", run(*here, settings={"noise": 0.01, "budget_s": 1.0, "seed": 1})),
        ("large", run(*there, machine="other", environment=OTHER, settings={"noise": 0.01, "budget_s": 3.0})),
    )


def test_each_effect_says_what_became_of_it_and_where_verdicts_differ(two):
    assert {effect.first["workload"]: effect.sentence for effect in side_by_side(two).effects} == {
        "b": "flips; faster in small, slower in large",
        "c": "shrinks; same in small, slower in large",
        "d": "unclear; undecided in small, faster in large",
        "a": "unclear",
        "e": "only in small",
        "only": "only in small",
    }


def test_what_changed_is_what_a_comparison_of_both_runs_says(two):
    history, names = add_results(empty_history(), [each.result for each in two])
    found = compare_runs(history, names[:1], names[1:]).techniques
    shown = {each.first["workload"]: each.standing for each in side_by_side(two).effects if each.standings}
    assert shown == dict(zip(found["workload"], found["standing"], strict=True))


@pytest.mark.slow
def test_known_runs_show_how_much_unchanged_runs_differ(results):
    def one(speedup):
        spread = effect(speedup, speedup * 0.98, speedup * 1.02, "faster")
        return run(*(amp(name, spread if name == "a" else FASTER) for name in "abcdefghijkl"))

    *known, first, second, third = results(
        *(("before", one(2.0 + 0.002 * each)) for each in range(6)), ("now", one(2.0)), ("same", one(2.0)),
        ("new", one(1.6)),
    )  # fmt: skip
    history, _ = add_results(empty_history(), [each.result for each in known])
    beside = side_by_side([first, second, third], history)
    assert beside.effects[0].sentence == "unclear in same, shrinks in new"
    assert [each.partition(":")[0] for each in beside.changes] == ["same against now", "new against now"]
    assert "unclear" in side_by_side([first, third]).effects[0].sentence


def test_runs_of_other_sizes_are_not_compared_and_say_so(results):
    two = results(*((size, run(amp("a", FASTER), settings={"size": size})) for size in ("small", "full")))
    beside = side_by_side(two)
    assert beside.changes == [
        "full against small: the runs were made at sizes small and full; compare runs of one size."
    ]
    assert [each.sentence for each in beside.effects] == ["not compared"]
    assert beside.agreement == ["No effect was measured in several runs of one size."]
    assert beside.figures == []


def test_another_baseline_makes_another_effect(results):
    other = trial(arm({"amp": "tf32"}, 1.0), arm({"amp": "bf16"}, 1.0, effect=FASTER), id="t.py::t[a]", workload="a")
    beside = side_by_side(results(("here", run(amp("a", FASTER))), ("there", run(other))))
    assert [each.sentence for each in beside.effects] == ["only in here", "only in there"]


def test_a_run_without_an_effect_says_why(two):
    cells = {effect.first["workload"]: effect.cells for effect in side_by_side(two).effects}
    assert [cell.text for cell in cells["e"]] == ["2.00× (1.90–2.10)", "not on this machine"]
    assert [cell.text for cell in cells["only"]] == ["1.00× (0.995–1.00)", "not in this run"]


def test_sentences_say_what_changed_and_how_far_the_verdicts_agree(two):
    beside = side_by_side(two)
    (changed,) = beside.changes
    assert changed.startswith("large against small: the machine is 1.00× ")
    assert "of 4 effects, 1 flips, 1 shrinks, 2 unclear; furthest, amp bf16 on b: 2.00× → 0.500×." in changed
    assert beside.agreement == [
        "Of 4 shared effects, 1 has the same verdict in every run.",
        "Faster in one and slower in another: 1 (amp bf16 on b).",
    ]
    assert any("It is not known how much unchanged runs differ here" in note for note in beside.notes)


def test_the_figure_draws_the_shifts_of_each_later_run(two):
    (figure,) = side_by_side(two).figures
    assert figure.name == "shifts-2"
    assert figure.title.startswith("large against small: the machine is")
    assert any("amp bf16 · b" in cell for row in figure.rows for cell in row)


def test_the_machines_and_what_is_set_up_differently_stand_in_columns(two):
    beside = side_by_side(two)
    names = "torch; the run's budget"
    assert beside.machines == f"The runs were made on 2 machines, with 2 differences in settings and versions: {names}."
    assert dict(beside.facts)["machine"][1].startswith("Other CPU, 64 cores")
    assert dict(beside.differences) == {
        "the run's budget": ["1.00 s", "3.00 s"],
        "torch": ["2.9.0", "2.10.0"],
    }


def test_runs_that_are_set_up_alike_say_so(results):
    beside = side_by_side(results(("a", run(amp("a", FASTER))), ("b", run(amp("a", FASTER)))))
    assert beside.machines == "The runs were made on one machine, alike in settings and versions."


@pytest.mark.slow
def test_runs_of_one_name_are_unique_labels_by_machine_or_by_number(results):
    one, other = run(amp("a", FASTER)), run(amp("a", FASTER), machine="other")
    assert side_by_side(results(("quick", one), ("quick", one))).labels == ["quick 0000", "quick 0001"]
    assert side_by_side(results(("quick", one), ("quick", other))).labels == [
        "quick on example-2c-8g",
        "quick on other",
    ]


class Links(HTMLParser):
    """A page's ids, and where its links lead."""

    def __init__(self, html):
        super().__init__()
        self.ids, self.links = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if tag == "a" and attrs["href"].startswith("#") else []


def test_the_page_of_two_runs_opens_with_the_comparison_and_links_each_finding_to_its_run(two, tmp_path):
    html = write_report([each.result for each in two], tmp_path / "reports").read_text()
    page = Links(html)
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    table = html[html.index('id="side-by-side-effects"') : html.index("</table>", html.index("side-by-side-effects"))]
    first = re.search(r'<tr data-change="flips".*?</tr>', table, re.DOTALL)[0]
    assert re.findall(r'href="#(run-2-)?trial-', first) == ["", "run-2-"]
    assert html.index("Side by side</h2>") < html.index("What pays")


def test_what_a_file_calls_things_is_text(results, tmp_path):
    bad = amp("<script>x</script>", FASTER)
    both = [each.result for each in results(("a", run(bad)), ("b", run(bad)))]
    html = write_report(both, tmp_path / "reports").read_text()
    assert "<script>x" not in html
