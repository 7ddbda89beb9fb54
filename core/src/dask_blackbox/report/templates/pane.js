// The pane beside the charts: what is selected, what is pinned, and everything at the playhead.
import { colourOf } from "./chart.js";
import { curves, nearest } from "./curves.js";
import { LENGTH, firstAt, labelOf, processes, marks, millis, named, outcomeOf, prefixOf, prefixes, workers, tasks, units, within } from "./run.js";
import { workerOfTask } from "./rows.js";
import { SIGNS, isGrave, textOf } from "./overview.js";
import { chainTo, executed, followersOf } from "./waits.js";
import { changed, clock, count, duration, goTo, look, onChange, share, size, view } from "./view.js";

const MOST = 8;
const pane = document.getElementById("pane");

/** @param {string} tag @param {object} [traits] @param {...(Node|string)} parts */
export function element(tag, traits = {}, ...parts) {
  const made = Object.assign(document.createElement(tag), traits);
  made.append(...parts);
  return made;
}

const swatch = (prefix) => { const made = element("i", { className: "swatch" }); made.style.background = colourOf(prefix); return made; };

function line(parts, act) {
  const item = element("li", {}, ...parts);
  if (!act) return item;
  const button = element("button", { type: "button", className: "plain" }, ...parts);
  button.addEventListener("click", act);
  return element("li", {}, button);
}
const list = (items) => element("ul", {}, ...items);
const title = (text, more = "") => element("h3", {}, text, element("span", { className: "faint" }, more ? ` ${more}` : ""));

/** Pin an execution and move the playhead to it. */
export function pinTask(task, { move = true } = {}) {
  view.task = task;
  view.worker = workerOfTask(task);
  view.area = null;
  if (move) {
    const [a, b] = [millis(tasks.begin[task]), millis(tasks.end[task])];
    if (a < view.from || b > view.to) look(a - Math.max(b - a, 1) * 2, b + Math.max(b - a, 1) * 2);
    goTo(a + (b - a) / 2);
  }
  changed("pin");
}

/** Sum up the executions of some lanes in a period. */
export function summary(from, to, lanes) {
  const sums = prefixes.map(() => ({ number: 0, busy: 0, lengths: [], odd: 0, transfer: 0 }));
  sums.push({ number: 0, busy: 0, lengths: [], odd: 0, transfer: 0 });
  for (let lane = 0; lane < tasks.first.length - 1; lane += 1) {
    if (lanes && !lanes.has(lane)) continue;
    within(lane, from, to, (task) => {
      const own = sums[Math.min(tasks.prefix[task], prefixes.length)];
      own.number += 1;
      own.busy += Math.max(0, Math.min(to, millis(tasks.end[task])) - Math.max(from, millis(tasks.begin[task])));
      own.lengths.push((tasks.end[task] - tasks.begin[task]) * tasks.unit);
      own.transfer += tasks.transfer[task] * tasks.unit;
      if (tasks.outcome.has(task)) own.odd += 1;
    });
  }
  return sums;
}

function threadTime(from, to, lanes) {
  let sum = 0;
  for (const [, own, threads, first, number] of workers) {
    const part = lanes ? Array.from({ length: number }, (_, i) => first + i).filter((lane) => lanes.has(lane)).length / number : 1;
    for (const process of own.map((each) => processes[each])) sum += part * (process.nthreads ?? threads) * Math.max(0, Math.min(to, process.left ?? LENGTH) - Math.max(from, process.joined ?? 0));
  }
  return sum;
}

