// Charts on one time axis: a picture, what was done on top of it, and the pointer.
import { DATA, LENGTH } from "./run.js";
import { changed, clock, duration, iso, look, onChange, view } from "./view.js";

export const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6bb1", "#b5a642", "#a6761d"];
export const OTHER = "#9a9a96";
export const charts = [];

const inks = new Map();
export function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return inks.get(name);
}
export const colourOf = (prefix) => PALETTE[prefix] ?? OTHER;
export const gutter = () => (innerWidth < 900 ? 84 : 150);

/** A picture (`base`), the executions alone where there are any (`work`), and the pointer (`over`). */
export class Chart {
  constructor(id, { height, draw, work, probe, click, whole }) {
    this.box = document.getElementById(id);
    if (!this.box) return;
    Object.assign(this, { height, draw, drawWork: work, probe, click, whole });
    for (const name of work ? ["base", "work", "over"] : ["base", "over"]) {
      this[name] = this.box.appendChild(document.createElement("canvas"));
      this[name].className = name;
    }
    charts.push(this);
    this.listen();
  }
  get left() { return gutter(); }
  get width() { return this.box.clientWidth; }
  get from() { return this.whole ? 0 : view.from; }
  get to() { return this.whole ? LENGTH : view.to; }
  x(ms) { return this.left + ((ms - this.from) / (this.to - this.from)) * (this.width - this.left); }
  ms(x) { return this.from + ((x - this.left) / (this.width - this.left)) * (this.to - this.from); }
  prepare(canvas) {
    const height = this.height();
    // Very tall pictures stay within what browsers allow a canvas to be.
    const ratio = Math.min(devicePixelRatio || 1, 16000 / height);
    canvas.width = Math.max(1, Math.round(this.width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
    this.ratio = ratio;
    return pen;
  }
  paint() {
    const pen = this.prepare(this.base);
    pen.save();
    this.grid(pen);
    this.draw(pen, this);
    pen.restore();
    if (this.drawWork) this.drawWork(this.prepare(this.work), this);
    this.point(null, null);
  }
  inside(pen) {
    pen.beginPath();
    pen.rect(this.left, 0, this.width - this.left, this.height());
    pen.clip();
  }
  grid(pen) {
    pen.strokeStyle = ink("line");
    pen.lineWidth = 1;
    for (const at of ticks(this).at) {
      const x = Math.round(this.x(at)) + 0.5;
      pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, this.height()); pen.stroke();
    }
  }
  /** Draw the playhead, the pointer and a selection. */
  point(ms, selection) {
    const pen = this.prepare(this.over);
    const area = selection ?? (view.area && !this.whole ? [view.area.from, view.area.to] : null);
    if (area) {
      pen.fillStyle = ink("shade");
      pen.fillRect(this.x(area[0]), 0, this.x(area[1]) - this.x(area[0]), this.height());
    }
    this.line(pen, view.now, "play", []);
    if (ms !== null) this.line(pen, ms, "soft", [3, 3]);
    this.decorate?.(pen);
    return pen;
  }
  line(pen, ms, colour, dashes) {
    if (ms === null || ms < this.from || ms > this.to) return;
    const x = Math.round(this.x(ms)) + 0.5;
    pen.strokeStyle = ink(colour);
    pen.lineWidth = dashes.length ? 1 : 2;
    pen.setLineDash(dashes);
    pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, this.height()); pen.stroke();
    pen.setLineDash([]);
  }
  place(event) {
    const rect = this.over.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  }
  listen() {
    const clamp = (ms) => Math.min(this.to, Math.max(this.from, ms));
    this.over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      this.over.setPointerCapture(event.pointerId);
      const [x, y] = this.place(event);
      this.anchor = { ms: clamp(this.ms(x)), y };
    });
    this.over.addEventListener("pointermove", (event) => {
      const [x, y] = this.place(event);
      const ms = clamp(this.ms(x));
      const selection = this.anchor ? [this.anchor.ms, ms] : null;
      for (const chart of charts) chart.point(x < this.left && !selection ? null : ms, selection);
      if (selection) tip(event, [`${clock(Math.min(...selection))} to ${clock(Math.max(...selection))}`, duration(Math.abs(ms - this.anchor.ms)), event.shiftKey ? "selects" : "zooms; with Shift it selects"]);
      else tip(event, this.probe ? this.probe(x, y, this) : null);
    });
    this.over.addEventListener("pointerup", (event) => {
      if (!this.anchor) return;
      const [x, y] = this.place(event);
      const { ms: began, y: above } = this.anchor;
      this.anchor = null;
      if (Math.abs(x - this.x(began)) <= 5) return;
      tip(null, null);
      this.dragged = true;
      const [a, b] = [began, clamp(this.ms(x))].sort((p, q) => p - q);
      if (event.shiftKey) { view.area = { from: a, to: b, rows: this.between?.(above, y) ?? null }; changed("area", "now"); } else look(a, b);
    });
    this.over.addEventListener("click", (event) => {
      if (this.dragged) { this.dragged = false; return; }
      const [x, y] = this.place(event);
      this.click?.(x, y, clamp(this.ms(x)), this);
    });
    this.over.addEventListener("pointercancel", () => { this.anchor = null; });
    this.over.addEventListener("pointerleave", () => {
      tip(null, null);
      if (!this.anchor) for (const chart of charts) chart.point(null, null);
    });
    this.over.addEventListener("dblclick", () => look(0, LENGTH));
    this.over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // pinching, too; else the page scrolls
      event.preventDefault();
      const middle = clamp(this.ms(this.place(event)[0]));
      const by = Math.exp(event.deltaY / 200);
      look(middle - (middle - view.from) * by, middle + (view.to - middle) * by);
    }, { passive: false });
  }
}

