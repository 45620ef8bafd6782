"""The stages of a tf.data pipeline over image files, each of which is a switch."""

from __future__ import annotations

from dataclasses import dataclass

from accelbench.errors import Unavailable, check_choice

AUTOTUNE, CORES, WHOLE = "autotune", "cores", "whole"  # amounts that are no number
CHOICES = {
    "source": ("jpeg", "tfrecord"),
    "interleave": ("off", "serial", "parallel"),
    "cache": ("off", "memory", "file"),
}


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The stages of an epoch. An amount is a number, or ``"autotune"``: then tf.data chooses it as it runs.

    ``source`` is ``"jpeg"`` or ``"tfrecord"``. ``interleave`` reads TFRecord shards one after another (``"off"``) or
    in turn, in one thread (``"serial"``) or all at once (``"parallel"``). ``parallel_calls`` images are decoded at
    once, ``"cores"`` one per core. ``shuffle_buffer`` images, or the ``"whole"`` epoch, wait to be drawn at random.
    ``cache`` keeps decoded images in memory or in a file. ``vectorised`` normalises batches instead of images.
    ``prefetch`` batches are prepared ahead. ``default_optimizations`` lets tf.data rewrite the pipeline as it does
    unasked.
    """

    source: str = "jpeg"
    interleave: str = "off"
    parallel_calls: int | str = 1
    shuffle_buffer: int | str = 0
    cache: str = "off"
    vectorised: bool = False
    prefetch: int | str = 0
    default_optimizations: bool = False

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            check_choice(getattr(self, name), known, name)
        if self.interleave == "parallel" and self.source == "jpeg":
            raise Unavailable("several files are read at once from TFRecord shards only: measure(…, source='tfrecord')")

    @property
    def autotuned(self) -> bool:
        """Whether anything is left to tf.data to choose."""
        return self.default_optimizations or AUTOTUNE in (self.parallel_calls, self.prefetch)

    def threads(self, cores: int) -> int:
        """Return how many threads decode: as many as there are parallel calls, one per core where tf.data chooses."""
        per_core = self.default_optimizations or self.parallel_calls in (AUTOTUNE, CORES)
        return cores if per_core else int(self.parallel_calls)
