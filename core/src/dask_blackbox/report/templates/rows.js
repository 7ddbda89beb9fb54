// The task track: a row per worker or thread, each pixel as strong as its share of work.
import { Chart, OTHER, PALETTE, ink, shorten } from "./chart.js";
import { LENGTH, firstAt, laneOf, processes, millis, named, outcomeOf, workerOf, workers, tasks, units, within } from "./run.js";
import { drawWaits } from "./waits.js";
import { changed, clock, duration, goTo, view } from "./view.js";

const MOST_THREAD_LANES = 120;
const RGB = [...PALETTE, OTHER].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/** @type {{worker: number, lanes: number[], top: number, height: number}[]} */
export const rows = [];
let order = "joined";

/** Lay the rows out: a row per thread where there are few, else one per worker. */
export function arrange(by = order) {
  order = by;
  rows.length = 0;
  const chosen = workers.map((_, worker) => worker).sort(ORDERS[by]);
  const lanes = workers.reduce((sum, worker) => sum + worker[4], 0);
  const apart = lanes <= MOST_THREAD_LANES;
  const number = apart ? lanes : workers.length;
  const height = Math.max(1, Math.min(18, Math.floor((apart ? 440 : 620) / Math.max(1, number))));
  const gap = height >= 6 ? 4 : height >= 3 ? 1 : 0;
  let top = 4;
  for (const worker of chosen) {
    const [, , , first, own] = workers[worker];
    const all = Array.from({ length: own }, (_, i) => first + i);
    for (const part of apart ? all.map((lane) => [lane]) : [all]) {
      rows.push({ worker, lanes: part, top, height });
      top += height;
    }
    top += gap;
  }
  arranged.height = top + 2;
}
export const arranged = { height: 10 };

const peak = (worker) => Math.max(0, ...workers[worker][1].map((process) => processes[process].peak ?? 0));
const busy = (worker) => {
  let sum = 0;
  const [, , , first, own] = workers[worker];
  for (let task = tasks.first[first]; task < tasks.first[first + own]; task += 1) sum += tasks.end[task] - tasks.begin[task];
  return sum;
};
const death = (worker) => Math.min(Infinity, ...workers[worker][1].map((process) => (processes[process].fate === "died" ? processes[process].left : Infinity)));
const hostOf = (worker) => processes[workers[worker][1][0]]?.host ?? "";
const byName = (a, b) => workers[a][0].localeCompare(workers[b][0], undefined, { numeric: true });
const ORDERS = {
  joined: (a, b) => a - b, name: byName,
  host: (a, b) => hostOf(a).localeCompare(hostOf(b), undefined, { numeric: true }) || byName(a, b),
  busy: (a, b) => busy(b) - busy(a) || a - b,
  memory: (a, b) => peak(b) - peak(a) || a - b,
  death: (a, b) => death(a) - death(b) || a - b,
};

export function cross(pen, x, y, r) {
  for (const width of [4.5, 2.2]) {
    pen.lineWidth = width;
    pen.strokeStyle = width > 3 ? ink("sheet") : ink("fail");
    pen.beginPath();
    pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r);
    pen.stroke();
  }
}

const thickness = (row) => (row.height > 4 ? row.height - 1 : row.height);
const lost = (worker) => workers[worker][1].some((process) => processes[process].fate === "died");

function drawRows(pen, chart) {
  pen.textBaseline = "middle"; pen.textAlign = "right";
  let free = -Infinity;
  groups().forEach(({ worker, top, height }) => {
    const middle = top + height / 2;
    if (middle - free < 13 && !(lost(worker) && middle - free >= 11)) return;
    free = middle;
    pen.fillStyle = lost(worker) ? ink("fail") : ink("soft");
    pen.fillText(shorten(pen, workers[worker][0], chart.left - 12), chart.left - 8, middle);
  });
  chart.inside(pen);
  pen.fillStyle = ink("lane");
  for (const row of rows) {
    const own = workers[row.worker][1];
    for (const process of own.length ? own.map((number) => processes[number]) : [{ joined: 0, left: null }]) {
      const a = chart.x(Math.max(process.joined ?? 0, view.from));
      const b = chart.x(Math.min(process.left ?? LENGTH, view.to));
      if (b > a) pen.fillRect(a, row.top, b - a, thickness(row));
    }
  }
}

