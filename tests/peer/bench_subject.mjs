// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as the other end of the bench's protocol (commensal/lab/bench/runner.hpp): answers
// each line of standard input, a JSON object, with one line.
import {createInterface} from 'node:readline';
import {createSession, feedsOf, writeOutputs} from './onnxruntime.mjs';

const seconds = () => Number(process.hrtime.bigint()) * 1e-9;
const cpuSeconds = () => {
  const {user, system} = process.cpuUsage();
  return (user + system) * 1e-6;
};

let feeds = {};
let session = null;
// What a run writes into, as ours does: without it each run pays for fresh outputs and their
// collection. Empty where the runtime takes none of that kind.
let fetches = [];

async function preallocated() {
  const made = await session.run(feeds);
  try {
    await session.run(feeds, made);
    return [made];
  } catch {
    return [];
  }
}

const requests = {
  async feed({inputs}) {
    feeds = feedsOf(inputs);
    return {};
  },
  async load({model, threads}) {
    const start = seconds();
    session = await createSession(model, threads);
    const made = seconds();
    await session.run(feeds);
    const answered = seconds();
    fetches = await preallocated();
    return {session_seconds: made - start, answer_seconds: answered - start};
  },
  async run({count}) {
    const made = {seconds: [], cpu_seconds: []};
    for (let i = 0; i < count; ++i) {
      const cpuBefore = cpuSeconds();
      const before = seconds();
      await session.run(feeds, ...fetches);
      made.seconds.push(seconds() - before);
      made.cpu_seconds.push(cpuSeconds() - cpuBefore);
    }
    return made;
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
