"""Regression on a table that lies in memory."""

from __future__ import annotations

from typing import Any

from harness.errors import Unavailable
from harness.experiment import Arm, Setting, workload
from harness.workloads.data.house_prices import ROWS, houses
from harness.workloads.networks import dense


@workload("torch", unit="row")
def house_prices_train(
    setting: Setting,
    *,
    rows: int = ROWS,
    batch_size: int = 64,
    device: str | None = None,
    autocast: str = "fp32",
) -> Arm:
    """An epoch of training the network 331-128-64-1 on generated house prices, by the root mean square of log errors.

    An epoch draws ``rows`` of the table in a new order, and never fewer than one batch.
    """
    import torch
    from torch import nn
    from torch.nn.functional import mse_loss

    from harness.workloads.torch import devices
    from harness.workloads.torch.trainer import Trainer

    if batch_size > ROWS:
        raise Unavailable(f"a batch of {batch_size} is more than the {ROWS} rows of the table")
    table = houses(setting.seed)
    place = devices.chosen(device)
    features = torch.from_numpy(table.features).to(place)
    # The network says how far a price is from the mean one, of which it would otherwise learn first and mostly.
    targets = torch.from_numpy(table.log_prices - table.log_prices.mean()).to(place)

    def network() -> Any:
        layers = [nn.Linear(features.shape[1], 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)]
        return nn.Sequential(*layers, nn.Flatten(0))

    def log_rmse(predicted: Any, target: Any) -> Any:
        return mse_loss(predicted, target).sqrt()

    trainer = Trainer(network, seed=setting.seed, device=place, autocast=autocast, loss=log_rmse)
    return _arm(trainer, features, targets, min(ROWS, max(rows, batch_size)), batch_size, setting.seed)


def _arm(trainer: Any, features: Any, targets: Any, drawn: int, batch_size: int, seed: int) -> Arm:
    """Return the arm of epochs that draw so many rows, and shows those that the first one draws."""
    import torch

    generator = torch.Generator()

    def order() -> Any:
        return torch.randperm(ROWS, generator=generator)[:drawn].to(trainer.device)

    def epoch() -> Any:
        losses = []
        for chosen in order().split(batch_size):
            loss, predicted = trainer.train_on(features[chosen], targets[chosen])
            losses.append(loss)
        return torch.stack(losses), predicted

    def reset() -> None:
        trainer.reset()
        generator.manual_seed(seed)

    reset()
    first = order()
    reset()

    def feed(changed: tuple[Any, Any]) -> None:
        features[first], targets[first] = changed

    return trainer.arm(  # type: ignore[no-any-return]  # the trainer is imported with PyTorch
        epoch,
        dense(features.shape[1], 128, 64, 1),
        drawn,
        read_bytes=drawn * features[0].nbytes,
        reset=reset,
        checked_steps=2,
        inputs=lambda: (features[first], targets[first]),
        feed=feed,
    )
