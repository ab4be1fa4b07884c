// The page of one switch: listens to the server's events and passes them to the picture, the chart and the log.
// Whatever is shown came from the server; nothing is made up here.
import { drawChart, drawTrafficTwin } from "./chart.js";
import { whenSeen } from "./charts.js";
import { Parts, listen } from "./feed.js";
import { Picture, drawTwin } from "./picture.js";
import { saveAsPng } from "./png.js";
import { clockTime, setServerTime, showTimes, zone } from "./times.js";

const root = document.querySelector("[data-stream]");
const data = JSON.parse(document.getElementById("live-data").textContent);
const say = (name, values = {}) => {
  const text = data.phrases[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
};

const model = {
  state: data.state,
  clients: data.clients,
  mirrors: data.mirrors,
  samples: data.traffic,
  hues: data.hues,
  sampleSeconds: data.sample_seconds,
  say,
  zone,
};
const picture = new Picture(document.getElementById("picture"), model);
const twin = document.getElementById("twin");
const chart = document.getElementById("chart");
const trafficTwin = document.getElementById("traffic-twin");
const traffic = trafficTwin.closest("details");
const log = document.getElementById("log");

// A block may be shorter than an eye can see: it is shown for at least this long. The times in the rail are the real
// ones.
const BLOCK_SHOWN_MS = 900;
let blockShownAt = 0;
let waiting = null;
let told = data.state.digest;
let partsOf = data.state.digest;

function show() {
  picture.draw();
  drawTwin(twin, model);
}

const replaced = new Parts();

function takeParts({ of, parts }) {
  // The page shows the parts of this very state, as after every new connection: people may be typing in them.
  if (of && of === partsOf) return;
  partsOf = of ?? partsOf;
  replaced.take(parts);
}

function takeState(state) {
  const { now, ...rest } = state;
  setServerTime(now);
  if (rest.digest === told) return;
  told = rest.digest;
  // What was said when the page was loaded ("somebody else has to approve it") is over.
  if (rest.status !== model.state.status) document.querySelector(".messages")?.remove();
  clearTimeout(waiting);
  document.title = `${rest.title} · hadash`;
  const passed = Date.now() - blockShownAt;
  const apply = () => {
    model.state = rest;
    show();
    drawSoon();
  };
  if (rest.blocked) {
    if (!model.state.blocked) blockShownAt = Date.now();
    apply();
  } else if (passed < BLOCK_SHOWN_MS) {
    model.state = { ...rest, blocked: true };
    show();
    waiting = setTimeout(apply, BLOCK_SHOWN_MS - passed);
  } else if (justPassed(rest)) {
    blockShownAt = Date.now();
    model.state = { ...rest, blocked: true };
    show();
    waiting = setTimeout(apply, BLOCK_SHOWN_MS);
  } else apply();
}

// The block was over before this page heard of it.
function justPassed(state) {
  const began = (stages) => stages.filter((stage) => stage.stage === "block").length;
  return began(state.stages) > began(model.state.stages);
}

function takeLog(line) {
  if (log.querySelector(`[data-id="${Number(line.id)}"]`)) return;
  const item = document.createElement("li");
  item.dataset.id = line.id;
  item.className = "new";
  const head = document.createElement("p");
  const time = document.createElement("time");
  time.dateTime = line.at;
  time.dataset.mode = "clock";
  const actor = document.createElement("b");
  actor.textContent = line.actor;
  head.append(time, " ", actor);
  if (line.stage_word) {
    const tag = document.createElement("span");
    tag.className = "tag";
    tag.textContent = line.stage_word;
    head.append(" ", tag);
  }
  const sentence = document.createElement("p");
  sentence.textContent = line.sentence;
  item.append(head, sentence);
  log.prepend(item);
  showTimes(item);
}

let chartDue = null;
function drawSoon() {
  if (chartDue) return;
  chartDue = setTimeout(() => {
    chartDue = null;
    drawChart(chart, model);
    if (traffic.open) drawTrafficTwin(trafficTwin, model);
  }, 200);
}
traffic.addEventListener("toggle", () => traffic.open && drawTrafficTwin(trafficTwin, model));

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-picture-png]"))
    saveAsPng(document.querySelector("#picture svg"), `hadash-${model.state.key}-clients`);
});

function asOf(heardAt) {
  document.getElementById("picture-at").textContent = say("as_of", { time: clockTime(heardAt) });
}

function takeTraffic({ samples }) {
  const known = new Set(model.samples.map((sample) => sample.at));
  model.samples = [...model.samples, ...samples.filter((sample) => !known.has(sample.at))]
    .sort((a, b) => a.at - b.at)
    .slice(-4000);
  drawSoon();
}

function follow() {
  const address = new URL(root.dataset.stream, location.href);
  address.searchParams.set("after", data.last_event);
  const take = {
    state: takeState,
    parts: takeParts,
    counts: takeParts,
    log: takeLog,
    traffic: takeTraffic,
    clients({ clients }) {
      model.clients = clients;
      show();
    },
    mirror({ mirror }) {
      model.mirrors = mirror;
      show();
    },
    behind({ behind }) {
      if (document.getElementById("part-behind")) replaced.take({ behind });
    },
    end() {
      stream.close();
      // (Nothing of this switch is to be copied any more: from now on the mirror copies the other way.)
      document.getElementById("part-behind")?.remove();
    },
  };
  const stream = listen(address, take, asOf);
}

asOf(new Date());
show();
// The picture comes first: Plotly takes longer to read than all the rest. (Safari does not say when it is idle.)
const whenIdle = window.requestIdleCallback ?? ((action) => setTimeout(action, 200));
whenIdle(() => whenSeen(chart, () => drawChart(chart, model)), { timeout: 1000 });
document.addEventListener("hadash:theme", drawSoon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
if (!model.state.ended) follow();
