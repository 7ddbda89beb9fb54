// Tables: sorted, filtered to the part of the run that is shown, and one tab at a time.
import { knows, labelOf, prefixes } from "./run.js";
import { element, summary } from "./pane.js";
import { chosenWorkers, isInPeriod, isWhole, period } from "./period.js";
import { count, duration, goTo, onChange } from "./view.js";

/** Call back, a little later, when another part of the run is shown or selected. */
function onPeriod(act) {
  let waiting = null;
  for (const what of ["look", "area", "pin"]) onChange(what, () => { clearTimeout(waiting); waiting = setTimeout(act, 150); });
}

// The switch beside the tabs: only what is in that part.
const only = element("input", { type: "checkbox", checked: true, id: "only-period" });
const onlyLabel = element("label", { className: "only-period", hidden: true }, only, " only the part shown or selected above");
const filtering = () => only.checked && !isWhole();

function filterTabs() {
  const [part, workers] = [period(), chosenWorkers()];
  onlyLabel.hidden = isWhole();
  for (const section of document.querySelectorAll("#deaths, #errors, #workers, #spans, #graphs")) {
    const items = [...section.querySelectorAll("article.death, details.error, tbody tr")];
    for (const item of items) item.classList.toggle("outside", filtering() && !isInPeriod(item, part, workers));
    showCount(section, items.filter((item) => !item.closest("details.error") || item.matches("details.error")));
  }
}

/** Say of a tab how much of it is shown. */
function showCount(section, items) {
  const number = items.filter((item) => !item.classList.contains("outside")).length;
  let note = section.querySelector(":scope > .left-out");
  if (!note) { note = element("p", { className: "caption left-out" }); section.querySelector("h2").after(note); }
  note.hidden = number === items.length;
  note.textContent = `${count(number)} of ${count(items.length)} are of the part shown or selected above.`;
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    head.tabIndex = 0;
    const sort = () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
      const order = (a, b) => {
        const [p, q] = [value(a), value(b)];
        const both = p - q;
        return Number.isNaN(both) ? p.localeCompare(q, undefined, { numeric: true }) : both;
      };
      const rows = [...table.tBodies[0].rows].sort(order);
      table.tBodies[0].append(...(down ? rows.reverse() : rows));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}

const filters = document.getElementById("log-filters");
if (filters) {
  const rows = [...document.querySelectorAll("#log-lines tbody tr")];
  const { source, level, text, shown } = filters.elements;
  const sources = [...new Set(rows.map((row) => row.dataset.source))].sort();
  for (const address of sources) source.add(new Option(knows(address) ? `${labelOf(address)} (${address})` : address, address));
  const haystack = new Map();
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [part, workers, partly] = [period(), chosenWorkers(), filtering()];
    let count = 0;
    for (const row of rows) {
      const data = row.dataset;
      let keep = +data.level >= +level.value && (!source.value || data.source === source.value);
      if (keep && partly) keep = isInPeriod(row, part, workers);
      if (keep && words.length) {
        if (!haystack.has(row)) haystack.set(row, row.textContent.toLowerCase());
        keep = words.every((word) => haystack.get(row).includes(word));
      }
      row.hidden = !keep;
      count += keep;
    }
    shown.value = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} lines`;
  };
  filters.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", apply);
  onPeriod(apply);
  only.addEventListener("change", apply);
  document.getElementById("log-lines").addEventListener("click", (event) => {
    const chip = event.target.closest("button.key");
    if (!chip) return;
    text.value = text.value === chip.textContent ? "" : chip.textContent;
    apply();
  });
  apply();
}

// Tasks by prefix, of the part of the run that is shown.
const table = document.querySelector("#tasks table");
if (table) {
  const whole = [...table.tBodies[0].rows].map((row) => [row, [...row.cells].map((cell) => [cell.textContent, cell.dataset.v])]);
  const note = element("p", { className: "caption", hidden: true });
  table.closest("section").querySelector("h2").after(note);
  const quantile = (values, q) => values[Math.min(values.length - 1, Math.floor(q * values.length))];
  const put = (cell, value, text) => { cell.dataset.v = value; cell.textContent = text; };
  const fill = () => {
    const { from, to, lanes } = period();
    note.hidden = !filtering();
    note.textContent = "Executions that were running in the part shown or selected above.";
    const sums = filtering() ? summary(from, to, lanes) : null;
    for (const [row, cells] of whole) {
      const place = prefixes.indexOf(row.cells[0].textContent);
      const own = sums && place >= 0 ? sums[place] : null;
      row.hidden = (Boolean(sums) && !own?.number) || !row.cells[0].textContent.toLowerCase().includes(search?.value.toLowerCase() ?? "");
      if (!own?.number) { cells.forEach(([text, value], i) => { if (i === 3) return; row.cells[i].dataset.v = value ?? ""; if (row.cells[i].childElementCount === 0) row.cells[i].textContent = text; }); continue; }
      own.lengths.sort((a, b) => a - b);
      put(row.cells[1], own.number, count(own.number));
      put(row.cells[2], own.busy / 1000, duration(own.busy));
      [0, 0.25, 0.5, 0.75, 0.95, 1].forEach((q, i) => put(row.cells[4 + i], quantile(own.lengths, q) / 1000, duration(quantile(own.lengths, q))));
      put(row.cells[10], own.transfer / 1000, duration(own.transfer));
    }
  };
  const search = document.getElementById("prefix-search");
  search?.addEventListener("input", fill);
  onPeriod(fill);
  only.addEventListener("change", fill);
}

onPeriod(filterTabs);
only.addEventListener("change", filterTabs);

// Moments anywhere on the page move the playhead.
document.addEventListener("click", (event) => {
  const at = event.target.closest?.("[data-at]");
  if (!at || event.target.closest("button, a, summary") || !document.getElementById("charts")) return;
  if (getSelection().toString()) return; // somebody copies text
  goTo(+at.dataset.at);
});

/** Show one of the sections below the charts at a time. */
export function tabs() {
  const box = document.getElementById("tabs");
  if (!box) return;
  const sections = [...box.querySelectorAll(":scope > section")];
  const bar = element("div", { className: "tabbar", role: "tablist" });
  const choose = (section, move) => {
    for (const each of sections) {
      each.classList.toggle("away", each !== section);
      const tab = document.getElementById(`tab-${each.id}`);
      tab.setAttribute("aria-selected", String(each === section));
      tab.tabIndex = each === section ? 0 : -1;
    }
    if (move) bar.scrollIntoView({ block: "start" });
  };
  for (const section of sections) {
    const number = section.dataset.count;
    const tab = element("button", { type: "button", id: `tab-${section.id}` }, section.dataset.tab, number ? element("span", { className: "faint" }, ` ${number}`) : "");
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", section.id);
    section.setAttribute("role", "tabpanel");
    section.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => choose(section, false));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.stopPropagation();
      const next = sections[(sections.indexOf(section) + by + sections.length) % sections.length];
      choose(next, false);
      document.getElementById(`tab-${next.id}`).focus();
    });
    bar.append(tab);
  }
  if (!sections.length) return;
  bar.append(onlyLabel);
  box.prepend(bar);
  choose(sections[0], false);
  const follow = () => {
    const section = sections.find((each) => location.hash === `#${each.id}`);
    if (section) choose(section, true);
  };
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    const section = link && sections.find((each) => link.getAttribute("href") === `#${each.id}`);
    if (section) choose(section, false);
  });
  follow();
}
