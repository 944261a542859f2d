#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""13. A verdict after every epoch: plumb.Metric in a plain training loop of PyTorch, and in Lightning if that is installed.

    python3 examples/13_training_loop.py

The encoder is that of the fourth example: it learns (q, p) of a mass on a spring from short clips. The metric collects latents and
true states of the batches of an epoch, in the manner of torchmetrics: update, compute, reset.
"""
import sys
import time

import plumb

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch: pip install torch, or apt-get install python3-torch")

torch.set_num_threads(1)
WINDOW, EPOCHS = 5, 4
world = plumb.world("mass-spring")
# A Dataset of plumb is given to the DataLoader as it is; its items are dicts of arrays.
train = torch.utils.data.DataLoader(world.dataset(64, steps=32, seed=1), batch_size=8, shuffle=True)
test = torch.utils.data.DataLoader(world.dataset(40, steps=64, seed=2), batch_size=10)


def clips(batch):
    """(trajectories, steps - WINDOW + 1, pixels): every window of grey frames, small."""
    grey = batch["frames"][..., 0].float().div(255)[:, :, ::2, ::2].flatten(2)
    return torch.cat([grey[:, k:grey.shape[1] - WINDOW + 1 + k] for k in range(WINDOW)], -1)


def states(batch):
    return batch["state"][:, :batch["state"].shape[1] - WINDOW + 1].float()


def make_encoder():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(WINDOW * 256, 64), torch.nn.SiLU(), torch.nn.Linear(64, 2))


def plain_loop():
    encoder, metric = make_encoder(), plumb.Metric()
    optimiser = torch.optim.Adam(encoder.parameters(), 3e-3)
    for epoch in range(EPOCHS):
        for batch in train:
            loss = torch.nn.functional.mse_loss(encoder(clips(batch)), states(batch))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        metric.reset()
        for batch in test:
            metric.update(encoder(clips(batch)), states(batch))  # tensors with gradients are taken as they are
        started = time.monotonic()
        result = metric.compute()
        print(f"epoch {epoch}: loss {loss.item():.4f}, kappa {result.kappa}, {result.verdict} ({time.monotonic() - started:.1f} s)")


def lightning_loop(lightning):
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.encoder, self.metric = make_encoder(), plumb.Metric()

        def training_step(self, batch, index):
            return torch.nn.functional.mse_loss(self.encoder(clips(batch)), states(batch))

        def validation_step(self, batch, index):
            self.metric.update(self.encoder(clips(batch)), states(batch))

        def on_validation_epoch_end(self):
            result = self.metric.compute()
            self.metric.reset()
            if result.kappa is not None:  # the data may not determine it
                self.log("kappa", result.kappa)
            print(f"Lightning, epoch {self.current_epoch}: kappa {result.kappa}, {result.verdict}")

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 3e-3)

    trainer = lightning.Trainer(max_epochs=EPOCHS, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Module(), train, test)


plain_loop()
try:
    import lightning
except ImportError:
    try:
        import pytorch_lightning as lightning
    except ImportError:
        sys.exit(0)
lightning_loop(lightning)
