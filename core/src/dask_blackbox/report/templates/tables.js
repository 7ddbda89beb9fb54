// Sortable tables and the filter of the log.
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
  const { source, level, text, zoomed, shown } = filters.elements;
  const sources = [...new Set(rows.map((row) => row.dataset.source))].sort();
  for (const address of sources) source.add(new Option(labels.has(address) ? `${labelOf(address)} (${address})` : address, address));
  const haystack = new Map();
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const data = row.dataset;
      let keep = +data.level >= +level.value && (!source.value || data.source === source.value);
      if (keep && zoomed.checked) keep = +data.at >= view.from && +data.at <= view.to;
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
  document.addEventListener("looked", () => { if (zoomed.checked) apply(); });
  document.getElementById("log-lines").addEventListener("click", (event) => {
    const chip = event.target.closest("button.key");
    if (!chip) return;
    text.value = text.value === chip.textContent ? "" : chip.textContent;
    apply();
  });
  apply();
}
