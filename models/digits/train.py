#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digit network and writes digits.onnx and the held-out pictures beside this file.

Needs Debian's python3-torch, libopenblas0-pthread and python3-sklearn. One thread and fixed seeds:
a second run on the same machine writes the same bytes (another processor may round differently).
The held-out pictures are set apart before training and never steer it: the number of epochs is
fixed in advance and the last weights are kept, whatever they score.
"""
import argparse
import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

HELD_OUT = 400
EPOCHS = 80
BATCH = 32
SEED = 20231205
PIXEL_MAX = 16.0


def split():
    """Pictures as float32 [n, 1, 8, 8] in 0..16 and labels: training part, then held-out part."""
    digits = load_digits()
    images = digits.images.astype(np.float32).reshape(-1, 1, 8, 8)
    labels = digits.target.astype(np.int64)
    order = np.random.RandomState(SEED).permutation(len(labels))
    train, held = order[HELD_OUT:], order[:HELD_OUT]
    return images[train], labels[train], images[held], labels[held]


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(128, 10),
    )


def shifted(images, random):
    """Moves each picture by up to one pixel each way; what enters is background."""
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    moves = torch.randint(0, 3, (len(images), 2), generator=random).tolist()
    return torch.stack([p[:, y:y + 8, x:x + 8] for p, (y, x) in zip(padded, moves)])


def train(net, images, labels):
    random = torch.Generator().manual_seed(SEED)
    optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    steps = EPOCHS * ((len(labels) + BATCH - 1) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    net.train()
    for epoch in range(EPOCHS):
        total = 0.0
        for chosen in torch.randperm(len(labels), generator=random).split(BATCH):
            loss = loss_of(net(shifted(images[chosen], random)), labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(chosen)
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1:3d}  loss {total / len(labels):.4f}")


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=here, help="folder to write to")
    out = parser.parse_args().out

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    images, labels, held_images, held_labels = split()

    net = network()
    train(net, torch.from_numpy(images) / PIXEL_MAX, torch.from_numpy(labels))
    net.eval()
    # The network is to take raw pixels. 1/16 is a power of two: folding it in rounds nothing.
    with torch.no_grad():
        net[0].weight /= PIXEL_MAX
        guesses = net(torch.from_numpy(held_images)).argmax(1).numpy()
    right = int((guesses == held_labels).sum())
    print(f"held out: {right} of {HELD_OUT} right ({right / HELD_OUT:.2%})")

    np.save(out / "held_out_images.npy", held_images)
    np.save(out / "held_out_labels.npy", held_labels)
    torch.onnx.export(net, torch.from_numpy(held_images[:1]), str(out / "digits.onnx"),
                      opset_version=13, input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "N"}, "logits": {0: "N"}})


if __name__ == "__main__":
    main()
