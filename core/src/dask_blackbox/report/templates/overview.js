// The whole run in a strip: how busy the cluster was, and which part of it is shown.
import { Chart, PALETTE, colourOf, ink, labelTicks } from "./chart.js";
import { LENGTH, labelOf, processes, marks, workers } from "./run.js";
import { addUp } from "./rows.js";
import { changed, clock, goTo, look, view } from "./view.js";

export const SIGNS = { arrival: "▲", departure: "▽", death: "✖", graph: "◆", failure: "✖", memory: "●", client: "○", warning: "!", end: "■", paused: "‖", resumed: "▷", spilling: "▾" };
const HEIGHT = 54;
let strip = null;

function stripOf(width) {
  const key = `${width} ${view.only}`;
  if (strip?.key === key) return strip;
  const sums = new Float32Array(width * (PALETTE.length + 1));
  const lanes = workers.reduce((sum, worker) => sum + worker[4], 0);
  for (let lane = 0; lane < lanes; lane += 1) addUp(sums, lane, 0, LENGTH, width);
  strip = { key, sums, width, there: threadsThere(width) };
  return strip;
}

/** Return how many threads there were in each step. */
function threadsThere(width) {
  const there = new Float32Array(width);
  for (const [, own, threads] of workers) {
    for (const process of own.map((number) => processes[number])) {
      const a = (Math.max(0, process.joined ?? 0) / LENGTH) * width;
      const b = (Math.min(LENGTH, process.left ?? LENGTH) / LENGTH) * width;
      for (let x = Math.floor(a); x < Math.min(width, Math.ceil(b)); x += 1) there[x] += (process.nthreads ?? threads) * (Math.min(b, x + 1) - Math.max(a, x));
    }
  }
  return there;
}

function drawOverview(pen, chart) {
  const width = Math.max(1, Math.floor(chart.width - chart.left));
  const { sums, there } = stripOf(width);
  const most = Math.max(1, ...there);
  pen.textAlign = "right"; pen.textBaseline = "middle"; pen.fillStyle = ink("soft");
  pen.fillText("cluster busy", chart.left - 8, HEIGHT / 2);
  chart.inside(pen);
  pen.fillStyle = ink("lane");
  for (let x = 0; x < width; x += 1) pen.fillRect(chart.left + x, HEIGHT - (there[x] / most) * (HEIGHT - 4), 1, (there[x] / most) * (HEIGHT - 4));
  for (let x = 0; x < width; x += 1) {
    let y = HEIGHT;
    for (let colour = 0; colour <= PALETTE.length; colour += 1) {
      const value = sums[colour * width + x];
      if (!value) continue;
      const tall = (value / most) * (HEIGHT - 4);
      pen.fillStyle = colourOf(colour);
      pen.fillRect(chart.left + x, y - tall, 1, tall);
      y -= tall;
    }
  }
}

function brush(chart, pen) {
  const [a, b] = [chart.x(view.from), chart.x(view.to)];
  for (const mark of ordered()) {
    if (!isGrave(mark.kind) && !isStrained(mark.kind)) continue;
    pen.fillStyle = ink(isGrave(mark.kind) ? "fail" : "warn");
    pen.textAlign = "center"; pen.textBaseline = "top";
    pen.fillText(SIGNS[mark.kind], chart.x(mark.at), 0);
  }
  if (view.from <= 0 && view.to >= LENGTH) return;
  pen.fillStyle = ink("veil");
  pen.fillRect(chart.left, 0, a - chart.left, HEIGHT);
  pen.fillRect(b, 0, chart.width - b, HEIGHT);
  pen.strokeStyle = ink("play"); pen.lineWidth = 1.5;
  pen.strokeRect(a, 0.75, Math.max(2, b - a), HEIGHT - 1.5);
}

export const isGrave = (kind) => kind === "death" || kind === "failure";
/** Whether it is about memory that runs short. */
export const isStrained = (kind) => kind === "paused" || kind === "spilling" || kind === "memory";
let sorted = null;
const ordered = () => { sorted ??= [...marks].sort((a, b) => isGrave(a.kind) - isGrave(b.kind)); return sorted; };

function drawMarks(pen, chart) {
  labelTicks(pen, chart, 12);
  pen.textBaseline = "middle"; pen.textAlign = "right"; pen.fillStyle = ink("soft");
  pen.fillText("events", chart.left - 8, 33);
  chart.inside(pen);
  pen.textAlign = "center";
  const drawn = new Set();
  for (const { at, kind } of ordered()) {
    if (at < view.from || at > view.to) continue;
    const x = Math.round(chart.x(at));
    if (drawn.has(`${kind} ${x}`)) continue; // the same sign at the same place
    drawn.add(`${kind} ${x}`);
    pen.fillStyle = isGrave(kind) ? ink("fail") : isStrained(kind) || kind === "warning" ? ink("warn") : kind === "graph" ? ink("link") : ink("soft");
    pen.fillText(SIGNS[kind] ?? "·", x, 33);
  }
}

/** @param {{at: number, subject: string, text: string}} mark */
export const textOf = ({ at, subject, text }) => `${clock(at)}  ${subject ? `${labelOf(subject)} ` : ""}${text}`;

function near(x, chart) {
  return marks.filter(({ at }) => Math.abs(chart.x(at) - x) < 7).sort((a, b) => isGrave(b.kind) - isGrave(a.kind) || a.at - b.at);
}

function probeMarks(x, y, chart) {
  const found = near(x, chart);
  if (!found.length) return null;
  const lines = found.slice(0, 6).map(textOf);
  if (found.length > 6) lines.push(`+${found.length - 6} more here`);
  return lines;
}

export function overviewCharts() {
  const chart = new Chart("overview", {
    height: () => HEIGHT, draw: drawOverview, whole: true,
    probe: (x, y, own) => (x < own.left ? null : [clock(own.ms(x)), "Click moves the shown period, dragging selects it."]),
    click: (x, y, ms) => { const half = (view.to - view.from) / 2; if (view.to - view.from < LENGTH) look(ms - half, ms + half); goTo(ms); },
  });
  if (chart.box) chart.decorate = (pen) => brush(chart, pen);
  new Chart("marks", {
    height: () => 46, draw: drawMarks, probe: probeMarks,
    click: (x, y, ms, own) => { const [first] = near(x, own); view.task = null; view.area = null; goTo(first ? first.at : ms); changed("pin"); },
  });
}
