"""Several runs on one page: what they are, and on which effects they agree."""

import re
from html.parser import HTMLParser

import pytest
from runs import arm, effect, run, save, trial

from harness.reading import find_results
from harness.record import Environment, Identity
from harness.report import write_report
from harness.report.side_by_side import side_by_side

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
        return [find_results(path).results[0] for path in paths]

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


def test_each_effect_says_how_the_runs_stand_to_each_other(two):
    assert {line.workload: line.said for line in side_by_side(two).lines} == {
        "b": "flips: faster in small, slower in large",
        "c": "slows down only in large",
        "d": "undecided in small",
        "a": "same verdict",
        "e": "only in small",
        "only": "only in small",
    }


def test_an_effect_that_is_larger_in_one_run_says_in_which(results):
    larger = effect(4.0, 3.9, 4.1, "faster")
    beside = side_by_side(results(("small", run(amp("a", FASTER))), ("large", run(amp("a", larger)))))
    assert beside.lines[0].said == "intervals apart, larger in large"


def test_a_run_without_an_effect_says_why(two):
    cells = {line.workload: line.cells for line in side_by_side(two).lines}
    assert [cell.text for cell in cells["e"]] == ["2.00× (1.90–2.10)", "not on this machine"]
    assert [cell.text for cell in cells["only"]] == ["1.00× (0.995–1.00)", "not in this run"]


def test_sentences_count_what_agrees_and_what_does_not(two):
    assert side_by_side(two).counted == [
        "Both runs measured 4 effects; on 1 they agree: one verdict, and intervals that overlap.",
        "Faster in one and slower in another: 1 (amp bf16 on b with torch).",
        "A difference in one and none in another: 1 (amp bf16 on c with torch).",
        "Undecided in at least one: 1.",
        "In one run only: 2.",
    ]


def test_the_machines_and_what_is_set_up_differently_stand_in_columns(two):
    beside = side_by_side(two)
    names = "the run’s budget; PyTorch version"
    assert beside.machines == f"The runs were made on 2 machines, with 2 differences in settings and versions: {names}."
    assert dict(beside.facts)["machine"][1].startswith("Other CPU, 64 cores")
    assert dict(beside.differences) == {
        "the run’s budget": ["1.00 s", "3.00 s"],
        "PyTorch version": ["2.9.0", "2.10.0"],
    }


def test_runs_that_are_set_up_alike_say_so(results):
    beside = side_by_side(results(("a", run(amp("a", FASTER))), ("b", run(amp("a", FASTER)))))
    assert beside.machines == "The runs were made on one machine, alike in settings and versions."


def test_runs_of_one_name_are_told_apart_by_machine_or_by_number(results):
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
    html = write_report(two, tmp_path / "reports").read_text()
    page = Links(html)
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    table = html[html.index('id="side-by-side-effects"') : html.index("</table>", html.index("side-by-side-effects"))]
    first = re.search(r'<tr data-findings="flips".*?</tr>', table, re.DOTALL)[0]
    assert re.findall(r'href="#(run-2-)?trial-', first) == ["", "run-2-"]
    assert html.index("Side by side</h2>") < html.index("What pays")


def test_what_a_file_calls_things_is_text(results, tmp_path):
    bad = amp("<script>x</script>", FASTER)
    html = write_report(results(("a", run(bad)), ("b", run(bad))), tmp_path / "reports").read_text()
    assert "<script>x" not in html
