"""What an attribution says in sentences."""

from __future__ import annotations

import math

from harness import units
from harness.attribution.shares import Additivity, Attribution, Names, Share

_IN_PERCENT = 0.5  # a larger departure reads better as a factor
_ANY = 100.0  # a larger factor only says that nothing is known


def sentence(found: Attribution) -> str:
    """Say what each technique brings of the bundle, what only several bring, and whether the effects multiply.

    Of a fraction, in which there are many, only the largest are named.
    """
    return f"of the bundle's {_ratio(found.bundle)}, {_shares(found)}: {multiplied(found.additive)}"


def multiplied(additive: Additivity) -> str:
    """Say whether the effects multiply."""
    p_value = f" ({units.p_value(additive.p_value)})" if additive.p_value is not None else ""
    within = units.percent(additive.within) if additive.within < _IN_PERCENT else _factor(1 + additive.within)
    if additive.verdict == "interact":
        return f"the effects do not simply multiply{p_value}"
    if additive.verdict == "multiply":
        return f"they multiply within {within}{p_value}"
    return f"it is undecided whether they multiply, interactions may reach {within}{p_value}"


def _factor(ratio: float) -> str:
    return units.speedup(ratio) if ratio < _ANY else f"more than {units.speedup(_ANY)}"


def crossed(found: Attribution, names: Names) -> str:
    """Name an interaction, with those that it cannot be told from."""
    every = (names, *found.aliases.get(names, ()))
    return " or ".join(" × ".join(name.replace("_", "-") for name in each) for each in every)


def _shares(found: Attribution) -> str:
    if not found.alone:
        name, share = max(found.average.items(), key=lambda item: abs(math.log(item[1].ratio)))
        most = f"{found.labels[name]} {_ratio(share)} on average over the others"
        surest = f", of the interactions {told}" if (told := _surest(found)) else ""
        return f"the largest of {len(found.labels)} shares {most}{surest}"
    each = ", ".join(f"{found.labels[name]} alone {_ratio(share)}" for name, share in found.alone.items())
    if found.together is None or len(found.interactions) == 1:
        return f"{each}, their interaction {_ratio(next(iter(found.interactions.values())))}"
    surest = f", {told}" if (told := _surest(found)) else ""
    return f"{each}, their interactions {_ratio(found.together)}{surest}"


def _surest(found: Attribution) -> str:
    """Name the interaction whose interval lies furthest from 1, if any does not hold it."""
    names, share = max(found.interactions.items(), key=lambda item: _clear_of_1(item[1]))
    return f"most surely {crossed(found, names)} {_ratio(share)}" if _clear_of_1(share) > 1 else ""


def _clear_of_1(share: Share) -> float:
    """Return by which factor an interval is away from 1; 1 where it holds it."""
    return max(share.low, 1 / share.high, 1.0)


def _ratio(share: Share) -> str:
    return units.speedup(share.ratio)
