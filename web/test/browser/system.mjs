// SPDX-License-Identifier: Apache-2.0
// A gateway that shows the page, and a provider, on loopback, as their users run them; and Debian's
// chromium in front of it.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PROGRAM = process.env.COMMENSAL_PROGRAM;
const PAGE = process.env.COMMENSAL_PAGE ?? path.join(ROOT, "build/page");
const DEPTH = ["--hash-chain-depth", "10"]; // a new chain is made in no time

function cleanEnvironment(more) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("COMMENSAL_"));
  return { ...Object.fromEntries(kept), ...more };
}

/** The first line that `child` prints, as JSON. */
function firstLine(child, log) {
  return new Promise((done, fail) => {
    let text = "";
    const ended = () => fail(new Error(readFileSync(log, "utf8")));
    child.stdout.on("data", (piece) => {
      text += piece;
      if (!text.includes("\n")) return;
      child.off("exit", ended);
      done(JSON.parse(text.split("\n")[0]));
    });
    child.on("exit", ended);
  });
}

export class System {
  folder = mkdtempSync(path.join(tmpdir(), "commensal-page-"));
  #running = {};

  async #start(name, ...words) {
    const log = path.join(this.folder, `${name}.log`);
    const child = spawn(PROGRAM, [name, ...words, ...DEPTH, "--json"], {
      stdio: ["ignore", "pipe", openSync(log, "a")],
      // A machine of its own, whose governor nobody else joins.
      env: cleanEnvironment({ HOME: this.folder, XDG_RUNTIME_DIR: this.folder }),
    });
    this.#running[name] = child;
    return firstLine(child, log);
  }

  async startGateway(http = "127.0.0.1:0", providers = "127.0.0.1:0") {
    const said = await this.#start(
      "gateway",
      "--http",
      http,
      "--grpc",
      "off",
      "--providers",
      providers,
      "--data-dir",
      path.join(this.folder, "gateway"),
      "--page",
      PAGE,
    );
    this.url = said.http;
    this.providers = `127.0.0.1:${said.provider_port}`;
    this.operator = readFileSync(said.operator_token_file, "utf8").trim();
  }

  /** `more`: what the provider is started with besides. */
  async start(...more) {
    await this.startGateway();
    await this.#start(
      "provider",
      "--gateway",
      this.providers,
      "--data-dir",
      path.join(this.folder, "provider"),
      ...more,
    );
    this.alice = JSON.parse(
      this.run(["account", "create", "alice", "--json"], this.operator),
    ).token;
    const card = path.join(ROOT, "examples/digits.md");
    this.run(["push", path.join(ROOT, "models/digits/digits.onnx"), "--card", card], this.alice);
    for (let tries = 0; tries < 600; ++tries) {
      if ((await fetch(`${this.url}/v2/health/ready`)).ok) return;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error("no provider came");
  }

  /** What a command prints, which has to succeed. */
  run(words, token) {
    return execFileSync(PROGRAM, words, {
      encoding: "utf8",
      env: cleanEnvironment({
        HOME: this.folder,
        COMMENSAL_GATEWAY: this.url,
        COMMENSAL_TOKEN: token,
      }),
    });
  }

  async call(method, target, token, body) {
    const response = await fetch(this.url + target, {
      method,
      body: body && JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}` },
    });
    return { status: response.status, json: await response.json() };
  }

  async killGateway() {
    const child = this.#running.gateway;
    const ended = new Promise((done) => child.on("exit", done));
    child.kill("SIGKILL");
    await ended;
  }

  close() {
    for (const child of Object.values(this.#running)) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function launch(...more) {
  return chromium.launch({
    executablePath: process.env.COMMENSAL_CHROMIUM ?? "/usr/bin/chromium",
    args: [...(process.getuid() === 0 ? ["--no-sandbox"] : []), "--disable-gpu", ...more],
  });
}

// What need not be there, and what a browser then writes on its console by itself: accusations, and
// a judge that was not built.
export const HAS_JUDGE = existsSync(path.join(PAGE, "judge.wasm"));
const MAY_LACK = HAS_JUDGE ? /\/v1\/cases\// : /\/v1\/cases\/|\/judge\.wasm$/;

/**
 * A tab at `place`, with `token` signed in; `faults` collects what a console or the policy has to
 * complain about.
 */
export async function open(
  browser,
  system,
  { place = "#/models", token = "", init, ...options } = {},
) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    const { url } = message.location();
    const isLack = message.text().startsWith("Failed to load resource") && MAY_LACK.test(url);
    if (message.type() === "error" && !isLack) faults.push(`${message.text()} ${url}`);
  });
  await page.addInitScript(() =>
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    ),
  );
  if (token)
    await page.addInitScript((kept) => sessionStorage.setItem("commensal.token", kept), token);
  if (init) await page.addInitScript(init);
  await page.goto(`${system.url}/${place}`);
  await page.waitForSelector("h1");
  return { page, faults, close: () => context.close() };
}

export const THREE = path.join(ROOT, "examples/three.pgm");

/** Asks the digit network from its page; the address of the receipt. */
export async function askDigits(system, page) {
  await page.goto(`${system.url}/#/models/alice/digits`);
  await page.setInputFiles("input[type=file]", THREE);
  await page.getByText("as the command line makes it").waitFor();
  await page.getByRole("button", { name: "Ask" }).click();
  await page.waitForSelector("#answer td");
  return page.getAttribute("#answer p a", "href");
}

/** For the documents, where COMMENSAL_SHOTS names a folder. */
export async function shoot(page, name) {
  const folder = process.env.COMMENSAL_SHOTS;
  if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
}

/** What a view is looked at in: schemes of colours, sizes. */
export const LOOKS = ["light", "dark"].flatMap((colorScheme) => [
  { colorScheme, name: "desktop", viewport: { width: 1200, height: 900 } },
  { colorScheme, name: "phone", viewport: { width: 390, height: 800 } },
]);
