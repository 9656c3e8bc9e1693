#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small GPT of bytes as ONNX, what it is to learn, and the YAML file of its training.

  write_gpt.py TEXT FOLDER [--stride S] [--steps N] [--rate R] [--seed S]

FOLDER gets gpt.onnx, train.npy and held_out.npy (uint8 [samples, 65]: 64 bytes, each to be told
from those before it, and the one after them) and train.yaml; the last tenth of TEXT is held out.
Needs Debian's python3-onnx and python3-numpy. Weights are drawn by the counter-based generator.
"""
import argparse
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import counter_rng  # noqa: E402

LAYERS, HEADS, WIDTH, SPAN, BYTES = 4, 4, 128, 64, 256
DEPTH = WIDTH // HEADS

PLAN = """\
# SPDX-License-Identifier: Apache-2.0
# commensal train {here}/train.yaml --export {here}/trained.onnx --svg {here}/loss.svg
model: gpt.onnx
data: {{bytes: train.npy}}
loss: {{output: loss, kind: value}}
optimiser: {{kind: adamw, rate: {rate}, betas: [0.9, 0.99], decay: 0.1, clip: 1}}
schedule: {{kind: cosine, warmup: 100, end: 0.1}}
steps: {steps}
batch: 12
seed: 1
evaluate: {{data: {{bytes: held_out.npy}}, every: 250}}
checkpoint: {{file: training.ckpt, every: 100}}
"""


class Writer:
    """Collects nodes and initialisers; the k-th tensor that is drawn is of stream k."""

    def __init__(self, seed):
        self.seed, self.streams = seed, 0
        self.nodes, self.initialisers = [], []

    def constant(self, name, values):
        self.initialisers.append(numpy_helper.from_array(values, name))
        return name

    def weight(self, name, shape, deviation=0.02):
        """Uniform, of this standard deviation."""
        values = counter_rng.symmetric_f32(self.seed, self.streams, math.prod(shape))
        self.streams += 1
        values *= np.float32(deviation * math.sqrt(3))
        return self.constant(name, values.reshape(shape))

    def node(self, operator, inputs, outputs, **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(
            helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def norm(self, x, name):
        scale = self.constant(name + ".weight", np.ones(WIDTH, np.float32))
        bias = self.constant(name + ".bias", np.zeros(WIDTH, np.float32))
        return self.node("LayerNormalization", [x, scale, bias], name, axis=-1, epsilon=1e-5)

    def linear(self, x, name, from_width, to_width, deviation=0.02):
        weight = self.weight(name + ".weight", [from_width, to_width], deviation)
        return self.node("MatMul", [x, weight], name)

    def heads(self, x, order):
        apart = self.node("Reshape", [x, "by_head"], x + ".apart")
        return self.node("Transpose", [apart], x + ".heads", perm=order)

    def attention(self, x, name, deviation):
        three = self.linear(x, name + ".in", WIDTH, 3 * WIDTH)
        parts = [name + part for part in (".q", ".k", ".v")]
        q, k, v = self.node("Split", [three, "thirds"], parts, axis=-1)
        q, k = self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])
        v = self.heads(v, [0, 2, 1, 3])
        scores = self.node("MatMul", [q, k], name + ".products")
        scores = self.node("Mul", [scores, "scale"], name + ".scaled")
        scores = self.node("Add", [scores, "mask"], name + ".masked")
        shares = self.node("Softmax", [scores], name + ".shares", axis=-1)
        mixed = self.node("MatMul", [shares, v], name + ".mixed")
        mixed = self.node("Transpose", [mixed], name + ".together", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, "by_place"], name + ".joined")
        return self.linear(mixed, name + ".out", WIDTH, WIDTH, deviation)

    def block(self, x, name):
        deviation = 0.02 / math.sqrt(2 * LAYERS)  # of what is added to the stream
        normal = self.norm(x, name + ".norm1")
        x = self.node("Add", [x, self.attention(normal, name + ".attention", deviation)],
                      name + ".stream1")
        up = self.linear(self.norm(x, name + ".norm2"), name + ".up", WIDTH, 4 * WIDTH)
        bent = self.node("Gelu", [up], name + ".gelu")
        return self.node("Add", [x, self.linear(bent, name + ".down", 4 * WIDTH, WIDTH, deviation)],
                         name + ".stream2")


def network(seed):
    writer = Writer(seed)
    for name, values in (("thirds", [WIDTH] * 3), ("by_head", [0, SPAN, HEADS, DEPTH]),
                         ("by_place", [0, SPAN, WIDTH]), ("rows", [-1, BYTES]), ("flat", [-1]),
                         ("start", [0]), ("second", [1]), ("span", [SPAN]), ("end", [SPAN + 1]),
                         ("along", [1])):
        writer.constant(name, np.array(values, np.int64))
    writer.constant("scale", np.float32(1 / math.sqrt(DEPTH)))
    # Made of truths, as floats in it would be weights to train.
    writer.constant("sees", np.tri(SPAN, dtype=bool))
    writer.constant("nothing", np.float32(0))
    writer.constant("never", np.float32(-np.inf))
    writer.node("Where", ["sees", "nothing", "never"], "mask")
    numbers = writer.node("Cast", ["bytes"], "numbers", to=TensorProto.INT64)
    here = writer.node("Slice", [numbers, "start", "span", "along"], "here")
    after = writer.node("Slice", [numbers, "second", "end", "along"], "after")
    letters = writer.node("Gather", [writer.weight("letters.weight", [BYTES, WIDTH]), here],
                          "letters")
    x = writer.node("Add", [letters, writer.weight("places.weight", [SPAN, WIDTH])], "stream")
    for layer in range(LAYERS):
        x = writer.block(x, f"block{layer}")
    writer.linear(writer.norm(x, "norm"), "logits", WIDTH, BYTES)
    scores = writer.node("Reshape", ["logits", "rows"], "scores")
    targets = writer.node("Reshape", [after, "flat"], "targets")
    writer.node("SoftmaxCrossEntropyLoss", [scores, targets], "loss")
    graph = helper.make_graph(
        writer.nodes, "gpt",
        [helper.make_tensor_value_info("bytes", TensorProto.UINT8, ["N", SPAN + 1])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", SPAN, BYTES]),
         helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        writer.initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)


def windows(text, stride):
    starts = np.arange(0, len(text) - SPAN, stride)
    return text[starts[:, None] + np.arange(SPAN + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stride", type=int, default=16, help="bytes between two samples (16)")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counter_rng.self_check()
    text = np.fromfile(options.text, np.uint8)
    cut = len(text) * 9 // 10
    if len(text) - cut <= SPAN or options.stride < 1:
        parser.error(f"expected a text of more than {10 * SPAN} bytes and a stride of at least 1")
    options.folder.mkdir(parents=True, exist_ok=True)
    onnx.save(network(options.seed), str(options.folder / "gpt.onnx"))
    np.save(options.folder / "train.npy", windows(text[:cut], options.stride))
    np.save(options.folder / "held_out.npy", windows(text[cut:], SPAN))
    plan = PLAN.format(here=options.folder, steps=options.steps, rate=options.rate)
    (options.folder / "train.yaml").write_text(plan)


if __name__ == "__main__":
    main()
