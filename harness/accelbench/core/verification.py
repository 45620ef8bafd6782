"""Checks of an answer: its distance from another arm's or from a reference, and laws of conservation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accelbench.schema.reasons import Reason, reason

Conserved = Mapping[str, tuple[Any, float]]  # a quantity's value, and the scale of a relative change

Outputs = tuple[Sequence[np.ndarray], Sequence[np.ndarray]]  # what came, and what was expected

NUMBERS = "biufc"  # NumPy's kinds of numbers; values of all others are equal or not
LARGEST_INTEGER = 2**53  # up to which float64 has every integer
UNEVENNESS = 3  # times as large as the tolerance, or as in most slices, an honest slice's error may be
FALSE_ALARM = 1e-9  # chance that the slices along one axis of an honest array hold one whose error is too large
SMALL_SHARE = 0.05  # of the typical norm of a slice: what is left in smaller ones may be what cancelled
MOST_SLICES = 2**20  # along an axis; where there are more, neighbours are taken together
SAMPLE = 2**16  # slices whose median is taken for that of all
CHUNK = 2**18  # elements that are compared at once, so that they stay in a cache


@dataclass(frozen=True, kw_only=True)
class OutputError:
    """How far an output is from what was expected.

    ``over_all`` is the largest relative error of its arrays, ``max ‖a − b‖₂ / ‖b‖₂``. A slice, such as a row, a column
    or a channel, may be wrong although its array's norm hides it: ``place`` names the one that is worst in the notation
    of NumPy, ``in_slice`` is its error relative to its own norm, and ``allowance`` the multiple of a tolerance that the
    slice of an honest output may reach.
    """

    over_all: float
    in_slice: float = 0.0
    allowance: float = 1.0
    place: str = ""

    @property
    def relative(self) -> float:
        """What is compared with a tolerance: the error over all, or the worst slice's where that is more."""
        return max(self.over_all, self.in_slice / self.allowance)


