// Putting it together: legend, charts, keys, and the choice of light or dark.
const root = document.documentElement;
const legend = document.getElementById("legend");
if (legend) {
  const entry = (colour, said, sign) => {
    const item = document.createElement("span");
    const mark = document.createElement(sign ? "b" : "i");
    if (sign) { mark.textContent = sign; mark.style.color = colour; }
    else Object.assign(mark.style, { width: "11px", height: "11px", borderRadius: "3px", background: colour, display: "inline-block", flex: "none" });
    item.append(mark, said);
    legend.append(item);
  };
  T.prefixes.slice(0, PALETTE.length).forEach((prefix, i) => entry(colourOf(i), prefix));
  const others = T.prefixes.length - PALETTE.length;
  if (others > 0) entry(OTHER, others === 1 ? T.prefixes[PALETTE.length] : `${others >= 192 ? "192 or more" : others} other prefixes`);
  if (marked.outcome.some(Boolean)) entry("var(--fail)", "erred, retried or killed", "▢");
  if (laneHeight >= 6 && marked.transfer.some(Boolean)) entry("inherit", "transfer before it", "▁");
  const kinds = new Set(DATA.marks.map(([, kind]) => kind));
  const said = { arrival: "worker joined", departure: "worker left", death: "worker died", graph: "graph received", failure: "failure", memory: "memory limit reached", warning: "warning" };
  for (const [kind, words] of Object.entries(said)) {
    if (kinds.has(kind) && !(kind === "failure" && kinds.has("death"))) entry(kind === "death" || kind === "failure" ? "var(--fail)" : "inherit", kind === "death" && kinds.has("failure") ? "death or failure" : words, SIGNS[kind]);
  }
}

if (document.getElementById("charts")) {
  new Chart("marks", { height: () => 46, draw: drawMarks, probe: probeMarks });
  if (groups.length) new Chart("lanes", { height: () => lanesHeight, draw: drawLanes, probe: probeLanes });
  if (curves.length) {
    curveChart("memory", 170, "memory", topMemory, size, drawLimits);
    curveChart("cpu", 110, "cpu", topCpu, (value) => (value / 100).toFixed(1));
  }
  new Chart("foot", { height: () => 22, draw: (pen, chart) => { const { at, step } = ticks(chart.width - chart.left); labelTicks(pen, chart, at, step, 12); } });
  const reset = document.getElementById("reset");
  reset.addEventListener("click", () => look(0, LENGTH));
  document.addEventListener("looked", () => { reset.hidden = view.from <= 0 && view.to >= LENGTH; });
  document.getElementById("charts").addEventListener("keydown", (event) => {
    const length = view.to - view.from;
    const middle = view.from + length / 2;
    const moves = {
      ArrowLeft: [view.from - length / 4, view.to - length / 4], ArrowRight: [view.from + length / 4, view.to + length / 4],
      "+": [middle - length / 4, middle + length / 4], "-": [middle - length, middle + length], 0: [0, LENGTH],
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    look(...moves[event.key]);
  });
  addEventListener("resize", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  paintAll();
}

// On paper everything is light, what is painted too.
let onScreen;
addEventListener("beforeprint", () => { onScreen = root.dataset.theme; root.dataset.theme = "light"; paintAll(); });
addEventListener("afterprint", () => { if (onScreen) root.dataset.theme = onScreen; else delete root.dataset.theme; paintAll(); });

const theme = document.getElementById("theme");
// Where the page is shown in a sandbox there is no storage; the choice then lasts as long as the page.
const kept = (value) => { try { if (value) localStorage.setItem("dask-blackbox-theme", value); return localStorage.getItem("dask-blackbox-theme"); } catch { return null; } };
const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const show = () => { theme.textContent = dark() ? "Light" : "Dark"; repaint(); };
if (kept()) root.dataset.theme = kept();
theme.hidden = false;
theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; kept(root.dataset.theme); show(); });
show();
