// The strip of happenings and the lanes of the task timeline.
const SIGNS = { arrival: "▲", departure: "▽", death: "✖", graph: "◆", failure: "✖", memory: "●", client: "○", warning: "!", end: "■" };
const OUTCOMES = ["finished", "erred", "retried", "killed"];
const T = DATA.timeline;

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const grid = T.grid && {
  steps: T.grid.steps, step: T.grid.step / 1000,
  prefix: bytes(T.grid.prefix), fill: bytes(T.grid.fill),
  count: new Uint16Array(bytes(T.grid.count).buffer),
};
const marked = T.marked;
const ofLane = T.lanes.map(() => []);
marked.lane.forEach((lane, row) => ofLane[lane].push(row));
const lifeOf = new Map();
for (const life of DATA.lives) {
  if (!lifeOf.has(life.address)) lifeOf.set(life.address, []);
  lifeOf.get(life.address).push(life);
}

// Rows of one worker stand together; a hair's breadth between workers.
const groups = [];
T.lanes.forEach(([worker], lane) => {
  const last = groups[groups.length - 1];
  if (last && last.worker === worker) last.size += 1; else groups.push({ worker, first: lane, size: 1 });
});
const laneHeight = Math.max(3, Math.min(18, Math.floor(440 / Math.max(1, T.lanes.length))));
const gap = laneHeight >= 6 ? 5 : 1;
const top = [];
let lanesHeight = 4;
for (const group of groups) {
  group.top = lanesHeight;
  for (let i = 0; i < group.size; i += 1) top.push(lanesHeight + i * laneHeight);
  group.height = group.size * laneHeight;
  lanesHeight += group.height + gap;
}

function cross(pen, x, y, r) {
  for (const width of [4.5, 2.2]) {
    pen.lineWidth = width;
    pen.strokeStyle = width > 3 ? ink("sheet") : ink("fail");
    pen.beginPath();
    pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r);
    pen.stroke();
  }
}

function drawLanes(pen, chart) {
  const every = Math.ceil(13 / Math.max(1, groups[0]?.height + gap || 13));
  pen.textBaseline = "middle"; pen.textAlign = "right";
  groups.forEach((group, place) => {
    const lost = (lifeOf.get(group.worker) ?? []).some((life) => life.fate === "died");
    if (place % every && !lost) return;
    pen.fillStyle = lost ? ink("fail") : ink("soft");
    pen.fillText(shorten(pen, labelOf(group.worker), chart.left - 12), chart.left - 8, group.top + group.height / 2);
  });
  chart.inside(pen);
  drawLives(pen, chart);
  if (grid) drawGrid(pen, chart);
  drawMarked(pen, chart);
  for (const group of groups) for (const life of lifeOf.get(group.worker) ?? []) {
    if (life.fate === "died") cross(pen, chart.x(life.left), group.top + group.height / 2, Math.max(3, Math.min(6, group.height / 2)));
  }
}

function drawLives(pen, chart) {
  for (const group of groups) {
    pen.fillStyle = ink("lane");
    const lives = lifeOf.get(group.worker) ?? [{ joined: 0, left: null }];
    for (const life of lives) {
      const a = chart.x(Math.max(life.joined ?? 0, view.from));
      const b = chart.x(Math.min(life.left ?? LENGTH, view.to));
      if (b > a) pen.fillRect(a, group.top, b - a, group.height - (laneHeight > 4 ? 1 : 0));
    }
  }
}

// One pixel per cell, made once; every lane then is one stretched strip of it.
let strips = null;
function stripsOf() {
  if (strips) return strips;
  const canvas = document.createElement("canvas");
  canvas.width = grid.steps;
  canvas.height = T.lanes.length;
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(canvas.width, canvas.height);
  const rgb = [...PALETTE, OTHER].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  for (let cell = 0; cell < grid.prefix.length; cell += 1) {
    if (grid.prefix[cell] === 255) continue;
    const [r, g, b] = rgb[Math.min(grid.prefix[cell], PALETTE.length)];
    image.data.set([r, g, b, 64 + Math.round(191 * (grid.fill[cell] / 255))], cell * 4);
  }
  pen.putImageData(image, 0, 0);
  strips = canvas;
  return strips;
}

function drawGrid(pen, chart) {
  const first = Math.max(0, Math.floor(view.from / grid.step));
  const last = Math.min(grid.steps, Math.ceil(view.to / grid.step));
  const height = laneHeight > 4 ? laneHeight - 1 : laneHeight;
  const [a, b] = [chart.x(first * grid.step), chart.x(last * grid.step)];
  pen.imageSmoothingEnabled = last - first > chart.width;
  for (let lane = 0; lane < T.lanes.length; lane += 1) {
    pen.drawImage(stripsOf(), first, lane, last - first, 1, a, top[lane], b - a, height);
  }
}

