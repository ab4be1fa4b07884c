// Draws what the server says (hadash/dashboard/charts): one look for all charts, in the light and in the dark. No
// rules.
import { ZOOM } from "./address.js";
import { colour, instantOf, localTime } from "./drawing.js";
import { beforePrint } from "./print.js";
import { zone } from "./times.js";

const boxes = new Map();

// Plotly makes a part of a text bold by an attribute "style", which our Content-Security-Policy forbids (and reports);
// the same said to the style itself is allowed.
SVGElement.prototype.setAttribute = function setAttribute(name, value) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
};

// Plotly speaks English where it is told nothing else. Months as people write them in Chinese; all other words come
// from the server.
function speakChinese() {
  const months = Array.from({ length: 12 }, (_, month) => `${month + 1}月`);
  const days = [..."日一二三四五六"].map((day) => `周${day}`);
  window.Plotly.register({
    moduleType: "locale",
    name: "zh-hans",
    dictionary: {},
    format: {
      months,
      shortMonths: months,
      days,
      shortDays: days,
      date: "%Y-%m-%d",
      year: "%Y年",
      month: "%Y年%-m月",
      dayMonth: "%-m月%-d日",
      dayMonthYear: "%Y年%-m月%-d日",
    },
  });
}
let spoken = false;

// The language of what Plotly itself writes.
export function locale() {
  const language = document.documentElement.lang.toLowerCase();
  if (!spoken && language.startsWith("zh")) speakChinese();
  spoken = true;
  return language;
}

// "@name" is a colour of hadash.css; ["@name", 0.3] one that shows through.
function resolved(value) {
  if (typeof value === "string") return value.startsWith("@") ? colour(value.slice(1)) : value;
  if (Array.isArray(value)) {
    if (
      value.length === 2 &&
      typeof value[0] === "string" &&
      value[0].startsWith("@") &&
      typeof value[1] === "number" &&
      value[1] <= 1 &&
      value[1] > 0
    ) {
      return colour(value[0].slice(1)).replace(/^rgb\((.*)\)$/, `rgba($1, ${value[1]})`);
    }
    return value.map(resolved);
  }
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner)]));
  return value;
}

const moments = (values) => values?.map((value) => (typeof value === "number" ? localTime(new Date(value)) : value));

function axis(own, ink, quiet, line) {
  const isTime = own?.type === "date";
  const title = own?.title?.text ?? (typeof own?.title === "string" ? own.title : "");
  const words = isTime && !own?.withoutZone ? [title, zone].filter(Boolean).join(" · ") : title;
  return {
    gridcolor: line,
    linecolor: line,
    zerolinecolor: line,
    automargin: true,
    tickfont: { color: ink },
    ...own,
    title: { text: words, font: { size: 11, color: quiet }, standoff: 8 },
    ...(isTime && own?.range ? { range: moments(own.range) } : {}),
  };
}

// The most that names at the ends of lines take of a chart's width.
const MOST_ROOM = 0.3;

// A server's layout as Plotly's, for a chart of this width in pixels.
export function layoutOf({ ends, ...own }, width) {
  const ink = colour("ink-2"),
    quiet = colour("ink-3"),
    line = colour("line");
  const told = resolved(own);
  const axes = Object.fromEntries(
    Object.keys(told)
      .filter((key) => /^[xy]axis\d*$/.test(key))
      .map((key) => [key, axis(told[key], ink, quiet, line)]),
  );
  const onTime = (key) => told[`${key}axis`]?.type === "date";
  const shapes = (told.shapes ?? []).map((shape) => ({
    ...shape,
    ...(onTime("x") && shape.xref !== "paper" ? { x0: moments([shape.x0])[0], x1: moments([shape.x1])[0] } : {}),
  }));
  // Names at the ends of lines; where they have no room, a legend.
  const named = Boolean(ends) && ends.room <= MOST_ROOM * width;
  const atEnds = named ? resolved(ends.names) : [];
  const annotations = [...(told.annotations ?? []), ...atEnds].map((note) => ({
    showarrow: false,
    font: { size: 11, color: quiet },
    ...note,
    ...(onTime("x") && note.xref !== "paper" ? { x: moments([note.x])[0] } : {}),
  }));
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: Boolean(ends) && !named,
    hovermode: "closest",
    dragmode: "zoom",
    margin: { l: 56, r: 24, t: 12, b: 44 },
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    hoverlabel: { bgcolor: colour("surface"), bordercolor: line, font: { color: colour("ink") } },
    ...told,
    ...(named ? { margin: { ...told.margin, r: ends.room } } : {}),
    xaxis: axis(told.xaxis, ink, quiet, line),
    yaxis: axis(told.yaxis, ink, quiet, line),
    ...axes,
    shapes,
    annotations,
  };
}

