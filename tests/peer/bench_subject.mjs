// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as the other end of the bench's protocol (commensal/lab/bench/runner.hpp): answers
// each line of standard input, a JSON object, with one line.
import {mkdtempSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {createSession, feedsOf, preallocated, writeOutputs} from './onnxruntime.mjs';

const seconds = () => Number(process.hrtime.bigint()) * 1e-9;
const cpuSeconds = () => {
  const {user, system} = process.cpuUsage();
  return (user + system) * 1e-6;
};

let feeds = {};
let session = null;
let fetches = [];
let profiled = null;  // makes a session that keeps its own time
let clock = 'language';
let languageSeconds = 0;  // what a run takes this language, with clock 'net'

async function timed(session, fetches, count) {
  const made = {seconds: [], cpu_seconds: []};
  for (let i = 0; i < count; ++i) {
    const cpuBefore = cpuSeconds();
    const before = seconds();
    await session.run(feeds, ...fetches);
    made.seconds.push(seconds() - before);
    made.cpu_seconds.push(cpuSeconds() - cpuBefore);
  }
  return made;
}

/// Beside it `own_seconds`, by the runtime's own clock: to hand outputs of some size over to
/// JavaScript takes longer than many an operator. A session tells its times when its profile ends,
/// so each call has its own.
async function timedByItself(count) {
  const folder = mkdtempSync(join(tmpdir(), 'commensal-peer-'));
  try {
    const once = await profiled({
      enableProfiling: true,
      profileFilePrefix: join(folder, 'profile'),
    });
    const made = await timed(once, await preallocated(once, feeds), count);
    once.endProfiling();
    const events = JSON.parse(readFileSync(join(folder, readdirSync(folder)[0])));
    await once.release();
    const runs = events.filter(({name}) => name === 'model_run').slice(-count);
    if (runs.length !== count) throw new Error(`a profile of ${runs.length} runs, not ${count}`);
    made.own_seconds = runs.map(({dur}) => (dur + 0.5) * 1e-6);  // whole microseconds, downwards
    return made;
  } finally {
    rmSync(folder, {recursive: true});
  }
}

async function languageTakes() {
  const {seconds: [, once]} = await timed(session, fetches, 2);
  const count = Math.min(Math.max(Math.ceil(0.3 / once), 6), 60);
  const made = await timedByItself(count);
  const takes = made.seconds.map((it, i) => it - made.own_seconds[i]).slice(count / 2);
  return takes.sort((a, b) => a - b)[takes.length >> 1];
}

const requests = {
  async feed({inputs}) {
    feeds = feedsOf(inputs);
    return {};
  },
  async load({model, threads, clock: wanted}) {
    clock = wanted ?? 'language';
    profiled = (options) => createSession(model, threads, options);
    const start = seconds();
    session = await createSession(model, threads);
    const made = seconds();
    await session.run(feeds);
    const answered = seconds();
    fetches = await preallocated(session, feeds);
    languageSeconds = clock === 'net' ? await languageTakes() : 0;
    return {session_seconds: made - start, answer_seconds: answered - start,
            language_seconds: languageSeconds};
  },
  async run({count}) {
    const made = await (clock === 'own' ? timedByItself(count) : timed(session, fetches, count));
    const net = made.own_seconds ?? made.seconds.map((it) => Math.max(it - languageSeconds, it / 9));
    // The share of the processor that the call had is the run's too.
    const cpu = net.map((it, i) => (it * made.cpu_seconds[i]) / made.seconds[i]);
    return {seconds: net, cpu_seconds: cpu};
  },
  async outputs({folder}) {
    return {outputs: await writeOutputs(session, feeds, folder, 'theirs')};
  },
};

async function answerTo(line) {
  try {
    const request = JSON.parse(line);
    if (!Object.hasOwn(requests, request.do)) return {error: `no request '${request.do}'`};
    return await requests[request.do](request);
  } catch (error) {
    return {error: String(error.message).split('\n')[0]};
  }
}

for await (const line of createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(await answerTo(line)) + '\n');
}
