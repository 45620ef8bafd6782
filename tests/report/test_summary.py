"""The findings in short: what a pull request shows."""

import re

import pytest
from made_up import history, results
from runs import STORED, arm, effect, run, save, trial

from accelbench.report.page import report_as_text
from accelbench.results import Findings, find_results
from accelbench.schema.reasons import reason
from accelbench.schema.result import Visit

FASTER, SLOWER = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.4, 0.6, "slower")


def markdown(path, title="", certificates=None):
    return report_as_text("markdown", [*map(Findings, find_results(path).results)], certificates or {}, title)


@pytest.fixture
def summary_of(tmp_path):
    return lambda *trials, **fields: markdown(save(run(*trials, **fields), tmp_path / "0001_a.json"))


def rows(text, glyph):
    return [line for line in text.splitlines() if line.startswith(f"| {glyph} |")]


def test_a_run_with_many_techniques_is_short(tmp_path):
    def switched(place, verdict):
        found = effect(*({"faster": (2.0, 1.9, 2.1), "slower": (0.5, 0.4, 0.6)}[verdict]), verdict)
        name = f"{verdict}-{place}"
        return trial(arm({name: "off"}, 1.0), arm({name: "on"}, 0.5, effect=found), id=f"t[{name}]")

    trials = [switched(place, verdict) for verdict in ("faster", "slower") for place in range(40)]
    text = markdown(save(run(*trials), tmp_path / "0001_a.json"))
    assert len(text.encode()) < 7 * 1024
    assert (len(rows(text, "▲")), len(rows(text, "▼"))) == (12, 6)
    assert "80 comparisons in 80 trials: ▲ 40 faster, ▼ 40 slower." in text
    assert "**Is the measuring right here?** No calibration certificate of this machine was found" in text
    assert "index.html" in text


def test_it_is_markdown_with_the_glyphs_explained_once():
    text = markdown(STORED, title="Ours")
    assert text.startswith("# Ours\n\n▲ faster than the baseline beyond the noise zone; ▼ slower")
    assert text.count("beyond the noise zone") == 2
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {7}
    assert "\n\n\n" not in text
    assert re.search(r"[^\n]\n\|[^\n]*\|\n\| ---", text) is None  # a table begins after an empty line


def test_a_technique_stands_once_where_its_gain_is_surest(summary_of):
    sure, wide = effect(2.0, 1.9, 2.1, "faster"), effect(3.0, 1.2, 9.0, "faster")
    text = summary_of(
        trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=wide), id="a", workload="unsure"),
        trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=sure), id="b", workload="sure"),
        trial(arm({"tf32": "off"}, 1.0), arm({"tf32": "on"}, 0.5, effect=SLOWER), id="c", workload="slowed"),
    )
    assert rows(text, "▲") == ["| ▲ | amp bf16 | fp32 | sure (torch) | 2.00× (1.90–2.10) | first call 5.00 s |"]
    assert rows(text, "▼") == ["| ▼ | tf32 on | off | slowed (torch) | 0.500× (0.400–0.600) | first call 5.00 s |"]


def test_what_to_write_stands_below_what_pays(summary_of):
    code = ["model = compile(model)  # `now`", "```", "<b>"]
    text = summary_of(
        trial(arm({"a": "off"}, 1.0), arm({"a": "on"}, 0.5, effect=FASTER, recipe=code), id="a"),
        trial(arm({"b": "off"}, 1.0), arm({"b": "on"}, 0.5, effect=FASTER), id="b"),
        trial(arm({"c": "off"}, 1.0), arm({"c": "on"}, 0.5, effect=SLOWER, recipe=["slow()"]), id="c"),
    )
    assert (
        "\n\n### What to write for what pays\n\na on (torch):\n\n````python\n"
        "model = compile(model)  # `now`\n```\n<b>\n````\n\n## What slows down most\n"
    ) in text
    assert "b on (torch):" not in text
    assert "slow()" not in text
    assert "\n\n\n" not in text


