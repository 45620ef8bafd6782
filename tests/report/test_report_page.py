"""The page of a run: what it says, and what it may not do."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from runs import STORED, arm, by_size, effect, memory, run, save, trial

from harness.errors import BadInput
from harness.reading import find_results
from harness.report import write_report

VOID = {"meta", "br", "hr", "img", "link", "input", "path", "use", "rect"}


@pytest.fixture
def text_of(tmp_path):
    def of(*trials, **fields):
        path = save(run(*trials, **fields), tmp_path / "0001_a.json")
        return text(write_report(find_results(path).results[0], tmp_path / "reports").read_text())

    return of


class Page(HTMLParser):
    """A page's text, its ids and its links, and whether its elements are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.words, self.ids, self.links, self.open = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if tag == "a" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.words.append(data)


def text(html):
    return " ".join(" ".join(Page(html).words).split())


def between(said, first, last):
    return said[said.index(first) : said.index(last)]


def test_the_page_is_well_formed_and_its_links_lead_somewhere(stored_report):
    page = Page(stored_report.read_text())
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert [link for link in page.links if link.removeprefix("#") not in page.ids] == []


def test_the_page_asks_the_network_for_nothing(stored_report):
    html = re.sub(r'xmlns(:\w+)?="[^"]*"', "", stored_report.read_text())
    assert re.findall(r"https?://|<script|<link|<img|@import|url\((?!#)", html) == []


def test_the_page_serves_light_and_dark_and_paper(stored_report):
    html = stored_report.read_text()
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert 'name="viewport"' in html


def test_the_answer_comes_first_ordered_by_speedup(stored_report):
    said = text(stored_report.read_text())
    pays = between(said, "What pays", "What slows down")
    order = [
        "batch-size 64 on cnn-train",
        "threads 2 on matmul",
        "amp bf16 on resnet18-train",
        "workers 2 on jpeg-epoch",
    ]
    places = [pays.index(each) for each in order]
    assert places == sorted(places)
    assert "1.83× as fast as amp fp32 (1.79–1.87)" in pays
    assert "Price: numeric error 0.42 %, 74.0 MiB less memory, first call 2.10 s" in pays
    assert said.index("What pays") < said.index("Machine and configuration") < said.index("Every arm")


def test_the_same_technique_on_other_levels_is_said_once(stored_report):
    pays = between(text(stored_report.read_text()), "What pays", "What slows down")
    assert pays.count("on cnn-train") == 1
    assert "Also batch-size 32: 2.99×" in pays


def test_what_is_undecided_says_why(stored_report):
    said = between(text(stored_report.read_text()), "What is undecided", "From where on")
    assert "between 0.868× and 1.29× as fast as amp fp32 after 6 pairs, so it may be slower, the same or faster" in said
    assert "other processes used 0.85 of 2 cores while this was measured" in said
    assert "had not settled when the warm-up ended" in said


def test_knees_limits_and_crossovers_are_said(stored_report):
    said = text(stored_report.read_text())
    assert "knee at batch size 32, the smallest within 5 % of the best throughput" in said
    assert "The largest that ran is 64 (out of memory at 128)." in said
    assert "16 was the largest asked for." in said
    assert "threads 2 pays above elements 87,000 (crossover between 36,000 and 130,000)" in said
    assert "no crossover in the range; faster at 4 and slower at 0 of 5 sizes from elements 1,000" in said


def test_what_was_not_measured_is_said_once_for_each_reason(stored_report):
    said = between(text(stored_report.read_text()), "What was not measured", "Technique by technique")
    assert said.count("no CUDA device is visible to CuPy") == 1
    assert "4 arms unavailable : no CUDA device is visible to CuPy" in said
    assert "1 arm given up : one step takes 7.90 s" in said
    assert said.index("4 arms unavailable") < said.index("2 arms unavailable") < said.index("1 arm crashed")


def test_a_wrong_answer_shows_its_error_instead_of_a_speedup(stored_report):
    said = between(text(stored_report.read_text()), "What is not believed", "Machine and configuration")
    assert "31 %, where 2 % is allowed" in said
    assert "amp fp16 on mlp-train" in said


def test_every_trial_has_its_section_with_how_it_was_measured(stored_report):
    page = Page(stored_report.read_text())
    assert sum(anchor.startswith("trial-") for anchor in page.ids) == 22
    said = text(stored_report.read_text())
    section = between(said, "amp on bert-train", "pin-memory × non-blocking on copy-to-device")
    for each in (
        "first call",
        "400 blocks, not settled",
        "6 of 1",
        "stolen cores",
        "load 1min",
        "measuring took 26.0 s",
    ):
        assert each in section


