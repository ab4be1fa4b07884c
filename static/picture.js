// The live picture: clients → Gateways with the breaker → clusters, and the mirror between them, as one SVG.
import { offerCsv } from "./csv.js";

const NS = "http://www.w3.org/2000/svg";
const MAX_CLIENTS = 14;
const BAND_TOTAL = 130; // pixels for all bands together
const still = matchMedia("(prefers-reduced-motion: reduce)");

function make(name, attributes = {}, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const text = (x, y, content, attributes = {}) => make("text", { x, y, ...attributes }, String(content));

const canvas = document.createElement("canvas").getContext("2d");
const family = getComputedStyle(document.body).fontFamily;
function measure(content, size = 12, weight = 500) {
  canvas.font = `${weight} ${size}px ${family}`;
  return canvas.measureText(content).width;
}

function cut(content, pixels, size = 13, weight = 600) {
  if (measure(content, size, weight) <= pixels) return content;
  const characters = [...content];
  while (characters.length > 1 && measure(`${characters.join("")}…`, size, weight) > pixels) characters.pop();
  return `${characters.join("").trimEnd()}…`;
}

const rateText = (value) =>
  value >= 100 ? Math.round(value).toLocaleString("en") : value >= 10 ? value.toFixed(0) : value.toFixed(1);
export const rateOf = (client) => (client.produced === null ? null : client.produced + client.consumed);

// Where a client is: the cluster with most of its connections; on a tie the target, which it is moving to.
export function placeOf(client, state) {
  const entries = Object.entries(client.clusters);
  if (!entries.length) return null;
  entries.sort((a, b) => b[1] - a[1] || (b[0] === state.target) - (a[0] === state.target));
  return entries[0][0];
}

// Nobody can say what passes when no Gateway can be asked.
export const isUnknown = ({ clients }) =>
  Boolean(clients.fault) || !clients.gateways.some((gateway) => gateway.answers);

const VERIFYING = new Set(["forward", "reverse", "verify"]);
export function seenThere(client, state) {
  if (!client.moves || !(state.target in client.clusters)) return false;
  return (
    state.status === "succeeded" ||
    state.status === "needs_attention" ||
    (state.status === "running" && VERIFYING.has(state.stage))
  );
}

export class Picture {
  constructor(box, model) {
    this.box = box;
    this.model = model;
    this.shown = new Map(); // client id → what its band looks like now
    this.width0 = new Map(); // client id → width before it was blocked
    this.frame = null;
    this.width = 0;
    new ResizeObserver(() => {
      const width = Math.max(560, Math.round(box.clientWidth - 32));
      if (width !== this.width) {
        this.width = width;
        this.draw();
      }
    }).observe(box);
  }

  layout() {
    const { clients, state, hues } = this.model;
    const all = clients.clients;
    const shown = all.length > MAX_CLIENTS ? all.slice(0, MAX_CLIENTS - 1) : all;
    const W = this.width || 800;
    const columns = {
      client: Math.min(236, W * 0.27),
      gateway: Math.max(136, Math.min(176, W * 0.22)),
      cluster: Math.min(210, W * 0.24),
    };
    const row = shown.length > 8 ? 40 : 48,
      gap = 8;
    const rows = Math.max(1, shown.length) + (all.length > shown.length ? 1 : 0);
    const H = Math.max(316, rows * (row + gap) + 26);
    const gx = (W - columns.gateway) * 0.51;
    const cx = W - columns.cluster;
    const top = 24;
    const begin = top + Math.max(0, (H - top - rows * (row + gap) + gap) / 2);
    const clusterHeight = Math.min(108, (H - top) * 0.32);
    const names = Object.keys(hues).filter((name) => name === state.source || name === state.target);
    names.sort((a, b) => (hues[a] === "first" ? 0 : 1) - (hues[b] === "first" ? 0 : 1));
    if (names.length < 2) names.splice(0, names.length, state.source, state.target);
    const boxes = new Map([
      [names[0], { x: cx, y: top, w: columns.cluster, h: clusterHeight }],
      [names[1], { x: cx, y: H - clusterHeight, w: columns.cluster, h: clusterHeight }],
    ]);
    // Band widths: records per second, one scale for all.
    const rates = shown.map((client) => rateOf(client) ?? 0);
    const total = rates.reduce((sum, rate) => sum + rate, 0);
    const scale = total > 0 ? Math.min(BAND_TOTAL / total, 26 / Math.max(...rates)) : 0;
    const bands = shown.map((client, index) => {
      const place = placeOf(client, state);
      const w = Math.max(2.5, rates[index] * scale);
      // While clients wait nothing flows: their bands stand at the breaker as wide as they came.
      const waits = state.blocked && client.moves;
      if (!waits) this.width0.set(client.id, w);
      return {
        client,
        place,
        hue: hues[place] ?? "none",
        w: waits ? Math.max(w, this.width0.get(client.id) ?? 0) : w,
        y: begin + index * (row + gap) + row / 2,
      };
    });
    // Through the Gateways side by side, in the middle of the box.
    const width = bands.reduce((sum, band) => sum + band.w + 5, -5);
    const gatewayLines = Math.max(1, clients.gateways.length);
    const passHeight = H - top - 20 - gatewayLines * 18 - 34;
    let y = top + 30 + Math.max(0, (passHeight - width) / 2);
    for (const band of bands) {
      band.ym = y + band.w / 2;
      y += band.w + 5;
    }
    // At each cluster side by side.
    for (const [name, box] of boxes) {
      const there = bands.filter((band) => band.place === name);
      const sum = there.reduce((all_, band) => all_ + band.w + 3, -3);
      let at = box.y + (box.h - sum) / 2;
      for (const band of there) {
        band.y1 = at + band.w / 2;
        at += band.w + 3;
      }
    }
    for (const band of bands) if (band.y1 === undefined) band.y1 = band.ym;
    return {
      W,
      H,
      top,
      begin,
      row,
      columns,
      gx,
      cx,
      boxes,
      bands,
      names,
      more: all.length - shown.length,
      pass: [top + 26, top + 26 + passHeight],
    };
  }

  draw() {
    if (!this.width) return;
    const now = this.layout();
    this.goal = now;
    const ids = new Set(now.bands.map((band) => band.client.id));
    for (const id of this.shown.keys()) if (!ids.has(id)) this.shown.delete(id);
    for (const band of now.bands) {
      const key = band.client.id;
      if (!this.shown.has(key) || still.matches)
        this.shown.set(key, { w: band.w, y: band.y, ym: band.ym, y1: band.y1 });
    }
    this.render();
    if (!this.frame && this.moving()) this.frame = requestAnimationFrame(() => this.step());
  }

  moving() {
    return this.goal.bands.some((band) => {
      const at = this.shown.get(band.client.id);
      return ["w", "y", "ym", "y1"].some((key) => Math.abs(at[key] - band[key]) > 0.4);
    });
  }

  step() {
    for (const band of this.goal.bands) {
      const at = this.shown.get(band.client.id);
      for (const key of ["w", "y", "ym", "y1"]) at[key] += (band[key] - at[key]) * 0.16;
    }
    this.place();
    this.frame = this.moving() ? requestAnimationFrame(() => this.step()) : null;
  }

  // Everything but the geometry of the bands, which moves by itself.
  render() {
    const { state, clients, say } = this.model;
    const { W, H, top, columns, gx, cx } = this.goal;
    this.paths = new Map();
    const svg = make("svg", {
      viewBox: `0 0 ${W} ${H + 2}`,
      class: "pic",
      role: "img",
      "aria-label": `${say("picture")}. ${state.title}`,
    });
    svg.append(
      text(0, 12, say("clients"), { class: "label" }),
      text(gx + columns.gateway / 2, 12, say("gateways"), { class: "label", "text-anchor": "middle" }),
      text(cx + columns.cluster, 12, say("clusters"), { class: "label", "text-anchor": "end" }),
    );
    svg.append(make("rect", { x: gx, y: top, width: columns.gateway, height: H - top, rx: 8, class: "box" }));
    this.drawMirror(svg);
    for (const band of this.goal.bands) this.drawBand(svg, band);
    this.drawBreaker(svg);
    this.drawGateways(svg);
    for (const [name, box] of this.goal.boxes) this.drawCluster(svg, name, box);
    for (const band of this.goal.bands) this.drawClient(svg, band);
    this.drawRest(svg);
    this.box.replaceChildren(svg);
    this.place();
    void clients;
  }

  drawBand(svg, band) {
    const { state } = this.model;
    const stopped = state.blocked && band.client.moves;
    const idle = (rateOf(band.client) ?? 0) === 0;
    const rests = stopped ? " waits" : idle ? " quiet-band" : "";
    const kind = `band ${band.place ? band.hue : "ghost"}${rests}${band.client.moves ? "" : " stays"}`;
    const left = make("path", { class: kind });
    const right = make("path", { class: kind });
    if (stopped) right.setAttribute("display", "none");
    const paths = { left, right, stopped, flows: [] };
    svg.append(left, right);
    if (!idle && !stopped && band.place) {
      const back = band.client.consumed > band.client.produced;
      for (const side of ["left", "right"]) {
        const flow = make("path", { class: `flow${back ? " back" : ""}` });
        paths.flows.push([side, flow]);
        svg.append(flow);
      }
    }
    this.paths.set(band.client.id, paths);
  }

  place() {
    const { columns, gx, cx } = this.goal;
    const x0 = columns.client,
      middle = gx + columns.gateway / 2;
    for (const band of this.goal.bands) {
      const at = this.shown.get(band.client.id),
        paths = this.paths.get(band.client.id);
      if (!paths) continue;
      const end = paths.stopped ? middle - 6 : middle;
      paths.left.setAttribute("d", ribbon(x0, at.y, gx, at.ym, at.w, end));
      paths.right.setAttribute("d", ribbon(gx + columns.gateway, at.ym, cx, at.y1, at.w, null, middle));
      for (const [side, flow] of paths.flows) {
        flow.setAttribute(
          "d",
          side === "left"
            ? line(x0, at.y, gx, at.ym, middle)
            : line(gx + columns.gateway, at.ym, cx, at.y1, null, middle),
        );
      }
    }
  }

  drawBreaker(svg) {
    const { state, clients, say } = this.model;
    const { columns, gx, pass } = this.goal;
    const x = gx + columns.gateway / 2;
    const open = state.blocked;
    if (isUnknown(this.model)) {
      svg.append(make("line", { x1: x, x2: x, y1: pass[0] + 4, y2: pass[1] - 4, class: "breaker" }));
      svg.append(make("rect", { x: x - 24, y: pass[0] - 18, width: 48, height: 22, rx: 11, class: "hatch" }));
      svg.append(text(x, pass[0] - 3, "?", { class: "small", "text-anchor": "middle" }));
      return;
    }
    svg.append(
      make("line", { x1: x, x2: x, y1: pass[0] + 4, y2: pass[1] - 4, class: `breaker${open ? " open" : ""}` }),
    );
    const parked = clients.clients.filter((client) => client.moves).reduce((sum, client) => sum + client.parked, 0);
    const words = [open ? say("breaker_open") : say("breaker_closed")];
    if (parked || open) words.push(say("parked", { count: parked }));
    // In a narrow picture the bar itself says that it is blocked.
    const both = words.join(" · ");
    const content = measure(both, 11.5, 640) + 20 > columns.gateway - 8 ? words.at(-1) : both;
    const width = Math.min(columns.gateway - 8, measure(content, 11.5, 640) + 20);
    svg.append(
      make("rect", {
        x: x - width / 2,
        y: pass[0] - 18,
        width,
        height: 22,
        rx: 11,
        class: `pill${open ? " open" : ""}`,
      }),
    );
    svg.append(
      text(x, pass[0] - 3, cut(content, width - 8, 11.5, 640), {
        class: `small pill-text${open ? " open" : ""}`,
        "text-anchor": "middle",
      }),
    );
  }

  drawGateways(svg) {
    const { clients, say } = this.model;
    const { columns, gx, H } = this.goal;
    const lines = clients.fault ? [] : clients.gateways;
    if (!lines.length) {
      svg.append(
        make("rect", { x: gx + 10, y: H - 34, width: columns.gateway - 20, height: 24, rx: 4, class: "hatch" }),
      );
      svg.append(
        text(
          gx + columns.gateway / 2,
          H - 18,
          clients.fault ? "?" : cut(say("no_gateway"), columns.gateway - 24, 11.5),
          { class: "small", "text-anchor": "middle" },
        ),
      );
      return;
    }
    lines.forEach((gateway, index) => {
      const y = H - 14 - (lines.length - 1 - index) * 18;
      const behind = gateway.applied < clients.epoch;
      const look = gateway.excluded ? "off" : !gateway.answers ? "bad" : behind ? "waiting" : "fine";
      const note = gateway.excluded
        ? say("excluded")
        : !gateway.answers
          ? say("does_not_answer")
          : behind
            ? say("applied_of", { applied: gateway.applied, epoch: clients.epoch })
            : say("applied", { epoch: gateway.applied });
      const group = make("g", {}, make("title", {}, `${gateway.id}: ${note}`));
      // Told apart by form too: round is fine, square is not.
      group.append(
        look === "fine"
          ? make("circle", { cx: gx + 14, cy: y - 4, r: 4, class: "gw-fine" })
          : make("rect", { x: gx + 10, y: y - 8, width: 8, height: 8, class: `gw-${look}` }),
      );
      const room = columns.gateway - 34,
        name = measure(gateway.id, 11.5, 640);
      // In a narrow picture an epoch that is as it should be stands in the title alone.
      const noted = look !== "fine" || name + measure(note, 11.5) + 8 <= room;
      const noteRoom = noted ? Math.min(measure(note, 11.5), room * 0.6) : 0;
      group.append(
        text(gx + 24, y, cut(gateway.id, room - noteRoom - (noted ? 8 : 0), 11.5, 640), { class: "small strong" }),
      );
      if (noted)
        group.append(
          text(gx + columns.gateway - 10, y, cut(note, noteRoom + 1, 11.5, 500), {
            class: "label",
            "text-anchor": "end",
          }),
        );
      svg.append(group);
    });
  }

  drawCluster(svg, name, box) {
    const { hues, say, state } = this.model;
    const hue = hues[name] ?? "none";
    const there = this.model.clients.clients.filter((client) => placeOf(client, state) === name);
    const sum = (key) => there.reduce((all, client) => all + (client[key] ?? 0), 0);
    svg.append(
      make("rect", {
        x: box.x,
        y: box.y,
        width: box.w,
        height: box.h,
        rx: hue === "second" ? 3 : 12,
        class: `node ${hue}`,
      }),
    );
    svg.append(shape(box.x + 22, box.y + 25, 6, hue));
    svg.append(text(box.x + 36, box.y + 30, cut(name, box.w - 46, 15), { class: "strong title" }));
    const rate = (key) => say("per_second", { rate: isUnknown(this.model) ? "?" : rateText(sum(key)) });
    svg.append(text(box.x + 16, box.y + 54, `${say("writes")} ${rate("produced")}`, { class: "small" }));
    svg.append(text(box.x + 16, box.y + 72, `${say("reads")} ${rate("consumed")}`, { class: "small" }));
  }

  drawClient(svg, band) {
    const { state, say } = this.model;
    const { columns, row } = this.goal;
    const client = band.client;
    const width = columns.client,
      y = band.y - row / 2;
    const seen = seenThere(client, state);
    const group = make("g", { class: client.moves ? "" : "stays" });
    const name = client.id || say("no_client_id");
    group.append(make("title", {}, `${name}${client.library ? ` · ${client.library}` : ""}`));
    group.append(make("rect", { x: 0, y, width, height: row, rx: 6, class: `node${band.place ? "" : " unknown"}` }));
    group.append(shape(15, band.y - 8, 4.5, band.hue));
    group.append(text(27, band.y - 4, cut(name, width - 36 - (seen ? 24 : 0)), { class: "strong" }));
    const rate = rateOf(client);
    const does = [];
    if (rate === null) does.push(say("no_rate"));
    else {
      const ways = [];
      if (client.produced > 0) ways.push(`↑ ${rateText(client.produced)}`);
      if (client.consumed > 0) ways.push(`↓ ${rateText(client.consumed)}`);
      if (ways.length) does.push(say("per_second", { rate: ways.join(" ") }));
      if (rate === 0 && !client.parked) does.push(say("idle"));
    }
    if (client.parked) does.push(say("parked", { count: client.parked }));
    if (!client.moves) does.push(say("stays"));
    else if (!client.registered) does.push(say("not_registered"));
    group.append(
      text(27, band.y + 13, cut(does.join(" · "), width - 34 - (seen ? 24 : 0), 11.5, 450), { class: "small" }),
    );
    if (seen) {
      const x = width - 17;
      group.append(make("circle", { cx: x, cy: band.y, r: 9, class: "tick" }));
      group.append(make("path", { d: `M${x - 4} ${band.y}l3 3.2 5.2-6`, class: "tick-mark" }));
    }
    svg.append(group);
  }

  drawRest(svg) {
    const { clients, say } = this.model;
    const { columns, more, row, top, begin, bands } = this.goal;
    if (more > 0)
      svg.append(
        text(27, begin + bands.length * (row + 8) + row / 2, say("more_clients", { count: more }), { class: "small" }),
      );
    if (clients.clients.length) return;
    svg.append(
      make("rect", { x: 0, y: top, width: columns.client, height: 92, rx: 6, class: clients.fault ? "hatch" : "node" }),
    );
    wrap(
      clients.fault ? say("zookeeper_silent") : `${say("not_connected")} ${say("start_clients")}`,
      columns.client - 28,
    )
      .slice(0, 4)
      .forEach((part, index) => svg.append(text(14, top + 24 + index * 18, part, { class: "small" })));
  }

  drawMirror(svg) {
    const { mirrors, say } = this.model;
    const { boxes, names, cx, columns } = this.goal;
    const upper = boxes.get(names[0]),
      lower = boxes.get(names[1]);
    const x = cx + columns.cluster - 26,
      y0 = upper.y + upper.h + 10,
      y1 = lower.y - 10;
    const middle = (y0 + y1) / 2;
    if (!mirrors.length) {
      svg.append(text(x + 16, middle, say("no_mirror"), { class: "label", "text-anchor": "end" }));
      return;
    }
    const up = mirrors[0].target === names[0];
    const known = mirrors.every((mirror) => mirror.lag !== null);
    const lag = known ? mirrors.reduce((sum, mirror) => sum + mirror.lag, 0) : null;
    this.mostLag = Math.max(this.mostLag ?? 0, lag ?? 0, 100);
    const group = make(
      "g",
      {},
      make("title", {}, mirrors.map((m) => `${m.name}: ${say("copies", m)}, ${m.word}, ${lagText(m, say)}`).join("\n")),
    );
    const track = { x: x - 6, y: y0 + 8, width: 12, height: Math.max(12, y1 - y0 - 16), rx: 3 };
    group.append(make("rect", { ...track, class: known ? "track" : "track hatch" }));
    if (known) {
      const share = lag === 0 ? 0 : Math.max(0.03, Math.log10(1 + lag) / Math.log10(1 + this.mostLag));
      const height = track.height * Math.min(1, share);
      // What is still to be copied stands at the source's end.
      group.append(
        make("rect", {
          x: track.x,
          width: 12,
          rx: 3,
          height,
          y: up ? track.y + track.height - height : track.y,
          class: "level",
        }),
      );
    }
    const tip = up ? y0 - 2 : y1 + 2,
      base = up ? y0 + 7 : y1 - 7;
    group.append(make("path", { d: `M${x - 6} ${base}L${x} ${tip}L${x + 6} ${base}z`, class: "head" }));
    const label = cut(mirrors.map((mirror) => mirror.name).join(", "), columns.cluster - 50, 11.5);
    group.append(text(x - 16, middle - 5, `${say("mirror")} ${label}`, { class: "label", "text-anchor": "end" }));
    group.append(
      text(
        x - 16,
        middle + 13,
        known ? say("lag", { lag: lag.toLocaleString("en") }) : `${say("lag_unknown")} (${mirrors[0].word})`,
        { class: "small over", "text-anchor": "end" },
      ),
    );
    svg.append(group);
  }
}

function ribbon(x0, y0, x1, y1, w, end = null, from = null) {
  const h = w / 2,
    c = (x0 + x1) / 2;
  const lead = from === null ? `M${x0} ${y0 - h}` : `M${from} ${y0 - h}L${x0} ${y0 - h}`;
  const tail = end === null ? `L${x1} ${y1 + h}` : `L${end} ${y1 - h}L${end} ${y1 + h}L${x1} ${y1 + h}`;
  const close = from === null ? "z" : `L${from} ${y0 + h}z`;
  const there = `C${c} ${y0 - h} ${c} ${y1 - h} ${x1} ${y1 - h}`;
  const back = `C${c} ${y1 + h} ${c} ${y0 + h} ${x0} ${y0 + h}`;
  return `${lead}${there}${tail}${back}${close}`;
}

function line(x0, y0, x1, y1, end = null, from = null) {
  const c = (x0 + x1) / 2;
  const lead = from === null ? `M${x0} ${y0}` : `M${from} ${y0}L${x0} ${y0}`;
  return `${lead}C${c} ${y0} ${c} ${y1} ${x1} ${y1}${end === null ? "" : `L${end} ${y1}`}`;
}

function shape(x, y, r, hue) {
  if (hue === "first") return make("circle", { cx: x, cy: y, r, class: "shape first" });
  if (hue === "second")
    return make("path", {
      d: `M${x} ${y - r - 1}L${x + r + 1} ${y}L${x} ${y + r + 1}L${x - r - 1} ${y}z`,
      class: "shape second",
    });
  return make("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, class: "shape none" });
}

function wrap(content, width) {
  const parts = content.match(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+/g) ?? [];
  const lines = [""];
  for (const part of parts) {
    if (measure(lines.at(-1) + part, 11.5) > width) lines.push("");
    lines[lines.length - 1] += part;
  }
  return lines;
}

// A mirror's lag in records, and in seconds where they are known.
function lagText({ lag, seconds }, say) {
  if (lag === null) return say("lag_unknown");
  const records = say("lag", { lag: lag.toLocaleString("en") });
  return seconds === null ? records : `${records} · ${seconds.toFixed(1)} s`;
}

// The same for a screen reader, and for people who like tables.
export function drawTwin(box, model) {
  const { clients, state, mirrors, say } = model;
  const cell = (name, content) => {
    const element = document.createElement(name);
    element.textContent = content;
    return element;
  };
  const rowOf = (name, contents) => {
    const row = document.createElement("tr");
    row.append(...contents.map((content) => cell(name, content)));
    return row;
  };
  const head = document.createElement("thead");
  head.append(rowOf("th", [say("client"), say("cluster"), say("writes"), say("reads"), say("state")]));
  const body = document.createElement("tbody");
  for (const client of clients.clients) {
    const rate = (value) => (value === null ? "?" : say("per_second", { rate: rateText(value) }));
    const words = [];
    if (client.parked) words.push(say("parked", { count: client.parked }));
    if (seenThere(client, state)) words.push(say("seen_on", { cluster: state.target }));
    if (!client.moves) words.push(say("stays"));
    body.append(
      rowOf("td", [
        client.id || say("no_client_id"),
        Object.keys(client.clusters).join(", ") || "?",
        rate(client.produced),
        rate(client.consumed),
        words.join(", "),
      ]),
    );
  }
  for (const gateway of clients.gateways) {
    body.append(
      rowOf("td", [
        gateway.id,
        "",
        "",
        "",
        gateway.answers
          ? say("applied_of", { applied: gateway.applied, epoch: clients.epoch })
          : say("does_not_answer"),
      ]),
    );
  }
  for (const mirror of mirrors) {
    body.append(
      rowOf("td", [
        `${say("mirror")} ${mirror.name}`,
        `${mirror.source} → ${mirror.target}`,
        "",
        "",
        mirror.lag === null ? `${say("lag_unknown")} (${mirror.word})` : lagText(mirror, say),
      ]),
    );
  }
  body.append(
    rowOf("td", [
      say("gateways"),
      "",
      "",
      "",
      isUnknown(model) ? "?" : state.blocked ? say("breaker_open") : say("breaker_closed"),
    ]),
  );
  // (The table itself stays: the button for its CSV belongs to it.)
  const table = box.querySelector("table");
  if (table) table.replaceChildren(head, body);
  else {
    const first = document.createElement("table");
    first.append(head, body);
    box.replaceChildren(first);
    offerCsv(first, "clients");
  }
}
