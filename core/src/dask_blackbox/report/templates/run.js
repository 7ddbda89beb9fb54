// The run: every execution, worker, mark and curve of it, and how to find them.
import { integers, signed, summed, texts } from "./unpack.js";

export const DATA = JSON.parse(document.getElementById("data").textContent);
export const LENGTH = DATA.length * 1000;
const T = DATA.timeline;
export const { workers, prefixes, outcomes } = T;
export const processes = DATA.processes;

/**
 * All executions, sorted by lane and begin; `begin`, `end` and `reach` in units of `unit` ms.
 * `reach` is the latest end so far in a lane, so that a binary search finds who was there.
 */
export const tasks = {
  number: T.pack.number, unit: T.pack.unit / 1000, origin: T.pack.origin,
  begin: new Uint32Array(0), end: new Uint32Array(0), reach: new Uint32Array(0), prefix: new Uint8Array(0),
  transfer: new Float64Array(0), first: new Uint32Array(1), outcome: new Map(), odd: new Uint32Array(0), keys: new Map(),
  /** the input of an execution that was there last, and the longest chain of executions */
  input: new Map(), chain: new Uint32Array(0),
};

/** @type {{at: number, kind: string, subject: string, text: string}[]} */
export const marks = [];

/** Unpack what the page holds. */
export async function unpack() {
  const pack = T.pack;
  const lanes = workers.reduce((sum, worker) => sum + worker[4], 0);
  const [counts, gap, length, transfer, prefix, steps, keySteps, keyTexts] = await Promise.all([
    integers(pack.counts, lanes), signed(pack.gap, pack.number), integers(pack.length, pack.number),
    integers(pack.transfer, pack.number), integers(pack.prefix, pack.number), integers(pack.outcome_at, pack.odd),
    integers(pack.keys.at, pack.keys.number), texts(pack.keys.texts),
  ]);
  place(counts, gap, length);
  tasks.transfer = transfer;
  tasks.prefix = Uint8Array.from(prefix);
  const ended = await integers(pack.outcome, pack.odd);
  summed(steps);
  tasks.odd = Uint32Array.from(steps);
  steps.forEach((task, i) => tasks.outcome.set(task, ended[i]));
  summed(keySteps).forEach((task, i) => tasks.keys.set(task, keyTexts[i]));
  await Promise.all([unpackWaits(pack.waits), unpackMarks()]);
}

async function unpackWaits(waits) {
  const [at, inputs, chain] = await Promise.all([integers(waits.at, waits.number), signed(waits.input, waits.number), signed(waits.chain_at, waits.chain)]);
  summed(at).forEach((task, i) => tasks.input.set(task, task + inputs[i]));
  tasks.chain = Uint32Array.from(summed(chain));
}

function place(counts, gap, length) {
  tasks.begin = new Uint32Array(tasks.number);
  tasks.end = new Uint32Array(tasks.number);
  tasks.reach = new Uint32Array(tasks.number);
  tasks.first = new Uint32Array(counts.length + 1);
  let task = 0;
  for (let lane = 0; lane < counts.length; lane += 1) {
    tasks.first[lane] = task;
    let [end, reach] = [0, 0];
    for (const last = task + counts[lane]; task < last; task += 1) {
      tasks.begin[task] = end + gap[task];
      end = tasks.begin[task] + length[task];
      if (end > reach) reach = end;
      tasks.end[task] = end;
      tasks.reach[task] = reach;
    }
  }
  tasks.first[counts.length] = task;
}

async function unpackMarks() {
  const packed = DATA.marks;
  const [at, kind, subject, text, words] = await Promise.all([
    signed(packed.at, packed.number), integers(packed.kind, packed.number), integers(packed.subject, packed.number),
    integers(packed.text, packed.number), texts(packed.texts),
  ]);
  summed(at).forEach((ms, i) => marks.push({ at: ms, kind: words[kind[i]], subject: words[subject[i]], text: words[text[i]] }));
}

/** @param {number} ms */
export const units = (ms) => ms / tasks.unit - tasks.origin;
/** @param {number} unit */
export const millis = (unit) => (unit + tasks.origin) * tasks.unit;

/** Return the number of the first execution of a lane that had not ended by then. */
export function firstAt(lane, unit) {
  let [low, high] = [tasks.first[lane], tasks.first[lane + 1]];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tasks.reach[middle] < unit) low = middle + 1; else high = middle;
  }
  return low;
}

/** Call back with each execution of a lane that lies in a period (ms). */
export function within(lane, from, to, each) {
  const [a, b] = [units(from), units(to)];
  for (let task = firstAt(lane, a); task < tasks.first[lane + 1] && tasks.begin[task] <= b; task += 1) {
    if (tasks.end[task] >= a) each(task);
  }
}

/** @param {number} task */
export function laneOf(task) {
  let [low, high] = [0, tasks.first.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (tasks.first[middle] <= task) low = middle; else high = middle;
  }
  return low;
}

/** @param {number} lane */
export const workerOf = (lane) => workers.findIndex(([, , , first, lanes]) => lane >= first && lane < first + lanes);

/** @param {number} task */
export const named = (task) => tasks.keys.get(task) ?? `an execution of ${prefixOf(task)}`;
/** @param {number} task */
export const prefixOf = (task) => prefixes[tasks.prefix[task]] ?? "another prefix";
/** @param {number} task */
export const outcomeOf = (task) => outcomes[tasks.outcome.get(task) ?? 0];

const labels = new Map(processes.map((process) => [process.address, process.label]));
/** @param {string} address */
export const labelOf = (address) => labels.get(address) ?? address.replace(/^\w+:\/\//, "");
export const knows = (address) => labels.has(address);
