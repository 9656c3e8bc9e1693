#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Do we agree with ONNX Runtime on random inputs?

  agree.py [--json] [--commensal BINARY] MODEL.onnx ...

Runs each model in both, on inputs from the project's counter-based generator, and prints the
largest |ours - theirs| / max |theirs| over all outputs. Exits 1 if one is above 1e-4.
Needs Debian's python3-onnx, python3-numpy, nodejs, and `npm ci --ignore-scripts` in this folder.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "models"))
import counter_rng  # noqa: E402

LIMIT = 1e-4
SEED = 7


def inputs_of(path):
    """The model's inputs: float32 in [-1, 1), int64 small and not negative; free dimensions 1."""
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    made = {}
    for k, value in enumerate(v for v in graph.input if v.name not in given):
        kind = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in kind.shape.dim]
        u = counter_rng.symmetric_f32(SEED, k, math.prod(shape)).reshape(shape)
        if kind.elem_type == onnx.TensorProto.INT64:
            made[value.name] = (u < 0).astype(np.int64)
        else:
            made[value.name] = u
    return made


def printed_by(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def ours(binary, model, inputs, folder):
    command = [binary, "run", str(model), "--json", "--output-dir", str(folder)]
    for name, value in inputs.items():
        np.save(folder / "given.npy", value)
        file = folder / f"in{len(command)}.npy"
        (folder / "given.npy").rename(file)
        command += ["--input", f"{name}={file}"]
    answer = json.loads(printed_by(command))
    file_of = lambda name: re.sub(r"[/\\:]", "_", name) + ".npy"  # as `commensal run` names them
    return {name: np.load(folder / file_of(name)) for name in answer["outputs"]}


def theirs(model, inputs, folder):
    request = []
    for k, (name, value) in enumerate(inputs.items()):
        file = folder / f"given{k}.bin"
        file.write_bytes(np.ascontiguousarray(value).tobytes())
        request.append({"name": name, "dtype": str(value.dtype), "shape": value.shape,
                        "file": str(file)})
    (folder / "request.json").write_text(json.dumps(request))
    command = ["node", str(HERE / "run_onnxruntime.mjs"), str(model), str(folder / "request.json"),
               str(folder)]
    answer = json.loads(printed_by(command))
    return {out["name"]: np.frombuffer((folder / f"{k}.bin").read_bytes(), out["dtype"])
            .reshape(out["shape"]) for k, out in enumerate(answer)}


def compare(binary, model):
    inputs = inputs_of(model)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "ours").mkdir()
        (folder / "theirs").mkdir()
        a = ours(binary, model, inputs, folder / "ours")
        b = theirs(model, inputs, folder / "theirs")
    worst = 0.0
    for name, expected in b.items():
        if a[name].shape != expected.shape:
            sys.exit(f"{model}: output '{name}' is {a[name].shape}, expected {expected.shape}")
        scale = float(np.max(np.abs(expected))) or 1.0
        worst = max(worst, float(np.max(np.abs(a[name] - expected))) / scale)
    return {"model": model.stem, "error": worst, "ok": math.isfinite(worst) and worst <= LIMIT}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--commensal", default=str(ROOT / "build/release/commensal"))
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    for model in options.models:
        rows.append(compare(options.commensal, model))
        if not options.json:
            print(f"{rows[-1]['model']:<24} {rows[-1]['error']:.2e}", flush=True)
    if options.json:
        print(json.dumps({"limit": LIMIT, "results": rows}, indent=1))
    sys.exit(0 if all(row["ok"] for row in rows) else 1)


if __name__ == "__main__":
    main()
