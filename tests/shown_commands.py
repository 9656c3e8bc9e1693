#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does every command that the documents show exist, with its subcommands and options? Does every
source file that they name?

  shown_commands.py FOLDER

Reads README.md, CONTRIBUTING.md, docs/**/*.md and the programs' own examples, and asks the programs
in FOLDER for their --help. Code is looked at, in blocks and in `spans`: lines that name a program,
spans that begin with one of its commands (`account deposit ...`) or with an option of whichever
command (`--batch-max 8`). Prints what is wrong; then exit status 1.
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("commensal", "commensal-lab")
EVERYBODYS_OPTIONS = {"--help", "--version"}
OTHERS_OPTIONS = {"--quick", "--gtest_filter"}  # of ./test and of tests
OPTION = re.compile(r"--[a-z][\w-]*")
SOURCE = re.compile(r"[\w./*-]+\.(?:cpp|hpp|h|cu|py|proto|cmake|md)")  # `x.cpp`, `x_test.cpp`: any

# What must be found, and what must not: each a page of one line.
BAD = ("    commensal nonesuch", "    $ commensal run m.onnx --nonesuch",
       "`commensal bench nonesuch`", "    A=1 build/release/commensal infer a/b --inptu x",
       "```\ncommensal nonesuch\n```", "`commensal\nnonesuch`", "`account nonesuch 5`",
       "`--nonesuch-option 3`", "    commensal run m.onnx \\\n      --nonesuch",
       "    /usr/bin/time -f %e commensal nonesuch")
GOOD = ("commensal nonesuch", "    commensal infer: unknown model 'x'",
        "`run` and `--gtest_filter`", "    $ commensal account create bob --save x  # nonesuch",
        "`commensal COMMAND --help`")


def code_of(text):
    """The page's code, a line or span each, with the line that it stands in."""
    joined = re.sub(r"\\\n\s*", lambda at: " " * len(at[0]), text)  # offsets stay
    fenced = re.compile(r"^```.*?^```", re.M | re.S)
    for block in fenced.finditer(joined):
        for at in re.finditer(r"^(?!```)(.+)$", block[0], re.M):
            yield joined, block.start() + at.start(), at[1], "block"
    rest = fenced.sub(lambda at: re.sub(r"[^\n]", " ", at[0]), joined)
    for at in re.finditer(r"^ {4,}(\S.*)$", rest, re.M):
        yield joined, at.start(), at[1], "block"
    rest = re.sub(r"^ {4,}\S.*$", "", rest, flags=re.M)
    for at in re.finditer(r"`([^`]+)`", rest):
        yield joined, joined.find(at[0]), at[1], "span"


def words_of(code):
    """The words of the first command of ours in a line of code; none, where there is none."""
    words = code.split(" #")[0].replace("build/release/", "").split()
    words = words[next((n for n, word in enumerate(words) if word in PROGRAMS), len(words)):]
    ends = (n for n, word in enumerate(words) if word in ("|", "&&", ">", ";"))
    return words[:next(ends, len(words))]


