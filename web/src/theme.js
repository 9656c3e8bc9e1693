// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";

const KEY = "commensal.theme";
const ALL = ["auto", "light", "dark"];

function kept() {
  try {
    const text = localStorage.getItem(KEY);
    return ALL.includes(text) ? text : "auto";
  } catch {
    return "auto";
  }
}

/** [one of auto, light, dark; turns to the next]. */
export function useTheme() {
  const [theme, set] = useState(kept);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // until the page is left, then
    }
  }, [theme]);
  return [theme, () => set(ALL[(ALL.indexOf(theme) + 1) % ALL.length])];
}
