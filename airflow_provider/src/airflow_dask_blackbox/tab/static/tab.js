// The page of a task: follows Airflow's theme and try, shows the report, asks how far a run is.
"use strict";

const page = document.body.dataset;

// Airflow's page around this one is of the same origin; alone, there is none.
function around() {
  try {
    return window.parent === window ? null : window.parent.document && window.parent;
  } catch {
    return null;
  }
}

// The report has an origin of its own: it can be sent a message, and nothing else.
function tellReport() {
  const { theme } = document.documentElement.dataset;
  document.querySelector(".frame iframe")?.contentWindow.postMessage({ theme, opens: Boolean(around()) }, "*");
}

// Airflow lets nothing in a tab open a page: a link of the report is opened by Airflow's page.
function openLinks() {
  const host = around();
  addEventListener("message", ({ source, data }) => {
    if (!host || source !== document.querySelector(".frame iframe")?.contentWindow) return;
    if (typeof data?.open !== "string" || !/^https?:\/\//i.test(data.open)) return;
    const link = host.document.createElement("a");
    Object.assign(link, { href: data.open, target: "_blank", rel: "noopener noreferrer" });
    link.click();
  });
}

function followTheme() {
  const host = around();
  if (!host) return;
  document.documentElement.dataset.framed = "";
  const root = host.document.documentElement;
  const apply = () => {
    const dark = root.classList.contains("dark") || root.dataset.theme === "dark";
    const light = root.classList.contains("light") || root.dataset.theme === "light";
    if (dark || light) document.documentElement.dataset.theme = dark ? "dark" : "light";
    tellReport();
  };
  apply();
  new MutationObserver(apply).observe(root, { attributes: true, attributeFilter: ["class", "data-theme"] });
}

function followTry() {
  const host = around();
  const here = new URLSearchParams(location.search);
  if (!host || here.has("try_number") || !document.body.classList.contains("task")) return false;
  const wanted = new URLSearchParams(host.location.search).get("try_number");
  if (!wanted || wanted === page.try) return false;
  here.set("try_number", wanted);
  location.replace(`${location.pathname}?${here}`);
  return true;
}

let drawn = Date.now();
let redraw = () => {};

function showFrame() {
  const frame = document.querySelector(".frame iframe");
  if (!frame) return;
  frame.addEventListener("load", () => {
    frame.style.visibility = "visible";
    tellReport();
  });
  const load = (address) => {
    frame.style.visibility = "hidden";
    frame.src = address;
    drawn = Date.now();
  };
  const views = [...document.querySelectorAll(".view")];
  for (const view of views) {
    view.addEventListener("click", () => {
      for (const each of views) each.setAttribute("aria-pressed", String(each === view));
      load(view.dataset.frame);
    });
  }
  redraw = () => load(views.find((view) => view.getAttribute("aria-pressed") === "true").dataset.frame);
  document.querySelector(".redraw")?.addEventListener("click", redraw);
}

const curves = { rate: [], workers: [], memory: [] };
const most = 120;

function draw(name, values) {
  const line = document.querySelector(`[data-curve="${name}"] polyline`);
  if (!line || values.length < 2) return;
  const top = Math.max(...values, 1e-9);
  const points = values.map((value, place) => {
    const x = (120 * place) / (values.length - 1);
    return `${x.toFixed(1)},${(21 - (20 * value) / top).toFixed(1)}`;
  });
  line.setAttribute("points", points.join(" "));
}

// Seconds from the beginning of a run in which its report may lack all tasks, and from
// the first task until it is in the store.
const beginning = 15;
const stored = 8;
let early = false;

function redrawEarly(done) {
  if (!early || !done) return;
  early = false;
  setTimeout(redraw, stored * 1000);
}

// After as many seconds without a finished task the report says what the run waits for.  It
// is drawn again then, after twice as long each time, and when tasks finish again.
const standstill = 65;
let counted = { done: 0, since: Date.now(), redrawAfter: standstill };

function redrawWhenStill(done) {
  const frame = document.querySelector(".frame iframe");
  if (document.activeElement === frame) return; // somebody reads it
  const seconds = (Date.now() - counted.since) / 1000;
  const moved = done !== counted.done;
  if (moved && counted.redrawAfter > standstill) setTimeout(redraw, stored * 1000);
  if (moved) counted = { done, since: Date.now(), redrawAfter: standstill };
  else if (seconds > counted.redrawAfter) {
    counted.redrawAfter = 2 * seconds;
    redraw();
  }
}

function tell(live) {
  redrawEarly(live.numbers.done);
  redrawWhenStill(live.numbers.done);
  for (const [name, words] of Object.entries(live.words)) {
    const place = document.querySelector(`[data-live="${name}"]`);
    if (place && place.textContent !== words) place.textContent = words;
  }
  const bar = document.querySelector("[data-progress]");
  if (bar) bar.hidden = !live.numbers.submitted;
  if (bar && live.numbers.submitted) {
    bar.max = live.numbers.submitted;
    bar.value = live.numbers.done;
  }
  for (const [name, values] of Object.entries(curves)) {
    if (live.numbers[name] === undefined) continue;
    values.push(live.numbers[name]);
    if (values.length > most) values.shift();
    draw(name, values);
  }
}

function lasted(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours) return `${hours} h ${minutes} m`;
  return minutes ? `${minutes} m ${whole % 60} s` : `${whole} s`;
}

