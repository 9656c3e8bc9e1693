#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Installs python/ as pip does, but into a folder of its own, and runs the tests here against it.

  run.py FOLDER [unittest's arguments]    FOLDER: of the built programs

Needs Debian's python3-pip, python3-setuptools, python3-wheel and python3-numpy; python3-pil and
mypy, or what needs them skips itself.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "python"


def main():
    programs, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="commensal-pip-") as scratch:
        copy, installed = pathlib.Path(scratch, "source"), pathlib.Path(scratch, "installed")
        shutil.copytree(SOURCE, copy)  # pip builds in the source's folder
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1",
                       "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
                        "--no-build-isolation", "--no-deps", "--no-compile", "--root-user-action",
                        "ignore", "--target", installed, copy], check=True, env=environment)
        environment |= {"PYTHONPATH": str(installed), "COMMENSAL_PYTHON_SOURCE": str(copy),
                        "COMMENSAL_PROGRAM": str(pathlib.Path(programs, "commensal").resolve())}
        return subprocess.run([sys.executable, "-W", "default", "-m", "unittest",
                               *(rest or ["discover", "--verbose"])], cwd=HERE, check=False,
                              env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
