#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Exports torchvision's networks, and a BERT-like encoder, as ONNX with weights from the project's
counter-based generator, so that their hashes depend on nobody's random numbers.

  export_torchvision.py DIR [NAME ...]     what is missing, or all of the names given

Needs Debian's python3-torch, python3-torchvision and python3-onnx. README.md says how weights are
drawn and what the hashes in tests/vectors/models.json were made with.
"""
import math
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch
import torchvision
from onnx import numpy_helper
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import counter_rng  # noqa: E402

SEED = 3
NETWORKS = ["alexnet", "squeezenet1_1", "resnet18", "resnet50", "mobilenet_v2",
            "mobilenet_v3_small", "vgg11", "densenet121", "googlenet", "inception_v3",
            "shufflenet_v2_x1_0", "mnasnet1_0", "efficientnet_b0", "regnet_y_400mf",
            "convnext_tiny", "vit_b_16", "swin_t"]
ENCODER = "bert_l4_h256"
FIXED_BATCH = ("vit_b_16", "swin_t")  # their exports bake the batch in


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.depth).transpose(1, 2)

    def forward(self, x, bias):
        query, key, value = (self.split(f(x)) for f in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(self.depth) + bias, -1)
        return self.out((weights @ value).transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, bias):
        x = self.norm1(x + self.attention(x, bias))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Encoder(nn.Module):
    """Four blocks of width 256 over 128 tokens."""

    def __init__(self, words=30522, width=256, blocks=4, heads=4, positions=512):
        super().__init__()
        self.word, self.kind = nn.Embedding(words, width), nn.Embedding(2, width)
        self.place = nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads, 4 * width) for _ in range(blocks))
        self.pool, self.classify = nn.Linear(width, width), nn.Linear(width, 2)
        self.register_buffer("places", torch.arange(positions))

    def forward(self, ids, mask, kinds):
        x = self.norm(self.word(ids) + self.place(self.places[:ids.shape[1]]) + self.kind(kinds))
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for block in self.blocks:
            x = block(x, bias)
        return x, self.classify(torch.tanh(self.pool(x[:, 0])))


def export(name, path):
    if name == ENCODER:
        long = torch.ones(1, 128, dtype=torch.long)
        torch.onnx.export(Encoder().eval(), (long, long, 0 * long), path, opset_version=13,
                          input_names=["ids", "mask", "kinds"],
                          output_names=["hidden", "logits"])
        return
    side = 299 if name == "inception_v3" else 224
    model = getattr(torchvision.models, name)(weights=None).eval()
    axes = None if name in FIXED_BATCH else {"input": {0: "N"}, "output": {0: "N"}}
    torch.onnx.export(model, torch.zeros(1, 3, side, side), path,
                      opset_version=16 if name == "swin_t" else 13, input_names=["input"],
                      output_names=["output"], dynamic_axes=axes)


def drawn(values, user, stream):
    """The tensor that takes the place of an initialiser, by what uses it."""
    u = counter_rng.symmetric_f32(SEED, stream, values.size).reshape(values.shape)
    if user == "Conv":
        return u * np.float32(math.sqrt(6 / math.prod(values.shape[1:])))
    if user == "Gemm" and values.ndim == 2:
        return u * np.float32(math.sqrt(3 / values.shape[1]))
    if user == "MatMul" and values.ndim >= 2:
        return u * np.float32(math.sqrt(3 / values.shape[-2]))
    if user == "Gather":
        return u
    middle = np.float32(values.mean()) if np.ptp(values) == 0 else np.float32(0)
    return middle + u * np.float32(2.0 ** -4)


def redraw(path):
    model = onnx.load(path)
    users = {}
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            # A bias is told from a weight by its rank, a table from an index by its place.
            users.setdefault(name, node.op_type if place < 2 else "bias")
    stream = 0
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < 2:
            continue
        user = users.get(tensor.name, "none") if values.ndim > 1 else "bias"
        made = drawn(values, user, stream).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(made), tensor.name))
        stream += 1
    model.producer_version = ""
    onnx.save(model, path)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    known = NETWORKS + [ENCODER]
    wanted = sys.argv[2:] or [name for name in known if not (folder / f"{name}.onnx").exists()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no network {', '.join(unknown)}; there are {', '.join(known)}")
    warnings.filterwarnings("ignore")
    for name in wanted:
        torch.manual_seed(0)
        path = folder / f"{name}.onnx"
        part = folder / f"{name}.part"
        export(name, str(part))
        redraw(str(part))
        part.rename(path)
        print(path, flush=True)


if __name__ == "__main__":
    main()
