# SPDX-License-Identifier: Apache-2.0
"""docs/backup.md, as it stands there: its commands copy a gateway that is at work, and what is
restored elsewhere has the same accounts, receipts, models and money."""
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import threading
import unittest

import commensal
import numpy as np
from commensal._uploads import metadata
from postgres import PROGRAMS, Postgres
from system import DIGITS, IMAGES, ROOT, System, clean_environment

PAGE = (ROOT / "docs/backup.md").read_text()


def commands(where):
    """Of the page's part about `where`: to copy, and to restore, but for the gateway's start."""
    part = PAGE.partition(f"**{where}**")[2]
    blocks = re.findall(r"(?:^ {4}.*\n)+", part, re.M)[:2]
    copy, restore = (re.sub("^ {4}", "", block, flags=re.M) for block in blocks)
    *kept, start = restore.splitlines()
    assert "commensal gateway --data-dir restored" in start, start
    return copy, "\n".join(kept)


class Backup(unittest.TestCase):
    def shell(self, lines, **environment):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", lines], cwd=self.folder,
                              capture_output=True, text=True, timeout=120,
                              env=clean_environment(HOME=self.folder, **environment))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def start(self, **more):
        self.system = System(**more)
        self.addCleanup(self.system.close)
        self.folder = self.system.folder
        (self.folder / "gateway-state").symlink_to("gateway")
        self.token = self.system.account("alice")
        client = self.login()
        self.system.wait_for_provider(client)
        self.model = client.push(DIGITS)
        self.begin_upload(client)
        self.images = np.load(IMAGES)
        self.answers = [self.model.infer(self.images[i:i + 1]) for i in range(5)]
        self.answers.append(self.model.infer(np.resize(self.images, (9000, 1, 8, 8))))  # a file
        self.key, self.before = self.system.key, self.what_is_there(client)

    def begin_upload(self, client):
        """One of which a part has come."""
        data = DIGITS.read_bytes()
        tus = {"Tus-Resumable": "1.0.0"}
        made = client._transport.call("POST", "/v1/uploads", headers={
            **tus, "Upload-Length": str(len(data)), "Upload-Metadata":
            metadata("alice/begun", hashlib.sha256(data).hexdigest(), {})})
        upload = made.json()["upload"]
        client._transport.call("PATCH", f"/v1/uploads/{upload}", data[:1000], {
            **tus, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"})

    def login(self):
        client = commensal.client.login(self.system.url, self.token)
        self.addCleanup(client.close)
        return client

    def what_is_there(self, client):
        """Of what does not change by itself, as those say who may see it."""
        accounts = self.system.run("account", "list", "--json")
        models = [(m["name"], m["version"], m["sha256"]) for m in client.models()]
        uploads = client._transport.call("GET", "/v1/uploads").json()["uploads"]
        return accounts, models, uploads

    def copy(self, lines, **environment):
        """While it is at work."""
        done = threading.Event()

        def ask():
            while not done.is_set():
                self.model.infer(self.images[:1])

        busy = threading.Thread(target=ask)
        busy.start()
        try:
            self.shell(lines, **environment)
        finally:
            done.set()
            busy.join()

    def check_secrets(self):
        for path in (self.folder / "backup").iterdir():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, path)
        listed = subprocess.run(["tar", "-tf", self.folder / "backup/files.tar"], check=True,
                                capture_output=True, text=True).stdout.split()
        names = {pathlib.PurePath(name).parts[0] for name in listed if name != "./"}
        for name in names:  # nothing is in it that the page does not name
            self.assertTrue(f"`{name}`" in PAGE, name)
        self.assertLessEqual({"key", "operator.token", "models", "openings", "uploads"}, names)
        for name in ("key", "operator.token"):
            mode = (self.folder / "restored" / name).stat().st_mode
            self.assertEqual(stat.S_IMODE(mode), 0o600, name)
        self.assertEqual(stat.S_IMODE((self.folder / "restored").stat().st_mode), 0o700)

    def check_restored(self, **more):
        self.system.start_gateway("restored", **more)
        self.system.start_provider()
        client = self.login()
        self.assertEqual((self.system.key, client.account), (self.key, "alice"))
        self.assertEqual(self.what_is_there(client), self.before)
        for answer in self.answers:
            checked = client.receipt(answer.receipt.id).verify(client=self.key)
            self.assertEqual(checked.outputs["logits"].tobytes(), answer.output.tobytes())
        self.system.wait_for_provider(client)
        again = client.model("digits").infer(self.images[:1])
        self.assertEqual(again.output.tobytes(), self.answers[0].output.tobytes())
        again.receipt.verify()

    @unittest.skipUnless(shutil.which("sqlite3"), "needs sqlite3")
    def test_sqlite(self):
        self.start()
        copy, restore = commands("SQLite")
        self.copy(copy)
        self.system.kill_all()
        shutil.move(self.folder / "gateway", self.folder / "lost")
        self.shell(restore)
        self.check_secrets()
        self.check_restored()

    @unittest.skipUnless((PROGRAMS / "postgres").exists(), "needs postgresql-15")
    def test_postgresql(self):
        server = Postgres()
        self.addCleanup(server.close)
        self.start(database=server.url())
        copy, restore = commands("PostgreSQL")
        path = f"{PROGRAMS}:{os.environ['PATH']}"
        self.copy(copy, COMMENSAL_DB=server.url(), PATH=path)
        self.system.kill_all()
        shutil.move(self.folder / "gateway", self.folder / "lost")
        server.psql("CREATE DATABASE restored")
        self.shell(restore, RESTORED_DB=server.url("restored"), PATH=path)
        self.check_secrets()
        self.check_restored(database=server.url("restored"))

    @unittest.skipUnless(shutil.which("sqlite3"), "needs sqlite3")
    def test_a_copy_without_its_key_is_refused(self):
        """A gateway of another key would sign for receipts that are not its own."""
        self.start()
        copy, restore = commands("SQLite")
        self.copy(copy)
        self.system.kill_all()
        self.shell(restore + "\nrm restored/key")
        with self.assertRaisesRegex(RuntimeError, "key' is missing.*put its key back"):
            self.system.start_gateway("restored")