function groups() {
  const found = [];
  for (const row of rows) {
    const last = found[found.length - 1];
    if (last && last.worker === row.worker) last.height += row.height; else found.push({ worker: row.worker, top: row.top, height: row.height });
  }
  return found;
}

/**
 * Add up what a lane did in each of `width` steps, by prefix; single executions whole.
 * @param {Float32Array} sums `width` cells for each colour
 */
export function addUp(sums, lane, from, to, width) {
  const [a, b] = [units(from), units(to)];
  const scale = width / (b - a);
  const last = tasks.first[lane + 1];
  for (let task = firstAt(lane, a); task < last; task += 1) {
    const begin = tasks.begin[task];
    if (begin > b) break;
    if (view.only !== null && tasks.prefix[task] !== view.only) continue;
    const x0 = Math.max(0, (begin - a) * scale);
    const x1 = Math.min(width, (tasks.end[task] - a) * scale);
    if (x1 <= x0) continue;
    const at = Math.min(tasks.prefix[task], PALETTE.length) * width;
    const [i, j] = [x0 | 0, Math.min(width - 1, x1 | 0)];
    if (i === j) { sums[at + i] += x1 - x0; continue; }
    sums[at + i] += i + 1 - x0;
    for (let x = i + 1; x < j; x += 1) sums[at + x] += 1;
    sums[at + j] += x1 - j;
  }
}

/** Paint only the executions: the opacity of each pixel is the share of it that was busy. */
function paintWork(pen, chart) {
  const ratio = chart.ratio;
  const left = Math.round(chart.left * ratio);
  const width = pen.canvas.width - left;
  if (width < 1 || !rows.length) return;
  const image = pen.createImageData(width, pen.canvas.height);
  const sums = new Float32Array(width * RGB.length);
  const line = new Uint8ClampedArray(width * 4);
  for (const row of rows) {
    sums.fill(0);
    for (const lane of row.lanes) addUp(sums, lane, view.from, view.to, width);
    mix(line, sums, width, row.lanes.length > 1 ? workers[row.worker][2] : 1);
    const [y0, y1] = [Math.round(row.top * ratio), Math.round((row.top + thickness(row)) * ratio)];
    for (let y = y0; y < y1; y += 1) image.data.set(line, y * width * 4);
  }
  pen.putImageData(image, left, 0);
}

/** Mix the colours of what ran; what rounding takes from one pixel the next one has. */
function mix(line, sums, width, threads) {
  let carry = 0;
  for (let x = 0; x < width; x += 1) {
    let [r, g, b, sum] = [0, 0, 0, 0];
    for (let colour = 0; colour < RGB.length; colour += 1) {
      const value = sums[colour * width + x];
      if (!value) continue;
      r += RGB[colour][0] * value; g += RGB[colour][1] * value; b += RGB[colour][2] * value;
      sum += value;
    }
    const wanted = 255 * Math.min(1, sum / threads) + (sum ? carry : 0);
    const alpha = Math.round(wanted);
    if (sum) carry = wanted - alpha;
    line.set(sum ? [r / sum, g / sum, b / sum, alpha] : [0, 0, 0, 0], x * 4);
  }
}

