"""The study of commands in folders of many runs."""

import shutil

from runs import STORED

from studies.report_scale import READ


def test_the_program_that_loads_the_index_loads_a_folder_of_runs(tmp_path, monkeypatch):
    folder = tmp_path / "results" / "machine"
    folder.mkdir(parents=True)
    shutil.copy(STORED, folder / "0001_run.json")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(READ.replace("; ", "; history = "), names)
    assert len(names["history"].runs) == 1
