#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes classic architectures as ONNX (opset 13) with weights from the counter-based generator.

  write_classic.py alexnet|squeezenet|resnet18 OUT.onnx [--seed S]
  write_classic.py --input OUT.npy [--batch B] [--seed S]
  write_classic.py --all DIR       what is missing or older than these scripts, and pictures.npy

Needs Debian's python3-onnx and python3-numpy. Layouts are torchvision's: input "image" float32
[N, 3, 224, 224], output "logits" float32 [N, 1000], N free. See README.md for how values are drawn.
"""
import argparse
import math
import os
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import counter_rng  # noqa: E402

INPUT_STREAM = 1 << 32  # no network has that many tensors


class Writer:
    """Collects nodes and initialisers; tensor k of the network is drawn from stream k."""

    def __init__(self, seed):
        self.seed = seed
        self.nodes = []
        self.initializers = []
        self.parameters = 0

    def tensor(self, name, shape, scale, offset=None):
        """u * scale [+ offset] with u from this tensor's stream; each step rounds to binary32."""
        count = math.prod(shape)
        values = counter_rng.symmetric_f32(self.seed, len(self.initializers), count)
        values *= np.float32(scale)
        if offset is not None:
            values += np.float32(offset)
        raw = values.astype("<f4").tobytes()
        self.initializers.append(
            helper.make_tensor(name, TensorProto.FLOAT, shape, raw, raw=True))
        self.parameters += count
        return name

    def weight(self, name, shape):
        """Uniform with variance 2 / fan_in, so that signals neither die nor explode after ReLU."""
        return self.tensor(name, shape, math.sqrt(6.0 / math.prod(shape[1:])))

    def node(self, operator, inputs, name, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, name, cin, cout, kernel, stride=1, pad=0, bias=True):
        inputs = [x, self.weight(name + ".weight", [cout, cin, kernel, kernel])]
        if bias:
            inputs.append(self.tensor(name + ".bias", [cout], 2.0 ** -4))
        return self.node("Conv", inputs, name, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                         pads=[pad] * 4, dilations=[1, 1], group=1)

    def linear(self, x, name, cin, cout):
        inputs = [x, self.weight(name + ".weight", [cout, cin]),
                  self.tensor(name + ".bias", [cout], 2.0 ** -4)]
        return self.node("Gemm", inputs, name, alpha=1.0, beta=1.0, transB=1)

    def batch_norm(self, x, name, channels):
        inputs = [x, self.tensor(name + ".scale", [channels], 2.0 ** -2, 1.0),
                  self.tensor(name + ".bias", [channels], 2.0 ** -3),
                  self.tensor(name + ".mean", [channels], 2.0 ** -3),
                  self.tensor(name + ".var", [channels], 2.0 ** -1, 1.0)]
        return self.node("BatchNormalization", inputs, name, epsilon=1e-5)

    def relu(self, x, name):
        return self.node("Relu", [x], name)

    def max_pool(self, x, name, pad=0, ceil=0):
        return self.node("MaxPool", [x], name, kernel_shape=[3, 3], strides=[2, 2], pads=[pad] * 4,
                         ceil_mode=ceil)


def alexnet(w):
    # The adaptive pool to 6x6 of the original is the identity at 224x224.
    x = "image"
    layers = [(3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1), (384, 256, 3, 1, 1),
              (256, 256, 3, 1, 1)]
    for i, (cin, cout, kernel, stride, pad) in enumerate(layers, 1):
        x = w.relu(w.conv(x, f"conv{i}", cin, cout, kernel, stride, pad), f"relu{i}")
        if i in (1, 2, 5):
            x = w.max_pool(x, f"pool{i}")
    x = w.node("Flatten", [x], "flatten", axis=1)
    x = w.relu(w.linear(x, "fc6", 256 * 6 * 6, 4096), "relu6")
    x = w.relu(w.linear(x, "fc7", 4096, 4096), "relu7")
    return w.linear(x, "logits", 4096, 1000)


