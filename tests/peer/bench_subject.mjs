// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as the other end of the bench's protocol (runner.hpp in
// commensal/lab/bench/runtime): answers each line of standard input, a JSON object, with one line.
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
// With clock 'net': what a run takes by this language's clock, and what the language takes of it.
let runSeconds = 0;
let languageSeconds = 0;
let outputBytes = 0;
// Below both what the language takes is not worth a look in each block.
const kSteadyShare = 0.01;
const kSteadyBytes = 1 << 16;

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

/// What operators took in a run, in seconds: those inside another one, as of a Loop, are its.
function operatorSeconds(events, {ts, dur}) {
  let sum = 0;
  let end = ts;
  for (const event of events) {
    if (event.ts < end || event.ts >= ts + dur) continue;
    sum += event.dur;
    end = event.ts + event.dur;
  }
  return sum * 1e-6;
}

/// Beside it, by the runtime's own clock, `own_seconds` and `operator_seconds`, between which a run
/// without a profiler lies: to hand outputs of some size over to JavaScript takes longer than many
/// an operator. A session tells its times when its profile ends, so each call has its own.
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
    const operators = events.filter(({name}) => name.endsWith('_kernel_time'))
                          .sort((a, b) => a.ts - b.ts);
    made.operator_seconds = runs.map((run) => operatorSeconds(operators, run));
    return made;
  } finally {
    rmSync(folder, {recursive: true});
  }
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const ofLater = (values) => median(values.slice(values.length >> 1));  // the first ones warm up

/// What a run takes, by the runtime's own clock.
async function told(count) {
  const made = await timedByItself(count);
  return {
    language: ofLater(made.seconds.map((it, i) => it - made.own_seconds[i])),
    own: ofLater(made.own_seconds),
    operators: ofLater(made.operator_seconds),
  };
}

/// What the language takes of runs of `seconds`, from looking at others: one that collects garbage
/// beside these alone takes more here than it did there. A run takes at most what the runtime's own
/// clock reads, so what is left is the language's; a tenth is no noise.
function languageIn(seconds, looked) {
  const left = seconds - looked.own;
  return left > seconds / 10 ? Math.max(left, looked.language) : looked.language;
}

/// Runs that take about `wanted` seconds.
const runsIn = (wanted, least, most) =>
    Math.min(Math.max(Math.ceil(wanted / runSeconds), least), most);

async function lookAtLanguage() {
  runSeconds = (await timed(session, fetches, 2)).seconds[1];
  const count = runsIn(0.3, 6, 60);
  runSeconds = ofLater((await timed(session, fetches, count)).seconds);
  const looked = await told(count);
  languageSeconds = languageIn(runSeconds, looked);
  return {run_seconds: runSeconds, language_seconds: languageSeconds, own_seconds: looked.own,
          operator_seconds: looked.operators};
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
    const outputs = await session.run(feeds);
    const answered = seconds();
    outputBytes = Object.values(outputs).reduce((sum, {data}) => sum + (data.byteLength ?? 0), 0);
    fetches = await preallocated(session, feeds);
    const looked = clock === 'net' ? await lookAtLanguage() : {};
    return {session_seconds: made - start, answer_seconds: answered - start, ...looked};
  },
  async run({count}) {
    const made = await (clock === 'own' ? timedByItself(count) : timed(session, fetches, count));
    const isSteady = languageSeconds <= kSteadyShare * runSeconds && outputBytes <= kSteadyBytes;
    if (clock === 'net' && !isSteady) {
      languageSeconds = languageIn(median(made.seconds), await told(runsIn(0.1, 6, 30)));
    }
    const net = clock === 'own' ? made.own_seconds : clock === 'language' ? made.seconds :
        made.seconds.map((it) => it - languageSeconds);  // below 0 where that is no measurement
    // The share of the processor that the call had is the run's too.
    const cpu = net.map((it, i) => (it * made.cpu_seconds[i]) / made.seconds[i]);
    return {seconds: net, cpu_seconds: cpu,
            ...(clock === 'net' ? {language_seconds: languageSeconds} : {})};
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
