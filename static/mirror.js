// The page of one mirror while somebody watches: new points of its lag, and the parts that change.
import { extend } from "./charts.js";
import { afterPress, comparable, kept, pressed } from "./swapping.js";
import { clockTime, setServerTime, showTimes } from "./times.js";

const root = document.querySelector("[data-mirror-stream]");
const lost = document.getElementById("stream-lost");
let heardAt = new Date();

const due = new Map(), shown = new Map();
function showParts() {
  if (pressed()) return;
  for (const [name, html] of due) {
    const said = comparable(html);
    if (shown.get(name) === said) continue;
    shown.set(name, said);
    const part = document.getElementById(`part-${name}`);
    const restore = kept(part);
    part.innerHTML = html;
    restore();
    showTimes(part);
    part.dispatchEvent(new CustomEvent("hadash:parts", { bubbles: true }));
  }
  due.clear();
}
afterPress(showParts);

// With what the address of the page says: how its tables are ordered.
const source = new EventSource(new URL(root.dataset.mirrorStream + location.search, location.href));
const on = (name, take) => source.addEventListener(name, (event) => {
  heardAt = new Date();
  lost.hidden = true;
  take(JSON.parse(event.data));
});
on("lag", ({ at, seconds, records, range, shapes, says }) => {
  extend("lag", [[at, seconds], [at, records]], range, shapes);
  const words = document.querySelector("#lag header .quiet");
  if (words) words.textContent = says;
});
for (const name of ["state", "tasks", "topics", "incidents", "over-time"]) {
  on(name, (data) => {
    setServerTime(data.now);
    due.set(name, data[name]);
    showParts();
  });
}
source.addEventListener("error", () => {
  setTimeout(() => {
    if (source.readyState === EventSource.OPEN) return;
    lost.textContent = lost.dataset.text.replace("{time}", clockTime(heardAt));
    lost.hidden = false;
  }, 2500);
});
addEventListener("pagehide", () => source.close());
