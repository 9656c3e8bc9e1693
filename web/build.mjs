// SPDX-License-Identifier: Apache-2.0
// node build.mjs OUT: the page, bundled. OUT is one folder without folders, as the gateway serves
// it. Only the judge may be missing, where nobody has built it, and the page says so.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  copyFileSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "../build/page"));

/** Whether all of `folder` is of a page that was built before: plain files, these among them. */
function isPage(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.map((one) => one.name);
  const isOwn = ["index.html", "main.js", "licences.txt"].every((name) => names.includes(name));
  const isEmpty = names.every((name) => name === "judge.wasm");
  return (isOwn || isEmpty) && entries.every((one) => one.isFile());
}

if (existsSync(out) && !(statSync(out).isDirectory() && isPage(out))) {
  console.error(`build-page: ${out} is not empty and no page: name another folder, or empty it`);
  process.exit(1);
}
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await esbuild.build({
  entryPoints: ["src/main.jsx", "verify/judge_worker.js"].map((file) => path.join(here, file)),
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  metafile: true,
  target: ["chrome100", "firefox100", "safari15.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  legalComments: "none",
  charset: "utf8",
  absWorkingDir: here,
  logLevel: "warning",
});

// What is bundled of others comes with its licence.
const packages = new Set(
  Object.keys(metafile.inputs)
    .map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
    .filter(Boolean),
);
const licences = [...packages].sort().map((name) => {
  const folder = path.join(here, "node_modules", name);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const { version } = JSON.parse(readFileSync(path.join(folder, "package.json")));
  return `${name} ${version}\n\n${file ? readFileSync(path.join(folder, file), "utf8") : ""}`;
});
writeFileSync(path.join(out, "licences.txt"), licences.join("\n----\n\n"));
for (const file of ["index.html", "icon.svg"])
  copyFileSync(path.join(here, file), path.join(out, file));

/** What a browser fetches before it shows anything. */
function first(output, seen = new Set()) {
  if (seen.has(output)) return seen;
  seen.add(output);
  for (const one of metafile.outputs[output].imports) {
    if (one.kind === "import-statement") first(one.path, seen);
  }
  return seen;
}
const entry = Object.keys(metafile.outputs).find((name) => path.basename(name) === "main.js");
const files = [...first(entry)]
  .map((name) => path.basename(name))
  .concat("main.css", "index.html", "icon.svg");
const bytes = files.reduce(
  (sum, name) => sum + gzipSync(readFileSync(path.join(out, name))).length,
  0,
);
console.log(`${out}: first load ${files.length} files, ${bytes} bytes compressed`);

// The judge, where it has been built (scripts/build-judge).
const judge = path.join(here, "../build/judge/judge.wasm");
if (existsSync(judge)) copyFileSync(judge, path.join(out, "judge.wasm"));
else console.log("without the judge, which computes answers again: scripts/build-judge makes it");
