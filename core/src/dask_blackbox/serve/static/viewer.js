// Fills in what the page leaves open: each row's headline when it comes into view, times
// as people say them, the jobs to choose from.  Without it, every page still works.
"use strict";

const SIGN = { running: "●", succeeded: "✓", failed: "✕", aborted: "⊘", lost: "?" };
const root = document.body.dataset.root;

function ago(seconds) {
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    const n = Math.floor(seconds / length);
    if (n >= 1) return `${n} ${unit}${n === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

for (const time of document.querySelectorAll(".when time")) {
  const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
  if (seconds >= 0 && seconds < 7 * 86400) time.textContent = ago(seconds);
}

function fill(row, run) {
  const state = row.querySelector(".state");
  state.className = `state ${run.state}`;
  state.replaceChildren(`${SIGN[run.state] || "?"} ${run.state}`);
  row.querySelector(".job").textContent = run.job;
  row.querySelector(".run").textContent = run.run;
  row.querySelector(".headline").textContent = run.headline;
  row.querySelector(".took").textContent = run.duration || "";
}

async function load(row) {
  row.classList.add("loading");
  try {
    const answer = await fetch(row.dataset.summary);
    const said = await answer.json();
    if (answer.ok) fill(row, said);
    else row.querySelector(".headline").textContent = said.error;
  } catch {
    row.querySelector(".headline").textContent = "The viewer does not answer.";
  }
  row.classList.remove("loading");
}

const rows = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    rows.unobserve(target);
    load(target);
  }
}, { rootMargin: "200px" });
for (const row of document.querySelectorAll("[data-summary]")) rows.observe(row);

const jobs = document.getElementById("jobs");
if (jobs) {
  fetch(`${root}/api/jobs`).then((answer) => answer.json()).then((said) => {
    jobs.replaceChildren(...(said.jobs || []).map((job) => new Option(job, job)));
  }).catch(() => {});
  for (const choice of document.querySelectorAll(".filters select")) {
    choice.addEventListener("change", () => choice.form.requestSubmit());
  }
}
