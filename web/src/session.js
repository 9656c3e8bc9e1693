// SPDX-License-Identifier: Apache-2.0
// Who is at the page. The token lies in sessionStorage alone: it goes with the tab.
import { useEffect, useState } from "preact/hooks";
import { makeApi } from "./api.js";

const KEY = "commensal.token";
const state = { token: "", account: null, expired: false, gone: false };
const listeners = new Set();

function change(changed) {
  if (Object.entries(changed).every(([name, value]) => state[name] === value)) return;
  Object.assign(state, changed);
  for (const listener of listeners) listener();
}

try {
  state.token = sessionStorage.getItem(KEY) ?? "";
} catch {
  // a browser that keeps nothing: the token is held as long as the page is
}

function keep(token) {
  try {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
  } catch {
    // as above
  }
}

export const api = makeApi({
  token: () => state.token,
  expired: () => change({ expired: true }),
  gone: (gone) => change({ gone }),
});

/** The account of `token`, which is kept from now on. Throws ApiError; then all is as before. */
export async function signIn(token) {
  const trial = makeApi({ token: () => token, expired() {}, gone: (gone) => change({ gone }) });
  const account = await trial.get("/v1/account");
  keep(token);
  change({ token, account, expired: false });
  return account;
}

export function signOut() {
  keep("");
  change({ token: "", account: null, expired: false });
}

/** On the page's start, with a token of before. */
export async function resume() {
  if (!state.token) return;
  try {
    change({ account: await api.get("/v1/account") });
  } catch {
    // a token that has ended: `expired` says so
  }
}

/** The state, now and whenever it changes. */
export function useSession() {
  const [seen, look] = useState({ ...state });
  useEffect(() => {
    const listener = () => look({ ...state });
    listeners.add(listener);
    listener();
    return () => listeners.delete(listener);
  }, []);
  return seen;
}

/** What `load`(options) gives: {data, error, reload}; again each `every` ms, and for another token. */
export function useAnswer(load, inputs, { every = 0 } = {}) {
  const { token, expired } = useSession();
  const [found, set] = useState({ data: undefined, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    const left = new AbortController();
    let timer;
    const run = async () => {
      try {
        const data = await load({ signal: left.signal });
        if (!left.signal.aborted) set({ data, error: null });
      } catch (error) {
        // What was there stays: a token that has ended takes nothing away.
        if (!left.signal.aborted) set((before) => ({ data: before.data, error }));
      }
      if (every && !left.signal.aborted)
        timer = setTimeout(run, document.hidden ? 5 * every : every);
    };
    run();
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [...inputs, token, expired, turn]);
  return { ...found, reload: () => again((n) => n + 1) };
}
