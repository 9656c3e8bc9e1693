#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What does the Winograd clause of docs/numerics.md cost in accuracy on whole networks?

  winograd.py [--commensal BINARY] MODEL.onnx[=INPUT.npy] ...

Runs each network three times on one input: as it is; with every 3x3 kernel widened to 3x4 by a
column of zeros, which the clause does not apply to and whose steps change no accumulator, so that
all its sums are direct; and in binary64. Prints the errors of the first two against the third, over
the root mean square of the output. Without INPUT the input is random (tests/peer/agree.py).
Needs Debian's python3-onnx and python3-numpy.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/peer"))
from agree import inputs_of, ours  # noqa: E402


def ints(node, name, usual):
    return next((list(a.ints) for a in node.attribute if a.name == name), usual)


def applies(node, weight):
    """A convolution that the clause may apply to."""
    group = next((a.i for a in node.attribute if a.name == "group"), 1)
    auto = next((a.s for a in node.attribute if a.name == "auto_pad"), b"NOTSET")
    return (weight.shape[2:] == (3, 3) and weight.shape[1] >= 16 and group == 1 and
            auto in (b"", b"NOTSET") and set(ints(node, "strides", [1, 1])) == {1} and
            set(ints(node, "dilations", [1, 1])) == {1})


def direct(model):
    """The model with widened kernels; how many there are."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    count = 0
    for node in model.graph.node:
        if node.op_type != "Conv" or node.input[1] not in tensors:
            continue
        weight = numpy_helper.to_array(tensors[node.input[1]])
        if weight.ndim != 4 or not applies(node, weight):
            continue
        name = f"{node.input[1]}.wide{count}"
        wide = np.pad(weight, ((0, 0), (0, 0), (0, 0), (0, 1)))
        model.graph.initializer.append(numpy_helper.from_array(wide, name))
        pads = ints(node, "pads", [0, 0, 0, 0])
        pads[3] += 1
        node.input[1] = name
        kept = [a for a in node.attribute if a.name not in ("pads", "kernel_shape")]
        del node.attribute[:]
        node.attribute.extend(kept)
        node.attribute.append(onnx.helper.make_attribute("pads", pads))
        node.attribute.append(onnx.helper.make_attribute("kernel_shape", [3, 4]))
        count += 1
    return model, count


def in_binary64(model):
    def widen(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    for tensor in model.graph.initializer:
        widen(tensor)
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                widen(attribute.t)
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    return model


def answer(binary, model, inputs, folder):
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    return ours(binary, folder / "model.onnx", inputs, folder)


def measure(binary, path, given):
    inputs = inputs_of(path)
    if given:
        inputs = {next(iter(inputs)): np.load(given)}
    wide = {name: value.astype(np.float64) if value.dtype == np.float32 else value
            for name, value in inputs.items()}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model, count = direct(onnx.load(path))
        truth = answer(binary, in_binary64(onnx.load(path)), wide, folder / "truth")
        plain = answer(binary, model, inputs, folder / "direct")
        clause = answer(binary, onnx.load(path), inputs, folder / "clause")
    worst = []
    for made in (plain, clause):
        errors = [(made[name] - exact) / np.sqrt(np.mean(exact ** 2))
                  for name, exact in truth.items()]
        worst.append((max(np.sqrt(np.mean(e ** 2)) for e in errors),
                      max(np.max(np.abs(e)) for e in errors)))
    return count, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commensal", default=str(ROOT / "build/release/commensal"))
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    print("| network | layers | direct rms | max | clause rms | max |\n|---|---|---|---|---|---|")
    for item in options.models:
        model, _, given = item.partition("=")
        count, ((a, b), (c, d)) = measure(options.commensal, pathlib.Path(model), given)
        print(f"| {pathlib.Path(model).stem} | {count} | {a:.1e} | {b:.1e} | {c:.1e} | {d:.1e} |",
              flush=True)


if __name__ == "__main__":
    main()
