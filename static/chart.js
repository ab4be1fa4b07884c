import { equip, locale, zoomed } from "./charts.js";
import { colour, localTime as local } from "./drawing.js";
import { isUnknown } from "./picture.js";
import { showTimes } from "./times.js";

// Records per second over time, by cluster: produced solid, consumed dashed. Gaps in the data are gaps.

// Each sample is what one Gateway counted in a window that ended at `at`. Windows of several Gateways lie apart, so
// each is spread over the bins that it covers. A bin that no window covers is a gap, not zero.
export function rates(samples, seconds, names) {
  if (!samples.length) return { at: [], series: {} };
  // Not more points than anybody can see.
  const step = seconds * Math.max(1, Math.ceil((samples.at(-1).at - samples[0].at) / seconds / 500));
  const first = Math.floor((samples[0].at - seconds) / step);
  const last = Math.floor(samples.at(-1).at / step);
  const size = last - first + 1;
  const covered = new Float64Array(size);
  const series = Object.fromEntries(names.map((name) => [name, [new Float64Array(size), new Float64Array(size)]]));
  for (const sample of samples) {
    const start = sample.at - seconds;
    for (let bin = Math.floor(start / step); bin <= Math.floor(sample.at / step); bin += 1) {
      const overlap = Math.min(sample.at, (bin + 1) * step) - Math.max(start, bin * step);
      const index = bin - first;
      if (overlap <= 0 || index < 0 || index >= size) continue;
      covered[index] += overlap;
      for (const name of names) {
        const counts = sample.clusters[name];
        if (!counts) continue;
        series[name][0][index] += (counts[0] * overlap) / seconds / step;
        series[name][1][index] += (counts[1] * overlap) / seconds / step;
      }
    }
  }
  // How much all Gateways together usually cover; a bin with much less is a gap, one with a little less is scaled.
  const usual = [...covered].sort((a, b) => a - b)[Math.floor(size / 2)] || step;
  const known = (index) => covered[index] > usual * 0.6;
  const at = Array.from({ length: size }, (_, index) => new Date((first + index + 0.5) * step * 1000));
  const values = (array) =>
    Array.from(array, (value, index) =>
      known(index) ? Math.round(((value * usual) / covered[index]) * 10) / 10 : null,
    );
  return { at, series: Object.fromEntries(names.map((name) => [name, series[name].map(values)])) };
}

function spans(model) {
  const { stages } = model.state;
  const found = [];
  let blocked = null;
  for (const stage of stages) {
    if (stage.stage === "block" && stage.started_at && !blocked)
      blocked = { from: new Date(stage.started_at), to: null };
    if (blocked && !blocked.to && ["forward", "return"].includes(stage.stage) && stage.ended_at) {
      blocked.to = new Date(stage.ended_at);
      found.push(blocked);
    }
  }
  if (blocked && !blocked.to) found.push({ from: blocked.from, to: new Date() });
  return found;
}

// An ended switch shows what was kept; a running one its last two minutes; one that waits, the last minute.
function rangeOf(state, at) {
  if (!at.length) return null;
  const first = at[0].getTime(),
    end = at.at(-1).getTime() + 500;
  const shown =
    state.status === "running" ? 120000 : state.status === "needs_attention" ? 600000 : state.ended ? Infinity : 60000;
  return [Math.max(first, end - shown), end];
}

// What stands in the place of lines that cannot be drawn: a switch that has not run has no traffic of its own.
function emptyWords(model, state) {
  if (isUnknown(model)) return "traffic_unknown";
  return state.stages.some((stage) => stage.started_at) ? "no_traffic" : "no_traffic_yet";
}