def relative_error(output: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Return the relative error of an output, over all or in its worst slice; infinite where shapes differ.

    A list of numbers, or of arrays, has the shape of the array with which it is compared, if that has as many.

    That is :attr:`OutputError.relative` of :func:`measure_error`.
    """
    return measure_error(output, expected).relative


def measure_error(output: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> OutputError:
    """Measure the error of every array as a whole, and of its slices along each of its axes.

    NaN and infinities must stand where they are expected; the error of the other numbers is measured. Texts, dates,
    integers above 2^53 and values that are no numbers are equal or not: their error is the share that differs.

    A slice of n elements, one of G along its axis, has an error that is too large if it is larger both than
    ``tolerance · f`` of its own norm (of at least ``SMALL_SHARE`` of the typical one) and than ``f`` times the median
    slice's error, where ``f = UNEVENNESS · √(1 + 2√(x/n) + 2x/n)`` and ``x = ln(G / FALSE_ALARM)``. If the errors of
    an honest output are independent and normal, with a variance that is at most UNEVENNESS² times what the tolerance
    explains, or what most slices show, the chance of a false alarm is at most FALSE_ALARM for each axis, by the bound
    on chi-squared of Laurent and Massart (2000, "Adaptive estimation of a quadratic functional", lemma 1). So rounding
    that is proportional to each slice is allowed, and so is rounding spread evenly over all, as a Fourier transform
    does it.
    """
    pairs = _pairs_of(output, expected)
    if pairs is None:
        return OutputError(over_all=math.inf)
    errors = [
        _error_of(array, reference, f"output[{number}]" if len(pairs) > 1 else "output")
        for number, (array, reference) in enumerate(pairs)
    ]
    worst = max(errors, key=lambda each: each.in_slice / each.allowance, default=OutputError(over_all=0.0))
    return OutputError(
        over_all=max((each.over_all for each in errors), default=0.0),
        in_slice=worst.in_slice,
        allowance=worst.allowance,
        place=worst.place,
    )


def _pairs_of(
    output: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the arrays that are compared, in which lists became arrays like the other's; None where shapes differ."""
    if list(map(np.shape, output)) == list(map(np.shape, expected)):
        return [(np.asarray(array), np.asarray(reference)) for array, reference in zip(output, expected, strict=True)]
    pairs = []
    place = other = 0
    while place < len(output) and other < len(expected):
        array, reference = np.asarray(output[place]), np.asarray(expected[other])
        count, count_of_other = _parts_for(array, reference) or 1, _parts_for(reference, array) or 1
        array, reference = (
            _joined(output[place : place + count], reference.shape),
            _joined(expected[other : other + count_of_other], array.shape),
        )
        if array.shape != reference.shape:
            return None
        pairs.append((array, reference))
        place, other = place + count, other + count_of_other
    return pairs if place == len(output) and other == len(expected) else None


def _parts_for(part: np.ndarray, whole: np.ndarray) -> int:
    """Return how many parts of one shape, such as numbers or rows, make the whole; 0 if they cannot."""
    if not part.ndim:
        return whole.size if whole.ndim else 0
    count = whole.size // part.size if part.size else 0
    is_row = part.ndim < whole.ndim and whole.shape[-part.ndim :] == part.shape
    is_complex = part.shape == (2,) and whole.size > 2 and whole.shape[-1] % 2 == 0  # a number as a pair
    return count if count > 1 and (is_row or is_complex) else 0


def _joined(parts: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return parts of one shape, which have as many elements in all, as an array of this shape; else the first part."""
    is_whole = len({np.shape(part) for part in parts}) == 1 and sum(map(np.size, parts)) == math.prod(shape)
    is_list = len(parts) > 1 or not np.ndim(parts[0])
    return np.stack(parts).reshape(shape) if is_whole and is_list else np.asarray(parts[0])


def _error_of(array: np.ndarray, reference: np.ndarray, name: str) -> OutputError:
    are_numbers = [each.dtype.kind in NUMBERS for each in (array, reference)]
    if not all(are_numbers):
        return OutputError(over_all=math.inf if any(are_numbers) else share_that_differs(array, reference))
    if np.array_equal(array, reference):
        return OutputError(over_all=0.0)
    if is_exact(array) or is_exact(reference):
        return OutputError(over_all=share_that_differs(array, reference))
    if not array.ndim and not np.iscomplexobj(array) and not np.iscomplexobj(reference):  # there may be thousands
        number, known = float(array), float(reference)
        if known and math.isfinite(number) and math.isfinite(known):
            return OutputError(over_all=abs(number - known) / abs(known))
    pair = _comparable(_in_float64(array), _in_float64(reference))
    if pair is None:
        return OutputError(over_all=math.inf)
    array, reference = pair
    scale = float(np.linalg.norm(reference))
    squares = _Squares(array, reference)
    distance = math.sqrt(squares.error)
    if not scale or not distance:
        return OutputError(over_all=distance)
    slices = [OutputError(over_all=0.0), *squares.worst_slices(name)]
    worst = max(slices, key=lambda each: each.in_slice / each.allowance)
    return OutputError(over_all=distance / scale, in_slice=worst.in_slice, allowance=worst.allowance, place=worst.place)


def is_exact(array: np.ndarray) -> bool:
    """Return whether it holds integers of which float64 would lose digits: such as checksums and times."""
    is_wide = array.size > 0 and array.dtype in (np.int64, np.uint64)
    return is_wide and max(-int(array.min()), int(array.max())) > LARGEST_INTEGER


def share_that_differs(array: np.ndarray, reference: np.ndarray) -> float:
    """Return the share of values that are not equal; what is missing, such as NaN in an array of objects, is equal."""
    try:
        differs = np.asarray(np.not_equal(array, reference), dtype=bool)
        if array.dtype.kind in "mMO":  # what is missing there differs from itself
            differs &= ~np.asarray((array != array) & (reference != reference), dtype=bool)
    except TypeError:  # they are of kinds that NumPy cannot compare
        return 1.0
    return float(np.mean(differs)) if differs.size else 0.0


def as_pairs(array: np.ndarray) -> np.ndarray:
    """Return a copy of complex numbers as pairs in float64."""
    return np.array(array, dtype=np.complex128, order="C", ndmin=1).view(np.float64)


def _in_float64(array: np.ndarray) -> np.ndarray:
    """Return it in float64, complex numbers as pairs."""
    return as_pairs(array) if array.dtype.kind == "c" else np.asarray(array, dtype=np.float64)


def _comparable(array: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return both so that their squares are finite: without NaN and infinities, None where these differ."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = float(np.linalg.norm(array)), float(np.linalg.norm(reference))
    if all(1e-140 < norm < 1e140 for norm in norms):
        return array, reference
    is_finite = np.isfinite(reference)
    if not np.array_equal(is_finite, np.isfinite(array)):
        return None
    if not np.array_equal(array[~is_finite], reference[~is_finite], equal_nan=True):
        return None
    array, reference = np.where(is_finite, array, 0.0), np.where(is_finite, reference, 0.0)
    largest = float(np.max(np.abs(reference), initial=0.0))
    if not largest or 1e-140 < largest < 1e140:
        return array, reference
    with np.errstate(over="ignore"):  # then the error is infinite
        return array / largest, reference / largest


class _Squares:
    """The sums of squares of an array's errors and of its reference, in all and of the slices along each axis."""

    def __init__(self, array: np.ndarray, reference: np.ndarray) -> None:
        self.shape = np.shape(array) or (1,)
        self.axes = [axis for axis, length in enumerate(self.shape) if length > 1]
        lengths = [self.shape[axis] for axis in self.axes] or [1]
        self.width = -(-lengths[0] // MOST_SLICES)
        self.error = 0.0
        self.sums = [np.zeros((2, length)) for length in (max(1, lengths[0] // self.width), *lengths[1:])]
        array, reference = array.reshape(lengths), reference.reshape(lengths)
        step = self.width * max(1, CHUNK * lengths[0] // (array.size * self.width))
        for start in range(0, lengths[0], step):
            self._add(array[start : start + step], reference[start : start + step], start // self.width)

    def _add(self, array: np.ndarray, reference: np.ndarray, first: int) -> None:
        with np.errstate(over="ignore", under="ignore"):
            errors = np.subtract(array, reference)
            parts = np.square(errors, out=errors), np.square(reference)
        for row, part in enumerate(parts):
            along_first = part.reshape(len(part), -1).sum(axis=1)
            if self.width > 1:
                along_first = np.add.reduceat(along_first, np.arange(0, len(part), self.width))
            sums = self.sums[0][row]
            known = along_first[: len(sums) - first]
            sums[first : first + len(known)] += known
            sums[-1] += along_first[len(known) :].sum()  # what is left if the width does not divide the length
            self.error += float(along_first.sum()) if row == 0 else 0.0
            for axis in range(1, part.ndim):
                others = tuple(other for other in range(part.ndim) if other != axis)
                self.sums[axis][row] += part.sum(axis=others)

    def worst_slices(self, name: str) -> Iterator[OutputError]:
        """Yield the error of the worst slice along each axis of more than one."""
        size = math.prod(self.shape)
        for axis, sums in zip(self.axes, self.sums, strict=False):
            width = -(-self.shape[axis] // MOST_SLICES)
            number = self.shape[axis] // width
            if sums.shape[1] > number:
                sums = np.add.reduceat(sums, np.arange(number) * width, axis=1)
            x = math.log(number / FALSE_ALARM)
            elements = width * size / self.shape[axis]
            allowance = UNEVENNESS * math.sqrt(1 + 2 * math.sqrt(x / elements) + 2 * x / elements)
            errors, norms = np.sqrt(sums)
            typical = _low_median(norms[norms > 0])
            shares = errors / np.maximum(norms, SMALL_SHARE * typical)
            shares[errors <= allowance * _low_median(errors)] = 0.0
            worst = int(np.argmax(shares))
            index = str(worst) if width == 1 else f"{worst * width}:{(worst + 1) * width}"
            place = f"{name}[{', '.join([':'] * axis + [index])}]"
            yield OutputError(over_all=0.0, in_slice=float(shares[worst]), allowance=allowance, place=place)


def _low_median(values: np.ndarray) -> float:
    """Return the median of some of the values, or of two values in the middle the lower one; 0 of none."""
    some = values[:: -(-len(values) // SAMPLE) or 1]
    middle = (len(some) - 1) // 2
    return float(np.partition(some, middle)[middle]) if len(some) else 0.0


def find_excess_error(error: float, tolerance: float, expected: str, outputs: Outputs | None = None) -> Reason | None:
    """Return a reason if an output's relative error to what was ``expected`` is larger than the tolerance.

    With the ``outputs`` of which this is the error, the reason names the slice that is wrong, or shapes that differ.
    """
    if error <= tolerance:
        return None
    if outputs and _pairs_of(*outputs) is None:
        return reason("message", message=_describe_shapes(*outputs, expected))
    found = measure_error(*outputs) if outputs else OutputError(over_all=error)
    if found.place and found.over_all <= tolerance < found.relative:
        return reason(
            "slice-too-far",
            place=found.place,
            expected=expected,
            error=found.in_slice,
            tolerance=tolerance * found.allowance,
            over_all=found.over_all,
        )
    return reason("too-far", expected=expected, error=error, tolerance=tolerance)


def _describe_shapes(output: Sequence[np.ndarray], reference: Sequence[np.ndarray], expected: str) -> str:
    """Return in a sentence how the shapes of an output differ from those that were ``expected``."""
    name, shapes = "the output", (_describe_shape(output), _describe_shape(reference))
    if 1 < len(output) == len(reference):
        place = next(place for place, pair in enumerate(zip(output, reference, strict=True)) if _differ(*pair))
        name, shapes = f"output[{place}]", (_describe_shape([output[place]]), _describe_shape([reference[place]]))
    return f"{name} has {shapes[0]}, and {expected} has {shapes[1]}"


def _differ(array: np.ndarray, reference: np.ndarray) -> bool:
    return np.shape(array) != np.shape(reference)


def _describe_shape(arrays: Sequence[np.ndarray]) -> str:
    if len(arrays) == 1:
        return f"the shape {np.shape(arrays[0])}"
    return f"{len(arrays)} {'arrays' if any(map(np.ndim, arrays)) else 'values'}"


def find_distance(output: Any, reference: Any, tolerance: float, expected: str) -> Reason | None:
    """Return a reason if an array is further from a reference, called ``expected``, than the relative tolerance."""
    outputs = [output], [reference]
    return find_excess_error(relative_error(*outputs), tolerance, expected, outputs)


def find_broken_law(before: Conserved, after: Conserved, tolerance: Mapping[str, float]) -> Reason | None:
    """Return a reason if a quantity changed by more than its relative tolerance."""
    for quantity, allowed in tolerance.items():
        (first, scale), (last, _) = before[quantity], after[quantity]
        change = float(np.linalg.norm(np.subtract(last, first))) / scale
        if not change <= allowed:  # NaN is no conservation
            return reason("not-conserved", quantity=quantity, change=change, tolerance=allowed)
    return None