// The edges of circles, as lines: [x, y, radius] each. A circle takes more points than are worth sending.
const CORNERS = 48;
function outlines(circles) {
  const x = [],
    y = [];
  for (const [middleX, middleY, radius] of circles) {
    for (let corner = 0; corner <= CORNERS; corner++) {
      const angle = (2 * Math.PI * corner) / CORNERS;
      x.push(middleX + radius * Math.cos(angle));
      y.push(middleY + radius * Math.sin(angle));
    }
    x.push(null);
    y.push(null);
  }
  return { x, y };
}

// On a screen that is narrower than this, of a trace's names only the first "few" are written: all of them would lie
// on each other.
const NARROW = 600;
// The same for a phone.
const PHONE = 420;

function tracesOf(traces, layout, width) {
  return resolved(traces).map(({ circles, few, ...trace }) => {
    if (circles) return { ...trace, ...outlines(circles) };
    if (few && width < NARROW) trace.text = trace.text.map((name, place) => (place < few ? name : ""));
    const of = (name) => layout[(trace[`${name}axis`] ?? name).replace(/^([xy])(\d*)$/, "$1axis$2")];
    return {
      connectgaps: false,
      ...trace,
      // (Of a bar that begins somewhere only that is a moment: what it adds is a length.)
      ...(of("x")?.type === "date" && trace.base ? { base: moments(trace.base) } : {}),
      ...(of("x")?.type === "date" && trace.x && !trace.base ? { x: moments(trace.x) } : {}),
    };
  });
}

// What somebody has zoomed into stands in the address, so that it can be sent to others: the ends of the horizontal
// axis, and those of the vertical one where that was narrowed as well. Times are milliseconds since 1970: who opens
// the address may live in another zone.
const isMap = (layout) => Boolean(layout.yaxis?.scaleanchor);
const isTime = (axis) => axis?.type === "date";
const asTold = (axis, end) => (isTime(axis) ? instantOf(String(end)) : Number(Number(end).toPrecision(6)));
const asDrawn = (axis, end) => (isTime(axis) ? localTime(new Date(end)) : end);
// { x: [from, to], y: [from, to] or null } in the units of the axes; null where nothing (that can be read) is told.
export function zoomed(name, layout) {
  const told = (new URLSearchParams(location.search).get(ZOOM + name) ?? "").split("~");
  const ends = told.map(Number);
  if (![2, 4].includes(told.length) || told.includes("") || !ends.every(Number.isFinite)) return null;
  const of = (axis, pair) => pair.map((end) => asDrawn(axis, end));
  return { x: of(layout.xaxis, ends.slice(0, 2)), y: told.length === 4 ? of(layout.yaxis, ends.slice(2)) : null };
}
function keepZoom(name, ends) {
  const query = new URLSearchParams(location.search);
  if (ends) query.set(ZOOM + name, ends.join("~"));
  else query.delete(ZOOM + name);
  const text = query.toString();
  history.replaceState(history.state, "", (text ? `?${text}` : location.pathname) + location.hash);
  showReset(name, Boolean(ends));
}
function showReset(name, isZoomed) {
  const all = document.querySelector(`[data-chart-reset="${CSS.escape(name)}"]`);
  if (all) all.hidden = !isZoomed;
}
function keepWhatIsSeen(name, box) {
  const { xaxis, yaxis } = box.layout;
  const both = isMap(box.layout) || box.narrowed;
  // (A double click leads back to the range that was drawn first.)
  const whole = box.whole.xaxis;
  if (whole && !both && whole.every((end, place) => asTold(xaxis, end) === asTold(xaxis, xaxis.range[place])))
    return keepZoom(name, null);
  keepZoom(name, [
    ...xaxis.range.map((end) => asTold(xaxis, end)),
    ...(both ? yaxis.range.map((end) => asTold(yaxis, end)) : []),
  ]);
}

// Of so many lines the one that is pointed at stands out, and the others step back.
const MANY_LINES = 4;
function liftLines(box) {
  const lines = () => [...box.querySelectorAll(".scatterlayer > .trace")];
  box.on("plotly_hover", ({ points, event }) => {
    const drawn = lines();
    if (drawn.length < MANY_LINES) return;
    const pointer = event.clientY - box.getBoundingClientRect().top;
    const away = ({ y, yaxis }) => Math.abs(yaxis._offset + yaxis.c2p(y) - pointer);
    const [near] = points.filter(({ yaxis }) => yaxis).sort((one, other) => away(one) - away(other));
    if (!near) return;
    for (const line of drawn) line.style.opacity = line.__data__?.[0]?.trace.index === near.curveNumber ? "1" : "0.25";
  });
  box.on("plotly_unhover", () => {
    for (const line of lines()) line.style.opacity = "";
  });
}

