// The stream of a live page (hadash/dashboard/views/streaming.py): parts of the page that are replaced as they change,
// and other events. What the address of the page says goes along: filters, orders, the page of a list.
import { afterPress, comparable, kept, pressed } from "./swapping.js";
import { clockTime, setServerTime, showTimes } from "./times.js";

// How long a connection may take to be there again before the page says that it is interrupted.
const LOST_AFTER_MS = 2500;

// `parts`: events that hold the HTML of the element "part-<name>". `take`: by event, what to do with its data.
export function follow(address, parts, take) {
  const lost = document.getElementById("stream-lost");
  const due = new Map(),
    shown = new Map();
  let heardAt = new Date();
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

  const source = new EventSource(new URL(address + location.search, location.href));
  const on = (name, act) =>
    source.addEventListener(name, (event) => {
      heardAt = new Date();
      lost.hidden = true;
      act(JSON.parse(event.data));
    });
  for (const [name, act] of Object.entries(take)) on(name, act);
  for (const name of parts) {
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
    }, LOST_AFTER_MS);
  });
  addEventListener("pagehide", () => source.close());
}
