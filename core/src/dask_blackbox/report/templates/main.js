// Putting it together: legend, charts, the player, keys, and the choice of light or dark.
import { Chart, OTHER, PALETTE, colourOf, labelTicks, paintAll, repaint } from "./chart.js";
import { curveChart, curves, drawLimits, seriesChart, topCpu, topMemory } from "./curves.js";
import { SIGNS, isGrave, overviewCharts } from "./overview.js";
import { element, fillPane, pinTask } from "./pane.js";
import { flameGraph } from "./flames.js";
import { arrange, rows, taskChart } from "./rows.js";
import { DATA, LENGTH, laneOf, marks, millis, prefixes, workers, tasks, unpack } from "./run.js";
import { tabs } from "./tables.js";
import { changed, clock, goTo, look, onChange, recall, size, view } from "./view.js";

const root = document.documentElement;

function legendOf(box) {
  prefixes.slice(0, PALETTE.length).forEach((prefix, i) => {
    const swatch = element("i", { className: "swatch" });
    swatch.style.background = colourOf(i);
    const button = element("button", { type: "button", className: "plain", title: "show only this prefix" }, swatch, prefix);
    button.addEventListener("click", () => {
      view.only = view.only === i ? null : i;
      for (const other of box.querySelectorAll("button")) other.classList.toggle("off", view.only !== null && other !== button);
      changed("only");
    });
    box.append(button);
  });
  const sign = (mark, text, grave) => box.append(element("span", {}, element("b", { className: grave ? "bad" : "" }, mark), text));
  const others = prefixes.length - PALETTE.length;
  if (others > 0) {
    const swatch = element("i", { className: "swatch" });
    swatch.style.background = OTHER;
    box.append(element("span", {}, swatch, others === 1 ? prefixes[PALETTE.length] : `${others >= 192 ? "192 or more" : others} other prefixes`));
  }
  if (tasks.odd.length) sign("▢", "erred, retried or killed", true);
  const kinds = new Set(marks.map(({ kind }) => kind));
  const meanings = { arrival: "worker joined", departure: "worker left", death: "worker died", graph: "graph received", failure: "failure", memory: "memory limit reached", paused: "worker paused", spilling: "worker spilled", warning: "warning" };
  for (const [kind, words] of Object.entries(meanings)) {
    if (kinds.has(kind) && !(kind === "failure" && kinds.has("death"))) sign(SIGNS[kind], kind === "death" && kinds.has("failure") ? "death or failure" : words, isGrave(kind));
  }
}

/** Move the playhead with time. */
function player() {
  const [button, speed, shown] = ["play", "speed", "moment"].map((id) => document.getElementById(id));
  let last = null;
  const step = (time) => {
    if (last === null) return;
    const next = (view.now ?? view.from) + (time - last) * +speed.value;
    last = time;
    goTo(Math.min(next, LENGTH));
    if (next >= LENGTH) stop(); else requestAnimationFrame(step);
  };
  const stop = () => { last = null; button.textContent = "▶"; button.setAttribute("aria-label", "play"); };
  const toggle = () => {
    if (last !== null) { stop(); return; }
    if (view.now === null || view.now >= LENGTH) goTo(view.from);
    last = performance.now();
    button.textContent = "❚❚";
    button.setAttribute("aria-label", "pause");
    requestAnimationFrame(step);
  };
  button.addEventListener("click", toggle);
  onChange("now", () => { shown.value = view.now === null ? "" : clock(view.now); });
  return toggle;
}

/** Move the playhead to the next event, or to the one before. */
function byEvent(by) {
  const now = view.now ?? (by > 0 ? -1 : LENGTH + 1);
  const found = by > 0 ? marks.find(({ at }) => at > now) : marks.findLast(({ at }) => at < now);
  if (found) { view.task = null; goTo(found.at); changed("pin"); }
}

/** Pin the next execution of the same thread, or the one before. */
function byTask(by) {
  if (view.task === null) {
    const lane = view.worker === null ? 0 : workers[view.worker][3];
    if (tasks.first[lane] < tasks.first[lane + 1]) pinTask(tasks.first[lane]);
    return;
  }
  const [lane, next] = [laneOf(view.task), view.task + by];
  if (next >= tasks.first[lane] && next < tasks.first[lane + 1]) pinTask(next);
}

