#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site of docs/ and looks at every page: links lead somewhere, headings included,
nothing is fetched from elsewhere, search knows the pages. Status 77 where mkdocs is missing.
"""
import html.parser
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from urllib.parse import unquote, urlsplit

ROOT = pathlib.Path(__file__).resolve().parents[1]
FETCHED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src",
           "object": "data", "form": "action"}


class Page(html.parser.HTMLParser):
    """What a page fetches, links to, and can be linked to at."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.links, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        self.anchors |= {said[key] for key in ("id", "name") if said.get(key)}
        if tag in FETCHED and said.get(FETCHED[tag]) and said.get("rel") != "canonical":
            self.fetched.append(said[FETCHED[tag]])
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])


def wrong_in(site, pages):
    """What is wrong, a line each."""
    for path, page in pages.items():
        name = path.relative_to(site)
        for url in page.fetched:
            if urlsplit(url).scheme not in ("", "data") or url.startswith("//"):
                yield f"{name} fetches {url}"
        for url in [*page.links, *(one for one in page.fetched if not urlsplit(one).scheme)]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if name.name == "404.html" and parts.path.startswith("/"):
                to = (site / unquote(parts.path[1:])).resolve()
            if not to.exists():
                yield f"{name} leads to {url}, which is not there"
            elif parts.fragment and to in pages and (
                    unquote(parts.fragment) not in pages[to].anchors):
                yield f"{name} leads to {url}, a heading that is not there"
    for sheet in site.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)",
                              sheet.read_text(encoding="utf-8")):
            yield f"{sheet.name} fetches {url}"


def check_itself(folder):
    """This check can fail."""
    page = Page('<script src="//x.y/z.js"></script><a href="gone.html">g</a><a href="#no">n</a>'
                '<img src="https://x.y/z.png"><a href="https://x.y">fine</a><h1 id="a">t</h1>'
                '<a href="#a">fine</a>')
    found = "\n".join(wrong_in(folder, {folder / "index.html": page}))
    for text in ("fetches //x.y", "fetches https://x.y/z.png", "gone.html", "#no"):
        assert text in found, (text, found)
    assert "fine" not in found and len(found.splitlines()) == 4, found


def main():
    if not importlib.util.find_spec("mkdocs"):
        print("skipped: needs scripts/install-packages docs")
        return 77
    with tempfile.TemporaryDirectory(prefix="commensal-docs-") as folder:
        site = pathlib.Path(folder).resolve() / "site"
        subprocess.run([sys.executable, ROOT / "scripts/build-docs", site], check=True)
        check_itself(site)
        pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
        wrong = sorted(set(wrong_in(site, pages)))
        known = {entry["location"].partition("#")[0] for entry in json.loads(
            (site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]}
        names = {path.relative_to(site).as_posix() for path in pages} - {"index.html", "404.html"}
        wrong += [f"search does not know {name}" for name in sorted(names - known)]
        print("\n".join(wrong))
        print(f"{len(pages)} pages, {len(wrong)} things wrong")
        return 1 if wrong or len(pages) < 25 else 0


if __name__ == "__main__":
    sys.exit(main())
