#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`commensal train` as people run it: lines, files, resumption and refusals. The events that it
writes for TensorBoard are read here by the format's description alone.

  tests/train.py PROGRAM SOURCES
"""
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM, SOURCES = map(os.path.abspath, sys.argv[1:3])


def environment(folder, **more):
    """Without what the tester's own shell has of a gateway."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COMMENSAL_")}
    return {**kept, "HOME": folder, **more}


def write_plan(folder, settings):
    with open(os.path.join(folder, "t.yaml"), "w") as plan:
        plan.write(
            "model: digits.onnx\n"
            "data: {image: held_out_images.npy, target: held_out_labels.npy}\n"
            "loss: {output: logits, kind: cross_entropy}\n"
            "optimiser: {kind: adamw, rate: 1e-3}\n" + settings +
            ("" if "batch:" in settings else "batch: 8\n"))


def train(folder, *options, settings="", ok=True):
    write_plan(folder, settings)
    done = subprocess.run([PROGRAM, "train", "t.yaml", *options], cwd=folder, text=True,
                          capture_output=True, timeout=300, env=environment(folder))
    assert (done.returncode == 0) == ok, (options, settings, done.stdout, done.stderr)
    return done


def refusal(folder, *options, settings="steps: 2\n"):
    lines = train(folder, *options, settings=settings, ok=False).stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    while data:
        (length,), (head,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        record, (tail,) = data[12:12 + length], struct.unpack("<I", data[12 + length:16 + length])
        assert (head, tail) == (masked(data[:8]), masked(record)), path
        yield record
        data = data[16 + length:]


def fields(data):
    """(number, value) of one message of protobuf."""
    def varint():
        nonlocal data
        value = shift = 0
        while True:
            byte, data = data[0], data[1:]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while data:
        tag = varint()
        size = {0: 0, 1: 8, 2: None, 5: 4}[tag & 7]
        if size is None:
            size = varint()
        value, data = (data[:size], data[size:]) if tag & 7 else (varint(), data)
        yield tag >> 3, value


def scalars(folder):
    found = []
    for name in sorted(os.listdir(folder)):
        assert "tfevents" in name, name
        events = [dict(fields(record)) for record in records(os.path.join(folder, name))]
        assert events[0][3] == b"brain.Event:2", events[0]
        for event in events[1:]:
            assert struct.unpack("<d", event[1])[0] > 1.5e9
            for number, value in fields(event[5]):
                assert number == 1
                value = dict(fields(value))
                found.append((event[2], value[1].decode(), struct.unpack("<f", value[2])[0]))
    return found


HELD_OUT = ("evaluate: {data: {image: held_out_images.npy, target: held_out_labels.npy},"
            " every: 3}\n")


def check_results(folder):
    whole = "steps: 6\n" + HELD_OUT
    lines = [json.loads(line) for line in train(
        folder, "--json", "--tensorboard", "runs", "--svg", "loss.svg", "--export", "out.onnx",
        settings=whole).stdout.splitlines()]
    steps = [line for line in lines[:-1] if "loss" in line]
    held_out = [line for line in lines[:-1] if "held_out" in line]
    assert [line["step"] for line in steps] == [1, 2, 3, 4, 5, 6], lines
    assert [line["step"] for line in held_out] == [0, 3, 6], lines
    assert all(0 <= line["held_out"]["accuracy"] <= 1 for line in held_out), held_out
    last = lines[-1]
    assert last["steps"] == 6 and len(last["loss"]) == 6 and len(last["weights"]) == 64
    told = scalars(os.path.join(folder, "runs"))
    losses = [value for _, name, value in told if name == "loss/train"]
    assert losses == last["loss"] or all(
        abs(a - b) <= 1e-6 * abs(b) for a, b in zip(losses, last["loss"])), (losses, last)
    assert [step for step, name, _ in told if name == "accuracy/held_out"] == [0, 3, 6], told
    with open(os.path.join(folder, "loss.svg")) as picture:
        assert picture.read().count("<polyline") >= 2
    assert os.path.getsize(os.path.join(folder, "out.onnx")) > 60000
    return last["weights"]


def check_resumed(folder, weights):
    kept = HELD_OUT + "checkpoint: {file: at.ckpt, every: 2}\n"
    train(folder, settings="steps: 4\n" + kept)
    done = train(folder, settings="steps: 6\n" + kept)
    assert "steps 5 to 6 of 8 samples" in done.stdout, done.stdout
    assert "held out after" in done.stdout and "% right" in done.stdout, done.stdout
    assert "samples/s" in done.stdout and "left" in done.stdout, done.stdout
    assert weights in done.stdout, done.stdout
    assert done.stderr == "", done.stderr  # no bar but on a terminal
    assert "4 steps done" not in done.stdout
    assert "expected at most 'steps'" in refusal(folder, settings="steps: 3\n" + kept)
    assert "another training" in refusal(folder, settings="steps: 6\nseed: 9\n" + kept)
    with open(os.path.join(folder, "at.ckpt"), "rb+") as file:
        file.truncate(500)
    assert "cut off" in refusal(folder, settings="steps: 6\n" + kept)


def check_refusals(folder):
    for option in ("--export", "--svg"):
        line = refusal(folder, option, "none/file")
        assert option in line and "expected a file in a folder that is there" in line, line
        os.makedirs(os.path.join(folder, "place"), exist_ok=True)
        for there in ("place", "place/"):
            line = refusal(folder, option, there)
            assert f"{option} is '{there}', a folder: expected a file" in line, line
    line = refusal(folder, "--export", "one", "--svg", "one")
    assert "--svg is 'one', which the training itself uses" in line, line
    line = refusal(folder, settings="steps: 2\ncheckpoint: {file: none/at.ckpt}\n")
    assert "'checkpoint.file'" in line, line
    assert "/proc/none" in refusal(folder, "--tensorboard", "/proc/none")
    line = refusal(folder, "--push", "tuned", "--gateway", "http://127.0.0.1:9")
    assert "127.0.0.1:9" in line or "token" in line, line
    assert "unknown key" in refusal(folder, settings="speed: 2\n")
    assert not os.path.exists(os.path.join(folder, "none"))


def check_settings(folder):
    """What a settings file says of gateways takes part where words ask for one, and only there."""
    file = os.path.join(folder, ".config/commensal/config.yaml")
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w") as settings:
        settings.write("client:\n  gateway: http://127.0.0.1:9\n")
    try:
        assert "weights" in train(folder, settings="steps: 2\n").stdout
        line = refusal(folder, "--segment", "1")
        assert "expected --allow ADDRESS of each provider" in line, line
        with open(file, "a") as settings:
            settings.write("train:\n  allow: ['0x52908400098527886E0F7030069857D2E4169EE7']\n"
                           "  audit-probability: 0.5\n")
        assert "weights" in train(folder, settings="steps: 2\n").stdout
        line = refusal(folder, "--segment", "1")
        assert "127.0.0.1:9" in line, line
    finally:
        os.remove(file)


def check_read_files_stay(folder):
    os.symlink("digits.onnx", os.path.join(folder, "link.onnx"))
    with open(os.path.join(folder, "digits.onnx"), "rb") as model:
        before = model.read()
    for option, file in (("--export", "digits.onnx"), ("--export", "./digits.onnx"),
                         ("--export", "link.onnx"), ("--export", "at.ckpt"),
                         ("--svg", "t.yaml"), ("--svg", "held_out_labels.npy")):
        line = refusal(folder, option, file, settings="steps: 2\ncheckpoint: {file: at.ckpt}\n")
        assert f"{option} is '{file}', which the training itself uses" in line, line
    with open(os.path.join(folder, "digits.onnx"), "rb") as model:
        assert model.read() == before


def start(folder, *options, settings):
    """A training that goes on, after its first line."""
    write_plan(folder, settings)
    made = subprocess.Popen([PROGRAM, "train", "t.yaml", *options], cwd=folder, text=True,
                            env=environment(folder), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    assert "samples" in next_line(made, 30)
    return made


def next_line(training, wait_s):
    ready, _, _ = select.select([training.stdout], [], [], wait_s)
    assert ready, f"nothing was printed in {wait_s} s"
    return training.stdout.readline()


def check_stopped(folder):
    """Somebody who redirects what it says sees that it goes on; a signal loses nothing."""
    kept = "checkpoint: {file: stop.ckpt, every: 16000000}\n"
    training = start(folder, settings="steps: 16000000\n" + kept)
    try:
        assert next_line(training, 30).startswith("step "), "a line every ten seconds"
        training.terminate()
        _, said = training.communicate(timeout=60)
        found = re.fullmatch(r"commensal train: stopped after step (\d+) of 16000000, kept in "
                             r"stop\.ckpt: the same command goes on from there\n", said)
        assert found and training.returncode == 1, (training.returncode, said)
        done = int(found[1])
        out = train(folder, settings=f"steps: {done + 2}\n" + kept).stdout
        assert f"steps {done + 1} to {done + 2} of 8 samples" in out, out

        training = start(folder, settings="steps: 16000000\n")
        training.send_signal(signal.SIGINT)
        _, said = training.communicate(timeout=60)
        assert re.fullmatch(r"commensal train: stopped after step \d+ of 16000000; nothing is "
                            r"kept, as the plan has no 'checkpoint: \{file: \.\.\.\}' to go on "
                            r"from\n", said), said
        assert training.returncode == 1, training.returncode

        # Steps of some seconds: the second signal waits for none.
        training = start(folder, "--backend", "ref", settings="steps: 9\nbatch: 400\n")
        training.terminate()
        time.sleep(0.3)
        training.terminate()
        _, said = training.communicate(timeout=60)
        assert training.returncode == 128 + signal.SIGTERM and said == "", (
            training.returncode, said)
    finally:
        training.kill()
        training.wait(30)


def check_stopped_while_pushing(folder):
    """A gateway that answers nothing: the first signal ends what has lost nothing yet."""
    write_plan(folder, "steps: 8\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        training = subprocess.Popen(
            [PROGRAM, "train", "t.yaml", "--public", "--gateway",
             f"http://127.0.0.1:{silent.getsockname()[1]}"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=environment(folder))
        try:
            asked, _ = silent.accept()
            with asked:
                training.terminate()
                assert training.wait(20) == 128 + signal.SIGTERM, training.returncode
        finally:
            training.kill()
            training.wait(30)


def check_bar(folder):
    """On a terminal the bar is drawn as often as it can be read, not for each step."""
    write_plan(folder, "steps: 2000\n")
    ours, theirs = pty.openpty()
    begun = time.monotonic()
    training = subprocess.Popen([PROGRAM, "train", "t.yaml"], cwd=folder, stdout=theirs,
                                stderr=theirs, env=environment(folder))
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 1 << 16):
            said += part
    except OSError:  # its end is gone
        pass
    finally:
        os.close(ours)
        assert training.wait(60) == 0, said
    drawn, lines = said.count(b"\r\x1b[K") + said.count(b"/2000\x1b[K"), said.count(b"\n")
    assert b"loss" in said and 0 < drawn <= 2 * (10 * (time.monotonic() - begun) + lines + 2), drawn


def check_pushed(folder):
    """A gateway's hub names whose child a pushed model is, and under which licence."""
    gateway = subprocess.Popen(
        [PROGRAM, "gateway", "--http", "127.0.0.1:0", "--grpc", "off", "--providers",
         "127.0.0.1:0", "--data-dir", "gateway", "--hash-chain-depth", "10", "--json"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(folder))
    try:
        said = json.loads(gateway.stdout.readline())
        with open(os.path.join(folder, said["operator_token_file"])) as token:
            asks = environment(folder, COMMENSAL_GATEWAY=said["http"],
                               COMMENSAL_TOKEN=token.read().strip(),
                               **({"COMMENSAL_PIN": said["pin"]} if said["pin"] else {}))

        def run(*arguments):
            done = subprocess.run([PROGRAM, *arguments], cwd=folder, text=True, timeout=300,
                                  capture_output=True, env=asks)
            assert done.returncode == 0, (arguments, done.stdout, done.stderr)
            return done.stdout

        run("push", "digits.onnx", "--card", os.path.join(SOURCES, "examples/digits.md"))
        with open(os.path.join(folder, "t.yaml"), "a") as plan:
            plan.write(HELD_OUT)
        out = run("train", "t.yaml", "--push", "tuned", "--export", "pushed.onnx")
        assert "pushed   operator/tuned version 1" in out, out
        card = run("models", "operator/tuned", "--card")
        assert 'license: "Apache-2.0"' in card, card
        assert 'base_model: "operator/digits"' in card, card
        assert "Trained from operator/digits: 2 steps of 8 samples" in card and "% right" in card
        run("models", "operator/tuned", "--save", "back.onnx")
        with open(os.path.join(folder, "back.onnx"), "rb") as back, \
                open(os.path.join(folder, "pushed.onnx"), "rb") as pushed:
            assert back.read() == pushed.read()
        run("train", "t.yaml", "--push", "other", "--parent", "tuned", "--license", "mit")
        card = run("models", "operator/other", "--card")
        assert 'license: "mit"' in card and 'base_model: "operator/tuned"' in card, card
        for options, why in ((["x", "--parent", "nobody"], "nobody"),
                             (["my model"], "expected a name OWNER/MODEL"),
                             (["config"], "and none of config"),
                             (["somebody/tuned"], "pushes to 'operator/...' only"),
                             (["x", "--license", "a" * 5000], "line 2 of the card's front matter"),
                             (["x", "--license", "a\nb"], "'license'")):
            none = subprocess.run([PROGRAM, "train", "t.yaml", "--push", *options], cwd=folder,
                                  text=True, capture_output=True, env=asks, timeout=300)
            assert none.returncode == 1 and "step" not in none.stdout, none.stdout
            assert why in none.stderr, ([one[:40] for one in options], none.stderr)
    finally:
        gateway.terminate()
        gateway.wait(30)


def main():
    folder = tempfile.mkdtemp(prefix="commensal-train-")
    try:
        for name in ("digits.onnx", "held_out_images.npy", "held_out_labels.npy"):
            shutil.copy(os.path.join(SOURCES, "models/digits", name), folder)
        check_resumed(folder, check_results(folder))
        check_refusals(folder)
        check_settings(folder)
        check_read_files_stay(folder)
        check_stopped(folder)
        check_stopped_while_pushing(folder)
        check_bar(folder)
        train(folder, settings="steps: 2\n")
        check_pushed(folder)
    finally:
        shutil.rmtree(folder)
    print("training: as described")


if __name__ == "__main__":
    main()
