"""Training to a test accuracy, on real data: a step is a whole training from the first weights."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, workload


@workload("torch", unit="training")
def digits_training(setting: Setting, *, device: str | None = None, autocast: str = "fp32") -> Arm:
    """Training the network 64-64-10 on handwritten digits until it recognises 95 % of unseen ones."""
    import torch
    from torch import nn

    from harness.workloads.data.digits import NETWORK, digits, training_arm
    from harness.workloads.torch import devices
    from harness.workloads.torch.trainer import Trainer

    split = digits()
    place = devices.chosen(device)
    pixels, labels, test_pixels, test_labels = (
        torch.from_numpy(part).to(place) for part in (split.pixels, split.labels, split.test_pixels, split.test_labels)
    )

    def network() -> Any:
        return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    trainer = Trainer(network, seed=setting.seed, device=place, autocast=autocast)

    def learn(batches: Any) -> None:
        rows = torch.from_numpy(batches).to(place)
        for batch in zip(pixels[rows], labels[rows], strict=True):
            trainer.train_on(*batch)

    def test() -> float:
        recognised = trainer.predict(test_pixels).argmax(dim=1) == test_labels
        return float(recognised.float().mean())  # a training must know whether to go on

    return training_arm(
        split,
        seed=setting.seed,
        reset=trainer.reset,
        learn=learn,
        test=test,
        device=devices.label(place),
        parameters=trainer.parameters,
        work=trainer.work(NETWORK, split.epoch),
    )