function aboutPeriod(heading, from, to, lanes) {
  const sums = summary(from, to, lanes);
  const number = sums.reduce((sum, each) => sum + each.number, 0);
  const busy = sums.reduce((sum, each) => sum + each.busy, 0);
  const odd = sums.reduce((sum, each) => sum + each.odd, 0);
  const there = threadTime(from, to, lanes);
  const sentence = `${count(number)} executions${odd ? `, ${count(odd)} not finished` : ""}; threads ${there ? share(busy / there) : "0 %"} busy`;
  const parts = [title(heading, `${clock(from)} to ${clock(to)}, ${duration(to - from)}`), element("p", {}, sentence)];
  const whole = lanes || from > 0 || to < LENGTH ? summary(0, LENGTH, null) : null;
  const all = whole ? whole.reduce((sum, each) => sum + each.busy, 0) : 0;
  const ranked = sums.map((own, prefix) => ({ own, prefix })).filter(({ own }) => own.number).sort((a, b) => b.own.busy - a.own.busy);
  parts.push(list(ranked.slice(0, MOST).map(({ own, prefix }) => {
    const here = busy ? own.busy / busy : 0;
    const usual = whole && all ? whole[prefix].busy / all : null;
    const differs = usual !== null && Math.abs(here - usual) >= 0.1 ? `, in the whole run ${share(usual)}` : "";
    return line([swatch(prefix), ` ${prefixes[prefix] ?? "other prefixes"} `, element("span", { className: "faint" }, `${count(own.number)} × ${duration(own.lengths.reduce((a, b) => a + b, 0) / own.number)}, ${share(here)} of the work${differs}`)]);
  })));
  return parts;
}

/** Say what is different about the selection: prefixes that took longer there, and workers. */
function differences(from, to, lanes) {
  const [here, all] = [summary(from, to, lanes), summary(0, LENGTH, null)];
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  const odd = [];
  here.forEach((own, prefix) => {
    if (own.number < 5 || all[prefix].number < own.number + 5) return;
    const [a, b] = [median(own.lengths), median(all[prefix].lengths)];
    if (a > b * 1.5 || a < b / 1.5) odd.push({ ratio: Math.max(a / b, b / a), text: `'${prefixes[prefix]}' took ${duration(a)} here, ${duration(b)} in the whole run (medians)` });
    if (own.odd && own.odd / own.number > (1.5 * all[prefix].odd) / all[prefix].number) odd.push({ ratio: 99, text: `${share(own.odd / own.number)} of '${prefixes[prefix]}' did not finish here, ${share(all[prefix].odd / all[prefix].number)} in the whole run` });
  });
  odd.sort((a, b) => b.ratio - a.ratio);
  return odd.length ? [title("Different from the rest"), list(odd.slice(0, 5).map(({ text }) => line([text])))] : [];
}

function aboutTask(task) {
  const [a, b] = [millis(tasks.begin[task]), millis(tasks.end[task])];
  const waited = tasks.transfer[task] * tasks.unit;
  const [label] = workers[workerOfTask(task)] ?? ["an unknown worker"];
  const facts = [["Ended", outcomeOf(task)], ["Prefix", prefixOf(task)], ["Worker", label], ["From", clock(a)], ["To", clock(b)], ["Took", duration(b - a)]];
  if (waited) facts.push(["Waited for its inputs", duration(waited)]);
  const parts = [title(named(task)), element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]))];
  if (!tasks.keys.has(task)) parts.push(element("p", { className: "faint" }, "The keys of so many executions do not fit into the page; the table `tasks` of the recording has them all."));
  const key = tasks.keys.get(task);
  const again = key === undefined ? [] : [...tasks.keys].filter(([other, name]) => name === key && other !== task).map(([other]) => other);
  if (again.length) parts.push(title("Its other attempts"), list(again.slice(0, MOST).map((other) => line([`${clock(millis(tasks.begin[other]))} ${outcomeOf(other)}, ${duration((tasks.end[other] - tasks.begin[other]) * tasks.unit)}`], () => pinTask(other)))));
  parts.push(...waitsOf(task), ...neighbours(task));
  if (key !== undefined) parts.push(...logsOf((row) => row.dataset.key === key, "Its log lines"));
  return parts;
}

