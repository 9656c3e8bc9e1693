// SPDX-License-Identifier: Apache-2.0
// What views are made of.
import { useState } from "preact/hooks";
import { short } from "./format.js";
import { TAGS, parse } from "./markdown.js";
import { useSession } from "./session.js";

export function Hash({ of, link }) {
  if (!of) return null;
  const text = (
    <code class="hash" title={of}>
      {short(of)}
    </code>
  );
  return link ? <a href={link}>{text}</a> : text;
}

/** Says what has to be said of a list that is not there. */
export function Answer({ of, children, empty = "Nothing here yet." }) {
  const { token } = useSession();
  if (of.data === undefined && !of.error)
    return (
      <p role="status" class="quiet">
        Loading…
      </p>
    );
  const isRefused = of.error?.status === 401 || of.error?.status === 403;
  const note = of.error && !(of.error.status === 401) && <Problem error={of.error} />;
  if (of.data === undefined) {
    return isRefused && !token ? (
      <p class="notice">Sign in to see this: type a token at the top of the page.</p>
    ) : (
      note
    );
  }
  const isEmpty = Array.isArray(of.data) && of.data.length === 0;
  return (
    <>
      {note}
      {isEmpty ? <p class="quiet">{empty}</p> : children(of.data)}
    </>
  );
}

export const Problem = ({ error }) =>
  error && (
    <p role="alert" class="notice bad">
      {error.message}
    </p>
  );

/** A table that scrolls by itself on a narrow screen. `columns`: [[title, cell(row), isNumber]]. */
export function Table({ rows, columns, label }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <caption class="hidden">{label}</caption>
        <thead>
          <tr>
            {columns.map(([title, , isNumber]) => (
              <th scope="col" class={isNumber ? "n" : ""}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(([, cell, isNumber]) => (
                <td class={isNumber ? "n" : ""}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names and values. */
export const Facts = ({ of }) => (
  <dl class="facts">
    {of
      .filter(
        ([, value]) => value !== "" && value !== null && value !== undefined && value !== false,
      )
      .map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

/** Commands to copy. */
export function Command({ text }) {
  const [done, said] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said("copied");
    } catch {
      said("select it and copy it by hand");
    }
  };
  return (
    <div class="command">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <button type="button" onClick={copy} aria-label={`copy: ${text}`}>
        copy
      </button>
      <span role="status" class="quiet">
        {done}
      </span>
    </div>
  );
}

function node(one, key) {
  if (typeof one === "string") return one;
  const Tag = TAGS.has(one.tag) ? one.tag : "span";
  const children = one.children.map(node);
  if (Tag === "hr") return <hr key={key} />;
  if (Tag === "pre")
    return (
      <pre key={key} tabIndex={0}>
        {children}
      </pre>
    );
  if (Tag === "table") {
    return (
      <div key={key} class="scroll" tabIndex={0} role="region" aria-label="table of the card">
        <table>{children}</table>
      </div>
    );
  }
  if (Tag !== "a") return <Tag key={key}>{children}</Tag>;
  return (
    <a key={key} href={one.href} rel="noopener noreferrer nofollow" target="_blank">
      {children}
    </a>
  );
}

/** A card's text: elements, never HTML. */
export const Markdown = ({ text }) => <div class="card-text">{parse(text).map(node)}</div>;
