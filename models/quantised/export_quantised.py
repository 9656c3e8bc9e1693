#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks of 8-bit codes as ONNX, weights from the project's counter-based generator.

  export_quantised.py DIR

q_resnet18   QLinearConv with a scale for each output channel, residual sums in binary32,
             QLinearMatMul
q_mobilenet  MobileNet V1's layers: depthwise and 1x1 QLinearConv
q_mlp        the feed-forward halves of a BERT-like encoder, quantised while it runs:
             DynamicQuantizeLinear, MatMulInteger, and LayerNormalization over 128 tokens

Scales are such that the codes of every layer are spread over their range. Needs Debian's
python3-onnx.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import counter_rng  # noqa: E402

SEED = 5
SPREAD = 40.0  # the standard deviation of a layer's codes


class Network:
    """A graph in the making; `codes` are tensors of uint8 with a known scale and zero point."""

    def __init__(self, opset):
        self.opset, self.nodes, self.constants, self.streams = opset, [], [], 0

    def constant(self, value, name="c"):
        name = f"{name}{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def weights(self, shape, dtype=np.int8, most=127.0):
        self.streams += 1
        drawn = counter_rng.symmetric_f32(SEED, self.streams, int(np.prod(shape)))
        return self.constant(np.round(drawn * most).astype(dtype).reshape(shape), "w")

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def f32(self, value):
        return self.constant(np.array(value, np.float32))

    def u8(self, value):
        return self.constant(np.array(value, np.uint8))

    def save(self, path, name, inputs, output):
        graph = helper.make_graph(self.nodes, name, inputs, [output], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, path)


def conv(net, x, channels, out, kernel=3, stride=1, group=1, zero=0):
    """Codes x of scale 1 to codes of scale 1; with zero point 0 that is a Relu too."""
    depth = channels // group * kernel * kernel
    # A code counts about SPREAD, a weight 127 / sqrt(3).
    scale = SPREAD / (np.sqrt(depth) * SPREAD * 127 / np.sqrt(3))
    scales = np.linspace(0.5, 1.5, out).astype(np.float32) * np.float32(scale)
    bias = net.weights([out], np.int32, most=SPREAD / scale / 4)
    return net.node(
        "QLinearConv",
        [x, net.f32(1), net.u8(0), net.weights([out, channels // group, kernel, kernel]),
         net.constant(scales), net.constant(np.zeros(out, np.int8)), net.f32(1), net.u8(zero),
         bias],
        kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)


def quantised_input(net):
    scale = net.f32(1 / 64)
    codes = net.node("QuantizeLinear", ["input", scale, net.u8(128)])
    # What follows takes zero points of 0.
    return net.node("QuantizeLinear",
                    [net.node("DequantizeLinear", [codes, net.f32(64), net.u8(128)]),
                     net.f32(16), net.u8(0)])


def classes(net, x, channels):
    mean = net.node("GlobalAveragePool", [net.node("DequantizeLinear", [x, net.f32(1), net.u8(0)])])
    flat = net.node("Flatten", [mean])
    codes = net.node("QuantizeLinear", [flat, net.f32(0.5), net.u8(0)])
    scale = np.float32(1 / (np.sqrt(channels) * 127))
    y = net.node("QLinearMatMul", [codes, net.f32(0.5), net.u8(0), net.weights([channels, 1000]),
                                   net.f32(scale), net.constant(np.array(0, np.int8)), net.f32(1),
                                   net.u8(128)])
    return net.node("DequantizeLinear", [y, net.f32(1), net.u8(128)])


def save_classifier(net, path, name, y):
    net.nodes[-1].output[0] = "output"
    shape = ["N", 3, 224, 224]
    net.save(path, name, [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
             helper.make_tensor_value_info("output", TensorProto.FLOAT, ["N", 1000]))


def resnet18(path):
    net = Network(13)
    x = conv(net, quantised_input(net), 3, 64, 7, 2)
    x = net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for out in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if block == 0 and out != 64 else 1
            y = conv(net, conv(net, x, channels, out, 3, stride), out, out, zero=128)
            if stride != 1:
                x = conv(net, x, channels, out, 1, stride)
            both = [net.node("DequantizeLinear", [v, net.f32(1), net.u8(zero)])
                    for v, zero in ((x, 0), (y, 128))]
            x = net.node("QuantizeLinear", [net.node("Relu", [net.node("Add", both)]), net.f32(1.2),
                                            net.u8(0)])
            channels = out
    save_classifier(net, path, "q_resnet18", classes(net, x, channels))


def mobilenet(path):
    net = Network(13)
    x = conv(net, quantised_input(net), 3, 32, 3, 2)
    channels = 32
    for out, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1),
                        (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)):
        x = conv(net, x, channels, channels, 3, stride, channels)
        x = conv(net, x, channels, out, 1)
        channels = out
    save_classifier(net, path, "q_mobilenet", classes(net, x, channels))


def linear(net, x, width, out):
    codes, scale, zero = net.node("DynamicQuantizeLinear", [x], 3)
    sums = net.node("MatMulInteger", [codes, net.weights([width, out]), zero])
    weight_scale = net.f32(1 / (127 * np.sqrt(width)))
    scaled = net.node("Mul", [net.node("Cast", [sums], to=TensorProto.FLOAT),
                              net.node("Mul", [scale, weight_scale])])
    return net.node("Add", [scaled, net.weights([out], np.float32, most=1.0)])


def mlp(path, blocks=4, width=768, hidden=3072, tokens=128):
    net = Network(17)
    x = "input"
    one, none = (net.constant(np.full(width, v, np.float32)) for v in (1, 0))
    for _ in range(blocks):
        y = linear(net, net.node("Relu", [linear(net, x, width, hidden)]), hidden, width)
        x = net.node("LayerNormalization", [net.node("Add", [x, y]), one, none])
    net.nodes[-1].output[0] = "output"
    shape = ["N", tokens, width]
    net.save(path, "q_mlp", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
             helper.make_tensor_value_info("output", TensorProto.FLOAT, shape))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in (("q_resnet18", resnet18), ("q_mobilenet", mobilenet), ("q_mlp", mlp)):
        write(folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