/** Say what an execution waited for, and what could run when it had finished. */
function waitsOf(task) {
  const gap = (from, to) => { const ms = millis(tasks.begin[to]) - millis(tasks.end[from]); return ms >= 0 ? `${duration(ms)} later` : "at once"; };
  const parts = [];
  const input = tasks.input.get(task);
  if (input !== undefined) {
    const chain = chainTo(task);
    parts.push(title("Waited last for"), list([line([swatch(tasks.prefix[input]), ` ${named(input)} `, element("span", { className: "faint" }, `ended ${clock(millis(tasks.end[input]))}; this began ${gap(input, task)}`)], () => pinTask(input))]));
    if (chain.length > 2) parts.push(element("p", { className: "faint" }, `A chain of ${count(chain.length)} executions leads here: ${duration(executed(chain))} of work since ${clock(millis(tasks.begin[chain[0]]))}.`));
  }
  const next = [...followersOf(task)].sort((a, b) => tasks.begin[a] - tasks.begin[b]);
  if (next.length) {
    parts.push(title("Then could run", `${count(next.length)} ${next.length === 1 ? "execution" : "executions"}`), list(next.slice(0, 5).map((other) => line([swatch(tasks.prefix[other]), ` ${named(other)} `, element("span", { className: "faint" }, `began ${gap(task, other)}`)], () => pinTask(other)))));
    if (next.length > 5) parts.push(element("p", { className: "faint" }, `+${count(next.length - 5)} more`));
  }
  return parts;
}

/** Say where an execution stands among those of its prefix. */
function neighbours(task) {
  const own = tasks.end[task] - tasks.begin[task];
  let [number, shorter] = [0, 0];
  const lengths = [];
  for (let other = 0; other < tasks.number; other += 1) {
    if (tasks.prefix[other] !== tasks.prefix[task]) continue;
    const length = tasks.end[other] - tasks.begin[other];
    number += 1;
    if (length < own) shorter += 1;
    if (lengths.length < 2000 || other % Math.ceil(tasks.number / 2000) === 0) lengths.push(length);
  }
  if (number < 3) return [];
  lengths.sort((a, b) => a - b);
  const sentence = `It took longer than ${share(shorter / number)} of the ${count(number)} executions of '${prefixOf(task)}'; their median is ${duration(lengths[lengths.length >> 1] * tasks.unit)}.`;
  return [element("p", {}, sentence)];
}

function aboutWorker(worker) {
  const [label, own] = workers[worker];
  const parts = [title(label)];
  for (const process of own.map((each) => processes[each])) {
    parts.push(element("p", {}, process.joined !== null ? `joined ${clock(process.joined)}; ` : "", process.how, process.left !== null ? ` at ${clock(process.left)}` : "", element("span", { className: "faint" }, ` ${process.address}`)));
  }
  const [, , , first, lanes] = workers[worker];
  return [...parts, ...aboutPeriod("Its work", view.from, view.to, new Set(Array.from({ length: lanes }, (_, i) => first + i)))];
}

const logRows = [...document.querySelectorAll("#log-lines tbody tr")];
function logsOf(keep, heading) {
  const found = logRows.filter(keep);
  if (!found.length) return [];
  return [title(heading), list(found.slice(-5).map((row) => line([element("code", {}, row.cells[0].textContent), ` ${row.cells[3].querySelector("pre").textContent.slice(0, 300)}`], () => goTo(+row.dataset.at))))];
}

function atMoment(ms) {
  const there = processes.filter((process) => (process.joined ?? 0) <= ms && (process.left ?? LENGTH + 1) > ms);
  const running = [];
  for (let lane = 0; lane < tasks.first.length - 1; lane += 1) within(lane, ms, ms, (task) => running.push(task));
  const [paused, waiting] = [pausedAt(ms, there), waitingAt(ms)];
  const counts = [`${count(there.length)} ${there.length === 1 ? "worker" : "workers"}`, ...(paused ? [`${count(paused)} paused`] : []), `${count(running.length)} executing`, ...(waiting ? [`${count(waiting)} waiting for data`] : [])];
  const parts = [title(`At ${clock(ms)}`, counts.join(", "))];
  running.sort((a, b) => tasks.begin[a] - tasks.begin[b]);
  parts.push(list(running.slice(0, MOST).map((task) => line([swatch(tasks.prefix[task]), ` ${named(task)} `, element("span", { className: "faint" }, `for ${duration(ms - millis(tasks.begin[task]))} on ${workers[workerOfTask(task)]?.[0] ?? "?"}`)], () => pinTask(task, { move: false })))));
  if (running.length > MOST) parts.push(element("p", { className: "faint" }, `+${count(running.length - MOST)} more`));
  parts.push(...memoryAt(ms), ...eventsAt(ms), ...logsOf((row) => +row.dataset.at <= ms, "The last log lines"));
  return parts;
}