function draw(box) {
  const language = locale();
  const data = (box.told ??= JSON.parse(document.getElementById(box.dataset.chart).textContent));
  const layout = layoutOf(data.layout, box.clientWidth);
  const map = isMap(layout);
  // More dates than that would not stand beside each other there.
  if (isTime(layout.xaxis) && box.clientWidth < PHONE) layout.xaxis.nticks ??= 4;
  // What is drawn first is what "Show all" leads back to.
  box.whole = { xaxis: layout.xaxis.range, yaxis: layout.yaxis.range };
  const range = zoomed(data.name, layout);
  if (range) layout.xaxis = { ...layout.xaxis, range: range.x, autorange: false };
  if (range?.y) layout.yaxis = { ...layout.yaxis, range: range.y, autorange: false };
  box.narrowed = Boolean(range?.y);
  window.Plotly.react(box, tracesOf(data.traces, layout, box.clientWidth), layout, {
    responsive: true,
    displayModeBar: false,
    scrollZoom: map,
    locale: language,
  });
  if (!equip(data.name, box, Boolean(range))) return;
  liftLines(box);
  box.on("plotly_click", (event) => {
    const [point] = event.points;
    const to = Array.isArray(point?.customdata) ? point.customdata[0] : point?.customdata;
    if (to === "#csv") box.closest(".chart-card").querySelector("a[download]").click();
    else if (typeof to === "string" && to.startsWith("/")) location.assign(to);
  });
}

// Gives a chart that has been drawn its tools: the buttons above it, and an address that keeps what is zoomed into.
// Returns whether it had none yet.
export function equip(name, box, isZoomed) {
  if (boxes.get(name) === box) return false;
  boxes.set(name, box);
  showReset(name, isZoomed);
  if (document.querySelector(`[data-chart-zoom="${CSS.escape(name)}"]`)) takeKeys(box);
  box.on("plotly_relayout", (change) => {
    const keys = Object.keys(change);
    if (change["xaxis.autorange"]) {
      // A double click.
      box.narrowed = false;
      keepZoom(name, null);
    } else if (keys.some((key) => /^[xy]axis\.range/.test(key))) {
      if (keys.some((key) => key.startsWith("yaxis.range"))) box.narrowed = true;
      keepWhatIsSeen(name, box);
    }
  });
  return true;
}

// Shows another part of the axes: `turn` makes the new ends of one from its present ones.
function look(box, names, turn) {
  const change = {};
  for (const name of names) {
    const axis = box._fullLayout[name];
    const ends = axis.range.map((end) => (isTime(axis) ? instantOf(String(end)) : Number(end)));
    change[`${name}.range`] = turn(ends).map((end) => asDrawn(axis, end));
  }
  window.Plotly.relayout(box, change);
}
// Closer by the factor, or further away, around the middle.
function zoom(box, by) {
  look(box, isMap(box.layout) ? ["xaxis", "yaxis"] : ["xaxis"], ([from, to]) => {
    const middle = (from + to) / 2,
      half = ((to - from) / 2) * by;
    return [middle - half, middle + half];
  });
}
// Along an axis, by a share of what is seen.
const STEP = 0.2;
function move(box, name, steps) {
  look(box, [name], ([from, to]) => [from, to].map((end) => end + steps * STEP * (to - from)));
}

// The keys of a chart that has the focus. Up and down move a map alone: in others they scroll the page.
const KEYS = {
  ArrowLeft: (box) => move(box, "xaxis", -1),
  ArrowRight: (box) => move(box, "xaxis", 1),
  ArrowUp: (box) => isMap(box.layout) && move(box, "yaxis", 1),
  ArrowDown: (box) => isMap(box.layout) && move(box, "yaxis", -1),
  "+": (box) => zoom(box, 0.5),
  "=": (box) => zoom(box, 0.5),
  "-": (box) => zoom(box, 2),
  0: (box) => showAll(box),
};
function takeKeys(box) {
  box.tabIndex = 0;
  box.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight + - 0");
  box.addEventListener("keydown", (event) => {
    if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (KEYS[event.key] && KEYS[event.key](box) !== false) event.preventDefault();
  });
}
function showAll(box) {
  const change = {};
  for (const [name, range] of Object.entries(box.whole)) {
    if (range) change[`${name}.range`] = range;
    else change[`${name}.autorange`] = true;
  }
  const name = [...boxes].find(([, each]) => each === box)[0];
  window.Plotly.relayout(box, change).then(() => {
    box.narrowed = false;
    keepZoom(name, null);
  });
}