function keys(toggle) {
  const zoom = (by) => {
    const middle = view.now !== null && view.now >= view.from && view.now <= view.to ? view.now : (view.from + view.to) / 2;
    look(middle - (middle - view.from) * by, middle + (view.to - middle) * by);
  };
  const pan = (by) => look(view.from + (view.to - view.from) * by, view.to + (view.to - view.from) * by);
  const acts = {
    ArrowLeft: () => byEvent(-1), ArrowRight: () => byEvent(1), ",": () => byTask(-1), ".": () => byTask(1),
    w: () => zoom(0.5), s: () => zoom(2), a: () => pan(-0.25), d: () => pan(0.25), "+": () => zoom(0.5), "-": () => zoom(2),
    0: () => look(0, LENGTH), " ": toggle,
    Escape: () => { view.task = view.worker = view.area = null; view.chain = false; goTo(null); changed("pin", "chain"); },
  };
  document.getElementById("charts").addEventListener("keydown", (event) => {
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  });
  for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => acts[button.dataset.act]());
}

function workspace() {
  legendOf(document.getElementById("legend"));
  overviewCharts();
  taskChart();
  if (curves.length) {
    curveChart("memory", 150, "memory", topMemory, size, drawLimits);
    curveChart("cpu", 90, "cpu", topCpu, (value) => (value / 100).toFixed(1));
  }
  for (const series of DATA.series) seriesChart(series.id, series);
  new Chart("foot", { height: () => 22, draw: (pen, chart) => labelTicks(pen, chart, 12) });
  const reset = document.getElementById("reset");
  reset.addEventListener("click", () => look(0, LENGTH));
  onChange("look", () => { reset.hidden = view.from <= 0 && view.to >= LENGTH; });
  const copy = document.getElementById("copy-link");
  copy.addEventListener("click", async () => {
    // In a sandbox there is no clipboard: the address is shown, to be copied by hand.
    try { await navigator.clipboard.writeText(location.href); copy.textContent = "Copied"; } catch { copy.textContent = location.hash || location.href; }
    setTimeout(() => { copy.textContent = "Copy link to this time"; }, 4000);
  });
  const chain = document.getElementById("show-chain");
  if (chain && tasks.chain.length) {
    chain.hidden = false;
    chain.addEventListener("click", () => {
      showChain(!view.chain);
      if (view.chain) document.getElementById("happened").scrollIntoView();
    });
    onChange("chain", () => { chain.textContent = view.chain ? "Hide it" : "Show it"; chain.setAttribute("aria-pressed", String(view.chain)); });
  }
  const sorting = document.getElementById("order");
  sorting.addEventListener("change", () => { arrange(sorting.value); repaint(); });
  keys(player());
  addEventListener("resize", repaint);
  for (const control of document.querySelectorAll("#tools [hidden]")) if (control !== reset) control.hidden = false;
}

/** Draw the longest chain of tasks over the timeline, or no longer; whole, to begin with. */
function showChain(on) {
  view.chain = on;
  if (on) { view.task = null; look(0, LENGTH); }
  changed("chain", "pin", "now");
}

let showTheme = () => {};

/** Follow the theme of a page that shows this one in a frame, and have it open links where only it can. */
function framed() {
  let opened = false;
  // A host's page says all that identifies the run around this one, and needs room for itself.
  if (window.name === "dask-blackbox-tab") root.classList.add("embedded");
  addEventListener("message", (event) => {
    if (event.source !== parent) return;
    opened = event.data?.opens === true;
    const theme = event.data?.theme;
    if (theme !== "light" && theme !== "dark") return;
    root.dataset.theme = theme;
    showTheme();
  });
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[target=_blank]");
    if (!opened || !link) return;
    event.preventDefault();
    parent.postMessage({ open: link.href }, "*");
  });
}

/** Choose light or dark. */
function themes() {
  const theme = document.getElementById("theme");
  // Where the page is shown in a sandbox there is no storage; the choice then lasts as long as the page.
  const kept = (value) => { try { if (value) localStorage.setItem("dask-blackbox-theme", value); return localStorage.getItem("dask-blackbox-theme"); } catch { return null; } };
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => { theme.textContent = dark() ? "Light" : "Dark"; repaint(); };
  if (kept()) root.dataset.theme = kept();
  showTheme = show;
  theme.hidden = false;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; kept(root.dataset.theme); show(); });
  show();
}

root.classList.add("scripted");
framed();
await unpack();
if (document.getElementById("charts")) workspace();
themes();
tabs();
recall();
addEventListener("hashchange", recall);
paintAll();
if (document.getElementById("pane")) fillPane();
await flameGraph();
root.dataset.ready = String(rows.length);
document.dispatchEvent(new CustomEvent("ready", { detail: millis(0) }));
