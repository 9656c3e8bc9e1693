#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models that the examples of Triton's Python client ask for, as small ONNX files.

  write_triton.py OUT.onnx ...     each is called as its file: simple.onnx, simple_string.onnx
  write_triton.py --all DIR        all of them
  write_triton.py --list           their names

Needs Debian's python3-onnx and python3-numpy. Names, types and shapes are those of Triton's own
example models (docs/examples/model_repository), N is free; what they compute is ours. densenet_onnx
is a stand-in of the same face, whose weights come from the counter-based generator.
"""
import argparse
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import counter_rng  # noqa: E402

INT8, INT32 = TensorProto.INT8, TensorProto.INT32
FLOAT, STRING = TensorProto.FLOAT, TensorProto.STRING
SEED = 24


def port(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def sums(dtype):
    """Sum and difference of two rows of 16, computed in int32."""
    nodes, names = [], ["INPUT0", "INPUT1"]
    if dtype != INT32:
        names = ["number0", "number1"]
        nodes += [helper.make_node("Cast", [f"INPUT{i}"], [names[i]], to=INT32) for i in (0, 1)]
    for i, operator in enumerate(("Add", "Sub")):
        result = f"OUTPUT{i}" if dtype == INT32 else f"result{i}"
        nodes.append(helper.make_node(operator, names, [result]))
        if dtype != INT32:
            nodes.append(helper.make_node("Cast", [result], [f"OUTPUT{i}"], to=dtype))
    rows = [[port(f"{what}{i}", dtype, ["N", 16]) for i in (0, 1)] for what in ("INPUT", "OUTPUT")]
    return nodes, *rows, []


def identity(dtype):
    return ([helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])],
            [port("INPUT0", dtype, ["N", "L"])], [port("OUTPUT0", dtype, ["N", "L"])], [])


def sequence():
    """READY * (INPUT + START): a server of sequences fills START and READY in with 0 or 1."""
    return ([helper.make_node("Add", ["INPUT", "START"], ["sum"]),
             helper.make_node("Mul", ["sum", "READY"], ["OUTPUT"])],
            [port(name, INT32, ["N", 1]) for name in ("INPUT", "START", "READY")],
            [port("OUTPUT", INT32, ["N", 1])], [])


def weight(name, stream, shape):
    values = counter_rng.symmetric_f32(SEED, stream, math.prod(shape))
    values *= np.float32(math.sqrt(6.0 / math.prod(shape[1:])))
    return helper.make_tensor(name, FLOAT, shape, values.astype("<f4").tobytes(), raw=True)


def densenet():
    """A picture to scores of 1000 classes: patches, then their mean."""
    return ([helper.make_node("Conv", ["data_0", "patches"], ["seen"], strides=[32, 32]),
             helper.make_node("Relu", ["seen"], ["felt"]),
             helper.make_node("GlobalAveragePool", ["felt"], ["mean"]),
             helper.make_node("Conv", ["mean", "classes"], ["fc6_1"])],
            [port("data_0", FLOAT, [1, 3, 224, 224])], [port("fc6_1", FLOAT, [1, 1000, 1, 1])],
            [weight("patches", 0, [8, 3, 32, 32]), weight("classes", 1, [1000, 8, 1, 1])])


MODELS = {
    "simple": lambda: sums(INT32),
    "simple_int8": lambda: sums(INT8),
    "simple_string": lambda: sums(STRING),
    "simple_identity": lambda: identity(STRING),
    "simple_sequence": sequence,
    "custom_identity_int32": lambda: identity(INT32),
    "densenet_onnx": densenet,
}


def write(path):
    nodes, inputs, outputs, weights = MODELS[path.stem]()
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                              producer_name="commensal")
    model.ir_version = 7
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="*", type=pathlib.Path, help="OUT.onnx")
    parser.add_argument("--all", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    paths = list(arguments.out)
    if arguments.all:
        arguments.all.mkdir(parents=True, exist_ok=True)
        paths += [arguments.all / f"{name}.onnx" for name in MODELS]
    for path in paths:
        if path.stem not in MODELS:
            parser.error(f"'{path}': expected NAME.onnx, NAME one of {', '.join(MODELS)}")
    if arguments.list:
        print("\n".join(MODELS))
    for path in paths:
        write(path)


if __name__ == "__main__":
    main()
