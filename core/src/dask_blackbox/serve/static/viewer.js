// Fills in what the page leaves open: each row's headline when it comes into view, times
// as people say them, the jobs to choose from.  Without it, every page still works.
"use strict";

const SIGN = { running: "▶", succeeded: "✔", failed: "✖", aborted: "⊘", lost: "?" };
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
    const card = await answer.json();
    if (answer.ok) {
      fill(row, card);
      if (card.state === "running") followRow(row);
    }
    else row.querySelector(".headline").textContent = card.error;
  } catch {
    row.querySelector(".headline").textContent = "The viewer does not answer.";
  }
  row.classList.remove("loading");
}

/** Say in a line how far a run is. */
function soFar({ progress }) {
  if (!progress) return "";
  // Graphs that came before the recording began are not counted.
  const of = progress.submitted >= progress.done ? ` of ${progress.submitted.toLocaleString("en")}` : "";
  const parts = [`${progress.done.toLocaleString("en")}${of} tasks`, `${progress.rate.toFixed(1)} a second`, `${progress.executing} executing on ${progress.workers} workers`];
  if (progress.failed) parts.push(`${progress.failed} failed`);
  if (progress.lost_workers) parts.push(`${progress.lost_workers} workers lost`);
  if (progress.memory_limit) parts.push(`memory ${Math.round((100 * progress.memory) / progress.memory_limit)} %`);
  return parts.join(" · ");
}

/** Follow a run until it has ended. */
function follow(address, show, ended) {
  const events = new EventSource(address);
  events.addEventListener("progress", (event) => show(JSON.parse(event.data)));
  for (const name of ["ended", "trouble"]) events.addEventListener(name, (event) => { events.close(); ended(JSON.parse(event.data)); });
}

const MOST_FOLLOWED = 4; // a browser has few connections to one server
let followed = 0;
function followRow(row) {
  if (followed >= MOST_FOLLOWED) return;
  followed += 1;
  const again = () => { followed -= 1; load(row); };
  follow(row.dataset.live, (run) => { row.querySelector(".headline").textContent = (!run.waits && soFar(run)) || run.headline; }, again);
}

const live = document.querySelector(".live");
if (live) {
  follow(live.dataset.live, (run) => {
    document.querySelector(".hero h1").textContent = run.headline;
    live.hidden = !run.progress;
    if (!run.progress) return;
    live.querySelector("progress").value = run.progress.submitted >= run.progress.done && run.progress.submitted ? run.progress.done / run.progress.submitted : 0;
    live.querySelector(".so-far").textContent = soFar(run);
  }, () => location.reload());
}

// Two runs that are picked can be compared: the older one is the first.
const comparing = document.getElementById("comparing");
if (comparing) {
  const picks = [...document.querySelectorAll(".pick")];
  const show = () => {
    const picked = picks.filter((pick) => pick.checked);
    comparing.hidden = !picked.length;
    comparing.querySelector("button").disabled = picked.length !== 2;
    comparing.querySelector("span").textContent = picked.length === 2 ? "" : "Pick two runs to compare.";
    if (picked.length === 2) [comparing.elements.after.value, comparing.elements.before.value] = picked.map((pick) => pick.value);
  };
  for (const pick of picks) pick.addEventListener("change", show);
  show();
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
  fetch(`${root}/api/jobs`).then((answer) => answer.json()).then((found) => {
    jobs.replaceChildren(...(found.jobs || []).map((job) => new Option(job, job)));
  }).catch(() => {});
  for (const choice of document.querySelectorAll(".filters select")) {
    choice.addEventListener("change", () => choice.form.requestSubmit());
  }
}
