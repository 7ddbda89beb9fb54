// Memory against its limit, and CPU: one line per worker, the nearest one named.
const curves = DATA.curves.workers;
const GAP = Math.max(DATA.curves.step * 4, 6000);

function scale(values, least) {
  let most = least;
  for (const list of values) for (const value of list) if (value > most) most = value;
  return most * 1.06 || 1;
}
const limits = [...new Set(curves.map((curve) => curve.limit).filter(Boolean))].sort((a, b) => a - b);
const topMemory = scale(curves.map((curve) => curve.memory), limits.length ? limits[limits.length - 1] : 0);
const topCpu = Math.ceil(scale(curves.map((curve) => curve.cpu), 90) / 106) * 106;

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

function curveChart(id, height, field, most, said, extra) {
  const y = (value) => height - 4 - (value / most) * (height - 10);
  const draw = (pen, chart) => {
    pen.textAlign = "right"; pen.textBaseline = "middle"; pen.fillStyle = ink("soft");
    for (const share of [0, 0.5, 1]) {
      const value = most * share / 1.06;
      pen.fillText(said(value), chart.left - 8, Math.min(height - 8, Math.max(8, y(value))));
    }
    chart.inside(pen);
    const faint = Math.max(0.25, Math.min(0.9, 12 / Math.max(1, curves.length)));
    pen.lineJoin = "round";
    for (const dead of [false, true]) for (const curve of curves) {
      if ((curve.died !== null) !== dead) continue;
      pen.strokeStyle = dead ? ink("fail") : ink("curve");
      pen.globalAlpha = dead ? 1 : faint;
      pen.lineWidth = dead ? 1.7 : 1.2;
      trace(pen, chart, curve, curve[field], y);
    }
    pen.globalAlpha = 1;
    extra?.(pen, chart, y);
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
  return new Chart(id, { height: () => height, draw, probe });
}

function nearest(list, value) {
  let [low, high] = [0, list.length - 1];
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle; else high = middle;
  }
  return Math.abs(list[low] - value) <= Math.abs(list[high] - value) ? low : high;
}

function drawLimits(pen, chart, y) {
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