function drawMarked(pen, chart) {
  const height = laneHeight > 4 ? laneHeight - 1 : laneHeight;
  const failures = [];
  for (let row = 0; row < marked.lane.length; row += 1) {
    const begin = marked.begin[row] / 1000;
    const stop = marked.stop[row] / 1000;
    if (stop < view.from || marked.start[row] / 1000 > view.to) continue;
    const y = top[marked.lane[row]];
    const a = chart.x(begin);
    const width = Math.max(1, chart.x(stop) - a);
    pen.fillStyle = colourOf(marked.prefix[row]);
    pen.fillRect(a, y, width > 3 ? width - 0.6 : width, height);
    if (marked.transfer[row] && laneHeight >= 6) {
      const from = chart.x(marked.start[row] / 1000);
      pen.fillStyle = ink("soft");
      pen.fillRect(from, y + height - 2, Math.max(1, chart.x((marked.start[row] + marked.transfer[row]) / 1000) - from), 2);
    }
    if (marked.outcome[row]) failures.push([row, a, y, width]);
  }
  for (const [row, a, y, width] of failures) {
    pen.strokeStyle = ink("fail"); pen.lineWidth = 2;
    pen.strokeRect(a + 1, y + 1, Math.max(2, width - 2), Math.max(1, height - 2));
    if (marked.outcome[row] === 1) cross(pen, a + width, y + height / 2, Math.max(3, Math.min(5, height / 2)));
  }
}

function probeLanes(x, y, chart) {
  const lane = top.findIndex((at) => y >= at && y < at + laneHeight);
  if (lane < 0) return null;
  const [worker, thread] = T.lanes[lane];
  const where = labelOf(worker) + (thread == null ? "" : `, thread ${ofThread(lane)}`);
  if (x < chart.left) return [labelOf(worker), worker];
  const ms = chart.ms(x);
  const slack = (1.5 * (view.to - view.from)) / chart.width;
  let best = null;
  for (const row of ofLane[lane]) {
    const [a, b] = [marked.begin[row] / 1000, marked.stop[row] / 1000];
    if (ms < a - slack || ms > b + slack) continue;
    if (best === null || marked.outcome[row] > 0 || (b - a < marked.stop[best] / 1000 - marked.begin[best] / 1000 && !marked.outcome[best])) best = row;
  }
  if (best !== null) {
    const length = (marked.stop[best] - marked.begin[best]) / 1000;
    const outcome = OUTCOMES[marked.outcome[best]];
    const transfer = marked.transfer[best] ? `transfer ${duration(marked.transfer[best] / 1000)}` : "";
    return [marked.key[best], `${outcome}, ${duration(length)}${transfer ? ", " + transfer : ""}`, `${clock(marked.begin[best] / 1000)} to ${clock(marked.stop[best] / 1000)}`, where];
  }
  if (grid) {
    const i = Math.floor(ms / grid.step);
    const cell = lane * grid.steps + i;
    if (grid.prefix[cell] !== 255) {
      const name = T.prefixes[grid.prefix[cell]] ?? "other prefixes";
      return [`mostly ${name}`, `${Math.round((grid.fill[cell] / 255) * 100)} % busy, ${grid.count[cell]} short tasks began`, `${clock(i * grid.step)}, a step of ${duration(grid.step)}`, where];
    }
  }
  return [clock(ms), where];
}

const ofThread = (lane) => lane - groups.find((group) => group.worker === T.lanes[lane][0]).first + 1;

function drawMarks(pen, chart) {
  const { at, step } = ticks(chart.width - chart.left);
  labelTicks(pen, chart, at, step, 12);
  pen.textBaseline = "middle"; pen.textAlign = "right"; pen.fillStyle = ink("soft");
  pen.fillText("happenings", chart.left - 8, 33);
  chart.inside(pen);
  pen.textAlign = "center";
  for (const [ms, kind] of ordered) {
    if (ms < view.from || ms > view.to) continue;
    const grave = kind === "death" || kind === "failure";
    pen.fillStyle = grave ? ink("fail") : kind === "memory" || kind === "warning" ? ink("warn") : kind === "graph" ? ink("link") : ink("soft");
    pen.fillText(SIGNS[kind] ?? "·", chart.x(ms), 33);
  }
}
const grave = (kind) => (kind === "death" || kind === "failure" ? 1 : 0);
const ordered = [...DATA.marks].sort((a, b) => grave(a[1]) - grave(b[1]));

function labelTicks(pen, chart, at, step, y) {
  pen.fillStyle = ink("soft"); pen.textBaseline = "middle"; pen.textAlign = "center";
  const long = LENGTH > 20 * 36e5;
  for (const ms of at) {
    const x = chart.x(ms);
    if (x < chart.left + 14 || x > chart.width - 30) continue;
    const text = iso(ms);
    const said = step >= 864e5 ? text.slice(5, 10) : step >= 6e4 ? (long ? text.slice(5, 16).replace("T", " ") : text.slice(11, 16)) : step >= 1000 ? text.slice(11, 19) : text.slice(14, 23);
    pen.fillText(said, x, y);
  }
}

function probeMarks(x, y, chart) {
  const near = DATA.marks.filter(([ms]) => Math.abs(chart.x(ms) - x) < 7);
  if (!near.length) return null;
  near.sort((a, b) => grave(b[1]) - grave(a[1]));
  const lines = near.slice(0, 6).map(([ms, , subject, said]) => `${clock(ms)}  ${subject ? labelOf(subject) + " " : ""}${said}`);
  if (near.length > 6) lines.push(`+${near.length - 6} more here`);
  return lines;
}