def test_what_is_doubtful_comes_last_and_is_marked(summary_of):
    text = summary_of(
        trial(arm({"a": "1"}, 1.0, flags=["handicapped"]), arm({"a": "2"}, 0.5, effect=effect(9, 8, 10, "faster"))),
        trial(arm({"b": "1"}, 1.0), arm({"b": "2"}, 0.5, effect=FASTER), id="b"),
    )
    first, last = rows(text, "▲")
    assert "b 2" in first
    assert "9.00× (8.00–10.0) †" in last
    assert "† The arm or its baseline is doubtful" in text


def test_a_ladder_stands_rung_by_rung_with_what_each_adds(summary_of):
    step = effect(0.9, 0.89, 0.91, "slower", against={"pipeline": "+prefetch"})
    text = summary_of(
        trial(
            arm({"pipeline": "naive"}, 1.0),
            arm({"pipeline": "+prefetch"}, 0.5, effect=FASTER),
            arm({"pipeline": "+cache"}, 0.55, effects=[effect(1.8, 1.7, 1.9, "faster"), step]),
            arm({"pipeline": "+gpu"}, reason="no accelerator"),
        )
    )
    assert "On net (torch), each rung over naive and over the rung below:\n\n| rung |" in text
    assert "| +prefetch | 2.00× (1.90–2.10) | ▲ 2.00× (1.90–2.10) |" in text
    assert "| +cache | 1.80× (1.70–1.90) | ▼ 0.900× (0.890–0.910) |\n\nFrom 1.00 images/s at the start" in text
    assert " to 1.82 images/s at the top.\n\nNot measured: +gpu (no accelerator).\n" in text
    assert "\n\n\n" not in text


def test_a_run_in_which_nothing_was_compared_says_so(summary_of):
    text = summary_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"})), interrupted=True)
    assert "0 comparisons in 1 trial. 1 of 2 arms has no speed: 1 unavailable." in text
    assert "This run was interrupted" in text
    assert "## " not in text


def test_it_says_for_how_long_visits_were_odd(summary_of):
    far = reason("cores-far-apart", latency_s=4.3e-7, best_s=2.1e-7)
    visits = [Visit(begun_s=1.0, odd=[far], span_s=40.0), Visit(begun_s=90.0, is_repetition=True, span_s=9.0)]
    said = "\nIn this run, the cores lay far apart for 40 s; 1 visit was repeated.\n"
    assert said in summary_of(trial(arm({"amp": "fp32"}, 1.0), visits=visits))
    assert "In this run" not in summary_of(trial(arm({"amp": "fp32"}, 1.0), visits=visits[1:]))


def test_nobody_is_called_and_nothing_linked_by_a_name_from_a_file(summary_of):
    name = "@torvalds fixes #1 a@b.co www.evil.example https://evil.example | <b> `x`"
    text = summary_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=FASTER), workload=name))
    (row,) = rows(text, "▲")
    inert = r"@&#8203;torvalds fixes \#&#8203;1 a@&#8203;b.co www\.evil.example https\://evil.example \| \<b\> \`x\`"
    assert inert in row


def test_what_changed_last_is_a_table_of_what_the_page_says():
    runs = results(24, machine="gpu|box")
    text = report_as_text("markdown", [Findings(runs[-1])], {}, history=history(runs))
    assert "24 runs of gpu\\|box can be compared: the same machine, the same size. What changed last: 1 change." in text
    assert "| since run | change of | what | became | along with |" in text
    assert re.search(
        r"\| 0013 \| technique \| amp bf16 on resnet50-train \(torch\) \| 1\.8.*× → 1\.6.*× \(.*\) \| NVIDIA driver "
        r"570.124 → 580.65 at that run \|\n",
        text,
    )
    assert "\n\n\n" not in text


def test_two_runs_have_no_history_to_tell():
    runs = results(2)
    told = [report_as_text("markdown", [Findings(runs[-1])], {}, history=past) for past in (history(runs), None)]
    assert told[0] == told[1]


def test_several_runs_stand_below_one_another_with_how_they_compare(tmp_path):
    for number, found in ((1, FASTER), (2, SLOWER)):
        measured = trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=found))
        save(run(measured), tmp_path / f"000{number}_quick.json", taken=f"2026-01-0{number}T00:00:00+00:00")
    text = markdown(tmp_path)
    assert text.index("**quick 0002**") < text.index("**quick 0001**")
    assert re.search(r"^- .*amp bf16 on net", text, re.MULTILINE)
