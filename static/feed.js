// The stream of a live page (hadash/dashboard/views/streaming.py): parts of the page that are replaced as they change,
// and other events.
import { afterPress, comparable, kept, pressed } from "./swapping.js";
import { clockTime, setServerTime, showElapsed, showTimes } from "./times.js";

// How long a connection may take to be there again before the page says that it is interrupted.
const LOST_AFTER_MS = 2500;

// After how long a stream is asked for again that was refused: by a proxy without its server, or a server that starts.
const AGAIN_AFTER_MS = 3000;

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

// Whether the reader may not see the page any more: signed out (the server sends to the page for signing in), without
// the right, or because there is no such thing any more. The page itself says which.
async function isOverFor(address) {
  const asking = new AbortController();
  try {
    const answer = await fetch(address, { redirect: "manual", signal: asking.signal });
    return answer.type === "opaqueredirect" || [403, 404].includes(answer.status);
  } catch {
    return false;
  } finally {
    asking.abort();
  }
}

// Listens to the server's events; while the connection is interrupted, the element "stream-lost" says since when.
// `take`: by event, what to do with its data. `heard`: is told the time of each event. `close()` ends it.
export function listen(address, take, heard = () => {}) {
  const lost = document.getElementById("stream-lost");
  let heardAt = new Date();
  let isOver = false;
  let source;
  const open = () => {
    source = new EventSource(address);
    for (const [name, action] of Object.entries(take)) {
      source.addEventListener(name, (event) => {
        heardAt = new Date();
        lost.hidden = true;
        action(JSON.parse(event.data));
        heard(heardAt);
      });
    }
    source.addEventListener("error", () => {
      if (isOver) return;
      setTimeout(() => {
        if (isOver || source.readyState === EventSource.OPEN) return;
        lost.textContent = lost.dataset.text.replace("{time}", clockTime(heardAt));
        lost.hidden = false;
      }, LOST_AFTER_MS);
      // A browser asks again where a connection broke, and not where the answer was none of a stream.
      if (source.readyState === EventSource.CLOSED) setTimeout(again, AGAIN_AFTER_MS);
    });
  };
  const again = async () => {
    // (Meanwhile the page may have been left, and shown again with a new stream.)
    const isStillClosed = () => !isOver && source.readyState === EventSource.CLOSED;
    if (!isStillClosed()) return;
    if (await isOverFor(address)) location.reload();
    else if (isStillClosed()) open();
  };
  const close = () => {
    isOver = true;
    source.close();
  };
  open();
  addEventListener("pagehide", () => source.close());
  // A page that a browser has kept comes back as it was, without its stream.
  addEventListener("pageshow", (event) => {
    if (event.persisted && !isOver) open();
  });
  return { close };
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
