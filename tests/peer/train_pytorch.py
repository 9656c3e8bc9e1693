#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of training in PyTorch, for `commensal-lab bench train`: one JSON object a line.

  {"do": "load", "network": "gpt" or "resnet18", "model": ONNX, "batch": BYTES, "rows": N,
   "rate": R}                         -> {"parameters": N}
  {"do": "run", "count": N}           -> {"seconds": [...], "cpu_seconds": [...], "losses": [...],
                                          "tasks": N}

All on one thread: `tasks`, of this process after the steps, says whether it was.

The network is written as PyTorch's users write it; its first weights are those of the ONNX file.
Every step trains on the same batch: forward, backward, clipping at 1, AdamW. BatchNormalization
uses the statistics that the file has (eval), as our side does. An answer may be {"error": "..."}.
Needs Debian's python3-torch, libopenblas0-pthread and python3-onnx.
"""
import json
import math
import os
import sys
import time

# Before it is loaded: torch.set_num_threads does not reach it, and its idle threads spin.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch import nn

WIDTH, HEADS, SPAN, BYTES = 128, 4, 64, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.inner = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.register_buffer("mask", torch.triu(torch.full((SPAN, SPAN), -math.inf), 1))

    def forward(self, x):
        rows, span, width = x.shape
        q, k, v = (part.view(rows, span, HEADS, width // HEADS).transpose(1, 2)
                   for part in self.inner(self.norm1(x)).split(width, 2))
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(width // HEADS)) + self.mask
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(rows, span, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.letters = nn.Embedding(BYTES, WIDTH)
        self.places = nn.Parameter(torch.zeros(SPAN, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, BYTES, bias=False)
        with torch.no_grad():
            self.letters.weight.copy_(weights["letters.weight"])
            self.places.copy_(weights["places.weight"])
            self.head.weight.copy_(weights["logits.weight"].T)
            for i, block in enumerate(self.blocks):
                for name, layer in (("attention.in", block.inner), ("attention.out", block.out),
                                    ("up", block.up), ("down", block.down)):
                    layer.weight.copy_(weights[f"block{i}.{name}.weight"].T)

    def forward(self, batch):
        x = self.letters(batch[:, :-1]) + self.places
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).view(-1, BYTES), batch[:, 1:].reshape(-1))


class ConvNorm(nn.Module):
    def __init__(self, weights, name, stride, pad):
        super().__init__()
        made, given, kernel, _ = weights[name + ".conv.weight"].shape
        self.conv = nn.Conv2d(given, made, kernel, stride, pad, bias=False)
        self.norm = nn.BatchNorm2d(made)
        with torch.no_grad():
            self.conv.weight.copy_(weights[name + ".conv.weight"])
            for mine, theirs in (("weight", "scale"), ("bias", "bias"), ("running_mean", "mean"),
                                 ("running_var", "var")):
                getattr(self.norm, mine).copy_(weights[f"{name}.bn.{theirs}"])

    def forward(self, x):
        return self.norm(self.conv(x))


class Residual(nn.Module):
    def __init__(self, weights, name, stride):
        super().__init__()
        self.one = ConvNorm(weights, name + ".1", stride, 1)
        self.two = ConvNorm(weights, name + ".2", 1, 1)
        self.down = ConvNorm(weights, name + ".down", stride, 0) if stride != 1 else None

    def forward(self, x):
        y = self.two(F.relu(self.one(x)))
        return F.relu(y + (x if self.down is None else self.down(x)))


class Resnet18(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.stem = ConvNorm(weights, "stem", 2, 3)
        self.layers = nn.Sequential(*(
            Residual(weights, f"layer{i}.{part}", 2 if i > 1 and part == "a" else 1)
            for i in range(1, 5) for part in "ab"))
        self.head = nn.Linear(512, 1000)
        with torch.no_grad():
            self.head.weight.copy_(weights["logits.weight"])
            self.head.bias.copy_(weights["logits.bias"])
        self.eval()

    def forward(self, batch):
        x, target = batch
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return F.cross_entropy(self.head(self.layers(x).mean((2, 3))), target)


class Training:
    def __init__(self, asked):
        torch.set_num_threads(1)
        model = onnx.load(asked["model"])
        weights = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy())
                   for one in model.graph.initializer}
        rows = asked["rows"]
        if asked["network"] == "gpt":
            raw = np.fromfile(asked["batch"], np.uint8).reshape(rows, SPAN + 1)
            self.batch = torch.from_numpy(raw.astype(np.int64))
            self.network = Gpt(weights)
        else:
            raw = np.fromfile(asked["batch"], np.float32).reshape(rows, 3, 224, 224)
            self.batch = torch.from_numpy(raw), torch.arange(rows)
            self.network = Resnet18(weights)
        self.optimiser = torch.optim.AdamW(self.network.parameters(), lr=asked["rate"],
                                           betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)

    def parameters(self):
        return sum(one.numel() for one in self.network.parameters())

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.network(self.batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        return loss.item()

    def run(self, count):
        made = {"seconds": [], "cpu_seconds": [], "losses": []}
        for _ in range(count):
            wall, cpu = time.perf_counter(), time.process_time()
            made["losses"].append(self.step())
            made["seconds"].append(time.perf_counter() - wall)
            made["cpu_seconds"].append(time.process_time() - cpu)
        made["tasks"] = len(os.listdir("/proc/self/task"))
        return made


def main():
    training = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "load":
                training = Training(asked)
                answer = {"parameters": training.parameters()}
            else:
                answer = training.run(asked["count"])
        except Exception as error:  # one line for whoever asked
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
