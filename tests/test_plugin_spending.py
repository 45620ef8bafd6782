"""Where the time of a session goes: told on the terminal, and kept in the file for the run and for each trial."""

import json

from project import Project


def test_a_session_says_where_its_time_went(project: Project) -> None:
    result = project.run("--benchmark-json=run.json")
    result.stdout.re_match_lines([r"\d+ s went into .*harness [\d.]+ %.*"])
    run = json.loads((project.path / "run.json").read_text())["accelbench"]
    trial = run["trials"][0]["spent_s"]
    assert {"build", "cold calls", "warm-up", "timed blocks", "checks", "price passes", "harness"} <= set(trial)
    assert all(trial[kind] <= run["spent_s"][kind] + 1e-3 for kind in trial)


def test_a_lost_worker_took_its_time(project: Project) -> None:
    project.benchmark("slow", "die")
    project.run("--benchmark-json=run.json")
    spent_s = json.loads((project.path / "run.json").read_text())["accelbench"]["trials"][0]["spent_s"]
    assert spent_s["lost workers"] > 0
    assert "timed blocks" not in spent_s
