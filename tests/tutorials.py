#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tutorials, docs/tutorials/*.md, as they stand there.

  tutorials.py FOLDER [--print]    FOLDER: of the built programs

One after another, operator first, in one home directory, each in a shell of its own, beside a
gateway on loopback that the operator's has started. A line that begins with "$ " is a command (up
to a line without "\\" at its end, or to its <<END); what follows has to be printed as it stands
there, but "..." which stands for anything, in a line or for lines. A page that shows an error, a
line "commensal COMMAND: ...", expects the command to fail. What differs from run to
run, identifiers of 64 and addresses of 40 hexadecimal digits, is what it was when it was first
printed, in later commands, too. --print shows what is really printed.

Ports are the usual ones: all of it runs in a network namespace of its own, where the kernel lets
it. Status 77 where it does not.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("operator", "provider", "consumer", "auditor", "developer")
LINES_MAX = 45  # of a page: one screen
NAMED = re.compile(r"0x[0-9a-fA-F]{40}\b|\b[0-9a-f]{64}\b")
COMMAND_S = 120


def blocks_of(text):
    """The page's commands and what each prints: (command, lines)."""
    found = []
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, re.M):
        goes_on, text_end = False, None
        for line in block.splitlines():
            line = line[4:]
            if text_end:
                found[-1][0] += "\n" + line
                text_end = None if line == text_end else text_end
            elif goes_on:
                found[-1][0] += "\n" + line
            elif line.startswith("$ "):
                found.append([line[2:], []])
                text_end = (re.findall(r"<<(\w+)$", line) or [None])[0]
            elif found and line:
                found[-1][1].append(line)
            elif line:
                raise ValueError(f"no command before: {line}")
            goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return found


class Names:
    """What stands on the page, and what it is in this run."""

    def __init__(self):
        self._known = {}

    def now(self, text):
        return NAMED.sub(lambda at: self._known.get(at[0], at[0]), text)

    def fits(self, shown, said):
        """Whether a line is what the page shows; names that are new are noted."""
        parts, new, at = [], [], 0
        for name in [*NAMED.finditer(shown), None]:
            end = name.start() if name else len(shown)
            parts.append(re.escape(shown[at:end]).replace(r"\.\.\.", ".*"))
            if name and name[0] in self._known:
                parts.append(re.escape(self._known[name[0]]))
            elif name:
                new.append(name[0])
                parts.append(f"({NAMED.pattern})")
            at = name.end() if name else end
        found = re.fullmatch("".join(parts), said)
        if found:
            # A hash that does not differ from run to run may as well stand for itself.
            self._known |= dict(zip(new, found.groups()))
        return bool(found)


def unmatched(names, shown, said):
    """The first line of the page that was not printed; None where all were."""
    at, may_skip = 0, False
    for line in shown:
        if line.strip() == "...":
            may_skip = True
            continue
        while at < len(said) and not names.fits(line, said[at]):
            if not may_skip:
                return line
            at += 1
        if at == len(said):
            return line
        at, may_skip = at + 1, False
    return None if may_skip or at == len(said) else f"(nothing, but: {said[at]})"


class Shell:
    """Commands one after another, as in a terminal; what runs in the background goes on."""

    def __init__(self, environment, folder):
        self._ended = "---ended---"
        self._process = subprocess.Popen(["bash", "--norc"], cwd=folder, env=environment,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True, bufsize=1)

    def run(self, command):
        """What it printed, and its status."""
        # The braces let a failed command be found; jobs print to the same place.
        self._process.stdin.write(f"{command}\necho \"{self._ended}$?\"\n")
        self._process.stdin.flush()
        lines = []
        signal.alarm(COMMAND_S)
        for line in self._process.stdout:
            text, mark, status = line.rstrip("\n").partition(self._ended)
            if text:
                lines.append(text)
            if mark:
                signal.alarm(0)
                return lines, int(status)
        raise RuntimeError(f"the shell ended: {command}")

    def close(self):
        self._process.communicate("kill $(jobs -p) 2>/dev/null; wait\n", timeout=COMMAND_S)


