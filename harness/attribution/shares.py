"""What a bundle consists of, as ratios with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tabulate import tabulate

from harness import units
from harness.record import Verdict

Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Share:
    """A ratio of times per item, above 1 where it makes things faster; its interval has confidence ``1 - alpha``."""

    ratio: float
    low: float
    high: float
    verdict: Verdict

    def __str__(self) -> str:
        return units.ratio(self.ratio, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Additivity:
    """Whether log speedups add up, that is speedups multiply, tested rather than assumed.

    ``p_value`` is that of Hotelling's T² test that no technique changes what another one brings; None where too few
    rounds were run for it. ``within`` bounds every interaction at once, as a fraction, at confidence ``1 - alpha``.

    - multiply: every interaction lies within the noise zone
    - interact: the test rejects
    - undecided: neither
    """

    verdict: Literal["multiply", "interact", "undecided"]
    p_value: float | None
    within: float


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """A bundle of techniques, taken apart.

    Attributes:
        labels: each technique in words, such as ``amp bf16``.
        bundle: all techniques together over none of them.
        alone: each technique switched on where all others are off; empty for a fractional design.
        average: each technique on over off, on average over both levels of all others.
        on_top: each technique as the last one, added to all others; empty for a fractional design.
        interactions: by how much some techniques together are faster than what is told of fewer of them promises;
            in a fractional design of each pair, on average over all others.
        aliases: in a fractional design, the pairs whose interaction cannot be told from the one named.
        together: all interactions, which is the bundle over the product of what each brings alone.
        additive: whether the effects multiply.
        rounds: how many times every arm was timed.
    """

    labels: Mapping[str, str]
    bundle: Share
    alone: Mapping[str, Share]
    average: Mapping[str, Share]
    on_top: Mapping[str, Share]
    interactions: Mapping[Names, Share]
    aliases: Mapping[Names, tuple[Names, ...]]
    together: Share | None
    additive: Additivity
    rounds: int

    @property
    def sentence(self) -> str:
        """What the bundle consists of, in one sentence."""
        from harness.attribution.words import sentence

        return sentence(self)

    def _rows(self) -> list[tuple[str, ...]]:
        from harness.attribution.words import crossed

        rows = [
            (label, *(str(shares.get(name, "")) for shares in (self.alone, self.average, self.on_top)))
            for name, label in self.labels.items()
        ]
        rows += [(crossed(self, names), str(share), "", "") for names, share in self.interactions.items()]
        return [*rows, ("all together", str(self.bundle), "", "")]

    def __str__(self) -> str:
        return f"{tabulate(self._rows(), headers=_HEADERS, disable_numparse=True)}\n\n{self.sentence}"

    def _repr_html_(self) -> str:
        table = tabulate(self._rows(), headers=_HEADERS, tablefmt="html", disable_numparse=True)
        said = tabulate([(self.sentence,)], tablefmt="html", disable_numparse=True)  # which escapes it
        return f"{table}{said}"


_HEADERS = ("", "alone", "on average", "on top of the others")