def test_the_summary_is_a_markdown_table_with_a_legend(stored_report):
    summary = (stored_report.parent / "summary.md").read_text()
    rows = [line for line in summary.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 28
    assert {row.count("|") for row in rows} == {rows[0].count("|")}
    assert rows[2].startswith("| ▲ faster | 3.05× (3.01–3.08) | batch-size 64 | 1 | cnn-train |")
    assert "▲ faster than the baseline beyond the noise zone" in summary
    assert "\n\n\n" not in summary


def test_a_report_is_reproducible(stored_report, tmp_path):
    again = write_report(find_results(STORED).results[0], tmp_path)
    files = sorted(path.relative_to(tmp_path / "run_v1") for path in again.parent.rglob("*") if path.is_file())
    assert len(files) > 20
    assert [
        file for file in files if (again.parent / file).read_bytes() != (stored_report.parent / file).read_bytes()
    ] == []


def test_a_run_in_which_nothing_was_compared_says_so(text_of):
    said = text_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"})))
    assert "Nothing was compared" in said
    assert "1 arm unavailable : not on this machine" in said
    assert "Figures" not in said


def test_an_interrupted_run_without_trials_is_a_page_too(text_of):
    said = text_of(interrupted=True)
    assert "This run was interrupted" in said
    assert "Nothing was compared" in said


def test_an_effect_without_an_interval_says_so(text_of):
    few = arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 0.0, None, "undecided", pairs=1))
    assert "no interval after 1 pair" in text_of(trial(arm({"amp": "fp32"}, 1.0), few))


def test_text_from_a_file_is_never_markup(text_of):
    said = text_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "x"}, reason="<script>alert('a & b')</script>")))
    assert "<script>alert('a & b')</script>" in said


def test_the_machine_is_named_in_words(text_of):
    assert "Example CPU, 2 cores, 8 GiB of memory, Example GPU (16 GiB)." in text_of(trial(arm({"amp": "fp32"}, 1.0)))


def test_the_configuration_keeps_versions_and_writes_readings_in_their_units(text_of):
    configuration = {"torch.version": "2.10", "env.OMP_NUM_THREADS": "1", "gpu0.power_limit_w": "700"}
    readings = {"memory.available_bytes": "6871947673", "load.1min": "2.03662"}
    environment = replace(run().environment, configuration=configuration, readings=readings)
    said = text_of(environment=environment, settings={"budget_s": 2.0, "own_images": None})
    assert "PyTorch version 2.10" in said
    assert "OMP_NUM_THREADS 1" in said
    assert "budget 2.00 s" in said
    assert "power limit 700 W" in said
    assert "own images" not in said
    assert "load 1min 2.04 memory available 6.40 GiB" in said


def test_less_memory_is_part_of_the_price(text_of):
    baseline = arm({"amp": "fp32"}, 1.0, price=memory(3 * 2**30))
    candidate = arm({"amp": "bf16"}, 0.5, price=memory(2**30), effect=effect(2.0, 1.9, 2.1, "faster"))
    assert "2.00 GiB less memory" in text_of(trial(baseline, candidate))


SLOWER, UNSURE = (0.5, 0.4, 0.6, "slower"), (1.1, 0.9, 1.3, "undecided")


@pytest.mark.parametrize(
    ("speedups", "words"),
    [
        ({100: SLOWER, 1000: SLOWER}, "slower at 2 of 2 sizes from elements 100 to 1,000, against threads 1"),
        ({100: UNSURE, 1000: UNSURE}, "no crossover in the range; faster at 0 and slower at 0 of 2 sizes"),
        ({100: SLOWER, 1000: UNSURE}, "and more than 1,000)"),
    ],
)
def test_a_crossover_that_cannot_be_told_is_not_made_up(text_of, speedups, words):
    assert words in text_of(*by_size(speedups))


def test_what_holds_training_back_is_part_of_the_answer(text_of, tmp_path):
    baseline = arm({"relief": "none"}, 1.0, observed={"cpu_utilisation": 0.52, "rss_bytes": 2.0**30})
    decoded = arm({"relief": "decoded"}, 0.4, effect=effect(2.5, 2.4, 2.6, "faster"))
    said = text_of(trial(baseline, decoded))
    found = "net (torch) is input-bound: without decoding it is 2.50× (2.40–2.60) as fast"
    assert f"What holds training back {found}" in said
    assert "What pays" not in said
    assert "Nothing was compared" not in said
    assert said.index(found) < said.index("Machine and configuration")
    assert "CPU 52 % busy." in said
    assert "cpu utilisation" in said
    assert "1.00 GiB" in said
    assert f"- {found}" in (tmp_path / "reports" / "a" / "summary.md").read_text()


def test_a_folder_that_cannot_be_written_is_named_in_one_line(tmp_path):
    (tmp_path / "reports").write_text("a file in the way")
    with pytest.raises(BadInput, match=r"cannot be written.*--output") as raised:
        write_report(find_results(STORED).results[0], tmp_path / "reports")
    assert "\n" not in str(raised.value)


def test_a_strange_name_stays_inside_the_reports_folder(tmp_path):
    path = save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0001_..json")
    page = write_report(find_results(path).results[0], tmp_path / "reports")
    assert page == tmp_path / "reports" / "unnamed" / "index.html"
