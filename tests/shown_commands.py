#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does every command that the documents show exist, with its options?

  shown_commands.py FOLDER

Reads README.md, CONTRIBUTING.md and docs/*.md, and asks the programs in FOLDER (commensal,
commensal-lab where it is there) for their --help. Prints what is wrong; then exit status 1.
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("commensal", "commensal-lab")


def commands_of(text):
    """What is in code and begins with a program of ours, with the line that it stands in."""
    joined = re.sub(r"\\\n\s*", lambda at: " " * len(at[0]), text)  # offsets stay
    block = re.compile(r"^(?:    |\$ )\s*(?:\$ )?(.*)$", re.M)
    for pattern in (block, re.compile(r"`([^`\n]+)`")):
        for at in pattern.finditer(joined):
            words = at[1].replace("build/release/", "").split(" #")[0].split()
            if words and words[0] in PROGRAMS:
                yield text.count("\n", 0, at.start()) + 1, words


@functools.cache
def help_of(folder, *words):
    done = subprocess.run([str(folder / words[0]), *words[1:], "--help"], capture_output=True,
                          text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def wrong_in(folder, words):
    """What is wrong with a command; None if nothing is."""
    known, rest = [words[0]], list(words[1:])
    if not (folder / words[0]).exists():
        return f"no program {words[0]}"
    while rest and re.fullmatch(r"[a-z][\w-]*", rest[0]):
        subcommands = help_of(folder, *known).partition("Subcommands:")[2]
        if not subcommands:
            break
        if not re.search(rf"^  {re.escape(rest[0])}\b", subcommands, re.M):
            if len(known) > 1:
                break  # an argument of a command that has subcommands too
            return f"no command {rest[0]}"
        known.append(rest.pop(0))
    shown = "".join(help_of(folder, *known[:n]) for n in range(1, len(known) + 1))
    for word in rest:
        option = re.match(r"--[a-z][\w-]*", word)
        if option and not re.search(rf"(?<![\w-]){option[0]}(?![\w-])", shown):
            return f"no option {option[0]} of {' '.join(known)}"
    return None


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for bad in ("nonesuch", "--nonesuch"):
        assert wrong_in(folder, ("commensal", bad)), "this check cannot fail"
    count, failures = 0, 0
    for page in pages:
        for line, words in commands_of(page.read_text(encoding="utf-8")):
            count += 1
            if what := wrong_in(folder, tuple(words)):
                failures += 1
                print(f"{page.relative_to(ROOT)}:{line}: {what}: {' '.join(words)}")
    print(f"{count} commands shown, {failures} wrong")
    return 1 if failures or count < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
