"""How batches reach a training step: from memory, from a data loader, or fetched ahead. Needs PyTorch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, RandomSampler

from accelbench.core.verification import find_distance
from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import Reason, reason
from accelbench.workloads.data.images import ImageFolder
from accelbench.workloads.torch import devices
from accelbench.workloads.torch.batch import items_in, map_parts, send_part, tensors_of

DEPTH = 2  # batches that a thread fetches ahead
LOADING = ("blocking", "thread", "device")
# Per channel, of ImageNet's photographs: what image classifiers are usually fed.
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
DECODERS = ("pillow", "pillow-draft", "device")
# Relative error of decoded images against Pillow's whole decoding. Measured over ten seeds of eight photographs each,
# decoded at a half or a quarter of their size and scaled to 32 to 224 pixels: at most 1.2e-2 in averages over a grid of
# 8×8, and 1.6e-2 in the means of batches. A shift by one pixel costs 4e-2 or more up to 96 pixels, colours in another
# order 2.9e-1.
DECODE_TOLERANCE = 3e-2
DECODED_THERE = "images decoded on the device need workers=0, and no page-locked memory: they are there"
CHECKED_IMAGES = 8
GRID = 8

Decoder = Callable[[Path, int], Any]
Change = Callable[[Any], Any]


class Batches:
    """Batches that lie in memory; a step takes the next ``per_step`` of them, and after the last comes the first.

    ``inputs`` are the tensors of which they are views, if any. They lie where they were made until ``place`` moves
    them.
    """

    def __init__(self, batches: Sequence[Any], *, per_step: int = 1, inputs: Any = None) -> None:
        self._batches = list(batches)
        self.count = per_step
        self.items = sum(map(items_in, islice(cycle(self._batches), per_step)))
        self.is_even = len({items_in(batch) for batch in self._batches}) == 1
        self._inputs = inputs
        self.restart()

    def __iter__(self) -> Iterator[Any]:
        return islice(self._turn, self.count)

    def first(self) -> Any:
        """Return the batch with which every epoch begins."""
        return self._batches[0]

    def place(self, change: Change) -> None:
        """Change all batches, such as by sending them to a device."""
        if self._inputs is None:
            self._batches = [change(batch) for batch in self._batches]
        else:
            self._inputs = change(self._inputs)
            self._batches = in_batches(self._inputs, items_in(self._batches[0]))
        self.restart()

    def restart(self) -> None:
        """Begin with the first batch again."""
        self._turn = cycle(self._batches)

    def inputs(self) -> Any:
        """Return all tensors that steps read."""
        return self._batches if self._inputs is None else self._inputs

    feed: Callable[[Any], None] | None = None

    def close(self) -> None:
        """Nothing is open."""

    def loaded(self, **options: Any) -> Loader:
        """Return the loader of epochs over all batches, in their order."""
        items = sum(map(items_in, self._batches))
        return Loader(
            self._batches,
            items=items,
            draws=len(self._batches),
            batch_size=None,
            order=_InTurn(len(self._batches)),
            **options,
        )


class TensorTable:
    """Rows of tensors in memory, in batches; an epoch draws ``items`` of them in the order that ``order()`` returns."""

    def __init__(self, tensors: tuple[Any, ...], *, items: int, batch_size: int, order: Callable[[], Any]) -> None:
        self._tensors = tensors
        self._order = order
        self._size = batch_size
        self.items = items
        self.count = -(-items // batch_size)
        self.is_even = items % batch_size == 0
        self.restart: Callable[[], None] = getattr(order, "restart", lambda: None)

    def __iter__(self) -> Iterator[Any]:
        for rows in self._order().to(self._tensors[0].device).split(self._size):
            yield tuple(tensor[rows] for tensor in self._tensors)

    def first(self) -> Any:
        """Return a batch of the usual size."""
        return tuple(tensor[: self._size] for tensor in self._tensors)

    def place(self, change: Change) -> None:
        """Change the tensors, such as by sending them to a device."""
        self._tensors = tuple(map(change, self._tensors))

    def inputs(self) -> Any:
        """Return the rows that the first epoch draws."""
        rows = self._first_rows()
        return tuple(tensor[rows] for tensor in self._tensors)

    def feed(self, changed: tuple[Any, ...]) -> None:
        """Take these rows in place of those that are shown."""
        rows = self._first_rows()
        for tensor, part in zip(self._tensors, changed, strict=True):
            tensor[rows] = part

    def close(self) -> None:
        """Nothing is open."""

    def loaded(self, **options: Any) -> Loader:
        """Return the loader of the same rows in the same order."""
        data = torch.utils.data.TensorDataset(*self._tensors)
        batches = _RowBatches(self._order, self._size)
        return Loader(data, items=self.items, draws=self.count, batch_size=None, batches=batches, **options)

    def _first_rows(self) -> Any:
        self.restart()
        rows = self._order().to(self._tensors[0].device)
        self.restart()
        return rows


class Loader:
    """A data loader each of whose epochs draws the same items in the same order.

    Args:
        dataset: has a length, and returns the item of an index.
        items: the number of items of an epoch.
        draws: the number of indices that an epoch draws, if not that of its items.
        batch_size: None means that the dataset holds whole batches.
        workers: loader processes; none means that the training process loads.
        order: a sampler; without one, indices are drawn at random, always in the same order.
        batches: a sampler of whole batches, in place of the two before it.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        seed: int,
        items: int,
        batch_size: int | None,
        workers: int,
        persistent_workers: bool,
        prefetch_factor: int,
        pin_memory: bool,
        draws: int | None = None,
        order: Any = None,
        batches: Any = None,
    ) -> None:
        self._seed = seed
        self._order = torch.Generator()
        self._workers = workers
        self._dataset = dataset
        self._batches = batches
        drawn = items if draws is None else draws
        self.items = items
        self.count = drawn if batch_size is None else -(-drawn // batch_size)
        self.is_even = batch_size is None or drawn % batch_size == 0
        self.restart: Callable[[], None] = getattr(batches, "restart", lambda: None)
        sampling: dict[str, Any] = {"batch_sampler": batches}
        if batches is None:
            sampler = order or RandomSampler(dataset, num_samples=drawn, generator=self._order)
            sampling = {"batch_size": batch_size, "sampler": sampler}
        self._loader: Any = DataLoader(
            dataset,
            num_workers=workers,
            persistent_workers=persistent_workers and workers > 0,
            prefetch_factor=prefetch_factor if workers else None,
            pin_memory=pin_memory,
            generator=torch.Generator(),
            **sampling,
        )

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch."""
        self._order.manual_seed(self._seed)
        if self._batches is not None:
            self._batches.draw()
        return iter(self._loader)

    def first(self) -> Any:
        """Return the first batch of an epoch."""
        return next(iter(self))

    feed: Callable[[Any], None] | None = None

    def inputs(self) -> Any:
        """Return the batches or rows that the dataset holds, if this process reads all of them, and no copies."""
        if self._workers:
            return ()
        if isinstance(self._dataset, list):
            return self._dataset
        tensors = getattr(self._dataset, "tensors", ())
        return tensors if tensors and len(self._dataset) == self.items else ()

    def close(self) -> None:
        """End the loader's worker processes."""
        self._loader = ()


class _InTurn:
    """Indices in their order."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._count))

    def __len__(self) -> int:
        return self._count


class _RowBatches:
    """The rows of each batch of an epoch, in the order that was drawn last: a loader may begin to read them twice."""

    def __init__(self, order: Callable[[], Any], size: int) -> None:
        self._order = order
        self._size = size
        self.restart: Callable[[], None] = getattr(order, "restart", lambda: None)

    def draw(self) -> None:
        """Draw the order of an epoch."""
        self._rows = [rows.tolist() for rows in self._order().split(self._size)]

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self._rows)


class Permutations:
    """The first ``count`` of the numbers of ``rows`` rows, in a new order every time; a restart repeats the orders."""

    def __init__(self, rows: int, count: int, seed: int) -> None:
        self._rows, self._count, self._seed = rows, count, seed
        self._generator = torch.Generator()
        self.restart()

    def __call__(self) -> Any:
        """Return row numbers in the next order."""
        return torch.randperm(self._rows, generator=self._generator)[: self._count]

    def restart(self) -> None:
        """Return to the first order."""
        self._generator.manual_seed(self._seed)


def in_batches(tensors: tuple[Any, ...], batch_size: int) -> list[tuple[Any, ...]]:
    """Return views of tensors, ``batch_size`` rows at a time; the last ones are shorter where they do not divide."""
    return list(zip(*(part.split(batch_size) for part in tensors), strict=True))


def worker_count(wanted: int | None, cores: int) -> int:
    """Return how many loader processes to start; one per core where the number is left open.

    Raises:
        Unavailable: there are fewer cores.
    """
    if wanted is not None and wanted > cores:
        raise Unavailable(reason("too-few-cores", workers=wanted, cores=cores))
    return cores if wanted is None else wanted


def arrival(loading: str, device: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what brings an epoch's batches: on demand, from a thread, or from a thread and on to the device.

    Raises:
        BadInput: there is no such way of loading.
        Unavailable: batches are to be on the device ahead of time, and it is not a CUDA device.
    """
    check_choice(loading, LOADING, "way of loading")
    if loading == "blocking":
        return iter
    if loading == "thread":
        return fetch_ahead
    (side,) = devices.side_streams(device, 1)
    return lambda batches: send_ahead(fetch_ahead(batches), side)


def fetch_ahead(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches, which a thread of their own fetches while the consumer works; it ends with them."""
    source = iter(batches)
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        coming = deque(thread.submit(next, source, None) for _ in range(DEPTH))
        while (batch := coming.popleft().result()) is not None:
            coming.append(thread.submit(next, source, None))
            yield batch


def send_ahead(batches: Iterable[Any], side: Any) -> Iterator[Any]:
    """Yield the batches, each copied to the device on the side stream while the device works on the one before.

    The copies overlap with the consumer's work only where the batches lie in page-locked memory.
    """
    for batch in batches:  # asked for as soon as the consumer has launched its work on the one before
        with torch.cuda.stream(side):
            sent = map_parts(batch, lambda part: send_part(part, side.device, non_blocking=True))
        consumer = torch.cuda.current_stream(side.device)
        consumer.wait_stream(side)  # on the device; the host goes on
        for part in tensors_of(sent):
            part.record_stream(consumer)  # else its memory could be given away while the consumer still reads it
        yield sent


class Photographs:
    """Image files, decoded and scaled to ``side`` × ``side`` when they are asked for."""

    def __init__(self, folder: ImageFolder, side: int, decode: str = "pillow") -> None:
        self._folder = folder
        self._side = side
        self.decode = decode
        self._decode = find_decoder(decode)
        place = devices.accelerator() if decode == "device" else "cpu"  # where the images will be
        self._mean, self._deviation = (torch.tensor(values).view(3, 1, 1).to(place) for values in (MEAN, DEVIATION))

    def __len__(self) -> int:
        return len(self._folder.paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Return a normalised float32 image, shape ``(3, side, side)``, and its label."""
        pixels = self._decode(self._folder.paths[index], self._side).float().div(255)
        return pixels.sub(self._mean).div(self._deviation), self._folder.labels[index]

    def decoded_whole(self) -> Photographs:
        """Return the same images as Pillow decodes and scales them from whole files."""
        return Photographs(self._folder, self._side)

    def check_decoding(self, seed: int) -> Reason | None:
        """Return a reason if images are too far from those that Pillow decodes whole.

        A few images, chosen by the seed, are compared in their averages over a grid of 8×8.
        """
        if self.decode == "pillow":
            return None
        chosen = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))[:CHECKED_IMAGES].tolist()
        found, expected = (
            torch.nn.functional.adaptive_avg_pool2d(torch.stack([images[index][0].cpu() for index in chosen]), GRID)
            for images in (self, self.decoded_whole())
        )
        return find_distance(found.numpy(), expected.numpy(), DECODE_TOLERANCE, "what Pillow decodes from whole files")