/** Return how many of some workers were paused then, as far as samples show it. */
function pausedAt(ms, there) {
  const paused = new Set();
  for (const { at, kind, subject } of marks) {
    if (at > ms) break;
    if (kind === "paused") paused.add(subject); else if (kind === "resumed") paused.delete(subject);
  }
  return there.filter((process) => paused.has(process.address)).length;
}

/** Return for how many threads the inputs of their next execution were on their way. */
function waitingAt(ms) {
  let number = 0;
  const moment = units(ms);
  for (let lane = 0; lane < tasks.first.length - 1; lane += 1) {
    let task = firstAt(lane, moment);
    while (task < tasks.first[lane + 1] && tasks.begin[task] <= moment) task += 1;
    if (task < tasks.first[lane + 1] && tasks.begin[task] - tasks.transfer[task] <= moment) number += 1;
  }
  return number;
}

function memoryAt(ms) {
  const now = [];
  const there = new Set(processes.filter((process) => (process.joined ?? 0) <= ms && (process.left ?? LENGTH + 1) >= ms).map((process) => process.address));
  for (const curve of curves) {
    if (!there.has(curve.worker)) continue;
    const i = nearest(curve.at, ms);
    if (i < 0 || curve.memory[i] === null || Math.abs(curve.at[i] - ms) > 10000) continue;
    now.push({ curve, used: curve.memory[i] });
  }
  if (!now.length) return [];
  now.sort((a, b) => b.used / (b.curve.limit || 1e9) - a.used / (a.curve.limit || 1e9) || b.used - a.used);
  return [title("Memory"), list(now.slice(0, 5).map(({ curve, used }) => line([`${labelOf(curve.worker)} `, element("span", { className: curve.limit && used > 0.8 * curve.limit ? "bad" : "faint" }, `${size(used)}${curve.limit ? ` of ${size(curve.limit)} (${share(used / curve.limit)})` : ""}`)])))];
}

function eventsAt(ms) {
  const near = marks.filter(({ at }) => at <= ms + 1).slice(-4).reverse();
  if (!near.length) return [];
  return [title("Before that"), list(near.map((mark) => line([element("span", { className: isGrave(mark.kind) ? "bad" : "faint" }, SIGNS[mark.kind] ?? "·"), ` ${textOf(mark)}`], () => goTo(mark.at))))];
}

function fill() {
  const parts = [];
  if (view.area) {
    parts.push(...aboutPeriod("Selected", view.area.from, view.area.to, view.area.rows), ...differences(view.area.from, view.area.to, view.area.rows));
  } else {
    if (view.task !== null && view.task < tasks.number) parts.push(...aboutTask(view.task));
    if (view.now !== null) parts.push(...atMoment(view.now));
    if (view.task === null && view.worker !== null && workers[view.worker]) parts.push(...aboutWorker(view.worker));
    else if (view.now === null) parts.push(...aboutPeriod("Shown", view.from, view.to, null), element("p", { className: "faint" }, "Click for the state at that time; drag to zoom; drag with Shift to select."));
  }
  pane.replaceChildren(...parts);
}

let waiting = 0;
function soon() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(fill);
}
if (pane) for (const what of ["look", "now", "pin", "area"]) onChange(what, soon);
export const fillPane = fill;
