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

/** Return a sentence, with what stands between backticks as code. */
function prose(text) {
  return text.split(/`([^`\n]+)`/).map((part, place) => {
    if (place % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

/** The places of the page that show a run, by the address of its summary. */
const places = new Map();
for (const place of document.querySelectorAll("[data-summary]")) {
  const address = place.dataset.summary;
  places.set(address, [...(places.get(address) || []), place]);
}

/** Put what is known of a run into all of its places, each as far as it shows it. */
function fill(address, known) {
  for (const place of places.get(address)) {
    for (const [name, text] of Object.entries(known)) {
      if (name === "state") {
        const state = place.querySelector(".state");
        state.className = `state ${text}`;
        state.replaceChildren(`${SIGN[text] || "?"} ${text}`);
      } else place.querySelector(`.${name}`)?.replaceChildren(...(name === "headline" ? prose(text) : [text]));
    }
  }
}

async function load(address) {
  const shown = places.get(address);
  for (const place of shown) place.classList.add("loading");
  try {
    const answer = await fetch(address);
    const run = await answer.json();
    if (answer.ok) {
      fill(address, { state: run.state, job: run.job, run: run.run, headline: run.headline, took: run.duration || "" });
      if (run.state === "running") followRun(address);
    }
    else fill(address, { headline: run.error });
  } catch {
    fill(address, { headline: "The viewer does not answer." });
  }
  for (const place of shown) place.classList.remove("loading");
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
function followRun(address) {
  if (followed >= MOST_FOLLOWED) return;
  followed += 1;
  const again = () => { followed -= 1; load(address); };
  follow(places.get(address)[0].dataset.live, (run) => {
    fill(address, { headline: (!run.waits && soFar(run)) || run.headline, took: run.duration || "" });
  }, again);
}

/** Replace the parts of the page that differ from those of a newer one, and no others: what
 * somebody reads, selects or copies stays where it is. */
function showNewer(page) {
  const main = document.querySelector("main");
  const old = new Map([...main.children].map((part) => [part.id, part]));
  let last = null;
  for (const part of [...page.querySelector("main").children]) {
    const shown = old.get(part.id);
    old.delete(part.id);
    if (shown) keepOpen(shown, part);
    if (shown && (shown === live || shown.isEqualNode(part))) {
      last = shown;
      continue;
    }
    if (shown) shown.replaceWith(part);
    else if (last) last.after(part);
    else main.prepend(part);
    last = part;
  }
  for (const gone of old.values()) gone.remove();
  document.title = page.title;
}

/** Leave open what somebody has opened. */
function keepOpen(shown, part) {
  const opened = [...shown.querySelectorAll("details[open] summary")].map((each) => each.textContent);
  for (const each of part.querySelectorAll("details")) each.open = opened.includes(each.querySelector("summary").textContent);
}

/** Ask for the page again: what it says above and below is then from one card. */
let asking = false;
async function renew() {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch(location.href);
    if (answer.ok) showNewer(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The page stays as it was; the next event asks again.
  }
  asking = false;
}

const live = document.querySelector(".live");
if (live) {
  follow(live.dataset.live, (run) => {
    renew();
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

const asked = new Set();
const rows = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    const address = target.dataset.summary;
    for (const place of places.get(address)) rows.unobserve(place);
    if (asked.has(address)) continue;
    asked.add(address);
    load(address);
  }
}, { rootMargin: "200px" });
for (const place of [...places.values()].flat()) rows.observe(place);

const jobs = document.getElementById("jobs");
if (jobs) {
  fetch(`${root}/api/jobs`).then((answer) => answer.json()).then((found) => {
    jobs.replaceChildren(...(found.jobs || []).map((job) => new Option(job, job)));
  }).catch(() => {});
  for (const choice of document.querySelectorAll(".filters select")) {
    choice.addEventListener("change", () => choice.form.requestSubmit());
  }
}
