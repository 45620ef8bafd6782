"""The tables of the study count what they say."""

import pytest

from studies.history import history_tables as histories
from studies.history import series_tables as tables
from studies.history.__main__ import TABLES, format_table
from studies.history.detectors import OURS, Detector, Installed
from studies.history.history_tables import RULES
from studies.history.rules import Alarm
from studies.history.scoring import Table
from studies.history.series_tables import Watching
from studies.history.simulated_series import SCENARIOS


def blind(series):
    return [[] for _ in series]


def jumpy(series):
    return [[Alarm(run) for run in range(len(each.values))] for each in series]


QUICK = {  # a row for each kind of row
    tables.cells_of_own_false_alarms: "Gaussian",
    tables.cells_of_scenarios: Watching(Detector("blind", blind), effects=True),
    tables.cells_of_drifts: "it drifts by 10 % in 100 runs",
    histories.cells_of_newest: RULES[-1],
    histories.cells_of_checks: "Gaussian",
    histories.cells_of_lengths: 3,
    histories.cells_of_changes: "nothing happens",
}


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.cells.__name__)
def test_every_row_of_a_table_is_as_long_as_its_head(table) -> None:
    row = QUICK.get(table.cells, Detector("blind", blind))
    assert len([str(row), *table.cells(row, 2)]) == len(table.head)


def test_a_detector_that_never_alarms_finds_nothing_and_one_that_always_alarms_finds_all() -> None:
    none, every = (tables.cells_of_early_finds(Detector(find.__name__, find), 3) for find in (blind, jumpy))
    assert {cell.split()[0] for cell in none} == {"0"}
    assert {cell.split()[0] for cell in every} == {"100"}
    assert tables.cells_of_false_alarms(Detector("jumpy", jumpy), 1)[-1].startswith("100 ")


def test_our_detector_is_among_them_and_stands_out() -> None:
    assert sum(row is OURS for row in TABLES[0].rows) == 1
    assert str(OURS) == "**accelbench**"
    shown = tables.cells_of_scenarios(Watching(OURS, effects=True), 3)
    assert dict(zip(SCENARIOS, (cell.split()[0] for cell in shown), strict=True))["technique loses 10 %"] == "100"


def test_a_tool_that_cannot_be_installed_has_a_row_that_says_so() -> None:
    tool = Installed("asv==0.6.5", "asv")
    table = Table(
        title="Steps", head=["", "early", "late"], rows=[Detector("asv", tool)], cells=tables.cells_of_late_finds
    )
    assert list(format_table(table, {}, {tool: "no route to host"}))[-2] == "| asv | left out: no route to host |  |"
