#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two steps of the GPT of models/gpt end in one hash of its weights, on each instruction set that
this machine has and on 1 to 4 threads; it changes only with the numeric specification.

  gpt_steps.py PROGRAM SOURCES

Exit 77: Debian's python3-onnx or python3-numpy is not there.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy  # noqa: F401
    import onnx  # noqa: F401
except ImportError:
    sys.exit(77)

PROGRAM, SOURCES = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
ISAS = ("avx2", "avx512", "neon")
EXPECTED = "d9367dff117b7655685cf19169cafb6fac2ab8594bdd4fbfdb07e1e90b61030f"


def run(*words):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True,
                          check=False, timeout=600)


def weights_of(plan, *options):
    """The hash; None where the machine lacks the instruction set."""
    done = run(PROGRAM, "train", plan, "--json", *options)
    if "this machine lacks it" in done.stdout + done.stderr:
        return None
    assert done.returncode == 0, (options, done.stdout, done.stderr)
    made = json.loads(done.stdout.splitlines()[-1])
    assert made["steps"] == 2 and len(made["weights"]) == 64, made
    return made["weights"]


def main():
    with tempfile.TemporaryDirectory(prefix="commensal-gpt-") as name:
        folder = pathlib.Path(name)
        text = random.Random(1).choices(b"abcdefghijklmnopqrstuvwxyz \n", k=8000)
        (folder / "text").write_bytes(bytes(text))
        made = run("/usr/bin/python3", "-B", SOURCES / "models/gpt/write_gpt.py", folder / "text",
                   folder, "--steps", 2)
        assert made.returncode == 0, made.stderr
        plan = folder / "train.yaml"
        lines = plan.read_text().splitlines(keepends=True)
        # Each begins anew, and looks at nothing but its steps.
        plan.write_text("".join(
            line for line in lines if not line.startswith(("checkpoint:", "evaluate:"))))
        found = {}
        for isa in ISAS:
            for threads in (1, 2, 3, 4):
                weights = weights_of(plan, "--isa", isa, "--threads", threads)
                if weights is None:
                    break
                found[isa, threads] = weights
        assert found and set(found.values()) == {EXPECTED}, found
        print(f"{len(found)} ways to {EXPECTED}")


if __name__ == "__main__":
    main()