/** Draw what did not finish, what arrived before it, and deaths, above the executions. */
function decorate(chart, pen) {
  pen.save();
  chart.inside(pen);
  const rowOf = new Map();
  rows.forEach((row) => row.lanes.forEach((lane) => rowOf.set(lane, row)));
  if (tasks.number < 200000) drawTransfers(pen, chart);
  let before = "";
  pen.strokeStyle = ink("fail");
  for (const task of tasks.odd) {
    const [a, b] = [millis(tasks.begin[task]), millis(tasks.end[task])];
    if (b < view.from || a > view.to || outcomeOf(task) === "released") continue;
    const row = rowOf.get(laneOf(task));
    const [x, width] = [chart.x(a), Math.max(2, chart.x(b) - chart.x(a))];
    const here = `${row.top} ${Math.round(x)}`;
    if (here === before) continue;
    before = here;
    pen.lineWidth = row.height > 5 ? 2 : 1;
    pen.strokeRect(x + 0.5, row.top + 0.5, width - 1, Math.max(1, thickness(row) - 1));
  }
  for (const { worker, top, height } of groups()) {
    for (const process of workers[worker][1].map((number) => processes[number])) {
      if (process.fate === "died" && process.left >= view.from && process.left <= view.to) cross(pen, chart.x(process.left), top + height / 2, Math.max(3, Math.min(6, height / 2)));
    }
  }
  if (view.task !== null || view.chain) drawWaits(pen, chart, rowOf);
  if (view.task !== null) {
    const row = rowOf.get(laneOf(view.task));
    const x = chart.x(millis(tasks.begin[view.task]));
    pen.strokeStyle = ink("ink"); pen.lineWidth = 2;
    pen.strokeRect(x - 1, row.top - 1, Math.max(3, chart.x(millis(tasks.end[view.task])) - x + 2), thickness(row) + 2);
  }
  pen.restore();
}

function drawTransfers(pen, chart) {
  pen.fillStyle = ink("soft");
  for (const row of rows) {
    if (row.height < 6) return;
    within(row.lanes[0], view.from, view.to, (task) => {
      const length = tasks.transfer[task] * tasks.unit;
      const end = millis(tasks.begin[task]);
      const width = chart.x(end) - chart.x(end - length);
      if (width >= 1) pen.fillRect(chart.x(end) - width, row.top + thickness(row) - 2, width, 2);
    });
  }
}

/** Return the execution at a place: one that failed, or the shortest one there. */
export function taskAt(x, y, chart) {
  const row = rows.find((each) => y >= each.top && y < each.top + each.height);
  if (!row) return [null, null];
  const ms = chart.ms(x);
  const slack = (1.5 * (view.to - view.from)) / chart.width;
  let best = null;
  const better = (task) => {
    if (best === null) return true;
    const [odd, other] = [tasks.outcome.has(task), tasks.outcome.has(best)];
    return odd !== other ? odd : tasks.end[task] - tasks.begin[task] < tasks.end[best] - tasks.begin[best];
  };
  for (const lane of row.lanes) within(lane, ms - slack, ms + slack, (task) => { if (better(task)) best = task; });
  return [row, best];
}

function probe(x, y, chart) {
  const [row, task] = taskAt(Math.max(x, chart.left), y, chart);
  if (!row) return null;
  const thread = row.lanes.length > 1 || workers[row.worker][4] < 2 ? "" : `, thread ${row.lanes[0] - workers[row.worker][3] + 1}`;
  const where = workers[row.worker][0] + thread;
  if (x < chart.left) return [where, ...workers[row.worker][1].map((process) => processes[process].address)];
  const ms = chart.ms(x);
  if (task === null) return [clock(ms), where];
  const [a, b] = [millis(tasks.begin[task]), millis(tasks.end[task])];
  const transfer = tasks.transfer[task] ? `, transfer ${duration(tasks.transfer[task] * tasks.unit)}` : "";
  return [named(task), `${outcomeOf(task)}, ${duration(b - a)}${transfer}`, `${clock(a)} to ${clock(b)}`, where];
}

function pin(x, y, ms, chart) {
  const [row, task] = taskAt(Math.max(x, chart.left), y, chart);
  view.area = null;
  view.task = x < chart.left ? null : task;
  view.worker = row ? row.worker : null;
  goTo(x < chart.left ? view.now : ms);
  changed("pin");
}

/** Make the chart; return it. */
export function taskChart() {
  arrange();
  const chart = new Chart("lanes", { height: () => arranged.height, draw: drawRows, work: paintWork, probe, click: pin });
  chart.decorate = (pen) => decorate(chart, pen);
  chart.between = (a, b) => {
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    const some = rows.filter((row) => row.top + row.height > low && row.top < high);
    return some.length ? new Set(some.flatMap((row) => row.lanes)) : null; // between lanes: all
  };
  return chart;
}

export const workerOfTask = (task) => workerOf(laneOf(task));
