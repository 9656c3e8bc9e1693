// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { TAGS, inline, parse, safeHref } from "../src/markdown.js";

/** All nodes of a tree. */
function* nodes(list) {
  for (const one of list) {
    yield one;
    if (typeof one !== "string") yield* nodes(one.children);
  }
}
const textOf = (list) => [...nodes(list)].filter((one) => typeof one === "string").join("");

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](  java\tscript:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:msgbox)",
  "[x](//evil.example/a)",
  "[x](/v1/account/token)",
  "[x](https://user:password@evil.example/)",
  "![x](https://evil.example/track.png)",
  "![x](javascript:alert(1))",
  "<a href='javascript:alert(1)'>x</a>",
  '[a](https://ok.example/"onmouseover="alert(1))',
  "<svg/onload=alert(1)>",
  "| <b>a</b> | b |\n|---|---|\n| <iframe src=//x> | [y](javascript:1) |",
  "```html\n</code></pre><script>alert(1)</script>\n```",
  "\u202etxt.exe [gpj](https://a.example)",
  "__proto__ **constructor** `__proto__`",
];

test("nothing hostile becomes more than text and web links", () => {
  for (const text of HOSTILE) {
    for (const one of nodes(parse(text))) {
      if (typeof one === "string") continue;
      assert.ok(TAGS.has(one.tag), `${text}: ${one.tag}`);
      assert.deepEqual(
        Object.keys(one).filter((key) => !["tag", "children", "href"].includes(key)),
        [],
      );
      if (one.tag === "a") assert.match(one.href, /^https?:\/\/[^/@]+\//, text);
      else assert.equal(one.href, undefined);
    }
  }
});

test("HTML stays readable as text", () => {
  assert.equal(textOf(parse("<script>alert(1)</script>")), "<script>alert(1)</script>");
});

test("marks that turn the direction of text, and control characters, are dropped", () => {
  assert.equal(textOf(parse("a\u202eb\u2066c\u0007d\u0000e")), "abcde");
});

test("links", () => {
  assert.equal(safeHref("https://a.example/x?y#z"), "https://a.example/x?y#z");
  for (const bad of [
    "",
    "a",
    "ftp://a",
    "file:///etc/passwd",
    "blob:https://a/1",
    "https://",
    "http:",
  ]) {
    assert.equal(safeHref(bad), null, bad);
  }
  assert.deepEqual(inline('see [the *paper*](https://a.example "title").'), [
    "see ",
    {
      tag: "a",
      href: "https://a.example/",
      children: ["the ", { tag: "em", children: ["paper"] }],
    },
    ".",
  ]);
  assert.deepEqual(inline("[x](javascript:alert)"), [{ tag: "span", children: ["x"] }]);
});

test("blocks of a usual card", () => {
  const tree = parse(
    "# Title\n\nTwo\nlines, **bold**.\n\n- one\n- two\n  more\n\n1. first\n\n```py\nx = 1\n```\n\n> quoted\n\n---\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n",
  );
  assert.deepEqual(
    tree.map((one) => one.tag),
    ["h3", "p", "ul", "ol", "pre", "blockquote", "hr", "table"],
  );
  assert.deepEqual(tree[1].children, ["Two lines, ", { tag: "strong", children: ["bold"] }, "."]);
  assert.deepEqual(
    tree[2].children.map((one) => one.children),
    [["one"], ["two more"]],
  );
  assert.equal(tree[4].children[0].children[0], "x = 1");
  assert.equal(tree[7].children[1].children[0].children[1].children[0], "2");
});

test("underscores within words, escapes and lonely marks are text", () => {
  assert.deepEqual(inline("a_b_c"), ["a_b_c"]);
  assert.deepEqual(inline("\\*a\\*"), ["*a*"]);
  assert.deepEqual(inline("2 * 3 * 4 and [ and ` and **"), ["2 * 3 * 4 and [ and ` and **"]);
});

test("headings, lines and dividers, with what may close them", () => {
  const one = (text) => parse(text)[0];
  assert.deepEqual(one("## a # b ##  "), { tag: "h4", children: ["a # b"] });
  assert.deepEqual(one("# "), { tag: "h3", children: [] });
  assert.equal(one("#a").tag, "p");
  assert.equal(one("####### a").tag, "p");
  for (const line of ["---", "* * *", " _ _ _ _  "]) assert.equal(one(line).tag, "hr", line);
  for (const line of ["--", "-*-", "    ---", "--- a"]) assert.notEqual(one(line).tag, "hr", line);
  for (const line of ["-|-", "|:-:|---:|", " --- ", "  | - | - |"])
    assert.equal(one(`a|b\n${line}`).tag, "table", line);
  for (const line of ["a|-", "||", ":|:", "- -|-"])
    assert.notEqual(one(`a|b\n${line}`).tag, "table", line);
});

// What is before it, between and behind decides whether a rule goes back and forth.
const BEFORE = [
  ...["", "# a", "a|b\n", "a|b\n-", "-", "---"],
  ...["| ", "> ", "1. ", "**a", "[a](", "```\n"],
];
const BETWEEN = [" ", "\t", "#", " #", "-", "- ", "-|", ": ", "|", "> ", "*", "_a", "[", "](", "`"];
const BEHIND = ["", "b", "\nb|"];
const MS_MAX = 2500; // of 64 KiB, on a machine with much else to do; each takes some milliseconds

test("no card of 64 KiB takes long", () => {
  for (const before of BEFORE) {
    for (const unit of BETWEEN) {
      for (const behind of BEHIND) {
        const text = before + unit.repeat(Math.floor(65500 / unit.length)) + behind;
        const begun = performance.now();
        parse(text);
        const took = performance.now() - begun;
        const what = JSON.stringify([before, unit, behind]);
        assert.ok(took < MS_MAX, `${what}: ${Math.round(took)} ms`);
      }
    }
  }
});

test("64 KiB of the same takes no long time, and ends", () => {
  for (const unit of ["![", "[a](", "\\", "1. ", "  - a\n", "|-|\n", "```\n", "\n", ">\n- "]) {
    const begun = performance.now();
    parse(unit.repeat(Math.floor(65536 / unit.length)));
    const took = performance.now() - begun;
    assert.ok(took < MS_MAX, `${JSON.stringify(unit)}: ${Math.round(took)} ms`);
  }
});

test("lines behind four spaces are code, where no paragraph is under way", () => {
  const code = (text) => ({ tag: "pre", children: [{ tag: "code", children: [text] }] });
  assert.deepEqual(parse("    a **b**\n\n      <i>\n\nc").slice(0, 1), [code("a **b**\n\n  <i>")]);
  assert.deepEqual(parse("\ta\n    "), [code("a")]);
  assert.deepEqual(parse("a\n    b"), [{ tag: "p", children: ["a b"] }]);
  assert.equal(textOf(parse("    a\n\nb")), "ab");
});
