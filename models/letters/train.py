#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the letter network, a recurrent model of characters, and writes letters.onnx, its
alphabet and some held-out steps beside this file.

Needs Debian's python3-torch and libopenblas0-pthread, and the text tinyshakespeare.txt. One thread
and fixed seeds: a second run on the same machine writes the same bytes (another processor may round
differently). The last tenth of the text is held out and never steers the training: the number of
steps is fixed in advance and the last weights are kept.
"""
import argparse
import pathlib

import numpy as np
import torch
from torch import nn

SEED = 20261120
LETTERS = 32  # width of a letter's embedding
STATE = 160
STEPS = 2600
BATCH = 48
SPAN = 80
SAMPLES = 400


class Letters(nn.Module):
    """What is trained: the whole text at once."""

    def __init__(self, alphabet):
        super().__init__()
        self.letters = nn.Embedding(alphabet, LETTERS)
        self.cell = nn.GRU(LETTERS, STATE, batch_first=True)
        self.head = nn.Linear(STATE, alphabet)

    def forward(self, text, state=None):
        states, state = self.cell(self.letters(text), state)
        return self.head(states), state


class Step(nn.Module):
    """What is exported: one letter, the state explicit, in operators that a dispute can open."""

    def __init__(self, net):
        super().__init__()
        # The letter's own part of the gates is a table: no product is left of it.
        with torch.no_grad():
            table = net.letters.weight @ net.cell.weight_ih_l0.T + net.cell.bias_ih_l0
        self.table = nn.Parameter(table)
        self.gates = nn.Parameter(net.cell.weight_hh_l0.T.contiguous())
        self.bias = net.cell.bias_hh_l0
        self.head = net.head

    def forward(self, letter, state):
        from_letter = self.table[letter]
        from_state = torch.matmul(state, self.gates) + self.bias
        a, b, c = from_letter.split(STATE, 1)
        d, e, f = from_state.split(STATE, 1)
        reset = torch.sigmoid(a + d)
        keep = torch.sigmoid(b + e)
        fresh = torch.tanh(c + reset * f)
        state = fresh + keep * (state - fresh)
        logits = self.head(state)
        return logits.argmax(1), state, logits


def train(net, text):
    random = torch.Generator().manual_seed(SEED)
    optimiser = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=6e-3, total_steps=STEPS)
    loss_of = nn.CrossEntropyLoss()
    net.train()
    for step in range(STEPS):
        starts = torch.randint(0, len(text) - SPAN - 1, (BATCH,), generator=random)
        spans = torch.stack([text[s:s + SPAN + 1] for s in starts.tolist()])
        logits, _ = net(spans[:, :-1])
        loss = loss_of(logits.flatten(0, 1), spans[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if (step + 1) % 200 == 0:
            print(f"step {step + 1:5d}  loss {loss.item():.4f}", flush=True)


def write_samples(net, text, out):
    """Steps spread over the held-out text: letter, state before it, the letter that follows."""
    with torch.no_grad():
        states, _ = net.cell(net.letters(text[None]))
    at = torch.linspace(1, len(text) - 2, SAMPLES).long()
    samples = {"letter": text[at], "state": states[0, at - 1], "next": text[at + 1]}
    for name, values in samples.items():
        np.save(out / f"held_out_{name}.npy", values.numpy())


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=pathlib.Path, help="tinyshakespeare.txt")
    parser.add_argument("--out", type=pathlib.Path, default=here, help="folder to write to")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    raw = options.text.read_text(encoding="ascii")
    alphabet = "".join(sorted(set(raw)))
    numbers = torch.tensor([alphabet.index(letter) for letter in raw])
    held = len(numbers) // 10
    net = Letters(len(alphabet))
    train(net, numbers[:-held])

    net.eval()
    with torch.no_grad():
        logits, _ = net(numbers[None, -held:-1])
        right = (logits[0].argmax(1) == numbers[-held + 1:]).float().mean().item()
        loss = nn.functional.cross_entropy(logits[0], numbers[-held + 1:]).item()
    print(f"held out: {right:.2%} of the next letters right, {loss:.4f} nats a letter")

    step = Step(net).eval()
    torch.onnx.export(step, (torch.zeros(1, dtype=torch.int64), torch.zeros(1, STATE)),
                      str(options.out / "letters.onnx"), opset_version=13,
                      input_names=["letter", "state"], output_names=["next", "state_out", "logits"],
                      dynamic_axes={name: {0: "N"} for name in
                                    ["letter", "state", "next", "state_out", "logits"]})
    (options.out / "alphabet.txt").write_text(alphabet, encoding="ascii")
    write_samples(net, numbers[-held:], options.out)


if __name__ == "__main__":
    main()