def run_page(name, shell, names, shows):
    """What is wrong with a page, a line each."""
    text = (ROOT / f"docs/tutorials/{name}.md").read_text(encoding="utf-8")
    if text.count("\n") > LINES_MAX:
        yield f"{name}: {text.count(chr(10))} lines, at most {LINES_MAX} are one screen"
    count = 0
    for command, shown in blocks_of(text):
        now = names.now(command)
        try:
            said, status = shell.run(now)
        except TimeoutError as error:
            yield f"{name}: $ {now}: {error}"
            break
        count += 1
        if now.rstrip().endswith("&"):
            said += wait_for(shell, shown, said, names)
        if shows:
            print(f"$ {now}", *said, sep="\n", flush=True)
        lost = unmatched(names, shown, said)
        may_fail = any(line.startswith("commensal ") for line in shown)  # an error that is shown
        if (status != 0) != may_fail or lost is not None:
            yield "\n".join([f"{name}: $ {now}", f"  ended with status {status}",
                             f"  expected: {lost}", *(f"  said: {line}" for line in said)])
            if not shows:
                break
    if count < 3:
        yield f"{name}: {count} commands"


def wait_for(shell, shown, said, names):
    """Of a command in the background: what it prints at its start."""
    more = []
    until = time.monotonic() + COMMAND_S
    while unmatched(names, shown, said + more) is not None and time.monotonic() < until:
        more += shell.run("sleep 0.1")[0]
    return more


def check_itself():
    """This check can fail."""
    a, b = "0x" + "aB" * 20, "0x" + "12" * 20
    names = Names()
    assert unmatched(names, [f"key {a}", "..."], [f"key {b}", "more"]) is None
    assert names.now(f"x {a}") == f"x {b}"
    assert unmatched(names, [f"key {a}"], [f"key {a}"]) is not None
    for shown, said in ((["a", "b"], ["a"]), (["a"], ["a", "b"]), (["a.c"], ["abc"])):
        assert unmatched(names, shown, said) is not None, (shown, said)
    assert unmatched(names, ["...", "x ... z"], ["w", "x y z"]) is None
    assert blocks_of("    $ a \\\n      b\n    c\n\n    $ d\n") == [
        ["a \\\n  b", ["c"]], ["d", []]]
    assert blocks_of("    $ a <<END\n    $ b\n    END\n    c\n") == [["a <<END\n$ b\nEND", ["c"]]]


def too_late(*_):
    raise TimeoutError(f"a command took longer than {COMMAND_S} s")


def run_all(programs, shows):
    check_itself()
    signal.signal(signal.SIGALRM, too_late)
    with tempfile.TemporaryDirectory(prefix="commensal-tutorials-",
                                     ignore_cleanup_errors=True) as home:
        folder = pathlib.Path(home, "commensal")  # the checkout, as far as tutorials need it
        for part in ("models/digits", "examples", "python"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("build"))
        kept = {key: text for key, text in os.environ.items()
                if not key.startswith(("COMMENSAL_", "XDG_", "PYTHON"))}
        environment = {**kept, "HOME": home, "LC_ALL": "C.UTF-8",
                       "PATH": f"{programs}:/usr/bin:/bin:/usr/sbin:/sbin"}
        names, wrong, shells = Names(), [], []
        for name in PAGES:
            shells.append(Shell(environment, folder))  # which daemons of one page go on printing to
            wrong += run_page(name, shells[-1], names, shows)
            if wrong and not shows:
                break
        for shell in reversed(shells):
            shell.close()
    print("\n".join(wrong))
    print(f"tutorials: {len(wrong)} wrong")
    return 1 if wrong else 0


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    if "--inside" not in sys.argv:
        apart = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork",
                 "--kill-child", "--mount-proc"]
        if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode != 0:
            print("skipped: the kernel gives no namespaces here")
            return 77
        return subprocess.run([*apart, sys.executable, "-B", __file__, programs, *sys.argv[2:],
                               "--inside"], check=False).returncode
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return run_all(programs, "--print" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
