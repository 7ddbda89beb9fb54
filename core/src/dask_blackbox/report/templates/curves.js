// Memory against its limit, and CPU: one line per worker, the nearest one named; and sums of the cluster.
import { Chart, PALETTE, ink } from "./chart.js";
import { cross } from "./rows.js";
import { DATA, LENGTH, labelOf } from "./run.js";
import { bytes, changed, clock, count, goTo, size, view } from "./view.js";

export const curves = DATA.curves.workers;
const GAP = Math.max(DATA.curves.step * 4, 6000);

function scale(values, least) {
  let most = least;
  for (const list of values) for (const value of list) if (value > most) most = value;
  return most * 1.06 || 1;
}
const limits = [...new Set(curves.map((curve) => curve.limit).filter(Boolean))].sort((a, b) => a - b);
export const topMemory = scale(curves.map((curve) => curve.memory), limits.length ? limits[limits.length - 1] : 0);
export const topCpu = Math.ceil(scale(curves.map((curve) => curve.cpu), 90) / 106) * 106;

function trace(pen, chart, curve, values, y) {
  pen.beginPath();
  let before = null;
  for (let i = 0; i < curve.at.length; i += 1) {
    if (values[i] === null) continue;
    const outside = (curve.at[i + 1] ?? curve.at[i]) < view.from || (curve.at[i - 1] ?? curve.at[i]) > view.to;
    if (outside) { before = null; continue; }
    const x = chart.x(curve.at[i]);
    if (before === null || curve.at[i] - before > GAP) { pen.moveTo(x, y(values[i])); pen.lineTo(x + 0.8, y(values[i])); }
    else pen.lineTo(x, y(values[i]));
    before = curve.at[i];
  }
  pen.stroke();
}

// So many lines cannot be told apart: quantiles of the workers, and those that matter by name.
const MANY = 20;
const NAMED = 5;
const BINS = 400;

/** @returns {{at: number, low: number, middle: number, high: number, top: number}[]} over the workers, by time */
function bandOf(field) {
  const bins = Array.from({ length: BINS }, () => []);
  for (const curve of curves) {
    const own = new Array(BINS).fill(null);
    curve.at.forEach((ms, i) => {
      const bin = Math.min(BINS - 1, Math.floor((ms / LENGTH) * BINS));
      const value = curve[field][i];
      if (bin >= 0 && value !== null && (own[bin] === null || value > own[bin])) own[bin] = value;
    });
    // Between two samples of a worker, it has what it had.
    const gap = Math.ceil((GAP / LENGTH) * BINS);
    let [last, since] = [null, 0];
    own.forEach((value, bin) => {
      if (value !== null) [last, since] = [value, bin];
      if (last !== null && bin - since <= gap) bins[bin].push(last);
    });
  }
  return bins.flatMap((values, bin) => {
    if (!values.length) return [];
    values.sort((a, b) => a - b);
    const of = (q) => values[Math.min(values.length - 1, Math.floor(q * values.length))];
    return [{ at: ((bin + 0.5) / BINS) * LENGTH, low: of(0.05), middle: of(0.5), high: of(0.95), top: values[values.length - 1] }];
  });
}

/** The workers that are drawn as lines among many: those that died, and those with the highest values. */
function remarkable(field) {
  const peak = (curve) => curve[field].reduce((most, value) => Math.max(most, value ?? 0), 0);
  return [...curves].sort((a, b) => (b.died !== null) - (a.died !== null) || peak(b) - peak(a)).slice(0, NAMED);
}

function drawBand(pen, chart, band, y) {
  const between = (above, below, alpha) => {
    pen.globalAlpha = alpha; pen.fillStyle = ink("curve");
    pen.beginPath();
    band.forEach((each, i) => { const x = chart.x(each.at); if (i) pen.lineTo(x, y(each[above])); else pen.moveTo(x, y(each[above])); });
    for (const each of [...band].reverse()) pen.lineTo(chart.x(each.at), y(each[below]));
    pen.closePath(); pen.fill();
  };
  between("top", "low", 0.12);
  between("high", "low", 0.22);
  pen.globalAlpha = 1; pen.strokeStyle = ink("curve"); pen.lineWidth = 1.6;
  pen.beginPath();
  band.forEach((each, i) => { const x = chart.x(each.at); if (i) pen.lineTo(x, y(each.middle)); else pen.moveTo(x, y(each.middle)); });
  pen.stroke();
}

