// What is shown: a part of the run, a moment, and what is pinned; all of it in the address.
import { DATA, LENGTH } from "./run.js";

/**
 * `now`: the playhead, in ms since the run's begin; `only`: the number of one prefix;
 * `chain`: whether the longest chain of tasks is drawn. */
export const view = { from: 0, to: LENGTH, now: null, task: null, worker: null, area: null, only: null, chain: false };

const listeners = [];
/** Call back whenever something of the view has changed; "look" is the visible part. */
export const onChange = (what, act) => listeners.push([what, act]);
export function changed(...what) {
  for (const [of, act] of listeners) if (what.includes(of)) act();
  remember();
}

/** Show a part of the run. */
export function look(from, to) {
  const least = Math.min(LENGTH, 0.02);
  const length = Math.min(Math.max(to - from, least), LENGTH);
  view.from = Math.min(Math.max(0, from), LENGTH - length);
  view.to = view.from + length;
  changed("look");
}

/** Put the playhead at a moment, and show the part of the run around it. */
export function goTo(ms) {
  view.now = ms === null ? null : Math.min(LENGTH, Math.max(0, ms));
  if (ms !== null && (view.now < view.from || view.now > view.to)) {
    const half = (view.to - view.from) / 2;
    look(view.now - half, view.now + half);
  }
  changed("now");
}

let waiting = null;
let address = location.hash; // as it was read or written last
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (location.hash !== address) return; // a link was followed, which `recall` has yet to read
    const params = new URLSearchParams();
    const seconds = (ms) => String(+(ms / 1000).toFixed(6));
    if (view.now !== null) params.set("t", seconds(view.now));
    if (view.from > 0 || view.to < LENGTH) { params.set("from", seconds(view.from)); params.set("to", seconds(view.to)); }
    if (view.task !== null) params.set("task", view.task);
    if (view.worker !== null) params.set("worker", view.worker);
    if (view.chain) params.set("chain", "1");
    const own = params.toString();
    // In a sandbox, or in a file that is not allowed to, the address stays as it is.
    try { if (own || location.hash.includes("=")) history.replaceState(null, "", `#${own}`); address = location.hash; } catch { /* no address to keep */ }
  }, 120);
}

/** Take the view from the address; one that names no view changes nothing. */
export function recall() {
  address = location.hash;
  if (!location.hash.includes("=")) return;
  clearTimeout(waiting); // the address has been changed since: it counts
  const params = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (params.has(name) && Number.isFinite(+params.get(name)) ? +params.get(name) : null);
  const [from, to, now] = [number("from"), number("to"), number("t")];
  view.task = number("task");
  view.worker = number("worker");
  view.chain = number("chain") === 1;
  if (from !== null && to !== null && to > from) look(from * 1000, to * 1000);
  else look(0, LENGTH);
  goTo(now === null ? null : now * 1000);
  changed("pin", "chain");
}

export function duration(ms) {
  const s = ms / 1000;
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${+(s * 1000).toPrecision(3)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
  return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} m`;
}
export const size = (mib) => (mib >= 1024 ? `${(mib / 1024).toFixed(2)} GiB` : `${mib.toFixed(0)} MiB`);
export const bytes = (value) => (value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(1)} GiB` : value >= 2 ** 20 ? `${(value / 2 ** 20).toFixed(0)} MiB` : `${(value / 1024).toFixed(0)} KiB`);
export const iso = (ms) => new Date(DATA.start * 1000 + ms).toISOString();
export const clock = (ms) => iso(ms).slice(11, 23);
export const count = (number) => number.toLocaleString("en");
export const share = (part) => `${part < 0.0995 && part > 0 ? (part * 100).toFixed(1) : Math.round(part * 100)} %`;
