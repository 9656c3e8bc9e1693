// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { ApiError, explore, makeApi, modelPath, waitMs } from "../src/api.js";

/** A client whose fetch answers by turns, and what it did. */
function scene(answers, token = "t") {
  const seen = { asked: [], slept: [], gone: [], expired: 0 };
  const session = {
    token: () => token,
    expired: () => seen.expired++,
    gone: (is) => seen.gone.push(is),
  };
  const api = makeApi(session, {
    fetch: async (path, options) => {
      seen.asked.push([options.method, path, options.headers]);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    sleep: async (ms) => void seen.slept.push(ms),
  });
  return { api, seen };
}
const json = (value, status = 200, headers = {}) =>
  new Response(JSON.stringify(value), { status, headers });
const away = () => new TypeError("fetch failed");

test("what reads waits for a gateway that is away, longer each time, and says so", async () => {
  const { api, seen } = scene([away(), away(), json({ a: 1 })]);
  assert.deepEqual(await api.get("/x"), { a: 1 });
  assert.deepEqual(seen.slept, [500, 1000]);
  assert.deepEqual(seen.gone, [true, true, false]);
  assert.equal(waitMs(99), 10_000);
});

test("what changes something is sent once", async () => {
  const { api, seen } = scene([away(), json({})]);
  await assert.rejects(
    api.post("/x", { json: { b: 2 } }),
    (error) => error instanceof ApiError && error.status === 0,
  );
  assert.equal(seen.asked.length, 1);
});

test("a gateway that is busy is asked again after what it says, some times", async () => {
  const busy = () => json({ error: "busy" }, 503, { "Retry-After": "2" });
  const { api, seen } = scene([busy(), json(1)]);
  assert.equal(await api.get("/x"), 1);
  assert.deepEqual(seen.slept, [2000]);
  const never = scene([busy(), busy(), busy(), busy(), busy()]);
  await assert.rejects(never.api.get("/x"), /busy/);
  assert.equal(never.seen.asked.length, 4);
});

test("a token that has ended is told, one that was never shown is not", async () => {
  const refusal = () => json({ error: "no such token", code: "unauthenticated" }, 401);
  const { api, seen } = scene([refusal()]);
  await assert.rejects(
    api.get("/x"),
    (error) => error.status === 401 && error.message === "no such token",
  );
  assert.equal(seen.expired, 1);
  assert.equal(seen.asked[0][2].Authorization, "Bearer t");
  const nobody = scene([refusal()], "");
  await assert.rejects(nobody.api.get("/x"));
  assert.equal(nobody.seen.expired, 0);
  assert.equal(nobody.seen.asked[0][2].Authorization, undefined);
});

test("a token that no header can carry is said to be none, and not sent", async () => {
  for (const token of ["abc\u200b", "abc\u2026", "a b", "a\nb"]) {
    const { api, seen } = scene([], token);
    await assert.rejects(api.get("/x"), (error) => error.status === 401 && error.code === "token");
    await assert.rejects(api.post("/x", { json: {} }), /copy it again/);
    assert.deepEqual([seen.asked, seen.slept, seen.gone], [[], [], []]);
  }
});

test("who has no token is told to type one, in words of the page", async () => {
  const refusal = { error: 'a token is needed: send the header "Authorization: Bearer TOKEN"' };
  const { api, seen } = scene([json({ ...refusal, code: "unauthenticated" }, 401)], "");
  await assert.rejects(api.post("/x", { json: {} }), (error) => {
    assert.equal(error.message, "this needs a token: type yours above");
    return error.status === 401 && error.code === "unauthenticated";
  });
  assert.equal(seen.expired, 0);
});

test("an error that is no JSON still has a line", async () => {
  const { api } = scene([new Response("<html>", { status: 502 })]);
  await assert.rejects(api.get("/x"), /answered 502/);
});

test("names of models become segments", () => {
  assert.equal(modelPath("alice/digits"), "alice/digits");
  assert.equal(modelPath("a/x y?#"), "a/x%20y%3F%23");
  for (const bad of ["", "a/", "a/..", "./a", "a/b/c", "../v1"])
    assert.throws(() => modelPath(bad), ApiError, bad);
});

test("a gateway without /v1/explore is searched by name", async () => {
  const models = [{ name: "alice/digits" }, { name: "bob/cats" }];
  const { api, seen } = scene([json({ error: "there is no GET" }, 404), json({ models })]);
  const found = await explore(api, { query: "DIG" });
  assert.deepEqual(found.models, [models[0]]);
  assert.equal(found.plain, true);
  assert.match(seen.asked[0][1], /^\/v1\/explore\?count=50&query=DIG&sort=name$/);
});
