// The page of one mirror while somebody watches: new points of its lag, and the parts that change.
import { extend } from "./charts.js";
import { follow } from "./feed.js";

const { feed } = document.querySelector("[data-feed]").dataset;
follow(feed, ["state", "tasks", "audit", "topics", "incidents", "over-time"], {
  lag({ at, seconds, records, range, shapes, says }) {
    extend("lag", [[at, seconds], [at, records]], range, shapes);
    const words = document.querySelector("#lag header .quiet");
    if (words) words.textContent = says;
  },
});