export function drawChart(box, model) {
  if (!window.Plotly) return;
  const { state, hues, say } = model;
  const names = [state.source, state.target].sort(
    (a, b) => (hues[a] === "first" ? 0 : 1) - (hues[b] === "first" ? 0 : 1),
  );
  const { at, series } = rates(model.samples, model.sampleSeconds, names);
  const ink = colour("ink-2"),
    line = colour("line"),
    quiet = colour("ink-3");
  const moments = at.map(local);
  const traces = [];
  const labels = [];
  for (const name of names) {
    const hue = colour(hues[name] ?? "ink-3");
    [
      ["produced", undefined],
      ["consumed", "5px,4px"],
    ].forEach(([kind, dash], index) => {
      const y = series[name]?.[index] ?? [];
      traces.push({
        x: moments,
        y,
        name: say(kind, { cluster: name }),
        type: "scatter",
        mode: "lines",
        connectgaps: false,
        line: { color: hue, width: index ? 1.6 : 2.2, dash, shape: "linear" },
        hovertemplate: `%{y:,.0f}/s<extra>${say(kind, { cluster: name }).replace(/[<>&]/g, "")}</extra>`,
      });
      const end = y.findLastIndex((value) => value !== null);
      if (end >= 0)
        labels.push({
          x: moments[end],
          y: y[end],
          text: say(kind, { cluster: name }).replace(/[<>&]/g, ""),
          colour: hue,
          value: y[end],
        });
    });
  }
  const shapes = [],
    annotations = [];
  const range = rangeOf(state, at);
  const pixels = (date) => (range ? ((date - range[0]) / (range[1] - range[0])) * (box.clientWidth - 230) : 0);
  const free = [-Infinity, -Infinity]; // where the next label may begin, in two rows
  for (const span of spans(model)) {
    shapes.push({
      type: "rect",
      xref: "x",
      yref: "paper",
      x0: local(span.from),
      x1: local(span.to),
      y0: 0,
      y1: 1,
      fillcolor: quiet,
      opacity: 0.22,
      line: { width: 0 },
      layer: "below",
    });
  }
  for (const stage of state.stages) {
    if (!["quiesce", "block", "forward", "reverse", "verify", "return"].includes(stage.stage) || !stage.started_at)
      continue;
    const x = local(new Date(stage.started_at));
    shapes.push({
      type: "line",
      xref: "x",
      yref: "paper",
      x0: x,
      x1: x,
      y0: 0,
      y1: 1,
      line: { color: quiet, width: 1, dash: "1px,3px" },
      layer: "below",
    });
    if (stage.stage === "forward") continue; // lies on the end of the block
    const begin = pixels(new Date(stage.started_at));
    const row = free.findIndex((from) => begin >= from);
    if (row < 0 || !range) continue;
    const words = stage.stage === "block" ? say("writes_refused") : stage.word;
    free[row] = begin + 14 + [...words].reduce((sum, character) => sum + (character > "\u2e80" ? 12 : 6.2), 0);
    annotations.push({
      x,
      y: 1,
      xref: "x",
      yref: "paper",
      text: words,
      showarrow: false,
      yanchor: "bottom",
      xanchor: "left",
      yshift: row ? 13 : 0,
      font: { size: 11, color: quiet },
    });
  }
  // Direct labels instead of a legend; those that would lie on each other are moved apart.
  const top = Math.max(10, ...traces.flatMap((trace) => trace.y.filter((value) => value !== null)));
  labels.sort((a, b) => b.value - a.value);
  let above = Infinity;
  for (const label of labels) {
    label.place = Math.min(label.value / (top * 1.08), above - 0.085);
    above = label.place;
  }
  const lowest = labels.at(-1)?.place ?? 0;
  const lift = lowest < 0 ? -lowest : 0;
  for (const label of labels) {
    annotations.push({
      xref: "paper",
      x: 1,
      xanchor: "left",
      yanchor: "middle",
      yref: "paper",
      y: label.place + lift,
      text: label.text,
      showarrow: false,
      xshift: 8,
      font: { size: 12, color: label.colour },
    });
  }
  if (!model.samples.length)
    annotations.push({
      xref: "paper",
      yref: "paper",
      x: 0.5,
      y: 0.5,
      text: say(emptyWords(model, state)),
      showarrow: false,
      font: { size: 13, color: ink },
    });
  const layout = {
    margin: { l: 62, r: 150, t: 34, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    hovermode: "x unified",
    hoverlabel: { bgcolor: colour("surface"), bordercolor: line, font: { color: colour("ink") } },
    xaxis: {
      type: "date",
      gridcolor: line,
      linecolor: line,
      tickformat: "%H:%M:%S",
      nticks: 9,
      title: { text: say("time_axis", { zone: model.zone }), font: { size: 11, color: quiet }, standoff: 6 },
      showspikes: false,
    },
    yaxis: {
      gridcolor: line,
      zerolinecolor: line,
      range: [0, top * 1.08],
      title: { text: say("records_per_second"), font: { size: 11, color: quiet }, standoff: 8 },
    },
    shapes,
    annotations,
  };
  // Without samples there is nothing to measure by, and no time to shade.
  if (!model.samples.length) {
    layout.xaxis.visible = layout.yaxis.visible = false;
    layout.shapes = [];
  }
  if (range) layout.xaxis.range = range.map((moment) => local(new Date(moment)));
  box.whole = { xaxis: layout.xaxis.range, yaxis: layout.yaxis.range };
  const seen = range && zoomed(TRAFFIC, layout);
  if (seen) layout.xaxis.range = seen.x;
  if (seen?.y) layout.yaxis.range = seen.y;
  box.narrowed = Boolean(seen?.y);
  window.Plotly.react(box, traces, layout, { responsive: true, displayModeBar: false, locale: locale() });
  equip(TRAFFIC, box, Boolean(seen));
}

// The name of the chart in the address.
const TRAFFIC = "traffic";
// Most lines of the table: the last ones. The CSV has what every Gateway has counted.
const TWIN_ROWS = 40;

// The same as a table, the newest first.
export function drawTrafficTwin(box, model) {
  const names = [model.state.source, model.state.target];
  const { at, series } = rates(model.samples, model.sampleSeconds, names);
  const row = (name, contents) => {
    const line = document.createElement("tr");
    for (const [place, content] of contents.entries()) {
      const cell = document.createElement(name);
      cell.append(content);
      if (place) cell.className = "num";
      line.append(cell);
    }
    return line;
  };
  const time = (moment) => {
    const element = document.createElement("time");
    element.dateTime = moment.toISOString();
    element.dataset.mode = "clock";
    return element;
  };
  const words = names.flatMap((cluster) => ["produced", "consumed"].map((kind) => model.say(kind, { cluster })));
  const head = document.createElement("thead");
  head.append(row("th", [model.say("when"), ...words]));
  const body = document.createElement("tbody");
  for (let index = at.length - 1; index >= Math.max(0, at.length - TWIN_ROWS); index -= 1) {
    const values = names.flatMap((name) => series[name].map((line) => line[index]));
    const texts = values.map((value) => (value === null ? "?" : model.say("per_second", { rate: value })));
    body.append(row("td", [time(at[index]), ...texts]));
  }
  const table = document.createElement("table");
  table.append(head, body);
  box.replaceChildren(table);
  showTimes(box);
}
