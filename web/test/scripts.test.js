// SPDX-License-Identifier: Apache-2.0
// scripts/build-page and build.mjs: what they refuse to erase, and when they fail.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Runs in an empty folder, which is gone afterwards. */
function inFolder(act) {
  const folder = mkdtempSync(path.join(tmpdir(), "commensal-build-"));
  try {
    act(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(cwd, program, words, env = {}) {
  const options = { cwd, encoding: "utf8", env: { ...process.env, ...env } };
  const { status, stdout, stderr } = spawnSync(program, words, options);
  return { status, said: stdout + stderr };
}

test("a folder that holds no page is not erased, wherever it is named from", () => {
  inFolder((folder) => {
    const precious = path.join(folder, "work/precious.txt");
    mkdirSync(path.dirname(precious));
    writeFileSync(precious, "years");
    const script = path.join(ROOT, "scripts/build-page");
    for (const [cwd, named] of [
      [folder, "work"],
      [path.join(folder, "work"), "."],
      [ROOT, path.join(folder, "work")],
      [folder, "work/precious.txt"],
    ]) {
      const { status, said } = run(cwd, script, [named]);
      assert.equal(status, 1, said);
      assert.match(said, /work.* is not empty and no page/);
      assert.ok(existsSync(precious));
    }
    for (const wanted of ["page", "page"]) {
      const { status, said } = run(folder, script, [wanted]);
      assert.equal(status, 0, said);
      assert.ok(existsSync(path.join(folder, "page/main.js")));
    }
    mkdirSync(path.join(folder, "page/more"));
    assert.equal(run(folder, script, ["page"]).status, 1, "a page with something else in it");
  });
});

test("a page without one of its checkers is not built", () => {
  inFolder((folder) => {
    const web = path.join(folder, "web");
    mkdirSync(web);
    for (const one of readdirSync(path.join(ROOT, "web"))) {
      const [from, to] = [path.join(ROOT, "web", one), path.join(web, one)];
      if (one === "node_modules") symlinkSync(from, to);
      else if (one !== "test") cpSync(from, to, { recursive: true });
    }
    const program = path.join(web, "build.mjs");
    const build = () => run(folder, "node", [program, path.join(folder, "page")]);
    assert.equal(build().status, 0);
    for (const one of ["receipt.js", "recheck.js", "worker.js", "judge_worker.js"]) {
      rmSync(path.join(web, "verify", one));
      const { status, said } = build();
      assert.notEqual(status, 0, one);
      assert.match(said, new RegExp(one.replace(".", "\\.")));
      cpSync(path.join(ROOT, "web/verify", one), path.join(web, "verify", one));
    }
  });
});

test("only a registry that is away skips; a lock that does not match fails", () => {
  inFolder((folder) => {
    mkdirSync(path.join(folder, "web"));
    mkdirSync(path.join(folder, "bin"));
    writeFileSync(path.join(folder, "web/package-lock.json"), "{}");
    cpSync(path.join(ROOT, "scripts/build-page"), path.join(folder, "scripts/build-page"));
    for (const [code, expected] of [
      ["ENOTFOUND", 77],
      ["EAI_AGAIN", 77],
      ["ECONNREFUSED", 77],
      ["ETIMEDOUT", 77],
      ["EUSAGE", 1],
      ["EINTEGRITY", 1],
      ["E404", 1],
    ]) {
      const npm = path.join(folder, "bin/npm");
      writeFileSync(npm, `#!/bin/sh\necho "npm error code ${code}" >&2\nexit 1\n`);
      chmodSync(npm, 0o755);
      const PATH = `${path.dirname(npm)}:${process.env.PATH}`;
      const { status, said } = run(folder, path.join(folder, "scripts/build-page"), [], { PATH });
      assert.equal(status, expected, said);
      assert.match(said, new RegExp(code));
    }
  });
});
