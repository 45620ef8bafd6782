"""What stands between collecting and measuring: the machine is taken, the journal is begun or taken up again."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest

from harness.hosting.resuming import heading
from harness.hosting.saving import Saving
from harness.hosting.suite import Suite
from harness.interruption import one_ctrl_c


def begin(session: pytest.Session, suite: Suite, saving: Saving) -> list[str]:
    """Prepare a session that is going to measure, and return what to say of it.

    Raises:
        BadInput: the machine is taken, or the unfinished run cannot be continued.
    """
    from harness.hosting.lock import lock_machine  # here, since most pytest sessions measure nothing

    interrupting = ExitStack()
    session.config.add_cleanup(interrupting.close)
    interrupting.enter_context(one_ctrl_c())
    options = suite.conditions.options
    with suite.spending.on("waiting"):
        suite.lock = lock_machine(wait=options.wait, say=partial(_say_at_once, session.config))
    items = [item for item in session.items if item.nodeid in suite.trials]
    this_run = partial(heading, conditions=suite.conditions, trials=suite.trials.values(), items=items)
    lines = list(saving.begin(this_run, resume=options.resume, in_parts=options.minutes is not None))
    if saving.journal:
        suite.keep_in(saving.journal)
    return lines


def _say_at_once(config: pytest.Config, line: str) -> None:
    """Show a line before a wait, also where the terminal is a pipe."""
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        reporter.write_line(line)
        reporter.flush()