let heard = Date.now();

function tick() {
  const started = Number(document.querySelector(".live")?.dataset.started);
  if (!started) return;
  document.querySelector("[data-elapsed]").textContent = lasted(Date.now() / 1000 - started);
  document.querySelector("[data-drawn]").textContent = `drawn ${lasted((Date.now() - drawn) / 1000)} ago`;
  const silent = (Date.now() - heard) / 1000;
  document.querySelector("[data-heard]").textContent = silent > 15 ? `no news for ${lasted(silent)}` : "";
}

async function ask() {
  if (document.hidden) return;
  const answer = await fetch(page.status, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(String(answer.status));
  const answered = await answer.json();
  heard = Date.now();
  if (answered.signature !== page.signature) location.reload();
  else if (answered.live) tell(answered.live);
}

function follow() {
  const seconds = Number(page.poll);
  if (!seconds) return;
  let pause = seconds;
  const live = document.querySelector(".live");
  const done = document.querySelector('[data-live="done"]')?.textContent;
  early = Boolean(live) && (done === "0" || Date.now() / 1000 - Number(live.dataset.started) < beginning);
  const again = async () => {
    try {
      await ask();
      pause = seconds;
    } catch {
      pause = Math.min(60, pause * 2);  // Airflow restarts, somebody logged out
    }
    setTimeout(again, pause * 1000);
  };
  setTimeout(again, 1000);
  setInterval(tick, 1000);
  tick();
}

// Of a try that failed where nothing was recorded: what Airflow's own log of it says.
async function showLoggedError() {
  const place = document.querySelector("[data-log]");
  if (!place) return;
  const answer = await fetch(place.dataset.log, { headers: { Accept: "application/x-ndjson" } });
  if (!answer.ok) return;
  const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  const found = { raised: "", said: "", printed: "" };
  for (let part = await text.read(); !part.done; part = await text.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop().slice(-1e6);
    for (const line of lines) Object.assign(found, errorIn(line));
  }
  Object.assign(found, errorIn(rest));
  const error = found.raised || found.said || found.printed;
  if (!error) return;
  place.querySelector("code").textContent = error;
  place.hidden = false;
}

// What a line gives as the reason: an exception or Airflow's own word on a signal, an error
// that was logged, or what a program printed, which counts as an error, too.
function errorIn(line) {
  if (!/"level": ?"(error|critical)"/.test(line)) return {};
  const { event, level, logger, error_detail: errors } = JSON.parse(line);
  const text = String(event).slice(0, 600);
  if (errors?.length) return { raised: `${errors[0].exc_type}: ${errors[0].exc_value}`.slice(0, 600) };
  if (level === "critical") return { raised: text };
  if (logger === "task.stderr" || event === "Task killed!") return { printed: text };
  return { said: text };
}

followTheme();
if (!followTry()) {
  openLinks();
  showFrame();
  showLoggedError().catch(() => {});
  follow();
}
