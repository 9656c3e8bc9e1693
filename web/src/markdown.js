// SPDX-License-Identifier: Apache-2.0
// A small subset of Markdown, made into a tree of plain objects: {tag, children, href?}. Nothing of
// a card ever becomes HTML text: tags are those named here, all else is text, and a link is http or
// https or no link at all.

const INLINE_REACH = 2000; // so far a closing mark is looked for: the whole takes linear time
const DEPTH_MAX = 6;
const BLOCKS_MAX = 4000;
// Marks that turn the direction of text: with them a link may read as another one.
const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** The address of a link, or null for what is none: other schemes, relative ones, with a password. */
export function safeHref(text) {
  let url;
  try {
    url = new URL(text.trim());
  } catch {
    return null;
  }
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  return isWeb && url.username === "" && url.password === "" ? url.href : null;
}

function closing(text, mark, from) {
  const at = text.slice(from, from + INLINE_REACH).indexOf(mark);
  return at < 0 ? -1 : from + at;
}

/** `[label](address)` at `at`: {label, address, end}, or null. */
function linkAt(text, at) {
  const bracket = closing(text, "](", at + 1);
  if (bracket < 0) return null;
  const end = closing(text, ")", bracket + 2);
  if (end < 0) return null;
  const label = text.slice(at + 1, bracket);
  if (label.includes("[")) return null;
  const address = text
    .slice(bracket + 2, end)
    .trim()
    .split(/\s/)[0];
  return { label, address, end: end + 1 };
}

