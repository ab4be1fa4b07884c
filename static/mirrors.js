// The list of mirrors while somebody watches: its rows, and the chart of each pair's worst mirror.
import { redraw } from "./charts.js";
import { follow } from "./feed.js";

const { feed } = document.querySelector("[data-feed]").dataset;
follow(feed, ["rows"], {
  chart({ chart }) {
    redraw(chart.name, chart);
    const words = document.querySelector(`#${CSS.escape(chart.name)} header .quiet`);
    if (words) words.textContent = chart.says;
  },
});