def find_decoder(name: str) -> Decoder:
    """Return the function that makes of a file and a side in pixels a tensor of bytes, shape ``(3, side, side)``.

    Raises:
        BadInput: there is no such decoder.
        Unavailable: Pillow is not installed, or the decoder does not work on this machine.
    """
    check_choice(name, DECODERS, "decoder")
    if name == "device":
        return _device_decoder()
    return _draft if name == "pillow-draft" else _whole


def _whole(path: Path, side: int) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        return _scale(image, side)


def _draft(path: Path, side: int) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        image.draft("RGB", (side, side))  # of a JPEG file, so few frequencies that it stays at least as large
        return _scale(image, side)


def _scale(image: Any, side: int) -> Any:
    from PIL import Image

    scaled = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(scaled)).permute(2, 0, 1)


def _device_decoder() -> Decoder:
    """Return the decoder of JPEG files on a CUDA device, which is nvJPEG, by way of torchvision."""
    place = devices.accelerator()
    if place.type != "cuda":
        raise Unavailable(
            f"torchvision decodes on CUDA devices alone, and torch {torch.__version__} computes on {place}"
        )
    try:
        from torchvision import io  # type: ignore[import-not-found]  # of the user's own, since few need it
    except (ImportError, RuntimeError) as failure:  # a torchvision built for another PyTorch fails in its own ways
        raise Unavailable(f"torchvision, which decodes on the device, cannot be imported: {failure}") from None

    def decode(path: Path, side: int) -> Any:
        # Waits until the image is there. Its bytes are read on the host.
        image = io.decode_jpeg(io.read_file(str(path)), mode=io.ImageReadMode.RGB, device=place)
        scaled = torch.nn.functional.interpolate(
            image[None].float(), size=(side, side), mode="bilinear", antialias=True, align_corners=False
        )
        return scaled[0].round().clamp(0, 255)

    return decode
