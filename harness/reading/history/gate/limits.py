"""What the gate holds a run to: the table ``[tool.accelbench.check]`` of a project's pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec

from harness.errors import BadInput
from harness.untrusted import shown

_TABLE = "[tool.accelbench.check]"
_WAY_OUT = 'write, for example, margin = 0.03 and techniques = { "batch-size" = 0.05 }'
Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The smallest change that matters, as a share, and the share of what is raised that may be raised wrongly.

    A technique or a workload may have a margin of its own, under the name that reports give it; where both have one,
    the larger counts.
    """

    margin: Share = 0.03
    false_discovery_rate: Share = 0.01
    techniques: dict[str, Share] = {}
    workloads: dict[str, Share] = {}

    def margin_of(self, technique: str = "", workload: str = "") -> float:
        """Return the smallest change that matters to a technique on a workload."""
        own = [self.techniques.get(technique), self.workloads.get(workload)]
        return max((margin for margin in own if margin is not None), default=self.margin)


def read_limits(path: Path = Path("pyproject.toml")) -> Limits:
    """Return the limits that a pyproject.toml sets; one that is not there, or sets none, leaves the defaults.

    Raises:
        BadInput: it cannot be read, is no TOML, or its table names or sets what there is not.
    """
    source = shown(str(path))
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Limits()
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror}); make it readable") from None
    except ValueError as error:  # of TOML and of UTF-8
        raise BadInput(f"{source}: is no TOML ({error}); mend it") from None
    try:
        return msgspec.convert(_table(document), Limits, strict=True)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source}: {_TABLE}: {shown(str(error))[:300]}; {_WAY_OUT}") from None


def _table(document: Any) -> Any:
    for name in ("tool", "accelbench", "check"):
        document = document.get(name, {}) if isinstance(document, dict) else document
    return document