def squeezenet(w):
    """Version 1.1."""
    x = w.relu(w.conv("image", "conv1", 3, 64, 3, 2), "relu1")
    cin = 64
    for i, squeeze in enumerate([16, 16, 32, 32, 48, 48, 64, 64], 2):
        if i in (2, 4, 6):
            x = w.max_pool(x, f"pool{i}", ceil=1)
        expand = 4 * squeeze
        name = f"fire{i}"
        x = w.relu(w.conv(x, name + ".squeeze", cin, squeeze, 1), name + ".squeeze_relu")
        one = w.relu(w.conv(x, name + ".one", squeeze, expand, 1), name + ".one_relu")
        three = w.relu(w.conv(x, name + ".three", squeeze, expand, 3, 1, 1), name + ".three_relu")
        x = w.node("Concat", [one, three], name, axis=1)
        cin = 2 * expand
    x = w.relu(w.conv(x, "conv10", cin, 1000, 1), "relu10")
    x = w.node("GlobalAveragePool", [x], "pool10")
    return w.node("Flatten", [x], "logits", axis=1)


def resnet18(w):
    def conv_bn(x, name, cin, cout, kernel, stride, pad):
        x = w.conv(x, name + ".conv", cin, cout, kernel, stride, pad, bias=False)
        return w.batch_norm(x, name + ".bn", cout)

    def block(x, name, cin, cout, stride):
        y = w.relu(conv_bn(x, name + ".1", cin, cout, 3, stride, 1), name + ".1.relu")
        y = conv_bn(y, name + ".2", cout, cout, 3, 1, 1)
        if stride != 1:
            x = conv_bn(x, name + ".down", cin, cout, 1, stride, 0)
        return w.relu(w.node("Add", [y, x], name + ".add"), name + ".relu")

    x = w.relu(conv_bn("image", "stem", 3, 64, 7, 2, 3), "stem.relu")
    x = w.max_pool(x, "stem.pool", pad=1)
    cin = 64
    for i, cout in enumerate([64, 128, 256, 512], 1):
        x = block(x, f"layer{i}.a", cin, cout, 1 if i == 1 else 2)
        x = block(x, f"layer{i}.b", cout, cout, 1)
        cin = cout
    x = w.node("GlobalAveragePool", [x], "pool")
    x = w.node("Flatten", [x], "flatten", axis=1)
    return w.linear(x, "logits", 512, 1000)


NETWORKS = {"alexnet": alexnet, "squeezenet": squeezenet, "resnet18": resnet18}


def replace(path, write):
    """A reader never sees half a file: write beside it, then rename."""
    partial = path.with_name(path.name + ".partial")
    write(partial)
    os.replace(partial, path)


def write_network(name, path, seed):
    w = Writer(seed)
    NETWORKS[name](w)
    face = [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 224, 224])]
    logits = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 1000])]
    graph = helper.make_graph(w.nodes, name, face, logits, w.initializers)
    model = helper.make_model(graph, producer_name="commensal", ir_version=7,
                              opset_imports=[helper.make_opsetid("", 13)])
    onnx.checker.check_model(model)
    replace(path, lambda partial: partial.write_bytes(model.SerializeToString(deterministic=True)))
    print(f"{path}: {w.parameters:,} values")


def write_input(path, seed, batch):
    shape = (batch, 3, 224, 224)
    values = counter_rng.symmetric_f32(seed, INPUT_STREAM, math.prod(shape)).reshape(shape)

    def write(partial):
        with open(partial, "wb") as file:
            np.save(file, values.astype("<f4"))

    replace(path, write)
    print(f"{path}: {shape}")


def write_all(folder, seed):
    folder.mkdir(parents=True, exist_ok=True)
    here = pathlib.Path(__file__).resolve().parent
    newest = max((here / script).stat().st_mtime
                 for script in (__file__, "../counter_rng.py"))
    stale = lambda path: not path.exists() or path.stat().st_mtime < newest
    for name in NETWORKS:
        if stale(folder / f"{name}.onnx"):
            write_network(name, folder / f"{name}.onnx", seed)
    if stale(folder / "pictures.npy"):
        write_input(folder / "pictures.npy", seed, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(NETWORKS))
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--input", type=pathlib.Path, metavar="OUT.npy")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", type=pathlib.Path, metavar="DIR")
    args = parser.parse_args()
    if (args.name is None) != (args.out is None):
        parser.error("name both the network and the file to write")
    if not (args.name or args.input or args.all):
        parser.error("nothing to write: name a network, --input or --all")
    if not 0 <= args.seed < 1 << 64 or args.batch < 1:
        parser.error("--seed is 0..2^64-1, --batch at least 1")
    counter_rng.self_check()
    if args.name:
        write_network(args.name, args.out, args.seed)
    if args.input:
        write_input(args.input, args.seed, args.batch)
    if args.all:
        write_all(args.all, args.seed)


if __name__ == "__main__":
    main()