// New points at the ends of the lines of a chart on time that is drawn already: [[at, values], …], a line each. What
// is before the range goes. Somebody who has zoomed into it keeps what they look at.
export function extend(name, lines, range, shapes) {
  const box = boxes.get(name);
  if (!box?.isConnected) return;
  const { traces, layout } = box.told;
  lines.forEach(([at, values], place) => {
    const trace = traces[place];
    const known = trace.x.at(-1) ?? -Infinity;
    const fresh = at.map((moment, index) => [moment, values[index]]).filter(([moment]) => moment > known);
    const kept = trace.x.findIndex((moment) => moment >= range[0]);
    const from = kept < 0 ? trace.x.length : kept;
    trace.x = [...trace.x.slice(from), ...fresh.map(([moment]) => moment)];
    trace.y = [...trace.y.slice(from), ...fresh.map(([, value]) => value)];
  });
  layout.shapes = shapes;
  layout.xaxis.range = range;
  const most = Math.max(0, ...traces[0].y.filter((value) => value !== null));
  if (most * 1.05 > layout.yaxis.range[1]) layout.yaxis.range = [0, most * 1.15];
  draw(box);
}

// A chart that is drawn already, with what it shows now. Somebody who has zoomed into it keeps what they look at.
export function redraw(name, told) {
  const box = boxes.get(name);
  if (!box?.isConnected) return;
  box.told = told;
  draw(box);
}

document.addEventListener("click", (event) => {
  const tool = event.target.closest("[data-chart-png], [data-chart-reset], [data-chart-zoom]");
  const { chartPng, chartReset, chartZoom, by } = tool?.dataset ?? {};
  const box = boxes.get(chartPng ?? chartReset ?? chartZoom);
  if (!box) return;
  if (chartReset) showAll(box);
  else if (chartZoom) zoom(box, Number(by));
  else
    window.Plotly.downloadImage(box, {
      format: "png",
      scale: 2,
      width: box.clientWidth,
      height: box.clientHeight,
      filename: `hadash-${chartPng}`,
    });
});

// A page that has no chart yet is there without Plotly: it comes with the first one.
let loading = null;
function plotly() {
  loading ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = document.querySelector("meta[name=plotly]").content;
    script.addEventListener("load", done);
    script.addEventListener("error", () => {
      loading = null;
      fail(new Error("Plotly could not be loaded"));
    });
    document.head.append(script);
  });
  return loading;
}

// Where Plotly does not come, the table of the chart has what it would show.
function sayThatItIsMissing(box) {
  const { undrawn } = box.dataset;
  if (undrawn) box.textContent = undrawn;
  const twin = box.closest(".chart-card")?.querySelector("details.twin");
  if (twin) twin.open = true;
}

// A chart is drawn when it comes into sight: a page may have many.
const drawing = new WeakMap();
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      const drawIt = drawing.get(target) ?? draw;
      // (It is told of a round later: the part may have been replaced meanwhile, with what the chart shows.)
      const drawIfThere = () => target.isConnected && drawIt(target);
      if (window.Plotly) drawIfThere();
      else plotly().then(drawIfThere, () => sayThatItIsMissing(target));
    }
  },
  { rootMargin: "200px" },
);
// A chart that another script draws.
const ownDrawn = new Set();
export function whenSeen(box, drawIt) {
  drawing.set(box, drawIt);
  ownDrawn.add(box);
  seen.observe(box);
}
const watch = (root) => {
  for (const box of root.querySelectorAll("[data-chart]")) seen.observe(box);
};
watch(document);
document.addEventListener("htmx:afterSettle", (event) => watch(event.target));
document.addEventListener("hadash:parts", (event) => watch(event.target));
// All charts of the page, also those that nobody has seen yet. (Without Plotly, which comes later, nothing is drawn at
// once: a browser's own command to print does not wait.)
beforePrint(() => {
  const all = [...document.querySelectorAll("[data-chart]"), ...ownDrawn].filter((box) => box.isConnected);
  const drawThem = () => {
    for (const box of all) {
      try {
        (drawing.get(box) ?? draw)(box);
      } catch (error) {
        console.warn(error);
      }
    }
  };
  if (window.Plotly) return drawThem();
  return all.length ? plotly().then(drawThem) : null;
});
document.addEventListener("hadash:theme", () => {
  for (const box of boxes.values()) if (box.isConnected && box.told) draw(box);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const box of boxes.values()) if (box.isConnected && box.told) draw(box);
});
