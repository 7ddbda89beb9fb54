// What executions waited for: the input that was there last, what then could run, and chains of these.
import { ink } from "./chart.js";
import { laneOf, millis, tasks } from "./run.js";
import { view } from "./view.js";

const MOST = 200;
let followers = null;

/** @param {number} task @returns {number[]} the executions that could run when this one had finished */
export function followersOf(task) {
  if (!followers) {
    followers = new Map();
    for (const [next, input] of tasks.input) {
      if (!followers.has(input)) followers.set(input, []);
      followers.get(input).push(next);
    }
  }
  return followers.get(task) ?? [];
}

/** @param {number} task @returns {number[]} the chain that ends with it, the first execution first */
export function chainTo(task) {
  const chain = [task];
  const seen = new Set(chain);
  for (let input = tasks.input.get(task); input !== undefined && !seen.has(input); input = tasks.input.get(input)) {
    seen.add(input);
    chain.push(input);
  }
  return chain.reverse();
}

/** @param {number[]} chain @returns {number} ms for which its executions had their threads */
export const executed = (chain) => chain.reduce((sum, task) => sum + millis(tasks.end[task]) - millis(tasks.begin[task]), 0);

/** Draw an arrow from the end of an execution to the begin of one that waited for it. */
function arrow(pen, chart, rowOf, from, to) {
  const [a, b] = [rowOf.get(laneOf(from)), rowOf.get(laneOf(to))];
  if (!a || !b) return;
  const [x0, x1] = [chart.x(millis(tasks.end[from])), chart.x(millis(tasks.begin[to]))];
  if (Math.max(x0, x1) < chart.left || Math.min(x0, x1) > chart.width) return;
  const [y0, y1] = [a.top + a.height / 2, b.top + b.height / 2];
  const bend = Math.max(6, Math.abs(x1 - x0) / 2);
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x1, y1); pen.lineTo(x1 - 6, y1 - 3.5); pen.lineTo(x1 - 6, y1 + 3.5);
  pen.fill();
}

/** Draw the chain that led to the pinned execution, and what it let run; or the longest chain. */
export function drawWaits(pen, chart, rowOf) {
  const chain = view.task !== null ? chainTo(view.task) : view.chain ? [...tasks.chain] : [];
  const next = view.task !== null ? followersOf(view.task) : [];
  const colour = ink("ink");
  for (const [width, ink_] of [[3.5, ink("sheet")], [1.5, colour]]) {
    pen.strokeStyle = pen.fillStyle = ink_;
    pen.lineWidth = width;
    chain.slice(-MOST).forEach((task, i, shown) => { if (i) arrow(pen, chart, rowOf, shown[i - 1], task); });
    pen.setLineDash([4, 3]);
    for (const task of next.slice(0, MOST)) arrow(pen, chart, rowOf, view.task, task);
    pen.setLineDash([]);
  }
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  for (const task of chain) {
    const row = rowOf.get(laneOf(task));
    const [x, end] = [chart.x(millis(tasks.begin[task])), chart.x(millis(tasks.end[task]))];
    if (row && end >= chart.left && x <= chart.width) pen.strokeRect(x - 0.5, row.top - 0.5, Math.max(2, end - x + 1), Math.max(2, row.height));
  }
}