/** Write the names of the lines at their highest points in sight. */
function nameLines(pen, chart, list, field, y) {
  pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "bottom"; pen.textAlign = "left";
  const taken = [];
  for (const curve of list) {
    let best = -1;
    curve.at.forEach((ms, i) => { if (ms >= view.from && ms <= view.to && curve[field][i] !== null && (best < 0 || curve[field][i] > curve[field][best])) best = i; });
    if (best < 0) continue;
    const label = labelOf(curve.worker);
    const width = pen.measureText(label).width;
    const x = Math.min(chart.width - width - 4, Math.max(chart.left + 4, chart.x(curve.at[best]) + 4));
    let at = Math.max(12, y(curve[field][best]) - 2);
    while (taken.some(([left, right, top]) => x < right && x + width > left && Math.abs(top - at) < 12)) at += 12;
    taken.push([x, x + width, at]);
    pen.fillStyle = curve.died !== null ? ink("fail") : ink("ink");
    pen.fillText(label, x, at);
  }
}

export function curveChart(id, height, field, most, format, extra) {
  const band = curves.length > MANY ? bandOf(field) : null;
  const shown = band ? remarkable(field) : curves;
  const described = document.querySelector(`#${id}-caption`);
  if (band && described) described.textContent = `${count(curves.length)} workers: median, 5th to 95th percentile, highest; ${count(shown.length)} of them as lines`;
  const y = (value) => height - 4 - (value / most) * (height - 10);
  const draw = (pen, chart) => {
    pen.textAlign = "right"; pen.textBaseline = "middle"; pen.fillStyle = ink("soft");
    for (const share of [0, 0.5, 1]) {
      const value = most * share / 1.06;
      pen.fillText(format(value), chart.left - 8, Math.min(height - 8, Math.max(8, y(value))));
    }
    chart.inside(pen);
    const faint = Math.max(0.25, Math.min(0.9, 12 / Math.max(1, shown.length)));
    pen.lineJoin = "round";
    if (band) drawBand(pen, chart, band, y);
    for (const dead of [false, true]) for (const curve of shown) {
      if ((curve.died !== null) !== dead) continue;
      pen.strokeStyle = dead ? ink("fail") : ink("curve");
      pen.globalAlpha = dead ? 1 : faint;
      pen.lineWidth = dead ? 1.7 : 1.2;
      trace(pen, chart, curve, curve[field], y);
    }
    pen.globalAlpha = 1;
    extra?.(pen, chart, y);
    if (band) nameLines(pen, chart, shown, field, y);
  };
  const probe = (x, py, chart) => {
    if (x < chart.left) return null;
    const ms = chart.ms(x);
    let best = null;
    for (const curve of curves) {
      const i = nearest(curve.at, ms);
      if (i < 0 || curve[field][i] === null || Math.abs(curve.at[i] - ms) > Math.max(GAP, (view.to - view.from) / 100)) continue;
      const far = Math.abs(y(curve[field][i]) - py);
      if (best === null || far < best.far) best = { curve, i, far };
    }
    if (!best) return [clock(ms)];
    const { curve, i } = best;
    const pen = chart.point(ms, null);
    pen.save(); chart.inside(pen);
    pen.strokeStyle = curve.died !== null ? ink("fail") : ink("ink"); pen.lineWidth = 2.4;
    trace(pen, chart, curve, curve[field], y);
    pen.restore();
    const memory = curve.memory[i] === null ? "" : `${size(curve.memory[i])}${curve.limit ? ` of ${size(curve.limit)} (${Math.round((curve.memory[i] / curve.limit) * 100)} %)` : ""}`;
    const cpu = curve.cpu[i] === null ? "" : `CPU ${curve.cpu[i]} % of one core${curve.nthreads ? `, ${curve.nthreads} threads` : ""}`;
    return [labelOf(curve.worker), memory, cpu, clock(curve.at[i]), curve.died !== null ? `died at ${clock(curve.died)}` : ""];
  };
  return new Chart(id, { height: () => height, draw, probe, click: (x, py, ms) => { view.area = null; goTo(ms); changed("pin"); } });
}

