"""Duels between arms whose truth is known: how often is `harness.compare` wrong, how often does it see +3 %?

Run it as `python tests/duels.py --duels 300`, and once more with `--busy` for a neighbour process on a core.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import cycle, islice

import numpy as np
from scipy import stats

import harness

Step = Callable[[], object]


def python_loop(rounds: int = 600) -> Step:
    """Return a pure Python loop of about 20 µs."""

    def step() -> int:
        total = 0
        for number in range(rounds):
            total += number
        return total

    return step


def numpy_product() -> Step:
    """Return a product of two 96 × 96 matrices."""
    a, b = (np.random.default_rng().standard_normal((96, 96)) for _ in range(2))
    return lambda: a @ b


def copy() -> Step:
    """Return a copy of 1 MiB.

    Where its memory lies must not decide the duel: two copies of 256 KiB, which compete for one core's
    cache, truly differ by some per cent, always the same one for the same order of allocation.
    """
    source = np.random.default_rng().standard_normal(131072)
    target = np.empty_like(source)
    return lambda: np.copyto(target, source)


def torch_step() -> Step:
    """Return a training step of a small classifier."""
    import torch

    torch.set_num_threads(1)  # two threads and a busy neighbour on two cores measure the scheduler
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, labels = torch.randn(32, 64), torch.randint(10, (32,))

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


ARMS: dict[str, Callable[[], Step]] = {
    "python loop": python_loop,
    "NumPy product": numpy_product,
    "copy": copy,
    "torch step": torch_step,
}


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """Keep one core busy with another process for the duration."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def same(kind: str, budget_s: float) -> str:
    """Let two separately built arms of one kind meet, and return the verdict."""
    framework = "torch" if kind == "torch step" else "numpy"
    arms = {"one": ARMS[kind](), "other": ARMS[kind]()}
    return harness.compare(arms, budget_s=budget_s, framework=framework)["other"].verdict


def three_percent_more(budget_s: float) -> str:
    """Let a 20 µs loop meet one with 3 % more work, and return the verdict."""
    return harness.compare({"loop": python_loop(600), "more": python_loop(618)}, budget_s=budget_s)["more"].verdict


def share(count: int, of: int) -> str:
    """Return a share with its exact 95 % interval (Clopper and Pearson 1934)."""
    bounds = stats.binomtest(count, of).proportion_ci(0.95)
    return f"{count} of {of} ({count / of:.1%}; 95 % interval {bounds.low:.1%} to {bounds.high:.1%})"


def main() -> None:
    """Run the duels and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duels", type=int, default=300, help="duels between arms that are the same (default 300)")
    parser.add_argument("--doses", type=int, default=100, help="duels against 3 %% more work (default 100)")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds per duel (default 1)")
    parser.add_argument("--busy", action="store_true", help="keep one core busy with a neighbour process")
    options = parser.parse_args()
    kinds = [kind for kind in ARMS if kind != "torch step" or find_spec("torch")]
    verdicts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    with neighbour(options.busy):
        for kind in islice(cycle(kinds), options.duels):
            verdicts[kind][same(kind, options.budget)] += 1
        doses = Counter(three_percent_more(options.budget) for _ in range(options.doses))
    for kind, counts in verdicts.items():
        print(f"{kind:14} {dict(counts)}")
    total = sum(verdicts.values(), Counter())
    print("A/A called different:", share(total["faster"] + total["slower"], total.total()))
    print("A/A called same:     ", share(total["same"], total.total()))
    print("+3 % called slower:  ", share(doses["slower"], doses.total()))


if __name__ == "__main__":
    main()
