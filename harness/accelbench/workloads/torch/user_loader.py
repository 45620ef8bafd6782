"""A program's own loader, from which every epoch draws the same first items in the same order. Needs PyTorch.

A loader is a ``torch.utils.data.DataLoader``, or anything else that yields the batches of an epoch whenever it is
iterated. The program's data may draw random numbers, as random flips do. Then every item has a seed of its own, so that
loader processes and their number do not change what becomes of an item.
"""

from __future__ import annotations

import pickle
import random
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Subset, TensorDataset, get_worker_info

from accelbench.errors import BadInput
from accelbench.text import name_type
from accelbench.units import plural
from accelbench.workloads.torch.batch import items_in, tensors_of

PROBED_ITEMS = 8  # of the first batch, which show whether the data draw random numbers
TIMED = 50  # items, to see how long seeding takes
MOST_BATCHES = 64  # of an iteration whose number of batches the suite chooses
MOST_PARTS = 1000  # longer lists are data
NO_BATCH = "the program's loader yields no batch; expected at least one, whenever it is iterated"
MOST_LOOKED_AT = 10_000  # objects
MOST_HELD = 6  # containers within one another in which generators of random numbers are looked for
USUAL_PREFETCH = 2  # batches ahead, as DataLoader has it


@dataclass(frozen=True, kw_only=True)
class Processes:
    """How a data loader loads: in how many processes, and where it puts the batches."""

    workers: int
    persistent_workers: bool
    prefetch_factor: int
    pin_memory: bool


