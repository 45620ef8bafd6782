"""What every trial is, learnt before anything is measured: its first test runs up to its call of ``measure``.

A run visits all of its trials several times, so it must know all of them before the first visit. A test's lines before
that call therefore run twice.
"""

from __future__ import annotations

import warnings

import pytest
from _pytest.runner import runtestprotocol

from accelbench.pytest_plugin.session import Session


def plan_requests(session: pytest.Session, own: Session) -> None:
    """Run tests without reporting them until each trial has been asked for, or none of its tests has asked."""
    items = [item for item in session.items if item.nodeid in own.trials]
    own.is_planning = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are reported when the tests run for good
            for item in items:
                if own.trials[item.nodeid].id not in own.requests:
                    session._setupstate.teardown_exact(item)  # noqa: SLF001  what this item does not share
                    runtestprotocol(item, log=False, nextitem=_sibling(item, items))
            session._setupstate.teardown_exact(session.items[0])  # noqa: SLF001
    finally:
        own.is_planning = False


def _sibling(item: pytest.Item, items: list[pytest.Item]) -> pytest.Item | None:
    """Return another test, of the same module if there is one, so that this module's fixtures stay for it."""
    others = [each for each in items if each is not item]
    return next((each for each in others if each.path == item.path), next(iter(others), None))