/** Return round moments for a chart's axis. */
export function ticks(chart) {
  const nice = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  const least = ((chart.to - chart.from) / Math.max(1, chart.width - chart.left)) * 96;
  const step = nice.find((ms) => ms >= least) ?? nice[nice.length - 1];
  const origin = DATA.start * 1000;
  const at = [];
  for (let t = Math.ceil((origin + chart.from) / step) * step; t <= origin + chart.to && at.length < 200; t += step) at.push(t - origin);
  return { at, step };
}

export function labelTicks(pen, chart, y) {
  const { at, step } = ticks(chart);
  pen.fillStyle = ink("soft"); pen.textBaseline = "middle"; pen.textAlign = "center";
  const long = LENGTH > 20 * 36e5;
  for (const ms of at) {
    const x = chart.x(ms);
    if (x < chart.left + 14 || x > chart.width - 30) continue;
    const text = iso(ms);
    const exact = `${text.slice(17, 23)}${step < 1 ? String(Math.round((ms % 1) * 1000)).padStart(3, "0") : ""}`;
    const shown = step >= 864e5 ? text.slice(5, 10) : step >= 6e4 ? (long ? text.slice(5, 16).replace("T", " ") : text.slice(11, 16)) : step >= 1000 ? text.slice(11, 19) : step >= 100 ? text.slice(14, 23) : exact;
    pen.fillText(shown, x, y);
  }
}

let pending = false;
export function paintAll() {
  pending = false;
  inks.clear();
  for (const chart of charts) chart.paint();
}
export function repaint() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(paintAll);
}
onChange("look", repaint);
onChange("now", () => { for (const chart of charts) chart.point(null, null); });
onChange("only", repaint);

const bubble = document.getElementById("tip");
export function tip(event, lines) {
  bubble.hidden = !lines || !lines.length;
  if (bubble.hidden) return;
  bubble.replaceChildren(...lines.filter(Boolean).map((line) => {
    const div = document.createElement("div");
    div.textContent = line;
    return div;
  }));
  const { width, height } = bubble.getBoundingClientRect();
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - width - 12 : event.clientX + 16;
  const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  bubble.style.left = `${Math.max(6, x)}px`;
  bubble.style.top = `${Math.max(6, y)}px`;
}

export function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let keep = text.length;
  while (keep > 1 && pen.measureText(`…${text.slice(-keep)}`).width > width) keep -= 1;
  return `…${text.slice(-keep)}`;
}