export function nearest(list, value) {
  let [low, high] = [0, list.length - 1];
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle; else high = middle;
  }
  return Math.abs(list[low] - value) <= Math.abs(list[high] - value) ? low : high;
}

export function drawLimits(pen, chart, y) {
  pen.strokeStyle = ink("bad"); pen.lineWidth = 1.2; pen.setLineDash([6, 4]);
  for (const limit of limits.slice(-4)) {
    pen.beginPath(); pen.moveTo(chart.left, y(limit)); pen.lineTo(chart.width, y(limit)); pen.stroke();
  }
  pen.setLineDash([]);
  pen.fillStyle = ink("bad"); pen.textAlign = "left"; pen.textBaseline = "top";
  if (limits.length) pen.fillText(`limit ${size(limits[limits.length - 1])}`, chart.left + 6, y(limits[limits.length - 1]) + 4);
  for (const curve of curves) {
    if (curve.died === null) continue;
    const i = nearest(curve.at, curve.died);
    if (i >= 0 && curve.memory[i] !== null) cross(pen, chart.x(curve.died), y(curve.memory[i]), 5);
  }
}

const FORMATS = { bytes, number: (value) => (value >= 10 ? count(Math.round(value)) : value.toFixed(1)), seconds: (value) => `${(value * 1000).toFixed(0)} ms` };

/** Draw sums of the whole cluster: a line each, or bars below each other. */
export function seriesChart(id, { at, lines, unit, bars }) {
  const height = 64;
  const format = FORMATS[unit];
  const stacked = at.map((_, i) => lines.reduce((sum, line) => sum + (line.values[i] ?? 0), 0));
  const most = Math.max(unit === "seconds" ? 0.1 : 1, ...(bars ? stacked : lines.flatMap((line) => line.values.map((value) => value ?? 0)))) * 1.06;
  const y = (value) => height - 4 - (value / most) * (height - 10);
  const colour = (place, line) => (line.tone ? ink(line.tone) : PALETTE[place]);
  const draw = (pen, chart) => {
    pen.textAlign = "right"; pen.textBaseline = "middle"; pen.fillStyle = ink("soft");
    pen.fillText(format(most / 1.06), chart.left - 8, 9); pen.fillText("0", chart.left - 8, height - 8);
    chart.inside(pen);
    const step = at.length > 1 ? at[1] - at[0] : 1000;
    if (bars) {
      at.forEach((ms, i) => {
        if (ms + step < view.from || ms > view.to) return;
        let base = 0;
        lines.forEach((line, place) => {
          const value = line.values[i] ?? 0;
          if (!value) return;
          pen.fillStyle = colour(place, line);
          pen.fillRect(chart.x(ms), y(base + value), Math.max(1, chart.x(ms + step) - chart.x(ms)), y(base) - y(base + value));
          base += value;
        });
      });
      return;
    }
    lines.forEach((line, place) => {
      pen.strokeStyle = colour(place, line); pen.lineWidth = 1.5; pen.lineJoin = "round";
      pen.beginPath();
      let drawing = false;
      at.forEach((ms, i) => {
        if (line.values[i] == null) { drawing = false; return; }
        if (drawing) pen.lineTo(chart.x(ms), y(line.values[i])); else pen.moveTo(chart.x(ms), y(line.values[i]));
        drawing = true;
      });
      pen.stroke();
    });
  };
  const probe = (x, py, chart) => {
    const i = nearest(at, chart.ms(x));
    return x < chart.left || i < 0 ? null : [clock(at[i]), ...lines.map((line) => `${line.name} ${line.values[i] == null ? "not known" : format(line.values[i])}`)];
  };
  return new Chart(id, { height: () => height, draw, probe, click: (x, py, ms) => { view.area = null; goTo(ms); changed("pin"); } });
}