/** One mark at `at`: [node, end], or null where it is text. */
function markAt(text, at, depth) {
  const c = text[at];
  if (c === "`") {
    const ticks = /^`+/.exec(text.slice(at, at + 8))[0];
    const end = closing(text, ticks, at + ticks.length);
    if (end < 0) return null;
    const code = text.slice(at + ticks.length, end).replace(/^ (.*) $/s, "$1");
    return [{ tag: "code", children: [code] }, end + ticks.length];
  }
  if (c === "*" || c === "_") {
    const mark = text[at + 1] === c ? c + c : c;
    const isWord = c === "_" && /\w/.test(text[at - 1] ?? " ");
    const end = isWord ? -1 : closing(text, mark, at + mark.length);
    if (end <= at + mark.length || /\s/.test(text[at + mark.length])) return null;
    const inside = inline(text.slice(at + mark.length, end), depth + 1);
    return [{ tag: mark.length === 2 ? "strong" : "em", children: inside }, end + mark.length];
  }
  const isPicture = c === "!" && text[at + 1] === "[";
  if (c !== "[" && !isPicture) return null;
  const link = linkAt(text, isPicture ? at + 1 : at);
  if (!link) return null;
  const href = safeHref(link.address);
  // The page shows no picture from elsewhere: it would tell others who reads the card.
  const label = isPicture
    ? [`picture: ${link.label || link.address}`]
    : inline(link.label, depth + 1);
  return [href ? { tag: "a", href, children: label } : { tag: "span", children: label }, link.end];
}

/** Nodes of one block's text. */
export function inline(text, depth = 0) {
  if (depth > DEPTH_MAX) return [text];
  const nodes = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    if (text[at] === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    const found = "`*_[!".includes(text[at]) ? markAt(text, at, depth) : null;
    if (!found) {
      plain += text[at++];
      continue;
    }
    if (plain) nodes.push(plain);
    plain = "";
    nodes.push(found[0]);
    at = found[1];
  }
  if (plain) nodes.push(plain);
  return nodes;
}

// A card is a stranger's: none of these has two ways to take the same text, which would be tried in
// turn.
const RULES = {
  fence: /^ {0,3}(```+|~~~+)/,
  code: /^(?: {4}|\t)/,
  heading: /^ {0,3}(#{1,6})(?=\s)/,
  quote: /^ {0,3}> ?/,
  item: /^ {0,3}(?:[-*+]|(\d{1,9})[.)])\s+/,
};
const isBlank = (line) => line.trim() === "";
const isLine = (line) =>
  /^ {0,3}[-*_]/.test(line) && /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.replace(/\s/g, ""));
const isDivider = (line) => cellsOf(line).every((cell) => /^:?-+:?$/.test(cell));
const startsBlock = (line) =>
  isBlank(line) ||
  RULES.fence.test(line) ||
  RULES.heading.test(line) ||
  RULES.quote.test(line) ||
  RULES.item.test(line);

const cellsOf = (line) =>
  line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => cell.trim());

function row(line, tag) {
  return {
    tag: "tr",
    children: cellsOf(line).map((cell) => ({ tag, children: inline(cell) })),
  };
}

/** Takes lines while `is`(line), cut by `cut`. */
function takeWhile(state, is, cut = (line) => line) {
  const taken = [];
  while (state.at < state.lines.length && is(state.lines[state.at])) {
    taken.push(cut(state.lines[state.at++]));
  }
  return taken;
}

/** A heading's text, without the marks that may close it. */
function titleOf(line, found) {
  const text = line.slice(found[0].length).trim();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end--;
  return text.slice(0, end).trimEnd();
}

function fenced(state) {
  const mark = RULES.fence.exec(state.lines[state.at++])[1];
  const lines = takeWhile(state, (line) => !line.trim().startsWith(mark));
  state.at++;
  return { tag: "pre", children: [{ tag: "code", children: [lines.join("\n")] }] };
}

/** Lines behind four spaces, which only begin where no paragraph is under way. */
function indented(state) {
  const lines = takeWhile(
    state,
    (line) => RULES.code.test(line) || isBlank(line),
    (line) => line.replace(RULES.code, ""),
  );
  while (isBlank(lines.at(-1))) lines.pop();
  return { tag: "pre", children: [{ tag: "code", children: [lines.join("\n")] }] };
}

function table(state) {
  const head = row(state.lines[state.at], "th");
  state.at += 2;
  const body = takeWhile(state, (line) => !isBlank(line) && line.includes("|"));
  return {
    tag: "table",
    children: [
      { tag: "thead", children: [head] },
      { tag: "tbody", children: body.map((line) => row(line, "td")) },
    ],
  };
}

function list(state, depth) {
  const isOrdered = RULES.item.exec(state.lines[state.at])[1] !== undefined;
  const isNext = (line) => {
    const found = RULES.item.exec(line ?? "");
    return found !== null && (found[1] !== undefined) === isOrdered;
  };
  const items = [];
  while (isNext(state.lines[state.at])) {
    const first = state.lines[state.at];
    const width = RULES.item.exec(first)[0].length;
    state.at++;
    const more = takeWhile(
      state,
      (line) => !isBlank(line) && (/^\s{2,}/.test(line) || !startsBlock(line)),
      (line) => line.replace(/^\s{1,4}/, ""),
    );
    const inner = blocks([first.slice(width), ...more], depth + 1);
    items.push({
      tag: "li",
      children: inner.length === 1 && inner[0].tag === "p" ? inner[0].children : inner,
    });
    if (isBlank(state.lines[state.at] ?? "x") && isNext(state.lines[state.at + 1])) state.at++;
  }
  return { tag: isOrdered ? "ol" : "ul", children: items };
}

function block(state, depth) {
  const line = state.lines[state.at];
  if (RULES.fence.test(line)) return fenced(state);
  if (RULES.code.test(line)) return indented(state);
  const heading = RULES.heading.exec(line);
  if (heading) {
    state.at++;
    // The page has h1 and h2 of its own.
    return { tag: `h${Math.min(6, heading[1].length + 2)}`, children: inline(titleOf(line, heading)) };
  }
  if (isLine(line)) {
    state.at++;
    return { tag: "hr", children: [] };
  }
  if (depth < DEPTH_MAX && RULES.quote.test(line)) {
    const inner = takeWhile(
      state,
      (one) => RULES.quote.test(one),
      (one) => one.replace(RULES.quote, ""),
    );
    return { tag: "blockquote", children: blocks(inner, depth + 1) };
  }
  if (depth < DEPTH_MAX && RULES.item.test(line)) return list(state, depth);
  if (line.includes("|") && isDivider(state.lines[state.at + 1] ?? "")) return table(state);
  const lines = [state.lines[state.at++]];
  lines.push(...takeWhile(state, (one) => !startsBlock(one)));
  return { tag: "p", children: inline(lines.map((one) => one.trim()).join(" ")) };
}

function blocks(lines, depth) {
  const state = { lines, at: 0 };
  const made = [];
  while (state.at < lines.length && made.length < BLOCKS_MAX) {
    if (isBlank(lines[state.at])) state.at++;
    else made.push(block(state, depth));
  }
  return made;
}

/** The tree of a card's text. */
export function parse(text) {
  const clean = text.replace(/\r\n?/g, "\n").replace(CONTROL, "").replace(BIDI, "");
  return blocks(clean.split("\n"), 0);
}

export const TAGS = new Set([
  "p",
  "h3",
  "h4",
  "h5",
  "h6",
  "ul",
  "ol",
  "li",
  "pre",
  "code",
  "em",
  "strong",
  "a",
  "span",
  "hr",
  "blockquote",
  "table",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
]);
