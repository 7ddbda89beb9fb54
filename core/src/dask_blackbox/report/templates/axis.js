// One time axis for all pictures: what part of the run is shown, and who must redraw.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LENGTH = DATA.length * 1000;
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6bb1", "#b5a642", "#a6761d"];
const OTHER = "#9a9a96";
const view = { from: 0, to: LENGTH };
const charts = [];
const labels = new Map(DATA.lives.map((life) => [life.address, life.label]));

const inks = new Map();
function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return inks.get(name);
}
const colourOf = (prefix) => PALETTE[prefix] ?? OTHER;
const gutter = () => (innerWidth < 900 ? 84 : 150);
const labelOf = (address) => labels.get(address) ?? address.replace(/^\w+:\/\//, "");

function duration(ms) {
  const s = ms / 1000;
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${+(s * 1000).toPrecision(3)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
  return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} m`;
}
const size = (mib) => (mib >= 1024 ? `${(mib / 1024).toFixed(2)} GiB` : `${mib.toFixed(0)} MiB`);
const iso = (ms) => new Date(DATA.start * 1000 + ms).toISOString();
const clock = (ms) => iso(ms).slice(11, 23);

class Chart {
  // A base canvas that is drawn when the view changes, and one above it for the pointer.
  constructor(id, { height, draw, probe, axis }) {
    this.box = document.getElementById(id);
    if (!this.box) return;
    Object.assign(this, { height, draw, probe, axis });
    this.base = this.box.appendChild(document.createElement("canvas"));
    this.over = this.box.appendChild(document.createElement("canvas"));
    this.over.className = "over";
    charts.push(this);
    this.listen();
  }
  get left() { return gutter(); }
  get width() { return this.box.clientWidth; }
  x(ms) { return this.left + ((ms - view.from) / (view.to - view.from)) * (this.width - this.left); }
  ms(x) { return view.from + ((x - this.left) / (this.width - this.left)) * (view.to - view.from); }
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
    return pen;
  }
  paint() {
    const pen = this.prepare(this.base);
    pen.save();
    this.grid(pen);
    this.draw(pen, this);
    pen.restore();
    this.prepare(this.over);
  }
  inside(pen) {
    pen.beginPath();
    pen.rect(this.left, 0, this.width - this.left, this.height());
    pen.clip();
  }
  grid(pen) {
    pen.strokeStyle = ink("line");
    pen.lineWidth = 1;
    for (const at of ticks(this.width - this.left).at) {
      const x = Math.round(this.x(at)) + 0.5;
      pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, this.height()); pen.stroke();
    }
  }
  point(ms, selection) {
    const pen = this.prepare(this.over);
    if (selection) {
      pen.fillStyle = ink("shade");
      pen.fillRect(this.x(selection[0]), 0, this.x(selection[1]) - this.x(selection[0]), this.height());
    }
    if (ms === null) return pen;
    const x = Math.round(this.x(ms)) + 0.5;
    pen.strokeStyle = ink("soft");
    pen.setLineDash([3, 3]);
    pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, this.height()); pen.stroke();
    pen.setLineDash([]);
    return pen;
  }
  listen() {
    const at = (event) => {
      const rect = this.over.getBoundingClientRect();
      return [event.clientX - rect.left, event.clientY - rect.top];
    };
    const clamp = (ms) => Math.min(view.to, Math.max(view.from, ms));
    this.over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      this.over.setPointerCapture(event.pointerId);
      this.anchor = clamp(this.ms(at(event)[0]));
    });
    this.over.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      const ms = clamp(this.ms(x));
      const selection = this.anchor == null ? null : [this.anchor, ms];
      for (const chart of charts) chart.point(x < this.left && !selection ? null : ms, selection);
      if (selection) tip(event, [`${clock(Math.min(...selection))} to ${clock(Math.max(...selection))}`, duration(Math.abs(ms - this.anchor))]);
      else tip(event, this.probe ? this.probe(x, y, this) : null);
    });
    this.over.addEventListener("pointerup", (event) => {
      if (this.anchor == null) return;
      const [x] = at(event);
      const far = Math.abs(x - this.x(this.anchor)) > 5;
      const [a, b] = [this.anchor, clamp(this.ms(x))].sort((p, q) => p - q);
      this.anchor = null;
      tip(null, null);
      if (far) look(a, b); else for (const chart of charts) chart.point(null, null);
    });
    this.over.addEventListener("pointercancel", () => { this.anchor = null; });
    this.over.addEventListener("pointerleave", () => {
      tip(null, null);
      if (this.anchor == null) for (const chart of charts) chart.point(null, null);
    });
    this.over.addEventListener("dblclick", () => look(0, LENGTH));
  }
}

function ticks(width) {
  const nice = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  const least = ((view.to - view.from) / Math.max(1, width)) * 96;
  const step = nice.find((ms) => ms >= least) ?? nice[nice.length - 1];
  const origin = DATA.start * 1000;
  const at = [];
  for (let t = Math.ceil((origin + view.from) / step) * step; t <= origin + view.to && at.length < 200; t += step) at.push(t - origin);
  return { at, step };
}

function look(from, to) {
  const least = Math.min(LENGTH, 0.05);
  let length = Math.max(to - from, least);
  length = Math.min(length, LENGTH);
  view.from = Math.min(Math.max(0, from), LENGTH - length);
  view.to = view.from + length;
  repaint();
  document.dispatchEvent(new CustomEvent("looked"));
}

let pending = false;
function paintAll() {
  pending = false;
  inks.clear();
  for (const chart of charts) chart.paint();
}
function repaint() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(paintAll);
}

const bubble = document.getElementById("tip");
function tip(event, lines) {
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

function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let keep = text.length;
  while (keep > 1 && pen.measureText(`…${text.slice(-keep)}`).width > width) keep -= 1;
  return `…${text.slice(-keep)}`;
}
