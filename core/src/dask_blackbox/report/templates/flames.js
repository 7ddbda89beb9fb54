// The flame graph: samples of the part of the run that is shown, one row for each depth.
import { DATA } from "./run.js";
import { ink, shorten, tip } from "./chart.js";
import { duration, onChange, share, view } from "./view.js";
import { integers, texts } from "./unpack.js";

const ROW = 19;
const NARROWEST = 0.6;

/** @typedef {{frame: number, count: number, below: Map<number, object>}} Node */

/** Unpack the tree: its nodes, and their counts in each period. */
async function unpacked(flames) {
  const [parents, frames, at, counts, strings] = await Promise.all([
    integers(flames.parents, flames.number), integers(flames.frames, flames.number),
    integers(flames.at, flames.pairs), integers(flames.counts, flames.pairs), texts(flames.texts),
  ]);
  let place = 0;
  const slices = flames.slices.map(([from, to, prefix, number]) => {
    const own = [];
    let node = 0;
    for (let i = 0; i < number; i += 1, place += 1) own.push([(node += at[place]), counts[place]]);
    return { from, to, prefix, own };
  });
  const name = (frame) => strings[4 * frame];
  return { parents, frames, slices, name, file: (frame) => strings[4 * frame + 1], line: (frame) => strings[4 * frame + 2], own: (frame) => strings[4 * frame + 3] === "1" };
}

/** Add up what is shown, as a tree. */
function added(tree, { prefix, invert, own }) {
  const sums = new Map();
  for (const slice of tree.slices) {
    if (slice.prefix !== prefix || slice.to < view.from || slice.from > view.to) continue;
    for (const [node, count] of slice.own) sums.set(node, (sums.get(node) ?? 0) + count);
  }
  const root = { frame: -1, count: 0, below: new Map() };
  for (const [top, count] of sums) {
    const stack = [];
    for (let node = top; node > 0; node = tree.parents[node - 1]) stack.push(tree.frames[node - 1]);
    const shown = (own ? stack.filter(tree.own) : stack);
    if (!invert) shown.reverse();
    let at = root;
    root.count += count;
    for (const frame of shown) {
      if (!at.below.has(frame)) at.below.set(frame, { frame, count: 0, below: new Map() });
      at = at.below.get(frame);
      at.count += count;
    }
  }
  return root;
}

/** Lay the frames below a node out: the widest first, too narrow ones left out. */
function laid(root, width) {
  const boxes = [];
  const place = (node, left, depth) => {
    let x = left;
    for (const child of [...node.below.values()].sort((a, b) => b.count - a.count)) {
      const wide = (child.count / root.count) * width;
      if (wide < NARROWEST) break;
      boxes.push({ node: child, x, wide, depth });
      place(child, x, depth + 1);
      x += wide;
    }
  };
  if (root.frame >= 0) { boxes.push({ node: root, x: 0, wide: width, depth: 0 }); place(root, 0, 1); } else place(root, 0, 0);
  return boxes;
}

function paint(canvas, boxes, tree, found) {
  const box = canvas.parentElement;
  const width = box.clientWidth - 12;
  const height = ROW * (1 + Math.max(0, ...boxes.map(({ depth }) => depth))) + 2;
  const ratio = Math.min(devicePixelRatio || 1, 16000 / height);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  pen.textBaseline = "middle";
  for (const { node, x, wide, depth } of boxes) {
    const own = tree.own(node.frame);
    pen.globalAlpha = found && !found(node.frame) ? 0.25 : 1;
    pen.fillStyle = own ? "#e69f00" : ["#9fb8c7", "#b3c7d3", "#8faabb"][node.frame % 3];
    pen.fillRect(x, depth * ROW, Math.max(0.5, wide - 0.8), ROW - 1.5);
    if (wide > 34) {
      pen.fillStyle = "#14202a";
      pen.fillText(cut(pen, tree.name(node.frame), wide - 8), x + 4, depth * ROW + ROW / 2);
    }
  }
  pen.globalAlpha = 1;
}

const cut = (pen, text, width) => {
  if (pen.measureText(text).width <= width) return text;
  let keep = text.length;
  while (keep > 1 && pen.measureText(`${text.slice(0, keep)}…`).width > width) keep -= 1;
  return `${text.slice(0, keep)}…`;
};

/** Make the flame graph of the page, where there is one. */
export async function flameGraph() {
  const box = document.getElementById("flames");
  if (!box || !DATA.flames) return;
  const tree = await unpacked(DATA.flames);
  const form = document.getElementById("flame-form");
  const { prefix, search, invert, own, found } = form.elements;
  const back = document.getElementById("flame-back");
  for (const name of new Set(tree.slices.map((slice) => slice.prefix).filter(Boolean))) prefix.add(new Option(name, name));
  const canvas = box.appendChild(document.createElement("canvas"));
  let [boxes, root, alone] = [[], null, null];
  const draw = () => {
    if (!box.clientWidth) return; // its tab is not shown
    root = added(tree, { prefix: prefix.value, invert: invert.checked, own: own.checked });
    const shown = alone?.root === undefined ? root : alone.root;
    const word = search.value.toLowerCase();
    const fits = word ? (frame) => `${tree.name(frame)} ${tree.file(frame)}`.toLowerCase().includes(word) : null;
    boxes = root.count ? laid(shown, box.clientWidth - 12) : [];
    paint(canvas, boxes, tree, fits);
    back.hidden = !alone;
    const seconds = (count) => duration(count * DATA.flames.interval * 1000);
    found.value = !root.count ? "no sample in this period" : fits ? `${share(matching(root, fits) / root.count)} of the samples` : `${seconds(root.count)} of threads${DATA.flames.left_out ? `; ${DATA.flames.left_out} small frames left out` : ""}`;
  };
  const matching = (node, fits) => [...node.below.values()].reduce((sum, child) => sum + (fits(child.frame) ? child.count : matching(child, fits)), 0);
  const at = (event) => {
    const rect = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - rect.left, event.clientY - rect.top];
    return boxes.find((each) => x >= each.x && x < each.x + each.wide && Math.floor(y / ROW) === each.depth);
  };
  canvas.addEventListener("pointermove", (event) => {
    const under = at(event);
    if (!under) { tip(null, null); return; }
    const { frame, count } = under.node;
    tip(event, [tree.name(frame), tree.file(frame), tree.line(frame), `${duration(count * DATA.flames.interval * 1000)}, ${share(count / root.count)}`]);
  });
  canvas.addEventListener("pointerleave", () => tip(null, null));
  canvas.addEventListener("click", (event) => { const under = at(event); if (under) { alone = { root: under.node }; draw(); } });
  const all = () => { alone = null; draw(); };
  back.addEventListener("click", all);
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") all(); });
  form.addEventListener("input", all);
  form.addEventListener("submit", (event) => event.preventDefault());
  let waiting = null;
  onChange("look", () => { clearTimeout(waiting); waiting = setTimeout(all, 150); });
  new ResizeObserver(draw).observe(box);
  draw();
}
