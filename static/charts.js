// Draws what the server says (hadash/dashboard/charts): one look for all charts, in the light and in the dark. No
// rules.
import { colour, localTime } from "./drawing.js";
import { zone } from "./times.js";

const boxes = new Map();

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

export function layoutOf(own) {
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
  const annotations = (told.annotations ?? []).map((note) => ({
    showarrow: false,
    font: { size: 11, color: quiet },
    ...note,
    ...(onTime("x") && note.xref !== "paper" ? { x: moments([note.x])[0] } : {}),
  }));
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hovermode: "closest",
    dragmode: "zoom",
    margin: { l: 56, r: 24, t: 12, b: 44 },
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    hoverlabel: { bgcolor: colour("surface"), bordercolor: line, font: { color: colour("ink") } },
    ...told,
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

function tracesOf(traces, layout) {
  return resolved(traces).map(({ circles, ...trace }) => {
    if (circles) return { ...trace, ...outlines(circles) };
    const of = (name) => layout[(trace[`${name}axis`] ?? name).replace(/^([xy])(\d*)$/, "$1axis$2")];
    return {
      connectgaps: false,
      ...trace,
      ...(of("x")?.type === "date" && trace.x ? { x: moments(trace.x) } : {}),
    };
  });
}

// What somebody has zoomed into stands in the address, so that it can be sent to others: the ends of the axis, of a
// map those of both.
const PREFIX = "zoom-";
const isMap = (layout) => Boolean(layout.yaxis?.scaleanchor);
function zoomed(name, ends) {
  const told = (new URLSearchParams(location.search).get(PREFIX + name) ?? "").split("~");
  return told.length === ends && told.every(Boolean)
    ? told.map((end) => (/^-?[\d.e+-]+$/i.test(end) && !Number.isNaN(Number(end)) ? Number(end) : end))
    : null;
}
function keepZoom(name, range) {
  const query = new URLSearchParams(location.search);
  if (range)
    query.set(
      PREFIX + name,
      range.map((end) => (typeof end === "number" ? Number(end.toPrecision(6)) : end)).join("~"),
    );
  else query.delete(PREFIX + name);
  const text = query.toString();
  history.replaceState(history.state, "", text ? `?${text}` : location.pathname);
  const all = document.querySelector(`[data-chart-reset="${CSS.escape(name)}"]`);
  if (all) all.hidden = !range;
}

function draw(box) {
  if (!spoken && document.documentElement.lang.toLowerCase().startsWith("zh")) speakChinese();
  spoken = true;
  const data = JSON.parse(document.getElementById(box.dataset.chart).textContent);
  const layout = layoutOf(data.layout);
  const map = isMap(layout);
  const range = zoomed(data.name, map ? 4 : 2);
  if (range) layout.xaxis = { ...layout.xaxis, range: range.slice(0, 2), autorange: false };
  if (range && map) layout.yaxis = { ...layout.yaxis, range: range.slice(2), autorange: false };
  window.Plotly.react(box, tracesOf(data.traces, layout), layout, {
    responsive: true,
    displayModeBar: false,
    scrollZoom: map,
    locale: document.documentElement.lang.toLowerCase(),
  });
  if (boxes.get(data.name) === box) return;
  boxes.set(data.name, box);
  keepZoom(data.name, range);
  box.on("plotly_click", (event) => {
    const [point] = event.points;
    const to = Array.isArray(point?.customdata) ? point.customdata[0] : point?.customdata;
    if (typeof to === "string" && to.startsWith("/")) location.assign(to);
  });
  box.on("plotly_relayout", (change) => {
    if (map && Object.keys(change).some((key) => /^[xy]axis\.range/.test(key)))
      keepZoom(data.name, [...box.layout.xaxis.range, ...box.layout.yaxis.range]);
    else if ("xaxis.range[0]" in change) keepZoom(data.name, [change["xaxis.range[0]"], change["xaxis.range[1]"]]);
    else if (change["xaxis.autorange"]) keepZoom(data.name, null);
  });
}

// New points at the ends of the lines of a chart on time that is drawn already: [[at, values], …], a line each. What
// is before the range goes. Somebody who has zoomed into it keeps what they look at.
export function extend(name, lines, range, shapes) {
  const box = boxes.get(name);
  if (!box) return;
  const [begin] = moments(range);
  lines.forEach(([at, values], place) => {
    const trace = box.data[place];
    const known = trace.x.at(-1) ?? "";
    const fresh = moments(at)
      .map((moment, index) => [moment, values[index]])
      .filter(([moment]) => moment > known);
    const kept = trace.x.findIndex((moment) => moment >= begin);
    const from = kept < 0 ? trace.x.length : kept;
    trace.x = [...trace.x.slice(from), ...fresh.map(([moment]) => moment)];
    trace.y = [...trace.y.slice(from), ...fresh.map(([, value]) => value)];
  });
  const told = layoutOf({ xaxis: { type: "date" }, shapes });
  const layout = { ...box.layout, shapes: told.shapes };
  if (!zoomed(name, 2)) layout.xaxis = { ...box.layout.xaxis, range: moments(range), autorange: false };
  const most = Math.max(0, ...box.data[0].y.filter((value) => value !== null));
  if (most * 1.05 > box.layout.yaxis.range[1]) layout.yaxis = { ...box.layout.yaxis, range: [0, most * 1.15] };
  window.Plotly.react(box, box.data, layout, box._context);
}

document.addEventListener("click", (event) => {
  const png = event.target.closest("[data-chart-png]");
  const all = event.target.closest("[data-chart-reset]");
  const box = boxes.get((png ?? all)?.dataset[png ? "chartPng" : "chartReset"]);
  if (!box) return;
  if (all) window.Plotly.relayout(box, { "xaxis.autorange": true, "yaxis.autorange": true });
  else
    window.Plotly.downloadImage(box, {
      format: "png",
      scale: 2,
      width: box.clientWidth,
      height: box.clientHeight,
      filename: `hadash-${png.dataset.chartPng}`,
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

// A chart is drawn when it comes into sight: a page may have many.
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      if (window.Plotly) draw(target);
      else plotly().then(() => target.isConnected && draw(target));
    }
  },
  { rootMargin: "200px" },
);
const watch = (root) => {
  for (const box of root.querySelectorAll("[data-chart]")) seen.observe(box);
};
watch(document);
document.addEventListener("htmx:afterSettle", (event) => watch(event.target));
document.addEventListener("hadash:parts", (event) => watch(event.target));
document.addEventListener("hadash:theme", () => {
  for (const box of boxes.values()) draw(box);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const box of boxes.values()) draw(box);
});
