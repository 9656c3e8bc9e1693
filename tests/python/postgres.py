# SPDX-License-Identifier: Apache-2.0
"""A server of PostgreSQL of one's own, reached over a socket in its folder."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")  # Debian's
PASSWORD = "not-a-secret"


class Postgres:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="commensal-pg-")
        self.folder = pathlib.Path(self._folder.name)
        word = self.folder / "password"
        word.write_text(PASSWORD + "\n")
        self._as_nobody = []
        if os.geteuid() == 0:  # which it refuses
            self._as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            for path in (self.folder, word):
                shutil.chown(path, "nobody", "nogroup")
        subprocess.run([*self._as_nobody, PROGRAMS / "initdb", "-D", self.folder / "data", "-U",
                        "gateway", "-A", "scram-sha-256", "--pwfile", word, "--no-locale", "-E",
                        "UTF8", "--no-sync"], check=True, stdout=subprocess.DEVNULL)
        with (self.folder / "server.log").open("wb") as log:
            self._server = subprocess.Popen(
                [*self._as_nobody, PROGRAMS / "postgres", "-D", self.folder / "data", "-k",
                 self.folder, "-c", "listen_addresses=", "-c", "shared_buffers=16MB"],
                stdout=log, stderr=log)
        until = time.monotonic() + 30
        while self.psql("SELECT 1", check=False).returncode != 0:
            if time.monotonic() > until:
                raise RuntimeError((self.folder / "server.log").read_text())
            time.sleep(0.05)

    def url(self, database="postgres"):
        return f"postgresql://gateway:{PASSWORD}@/{database}?host={self.folder}"

    def psql(self, statement, check=True):
        return subprocess.run([PROGRAMS / "psql", "-XAtqc", statement, self.url()], check=check,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def close(self):
        self._server.terminate()
        try:
            self._server.wait(20)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._folder.cleanup()
