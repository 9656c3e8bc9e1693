#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks in the likeness of what people bring, weights drawn by numpy's generator.

  write_likenesses.py DIR

vad      a voice detector: a spectrum by Conv in one dimension, an If by the sampling rate with an
         LSTM in each branch
bytes    a classifier of files by their first bytes: OneHot, erf-GELU and LayerNormalization
         spelled out, GlobalMaxPool
pitch    a pitch estimator: long, narrow convolutions, BatchNormalization behind Relu
decoder  a GRU that picks token after token in a Loop
unet     segmentation: InstanceNormalization, ConvTranspose, Resize, ArgMax

Needs Debian's python3-onnx.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
OPSET = 16
SEED = 11


class Network:
    """A graph in the making. A node's outputs are named by who adds it."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []

    def constant(self, name, value, dtype=np.int64):
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weights(self, name, *dims, scale=None):
        scale = scale or 1 / np.sqrt(max(1, np.prod(dims[1:])))
        return self.constant(name, self.rng.standard_normal(dims) * scale, np.float32)

    def add(self, op, inputs, outputs, **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def graph(self, name, inputs, outputs):
        values = [
            [helper.make_tensor_value_info(*value) for value in side] for side in (inputs, outputs)
        ]
        return helper.make_graph(self.nodes, name, *values, self.constants)

    def save(self, folder, name, inputs, outputs):
        model = helper.make_model(
            self.graph(name, inputs, outputs), opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")

    def gelu(self, x, y):
        self.add("Div", [x, "root"], y + "d")
        self.add("Erf", [y + "d"], y + "e")
        self.add("Add", [y + "e", "one"], y + "a")
        self.add("Mul", [x, y + "a"], y + "m")
        self.add("Mul", [y + "m", "half"], y)

    def layer_norm(self, x, y, width):
        self.add("ReduceMean", [x], y + "m", axes=[-1], keepdims=1)
        self.add("Sub", [x, y + "m"], y + "c")
        self.add("Mul", [y + "c", y + "c"], y + "q")
        self.add("ReduceMean", [y + "q"], y + "v", axes=[-1], keepdims=1)
        self.add("Add", [y + "v", "epsilon"], y + "e")
        self.add("Sqrt", [y + "e"], y + "s")
        self.add("Div", [y + "c", y + "s"], y + "n")
        self.add("Mul", [y + "n", self.weights(y + "w", width)], y + "p")
        self.add("Add", [y + "p", self.weights(y + "b", width)], y)


def lstm_branch(rng, x, tag, hidden=128):
    n = Network(rng)
    n.add("Transpose", [x], tag + "t", perm=[2, 0, 1])
    gates = [
        n.weights(tag + "W", 1, 4 * hidden, 128, scale=.1),
        n.weights(tag + "R", 1, 4 * hidden, hidden, scale=.1),
        n.weights(tag + "B", 1, 8 * hidden)
    ]
    n.add("LSTM", [tag + "t", *gates, "", "h", "c"], ["", tag + "h", tag + "c"],
          hidden_size=hidden)
    n.add("Concat", [tag + "h", tag + "c"], tag + "state", axis=0)
    n.add("Squeeze", [tag + "h", n.constant(tag + "first", [0])], tag + "q")
    n.add("Relu", [tag + "q"], tag + "r")
    n.add("Unsqueeze", [tag + "r", n.constant(tag + "third", [2])], tag + "u")
    n.add("Conv", [tag + "u", n.weights(tag + "w", 1, hidden, 1), n.weights(tag + "b", 1)],
          tag + "o")
    n.add("Sigmoid", [tag + "o"], tag + "y")
    return n.graph(tag, [], [(tag + "y", FLOAT, [1, 1, 1]), (tag + "state", FLOAT, [2, 1, hidden])])


def vad(folder, rng):
    n = Network(rng)
    n.add("Pad", ["x", n.constant("pads", [0, 0, 0, 64])], "padded", mode="reflect")
    n.add("Unsqueeze", ["padded", n.constant("one", [1])], "signal")
    n.add("Conv", ["signal", n.weights("basis", 258, 1, 256, scale=.1)], "spectrum", strides=[128])
    for name, at in (("none", [0]), ("middle", [129]), ("end", [258]), ("channels", [1])):
        n.constant(name, at)
    n.constant("two", 2, np.float32)
    for part, begin, end in (("re", "none", "middle"), ("im", "middle", "end")):
        n.add("Slice", ["spectrum", begin, end, "channels"], part)
        n.add("Pow", [part, "two"], part + "2")
    n.add("Add", ["re2", "im2"], "power")
    x, channels = n.add("Sqrt", ["power"], "magnitude"), 129
    for i, (out, stride) in enumerate([(128, 1), (64, 2), (64, 2), (128, 1)]):
        w = [n.weights(f"w{i}", out, channels, 3), n.weights(f"b{i}", out)]
        n.add("Conv", [x, *w], f"conv{i}", pads=[1, 1], strides=[stride])
        x, channels = n.add("Relu", [f"conv{i}"], f"relu{i}"), out
    n.add("Equal", ["rate", n.constant("high", 16000)], "is_high")
    n.add("If", ["is_high"], ["voice", "state"],
          then_branch=lstm_branch(rng, x, "high_"), else_branch=lstm_branch(rng, x, "low_"))
    n.add("ReduceMean", ["voice"], "y", axes=[1], keepdims=0)
    n.save(folder, "vad", [("x", FLOAT, [1, 512]), ("rate", INT64, []),
                           ("h", FLOAT, [1, 1, 128]), ("c", FLOAT, [1, 1, 128])],
           [("y", FLOAT, [1, 1]), ("state", FLOAT, [2, 1, 128])])


def file_bytes(folder, rng):
    n = Network(rng)
    for name, value in (("root", 2**.5), ("one", 1), ("half", .5), ("epsilon", 1e-5)):
        n.constant(name, value, np.float32)
    n.add("Cast", ["x"], "codes", to=INT64)
    n.add("OneHot", ["codes", n.constant("depth", 257), n.constant("off_on", [0, 1], np.float32)],
          "hot", axis=-1)
    n.add("MatMul", ["hot", n.weights("embedding", 257, 64, scale=.1)], "embedded")
    n.gelu("embedded", "g0")
    n.add("Reshape", ["g0", n.constant("rows", [1, 512, 192])], "r")
    n.layer_norm("r", "l1", 192)
    n.add("Transpose", ["l1"], "t", perm=[0, 2, 1])
    n.add("Conv", ["t", n.weights("cw", 256, 192, 5), n.weights("cb", 256)], "conv")
    n.gelu("conv", "g1")
    n.add("GlobalMaxPool", ["g1"], "pooled")
    n.add("Squeeze", ["pooled", n.constant("last", [2])], "s")
    n.layer_norm("s", "l2", 256)
    n.add("Gemm", ["l2", n.weights("ow", 214, 256), n.weights("ob", 214)], "scores", transB=1)
    n.add("Softmax", ["scores"], "y", axis=-1)
    n.save(folder, "bytes", [("x", TensorProto.INT32, [1, 1536])], [("y", FLOAT, [1, 214])])


def pitch(folder, rng):
    n = Network(rng)
    n.add("ReduceMean", ["x"], "mean", axes=[1], keepdims=1)
    n.add("Sub", ["x", "mean"], "centred")
    x, channels = n.add("Reshape", ["centred", n.constant("image", [-1, 1, 1024, 1])], "r"), 1
    layers = [(128, 512, 4), (16, 64, 1), (16, 64, 1), (16, 64, 1), (32, 64, 1), (64, 64, 1)]
    for i, (out, height, stride) in enumerate(layers):
        before = (height - stride) // 2
        w = [n.weights(f"w{i}", out, channels, height, 1), n.weights(f"b{i}", out)]
        n.add("Conv", [x, *w], f"conv{i}", strides=[stride, 1],
              pads=[before, 0, height - stride - before, 0])
        n.add("Relu", [f"conv{i}"], f"relu{i}")
        moments = [n.weights(f"{kind}{i}", out) for kind in ("scale", "shift", "mean")]
        spread = n.constant(f"var{i}", np.abs(rng.standard_normal(out)) + .5, np.float32)
        n.add("BatchNormalization", [f"relu{i}", *moments, spread], f"bn{i}")
        x = n.add("MaxPool", [f"bn{i}"], f"pool{i}", kernel_shape=[2, 1], strides=[2, 1])
        channels = out
    n.add("Transpose", [x], "t", perm=[0, 2, 1, 3])
    n.add("Reshape", ["t", n.constant("flat", [1, 256])], "f")
    n.add("Gemm", ["f", n.weights("ow", 360, 256), n.weights("ob", 360)], "scores", transB=1)
    n.add("Sigmoid", ["scores"], "y")
    n.save(folder, "pitch", [("x", FLOAT, [1, 1024])], [("y", FLOAT, [1, 360])])


def decoder(folder, rng):
    body = Network(rng)
    body.add("Gather", ["embedding", "token"], "e")
    body.add("Unsqueeze", ["e", "first"], "step")
    body.add("GRU", ["step", "gw", "gr", "gb", "", "hidden"], ["", "next_hidden"], hidden_size=96)
    body.add("Squeeze", ["next_hidden", "first"], "h")
    body.add("Gemm", ["h", "ow", "ob"], "scores", transB=1)
    body.add("ArgMax", ["scores"], "next_token", axis=1, keepdims=0)
    body.add("LogSoftmax", ["scores"], "logs", axis=1)
    body.add("ReduceMax", ["logs"], "best", axes=[1], keepdims=0)
    body.add("Identity", ["goes_on"], "still")
    body.add("Identity", ["next_token"], "said")
    state = [("token", INT64, [1]), ("hidden", FLOAT, [1, 1, 96])]
    made = [("next_token", INT64, [1]), ("next_hidden", FLOAT, [1, 1, 96])]
    turn = body.graph(
        "turn", [("i", INT64, []), ("goes_on", TensorProto.BOOL, []), *state],
        [("still", TensorProto.BOOL, []), *made, ("said", INT64, [1]), ("best", FLOAT, [1])])
    n = Network(rng)
    n.weights("embedding", 500, 64, scale=1)
    for name, dims in (("gw", (1, 288, 64)), ("gr", (1, 288, 96)), ("gb", (1, 576))):
        n.weights(name, *dims, scale=.2)
    n.weights("ow", 500, 96)
    n.weights("ob", 500)
    n.constant("first", [0])
    n.add("Loop", [n.constant("turns", 40), n.constant("yes", True, bool), "start", "memory"],
          ["last", "last_hidden", "tokens", "bests"], body=turn)
    n.add("ReduceSum", ["bests", "first"], "score", keepdims=0)
    n.save(folder, "decoder", [("start", INT64, [1]), ("memory", FLOAT, [1, 1, 96])],
           [("tokens", INT64, [40, 1]), ("score", FLOAT, [1])])


def unet(folder, rng):
    n = Network(rng)

    def layer(x, y, channels, out, stride=1):
        w = [n.weights(y + "w", out, channels, 3, 3), n.weights(y + "b", out)]
        n.add("Conv", [x, *w], y + "c", pads=[1] * 4, strides=[stride] * 2)
        scale = [n.weights(y + "s", out, scale=1), n.weights(y + "t", out)]
        n.add("InstanceNormalization", [y + "c", *scale], y + "i")
        n.add("LeakyRelu", [y + "i"], y)

    layer("x", "a", 3, 16)
    layer("a", "b", 16, 32, stride=2)
    layer("b", "d", 32, 64, stride=2)
    n.add("ConvTranspose", ["d", n.weights("up", 64, 32, 2, 2)], "u1", strides=[2, 2])
    n.add("Concat", ["u1", "b"], "k1", axis=1)
    layer("k1", "e", 64, 32)
    n.add("Resize", ["e", "", n.constant("twice", [1, 1, 2, 2], np.float32)], "u2", mode="linear")
    n.add("Concat", ["u2", "a"], "k2", axis=1)
    layer("k2", "g", 48, 16)
    n.add("Conv", ["g", n.weights("head", 5, 16, 1, 1)], "scores")
    n.add("Softmax", ["scores"], "shares", axis=1)
    n.add("ArgMax", ["shares"], "classes", axis=1)
    n.save(folder, "unet", [("x", FLOAT, [1, 3, 128, 128])],
           [("shares", FLOAT, [1, 5, 128, 128]), ("classes", INT64, [1, 1, 128, 128])])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: write_likenesses.py DIR")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for write in (vad, file_bytes, pitch, decoder, unet):
        write(folder, np.random.default_rng(SEED))


if __name__ == "__main__":
    main()
