// SPDX-License-Identifier: Apache-2.0
// The gateway's answers. What only reads is asked for again while the gateway is away or busy; what
// changes something never is.

export class ApiError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status; // 0: the gateway did not answer
    this.code = code;
  }
}

const WAIT_MS_MAX = 10_000;
const TRIES_WHEN_BUSY = 4;

/** So long before try number `tries` (from 1). */
export const waitMs = (tries) => Math.min(WAIT_MS_MAX, 500 * 2 ** (tries - 1));

const pathOf = (parts) => parts.map(encodeURIComponent).join("/");
/** "owner/name" as segments of a path; one that would lead elsewhere is an ApiError. */
export function modelPath(name) {
  const parts = name.split("/");
  if (parts.length > 2 || parts.some((part) => /^\.{0,2}$/.test(part))) {
    throw new ApiError(404, "models are named OWNER/MODEL");
  }
  return pathOf(parts);
}

/** Headers of a request. A token with marks that no header may have is none: it is not sent. */
function headersOf(token, more) {
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new ApiError(401, "this token has a character that no token has: copy it again", "token");
  }
  return { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
}

async function errorOf(response) {
  let message = `the gateway answered ${response.status}`;
  let code = "";
  try {
    const json = await response.json();
    if (typeof json.error === "string") ({ error: message, code = "" } = json);
  } catch {
    // no JSON: the status says it
  }
  return new ApiError(response.status, message, code);
}

/**
 * A client. `session` has token(), expired() (told of a 401 though a token was shown) and gone(is)
 * (told whether the gateway is away). `fetch` and `sleep` may be others, for tests.
 */
export function makeApi(
  session,
  {
    fetch = (...all) => globalThis.fetch(...all),
    sleep = (ms) => new Promise((done) => setTimeout(done, ms)),
  } = {},
) {
  async function once(method, path, { body, json, signal, headers } = {}) {
    const token = session.token();
    const sent = headersOf(token, headers);
    let response;
    try {
      response = await fetch(path, {
        method,
        signal,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        body: json === undefined ? body : JSON.stringify(json),
        headers: sent,
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      session.gone(true);
      throw new ApiError(0, "the gateway does not answer", "gone");
    }
    session.gone(false);
    if (response.ok) return response;
    const error = await errorOf(response);
    // What the gateway says is for those who write HTTP by hand: which header to send.
    if (response.status === 401 && !token) error.message = "this needs a token: type yours above";
    if (response.status === 401 && token && token === session.token()) session.expired();
    error.retryAfter = Number(response.headers.get("Retry-After")) || 0;
    throw error;
  }

  /** What only reads. */
  async function read(path, options = {}) {
    for (let tries = 1; ; ++tries) {
      try {
        const response = await once("GET", path, options);
        return options.bytes
          ? new Uint8Array(await response.arrayBuffer())
          : options.text
            ? await response.text()
            : await response.json();
      } catch (error) {
        const isCut = error instanceof TypeError; // the answer broke off
        const isAway = error.status === 0 || isCut;
        if (isCut) session.gone(true);
        const isBusy = error.status === 429 || error.status === 503;
        if (!isAway && !(isBusy && tries < TRIES_WHEN_BUSY)) throw error;
        options.onWait?.(error);
        await sleep(Math.max(waitMs(tries), 1000 * Math.min(error.retryAfter ?? 0, 10)));
        if (options.signal?.aborted) throw new DOMException("left", "AbortError");
      }
    }
  }

  const sending = (method) => async (path, options) => {
    const text = await (await once(method, path, options)).text();
    return text === "" ? null : JSON.parse(text);
  };
  /** `send` answers with the response itself. */
  return { get: read, post: sending("POST"), del: sending("DELETE"), send: once };
}

/** Models as GET /v1/explore has them; a gateway without that route has a plain list. */
export async function explore(
  api,
  { query = "", task = "", modality = "", sort = "name", after = "" },
  options,
) {
  const asked = new URLSearchParams({ count: "50" });
  for (const [name, value] of Object.entries({ query, task, modality, sort, after })) {
    if (value) asked.set(name, value);
  }
  try {
    return await api.get(`/v1/explore?${asked}`, options);
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  const { models } = await api.get(`/v1/models?${new URLSearchParams({ after })}`, options);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = models.filter((one) =>
    words.every((word) => one.name.toLowerCase().includes(word)),
  );
  return { models: found, next: models.length ? models.at(-1).name : null, plain: true };
}

/** `path`'s answer, or null where the gateway has none. */
export async function getOrNull(api, path, options) {
  try {
    return await api.get(path, options);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}
