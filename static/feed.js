// The stream of a live page (hadash/dashboard/views/streaming.py): parts of the page that are replaced as they change,
// and other events.
import { afterPress, comparable, kept, pressed } from "./swapping.js";
import { clockTime, setServerTime, showElapsed, showTimes } from "./times.js";

// How long a connection may take to be there again before the page says that it is interrupted.
const LOST_AFTER_MS = 2500;

// Replaces the elements "part-<name>" by the HTML that has come for them: never under a finger, and of a part that says
// the same every node stays.
export class Parts {
  constructor() {
    this.due = new Map();
    this.shown = new Map();
    afterPress(() => this.show());
  }

  // `parts`: HTML by the name of the part.
  take(parts) {
    for (const [name, html] of Object.entries(parts)) this.due.set(name, html);
    this.show();
  }

  show() {
    if (pressed()) return;
    for (const [name, html] of this.due) {
      const said = comparable(html);
      if (this.shown.get(name) === said) continue;
      this.shown.set(name, said);
      const part = document.getElementById(`part-${name}`);
      const restore = kept(part);
      part.innerHTML = html;
      restore();
      showTimes(part);
      showElapsed(part);
      part.dispatchEvent(new CustomEvent("hadash:parts", { bubbles: true }));
    }
    this.due.clear();
  }
}

// Listens to the server's events; while the connection is interrupted, the element "stream-lost" says since when.
// `take`: by event, what to do with its data. `heard`: is told the time of each event.
export function listen(address, take, heard = () => {}) {
  const lost = document.getElementById("stream-lost");
  const source = new EventSource(address);
  let heardAt = new Date();
  for (const [name, act] of Object.entries(take)) {
    source.addEventListener(name, (event) => {
      heardAt = new Date();
      lost.hidden = true;
      act(JSON.parse(event.data));
      heard(heardAt);
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
  return source;
}

// A page of which `parts` are replaced as they change. What its address says goes along: filters, orders, the page of a
// list. `take`: other events, as in `listen`.
export function follow(address, parts, take) {
  const replaced = new Parts();
  const each = (name) => (data) => {
    setServerTime(data.now);
    replaced.take({ [name]: data[name] });
  };
  const ofParts = Object.fromEntries(parts.map((name) => [name, each(name)]));
  listen(new URL(address + location.search, location.href), { ...take, ...ofParts });
}
