// What the tabs below the charts are about: the selection, or else the part of the run that is shown.
import { LENGTH, processes, workers } from "./run.js";
import { view } from "./view.js";

/** @returns {{from: number, to: number, lanes: Set<number> | null}} */
export const period = () => (view.area
  ? { from: view.area.from, to: view.area.to, lanes: view.area.rows }
  : { from: view.from, to: view.to, lanes: null });

/** Whether that is the whole run. */
export const isWhole = () => !view.area && view.from <= 0 && view.to >= LENGTH;

/** @returns {Set<string> | null} addresses of the workers that are selected; null: all */
export function chosenWorkers() {
  const { lanes } = period();
  if (!lanes) return null;
  const found = new Set();
  for (const [, own, , first, number] of workers) {
    for (let lane = first; lane < first + number; lane += 1) {
      if (lanes.has(lane)) { for (const process of own) found.add(processes[process].address); break; }
    }
  }
  return found;
}

/** @param {Element} item @returns {number[]} the moments that it names */
const momentsOf = (item) => [...(item.dataset.at ? [item] : []), ...item.querySelectorAll("[data-at]")].map((each) => +each.dataset.at);

/**
 * Whether an item of a tab is about the period: a row from its first moment to its last, a worker
 * as long as it was there, anything else at one of its moments.  What names no moment always is.
 */
export function isInPeriod(item, { from, to }, workers) {
  const worker = item.dataset.worker ?? item.dataset.source;
  if (workers && worker !== undefined && !workers.has(worker)) return false;
  const { since, until } = item.dataset;
  if (since !== undefined) return +since <= to && +until >= from;
  const at = momentsOf(item);
  if (!at.length) return true;
  if (item.tagName === "TR") return Math.min(...at) <= to && Math.max(...at) >= from;
  return at.some((ms) => ms >= from && ms <= to);
}