class Programs:
    """What the programs say of themselves."""

    def __init__(self, folder):
        self.folder = folder
        self.names = [name for name in PROGRAMS if (folder / name).exists()]

    @functools.cache
    def help_of(self, *words):
        done = subprocess.run([str(self.folder / words[0]), *words[1:], "--help"], text=True,
                              capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    def has(self, known, word):
        """Is `word` a command below `known`?"""
        if not re.fullmatch(r"[a-z][\w-]*", word):
            return False
        text = self.help_of(*known, word)
        usage = re.search(r"^Usage: (.*)$", text, re.M)
        return bool(usage) and usage[1].split()[:len(known) + 1] == [*known, word]

    def all_options(self):
        found = EVERYBODYS_OPTIONS | OTHERS_OPTIONS
        for name in self.names:
            for words in self.commands_below(name):
                found |= set(OPTION.findall(self.help_of(*words)))
        return found

    def commands_below(self, *known):
        """`known` and all below it: words of the help that turn out to be commands."""
        yield known
        words = re.findall(r"(?:^|\s) {2}([a-z][\w-]*) ", self.help_of(*known), re.M)
        for word in dict.fromkeys(words):
            if len(known) < 4 and self.has(known, word):
                yield from self.commands_below(*known, word)

    def wrong_in(self, words):
        """What is wrong with a command; None if nothing is."""
        if words[0] not in self.names:
            return f"no program {words[0]}"
        known, rest = [words[0]], list(words[1:])
        while rest and self.has(known, rest[0]):
            known.append(rest.pop(0))
        shown = "".join(self.help_of(*known[:n]) for n in range(1, len(known) + 1))
        own = self.help_of(*known)
        plain = rest and re.fullmatch(r"[a-z][\w-]*", rest[0])
        if plain and (len(known) == 1 or re.search(r"^Usage: .* SUBCOMMAND$", own, re.M)):
            return f"no command {rest[0]} of {' '.join(known)}"
        action = re.search(r"^  action .*?(?=^  \S|^$)", own, re.M | re.S)
        if plain and action and not re.search(rf"\b{re.escape(rest[0])}\b", action[0]):
            return f"no action {rest[0]} of {' '.join(known)}"
        for word in rest:
            option = OPTION.match(word)
            if option and option[0] not in EVERYBODYS_OPTIONS.union(OPTION.findall(shown)):
                return f"no option {option[0]} of {' '.join(known)}"
        return None

    def wrong_in_span(self, words):
        """The same of words without their program: whichever may be meant."""
        owners = [name for name in self.names if self.has([name], words[0])]
        found = [self.wrong_in([name, *words]) for name in owners]
        return found[0] if found and all(found) else None


def lost_files(names, pages):
    """The sources that pages name and nobody has: (page, name)."""
    for page, text in pages:
        for name in re.findall(r"`([^`\s]+)`", text):
            if not SOURCE.fullmatch(name) or re.fullmatch(r"x[_.].*", name.rpartition("/")[2]):
                continue
            pattern = re.escape(name).replace(r"\*", "[^/\n]*")
            if not re.search(rf"(?:^|/){pattern}$", names, re.M):
                yield page, name


def look(programs, options, text):
    """The number of commands that a page shows, and what is wrong: (line, what, code)."""
    count, wrong = 0, []
    for page, offset, code, kind in code_of(text):
        what, words = None, words_of(code)
        bare = code.split()
        if words:
            count += 1
            what = programs.wrong_in(words)
        elif kind == "span" and OPTION.match(bare[0]):
            option = OPTION.match(bare[0])[0]
            what = None if option in options else f"no command has the option {option}"
        elif kind == "span" and len(bare) > 1:
            what = programs.wrong_in_span(bare)
        if what:
            wrong.append((page.count("\n", 0, offset) + 1, what, " ".join(bare)))
    return count, wrong


def main():
    programs = Programs(pathlib.Path(sys.argv[1]).resolve())
    options = programs.all_options()
    for page, bad in [*((page, True) for page in BAD), *((page, False) for page in GOOD)]:
        assert bool(look(programs, options, page)[1]) == bad, f"this check errs: {page!r}"
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = [(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")) for page in pages]
    folders = ("apps cmake commensal docs examples hosts models proto tests web/judge web/src "
               "web/test web/verify").split()
    names = "\n".join(str(file) for folder in folders for file in (ROOT / folder).rglob("*.*"))
    assert list(lost_files(names, [("", "`core/nonesuch.hpp`")])), "this check errs: files"
    lost = list(lost_files(names, texts))
    for page, name in lost:
        print(f"{page}: no file {name}")
    for name in programs.names:
        for words in programs.commands_below(name):
            examples = programs.help_of(*words).partition("Examples:")[2]
            texts.append((" ".join(words) + " --help", re.sub("^", "    ", examples, flags=re.M)))
    count, failures = 0, len(lost)
    for name, text in texts:
        shown, wrong = look(programs, options, text)
        count, failures = count + shown, failures + len(wrong)
        for line, what, code in wrong:
            print(f"{name}:{line}: {what}: {code}")
    print(f"{count} commands shown, {failures} wrong")
    return 1 if failures or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
