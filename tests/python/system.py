# SPDX-License-Identifier: Apache-2.0
"""A gateway and a provider on loopback, of the built programs, as their users run them."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["COMMENSAL_PROGRAM"])
DIGITS = ROOT / "models/digits/digits.onnx"
LETTERS = ROOT / "models/letters/letters.onnx"
IMAGES = ROOT / "models/digits/held_out_images.npy"
LABELS = ROOT / "models/digits/held_out_labels.npy"
DEPTH = ["--hash-chain-depth", "10"]  # a new one is made in no time
START_S = 60


def clean_environment(**more):
    """Without what the tester's own shell has of a gateway."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COMMENSAL_")}
    return {**kept, **{k: str(v) for k, v in more.items()}}


class System:
    def __init__(self, *gateway_options, tls=False, database=None):
        self._folder = tempfile.TemporaryDirectory(prefix="commensal-python-")
        self.folder = pathlib.Path(self._folder.name)
        self._running = []
        self._secure = ["--tls"] if tls else []
        self.start_gateway("gateway", *gateway_options, database=database)
        self.certificate = self.folder / "gateway/tls-cert.pem"
        self.start_provider()

    def start_gateway(self, folder, *options, database=None):
        """On ports that are free, with its state in `database`, a URL, where one is given."""
        said = self._start("gateway", "--http", "127.0.0.1:0", "--grpc", "off", "--providers",
                           "127.0.0.1:0", "--data-dir", self.folder / folder, *DEPTH,
                           *self._secure, *options,
                           **({"COMMENSAL_DB": database} if database else {}))
        self.url, self.pin, self.key = said["http"], said["pin"], said["gateway_key"]
        self.provider_port = said["provider_port"]
        self.operator = pathlib.Path(said["operator_token_file"]).read_text().strip()

    def start_provider(self):
        self.provider = self._start(
            "provider", "--gateway", f"127.0.0.1:{self.provider_port}", "--data-dir",
            self.folder / "provider", *DEPTH, *self._secure)["address"]

    def _start(self, *arguments, **environment):
        log = self.folder / f"{arguments[0]}.log"
        with log.open("wb") as errors:
            process = subprocess.Popen([PROGRAM, *map(str, arguments), "--json"],
                                       stdout=subprocess.PIPE, stderr=errors,
                                       env=clean_environment(HOME=self.folder, **environment))
        self._running.append(process)
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{arguments[0]} did not start: {log.read_text()}")
        said = json.loads(line)
        if "error" in said:
            raise RuntimeError(f"{arguments[0]} did not start: {said['error']}")
        return said

    def run(self, *arguments, token=None, **more):
        """One command, which has to succeed: what it printed."""
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], text=True, capture_output=True, timeout=60,
            env=clean_environment(HOME=self.folder, COMMENSAL_GATEWAY=self.url,
                                  COMMENSAL_TOKEN=token or self.operator, COMMENSAL_PIN=self.pin,
                                  **more) if self.pin else
            clean_environment(HOME=self.folder, COMMENSAL_GATEWAY=self.url,
                              COMMENSAL_TOKEN=token or self.operator, **more))
        if done.returncode != 0:
            raise RuntimeError(f"{arguments[0]}: {done.stdout}{done.stderr}")
        return done.stdout

    def account(self, name):
        """A new one's token."""
        file = self.folder / f"{name}.token"
        self.run("account", "create", name, "--save", file)
        return file.read_text().strip()

    def wait_for_provider(self, client):
        until = time.monotonic() + START_S
        while client._transport.send("GET", "/v2/health/ready").status != 200:
            if time.monotonic() > until:
                raise RuntimeError((self.folder / "provider.log").read_text())
            time.sleep(0.1)

    def kill_all(self):
        while self._running:
            process = self._running.pop()
            process.kill()
            process.wait()
            process.stdout.close()

    def kill_gateway(self):
        self._running[0].kill()
        self._running[0].wait()

    def close(self):
        self.kill_all()
        self._folder.cleanup()
