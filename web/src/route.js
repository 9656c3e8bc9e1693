// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";

/** "#/models/a%2Fb?x=1" -> {parts: ["models", "a/b"], query: {x: "1"}}. Pure. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
  return { parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** A link to a place of the page. */
export const to = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function useRoute() {
  const [route, set] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = () => set(parseRoute(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