class UserLoader:
    """What a program's loader is, and the loaders of its first batches.

    ``batch_size`` is None where the program decides how many items a batch has. ``most`` is the number of items of an
    epoch, None where only an epoch would show it.

    Raises:
        BadInput: the loader cannot be iterated, or only once, or it has too few items for one batch.
    """

    def __init__(self, loader: Any, seed: int) -> None:
        self.loader = loader
        self._seed = seed
        self.is_data_loader = isinstance(loader, DataLoader)
        self.is_stream = self.is_data_loader and isinstance(loader.dataset, IterableDataset)
        if not self.is_data_loader:
            _require_iterable(loader)
        self.batch_size: int | None = loader.batch_size if self.is_data_loader else None
        self.most: int | None = None
        if self.batch_size is not None and not self.is_stream:
            self.most = _length(loader.sampler)
            if self.most is not None and not loader.drop_last:
                self.batch_size = min(self.batch_size, max(1, self.most))
            elif self.most is not None and self.most < self.batch_size:
                raise BadInput(
                    f"the program's DataLoader gives no batch: there are {plural(self.most, 'item')} for a batch of "
                    f"{self.batch_size}, and drop_last=True leaves out a smaller one; use a smaller batch_size, or "
                    "leave drop_last out"
                )

    @property
    def processes(self) -> Processes:
        """How the program itself loads."""
        if not self.is_data_loader:
            return Processes(workers=0, persistent_workers=False, prefetch_factor=USUAL_PREFETCH, pin_memory=False)
        return Processes(
            workers=self.loader.num_workers,
            persistent_workers=self.loader.persistent_workers,
            prefetch_factor=self.loader.prefetch_factor or USUAL_PREFETCH,
            pin_memory=self.loader.pin_memory,
        )

    @property
    def _fewest_processes(self) -> Processes:
        """None, or one where a loader process must be prepared before it can load."""
        return replace(self.processes, workers=int(self._is_prepared), persistent_workers=False)

    @property
    def _is_prepared(self) -> bool:
        return self.is_data_loader and self.loader.num_workers > 0 and self.loader.worker_init_fn is not None

    def objection(self, option: str) -> str | None:
        """Return why an option of a loader cannot be switched, None if it can."""
        if not self.is_data_loader:
            return f"the program's loader is {name_type(self.loader)}, which has no {option} to switch"
        if option == "batch_size" and self.batch_size is None:
            if getattr(self.loader, "batch_sampler", None) is not None:
                return "the program's own batch_sampler decides how many items a batch has"
            return "the program's data set makes whole batches, and decides how many items they have"
        return None

    def sample(self, count: int, *, draws: bool) -> Epoch:
        """Return the epoch of the first ``count`` batches as the program loads them, which counts nothing."""
        return self.epoch(count, self.batch_size, self.processes, draws=draws, known=_UNKNOWN)

    def first(self) -> Any:
        """Return the first batch, which this process loads if it can."""
        return self.epoch(1, self.batch_size, self._fewest_processes, draws=False, known=_UNKNOWN).first()

    def batches_of(self, items: float) -> int:
        """Return how many of the first batches have ``items`` items."""
        if self.batch_size:
            return max(1, round(items / self.batch_size))
        count, found = 0, 0
        for batch in self.epoch(MOST_BATCHES, None, self._fewest_processes, draws=False, known=_UNKNOWN):
            count, found = count + 1, found + items_in(batch)
            if found >= items:
                break
        return max(1, count)

    def epoch(
        self, count: int, batch_size: int | None, processes: Processes, *, draws: bool, known: EpochSize | None = None
    ) -> Epoch:
        """Return the epoch of the first ``count`` batches of the program, perhaps in batches of another size.

        Args:
            count: batches of the program's own size.
            batch_size: items of a batch, None where the program decides.
            processes: how it is loaded.
            draws: whether the program's data draw random numbers, so that every item gets a seed.
            known: what an earlier epoch of the kind counted.
        """
        seeds = Seeds(self._seed, _held_generators(self._data)) if draws else None
        if not self.is_data_loader:
            inputs = self.loader[:count] if isinstance(self.loader, list) and not draws else ()
            return Epoch(_RepeatedBatches(self.loader, count, seeds), known, inputs=inputs)
        if self.is_stream:
            return self._stream_epoch(count, batch_size, processes, seeds, known)
        return self._draw_epoch(count, batch_size, processes, seeds, known)

    def _draw_epoch(
        self, count: int, batch_size: int | None, processes: Processes, seeds: Seeds | None, known: EpochSize | None
    ) -> Epoch:
        """Return the epoch of a data set whose items are drawn by number."""
        own = self.loader
        sampling: dict[str, Any]
        if batch_size is not None:
            order = self._order(own.sampler, max(batch_size, count * (self.batch_size or 1)))
            order = order[: max(batch_size, len(order) // batch_size * batch_size)]  # whole batches
            sampling = {"batch_size": batch_size, "sampler": order}
            known = EpochSize(batches=-(-len(order) // batch_size), items=len(order), are_even=True)
        elif own.batch_sampler is not None:
            order = self._order(own.batch_sampler, count)
            sampling = {"batch_sampler": order}
            known = EpochSize.of(map(len, order))
        else:
            order = self._order(own.sampler, count)
            sampling = {"batch_size": None, "sampler": order}
        is_part = self.most is None or len(order) < self.most // (batch_size or 1) * (batch_size or 1)
        loader = self._data_loader(self._items(seeds), self._collate(seeds), processes, is_part=is_part, **sampling)
        shows = known and not processes.workers and isinstance(own.dataset, TensorDataset)
        tensors = own.dataset.tensors if known and shows and known.items == len(own.dataset) else ()
        return Epoch(loader, known, inputs=tensors, is_part=is_part)

    def _stream_epoch(
        self, count: int, batch_size: int | None, processes: Processes, seeds: Seeds | None, known: EpochSize | None
    ) -> Epoch:
        """Return the epoch of a data set that is iterated."""
        own = self.loader
        if batch_size is not None and self.batch_size is not None:
            count = max(1, count * self.batch_size // batch_size)
        dataset = _Stream(own.dataset, count, batch_size or 1, seeds)
        sampling = {"batch_size": batch_size, "drop_last": bool(own.drop_last)}
        loader = self._data_loader(dataset, self._collate(seeds), processes, is_part=True, **sampling)
        return Epoch(loader, known)

    def _data_loader(self, dataset: Any, collate: Any, processes: Processes, *, is_part: bool, **sampling: Any) -> Any:
        """Return a data loader like the program's own.

        Within a part of the program's epoch no loader process starts, so they live on from one part to the next.
        """
        own, has_workers = self.loader, processes.workers > 0
        return DataLoader(
            dataset,
            num_workers=processes.workers,
            persistent_workers=has_workers and (processes.persistent_workers or is_part),
            prefetch_factor=processes.prefetch_factor if has_workers else None,
            pin_memory=processes.pin_memory and torch.accelerator.is_available(),
            generator=torch.Generator(),
            collate_fn=collate,
            worker_init_fn=own.worker_init_fn and _PrepareWorker(own.worker_init_fn),
            multiprocessing_context=own.multiprocessing_context if has_workers else None,
            timeout=own.timeout if has_workers else 0,
            **sampling,
        )

    def find_draws(self) -> tuple[bool, bool]:
        """Return whether the first batch's data draw random numbers, and whether they repeat themselves nonetheless.

        A loader process finds it where one must be prepared before it can load.
        """
        if self._is_prepared and get_worker_info() is None:
            asked = _FoundDraws(self)
            loader = self._data_loader(asked, asked.keep, self._fewest_processes, is_part=False, batch_size=None)
            found: tuple[bool, bool] = next(iter(loader))
            return found
        probe = self._probe_items if self.is_data_loader and not self.is_stream else self._probe_stream
        generators = _held_generators(self._data)
        before = _states(generators)
        first = probe(None)
        draws = _states(generators) != before
        seeds = Seeds(self._seed, generators) if draws else None
        if seeds:
            first = probe(seeds)
        return draws, _alike(first, probe(seeds))

    def repeats_in_processes(self) -> bool:
        """Return whether two loader processes of a stream load the same items, since it is not divided among them."""
        two = Processes(workers=2, persistent_workers=False, prefetch_factor=1, pin_memory=False)
        seeds = Seeds(self._seed, ())
        dataset = _Stream(self.loader.dataset, 2, self.batch_size or 1, seeds, alike=True)
        loader = self._data_loader(dataset, self.loader.collate_fn, two, is_part=False, batch_size=self.batch_size)
        first, *others = list(loader) or [()]
        return bool(others) and _alike(first, others[0])

    def _items(self, seeds: Seeds | None) -> Any:
        """Return the program's data set, whose items have seeds of their own if there are any."""
        return _SeededItems(self.loader.dataset, seeds) if seeds else self.loader.dataset

    def _collate(self, seeds: Seeds | None) -> Callable[[Any], Any]:
        collate: Callable[[Any], Any] = self.loader.collate_fn
        return _SeededCollate(collate, seeds) if seeds else collate

    @property
    def _data(self) -> Any:
        """What may hold generators of random numbers."""
        return (self.loader.dataset, self.loader.collate_fn) if self.is_data_loader else self.loader

    def _order(self, sampler: Any, count: int) -> list[Any]:
        """Return the first ``count`` indices, or lists of indices, that a sampler draws from the seed."""
        generators = [each for each in _held_generators(sampler) if isinstance(each, torch.Generator)]
        states = [generator.get_state() for generator in generators]  # perhaps shared with the loaders of other arms
        with _seed_generators(self._seed):
            found: list[Any]
            if type(sampler) is RandomSampler and not sampler.replacement and len(sampler) == len(sampler.data_source):
                found = torch.randperm(len(sampler))[:count].tolist()  # a list of all would take a while
            else:
                found = list(islice(iter(sampler), count))
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        if not found:
            raise BadInput(NO_BATCH)
        return found

    def _probe_items(self, seeds: Seeds | None) -> Any:
        own = self.loader
        indices: Any = self._order(own.batch_sampler if own.batch_sampler is not None else own.sampler, 1)[0]
        if own.batch_sampler is not None:
            indices = list(indices)[:PROBED_ITEMS]
        collate, dataset = self._collate(seeds), self._items(seeds)
        if not isinstance(indices, list):
            return collate(dataset[indices])
        fetch = getattr(dataset, "__getitems__", None)
        return collate(fetch(indices) if fetch else [dataset[index] for index in indices])

    def _probe_stream(self, seeds: Seeds | None) -> Any:
        if self.is_stream:
            batch_size = self.loader.batch_size
            data = self.loader.dataset
            items = list(islice(_Stream(data, 1, batch_size or 1, seeds), min(PROBED_ITEMS, batch_size or 1)))
            return self._collate(seeds)(items if batch_size else items[0]) if items else None
        return next(iter(_RepeatedBatches(self.loader, 1, seeds)), None)


class Epoch:
    """The batches of an iteration, which a loader yields anew each time, with their number and that of their items.

    What is not known is counted in an epoch of its own. ``inputs`` are the tensors of which it is made, if any.
    ``is_part`` says whether it is a part of the program's epoch.
    """

    feed: Callable[[Any], None] | None = None

    def __init__(self, loader: Any, known: EpochSize | None, *, inputs: Any = (), is_part: bool = True) -> None:
        self._loader = loader
        self._inputs = inputs
        self.is_part = is_part
        self.counted = known or EpochSize.of(map(items_in, loader))
        self.count, self.items, self.is_even = self.counted.batches, self.counted.items, self.counted.are_even

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch."""
        return iter(self._loader)

    def first(self) -> Any:
        """Return the first batch of an epoch."""
        return next(iter(self))

    def restart(self) -> None:
        """Every epoch is the first one."""

    def inputs(self) -> Any:
        """Return the tensors that this process reads as a whole, and no copies."""
        return self._inputs

    def close(self) -> None:
        """End the loader's processes."""
        self._loader = ()


@dataclass(frozen=True, kw_only=True)
class EpochSize:
    """The batches and items of an epoch, and whether all batches have as many."""

    batches: int
    items: int
    are_even: bool

    @classmethod
    def of(cls, sizes: Iterable[int]) -> EpochSize:
        """Return the sum of the sizes of batches.

        Raises:
            BadInput: there is no batch.
        """
        listed = list(sizes)
        if not listed:
            raise BadInput(NO_BATCH)
        return cls(batches=len(listed), items=sum(listed), are_even=len({*listed}) == 1)


_UNKNOWN = EpochSize(batches=1, items=1, are_even=False)  # where nobody asks


class Seeds:
    """Seeds of the items, which generators of random numbers get for as long as an item is made."""

    def __init__(self, seed: int, generators: Sequence[Any]) -> None:
        self._seed = seed
        self._generators = tuple(generators)

    @contextmanager
    def of(self, *place: Any) -> Iterator[None]:
        """Seed all generators for an item at this place, and restore those that the process shares."""
        number = zlib.crc32(repr((self._seed, *place)).encode())
        with _seed_generators(number):
            for generator in self._generators:
                _seed_generator(generator, number)
            yield

    def time_s(self) -> float:
        """Return how long it takes to seed an item."""
        start = time.perf_counter()
        for number in range(TIMED):
            with self.of(number):
                pass
        return (time.perf_counter() - start) / TIMED


_LENT = np.random.MT19937(0)  # NumPy's while an item is made


@contextmanager
def _seed_generators(number: int) -> Iterator[None]:
    """Seed the generators on the host that a process shares, and restore them."""
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    shared: Any = np.random  # its stubs lack the two functions
    numpy_generator = shared.get_bit_generator()
    shared.set_bit_generator(_LENT)  # reading and writing its state would take forty times as long
    np.random.seed(number)  # noqa: NPY002  users' data draw from it
    torch.default_generator.manual_seed(number)  # not those of accelerators, which a loader process must not start
    random.seed(number)
    try:
        yield
    finally:
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        shared.set_bit_generator(numpy_generator)


def _seed_generator(generator: Any, number: int) -> None:
    if isinstance(generator, torch.Generator):
        generator.manual_seed(number)
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(number).state
    else:
        generator.seed(number)


_NO_HOLDERS = (torch.Tensor, np.ndarray, str, bytes, type, ModuleType)
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, torch.Generator)


def _held_generators(held: Any) -> tuple[Any, ...]:
    """Return the generators of random numbers that lie in the attributes and containers of an object."""
    found: dict[int, Any] = {}
    seen: dict[int, Any] = {}

    def look(value: Any, depth: int) -> None:
        if isinstance(value, _GENERATORS) and not isinstance(value, random.SystemRandom):
            if not isinstance(value, torch.Generator) or value.device.type == "cpu":
                found[id(value)] = value
            return
        if depth == 0 or id(value) in seen or isinstance(value, _NO_HOLDERS) or len(seen) > MOST_LOOKED_AT:
            return
        seen[id(value)] = value
        if isinstance(value, dict):
            parts: Iterable[Any] = value.values() if len(value) <= MOST_PARTS else ()
        elif isinstance(value, list | tuple):
            parts = value if len(value) <= MOST_PARTS else ()
        elif isinstance(value, partial):
            parts = (value.func, value.args, value.keywords)
        else:
            closure = getattr(value, "__closure__", None) or ()
            parts = [getattr(value, "__dict__", {}), getattr(value, "__self__", None)]
            parts += [cell.cell_contents for cell in closure if _is_filled(cell)]
        for part in parts:
            look(part, depth - 1)

    look(held, 2 * MOST_HELD)
    return tuple(found.values())


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _states(generators: Sequence[Any]) -> bytes:
    """Return the states of the process's generators of random numbers and of these."""
    states: list[Any] = [torch.get_rng_state().numpy().tobytes(), random.getstate(), np.random.get_state()]  # noqa: NPY002
    for each in generators:
        if isinstance(each, torch.Generator):
            states.append(each.get_state().numpy().tobytes())
        elif isinstance(each, np.random.Generator):
            states.append(each.bit_generator.state)
        else:
            states.append(each.getstate() if isinstance(each, random.Random) else each.get_state())
    return pickle.dumps(states)


def _alike(one: Any, other: Any) -> bool:
    """Return whether two batches hold the same tensors."""
    tensors, others = ([part for each in tensors_of(batch) for part in _dense_parts(each)] for batch in (one, other))
    return len(tensors) == len(others) and all(
        torch.equal(left, right) or (left.is_floating_point() and torch.allclose(left, right, 0, 0, equal_nan=True))
        for left, right in zip(tensors, others, strict=True)
    )


def _dense_parts(tensor: Any) -> list[Any]:
    """Return the tensors of which a sparse one consists; a dense one is its only part."""
    if tensor.layout == torch.sparse_coo:
        whole = tensor.coalesce()
        return [whole.indices(), whole.values()]
    return [tensor.to_dense()] if tensor.layout != torch.strided else [tensor]


class _Drawn(list[Any]):
    """The items of a batch, which know their indices."""

    indices: Any = ()


class _SeededItems:
    """A data set whose every item is made from a seed of its own; it has the attributes of the program's."""

    def __init__(self, dataset: Any, seeds: Seeds) -> None:
        self.dataset = dataset
        self.seeds = seeds

    def __getattr__(self, name: str) -> Any:
        if name in ("dataset", "seeds") or name.startswith("__"):  # as where it is being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        with self.seeds.of(index):
            return self.dataset[index]

    def __getitems__(self, indices: Sequence[Any]) -> _Drawn:
        fetch = getattr(self.dataset, "__getitems__", None)
        if fetch is None or isinstance(self.dataset, Subset):  # which fetches item by item, too
            items = _Drawn(self[index] for index in indices)
        else:
            with self.seeds.of(*indices):
                items = _Drawn(fetch(indices))
        items.indices = tuple(indices)
        return items


class _PrepareWorker:
    """A program's ``worker_init_fn``, which finds the program's data set in the loader process."""

    def __init__(self, prepare: Callable[[int], Any]) -> None:
        self._prepare = prepare

    def __call__(self, number: int) -> None:
        worker = get_worker_info()
        if isinstance(worker.dataset, _SeededItems | _Stream | _FoundDraws):
            object.__setattr__(worker, "dataset", worker.dataset.dataset)  # its attributes cannot be set as usual
        self._prepare(number)


class _FoundDraws:
    """A data set whose one item is what a loader's ``find_draws`` finds in the process that loads it."""

    def __init__(self, loader: UserLoader) -> None:
        self._loader = loader
        self.dataset = loader.loader.dataset

    def __len__(self) -> int:
        return 1

    def __getitem__(self, _: int) -> tuple[bool, bool]:
        return self._loader.find_draws()

    @staticmethod
    def keep(found: tuple[bool, bool]) -> tuple[bool, bool]:
        """Make no batch of it."""
        return found


class _SeededCollate:
    """A program's collate function, which draws from a seed of the batch's items."""

    def __init__(self, collate: Callable[[Any], Any], seeds: Seeds) -> None:
        self._collate, self._seeds = collate, seeds

    def __call__(self, items: Any) -> Any:
        place = items.indices if isinstance(items, _Drawn) else ()
        with self._seeds.of("batch", *place):
            return self._collate(list(items) if isinstance(items, _Drawn) else items)


class _Stream(IterableDataset[Any]):  # type: ignore[misc]  # PyTorch is not type-checked here
    """The items of the first batches of a stream, divided among the loader's processes as the batches are.

    With ``alike``, all processes get the same seeds.
    """

    def __init__(self, dataset: Any, count: int, batch_size: int, seeds: Seeds | None, *, alike: bool = False) -> None:
        self.dataset, self.count, self.batch_size, self.seeds, self.alike = dataset, count, batch_size, seeds, alike

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):  # as where it is being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        items = len(range(number, self.count, workers)) * self.batch_size
        yield from _first_of(self.dataset, items, self.seeds, 0 if self.alike else number)


class _RepeatedBatches:
    """The first batches of something that yields those of an epoch whenever it is iterated."""

    def __init__(self, loader: Any, count: int, seeds: Seeds | None) -> None:
        self._loader, self._count, self._seeds = loader, count, seeds

    def __iter__(self) -> Iterator[Any]:
        is_empty = True
        for batch in _first_of(self._loader, self._count, self._seeds):
            is_empty = False
            yield batch
        if is_empty:
            raise BadInput(NO_BATCH)


def _first_of(data: Iterable[Any], count: int, seeds: Seeds | None, *place: int) -> Iterator[Any]:
    """Yield the first ``count`` parts of an iterable; with seeds, each part has one of its own at this place."""
    if seeds is None:
        yield from islice(iter(data), count)
        return
    with seeds.of(*place, "start"):
        source = iter(data)
    for index in range(count):
        with seeds.of(*place, index):
            try:
                part = next(source)
            except StopIteration:
                return
        yield part


def _require_iterable(loader: Any) -> None:
    """Refuse what is no loader.

    Raises:
        BadInput: it cannot be iterated, or only once.
    """
    expected = "expected a torch.utils.data.DataLoader, or anything that yields the batches whenever it is iterated"
    try:
        first = iter(loader)
    except TypeError:
        raise BadInput(f"the program's loader is {name_type(loader)}; {expected}") from None
    if first is loader:
        raise BadInput(f"the program's loader is {name_type(loader)}, which yields its batches once; {expected}")


def _length(sampler: Any) -> int | None:
    try:
        return len(sampler)
    except (TypeError, NotImplementedError):
        return None
