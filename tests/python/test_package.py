# SPDX-License-Identifier: Apache-2.0
"""The package as installed, its types, and the notebook of examples/."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

import commensal
from system import ROOT, System, clean_environment


class Package(unittest.TestCase):
    def test_what_is_installed_is_what_is_tested(self):
        folder = pathlib.Path(commensal.__path__[0])
        self.assertFalse(folder.is_relative_to(ROOT))
        self.assertTrue((folder / "py.typed").is_file())
        for name in commensal.__all__:
            self.assertTrue(hasattr(commensal, name), name)
            self.assertTrue(getattr(commensal, name).__doc__, name)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "needs mypy")
    def test_types(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull], text=True,
                              cwd=os.environ["COMMENSAL_PYTHON_SOURCE"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Notebook(unittest.TestCase):
    def test_every_cell_runs_and_says_what_it_shows(self):
        file = ROOT / "examples/python/first_steps.ipynb"
        notebook = json.loads(file.read_text())
        self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
        cells = ["".join(cell["source"]) for cell in notebook["cells"]
                 if cell["cell_type"] == "code"]
        system = System()
        self.addCleanup(system.close)
        environment = clean_environment(COMMENSAL_GATEWAY=system.url, HOME=system.folder,
                                        COMMENSAL_TOKEN=system.account("alice"))
        client = commensal.client.login(system.url, environment["COMMENSAL_TOKEN"])
        self.addCleanup(client.close)
        system.wait_for_provider(client)
        done = subprocess.run([sys.executable, "-c", "\n".join(cells)], cwd=file.parent, text=True,
                              env=environment, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("alice/digits(image float32[-1,1,8,8])", "198 of 200 right", "read: [('",
                     "refused: ", "x[None]"):
            self.assertIn(text, done.stdout)
