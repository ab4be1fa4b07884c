// Tables that stand on a page as a whole (`data-order` is their name in the address) are ordered here, by a click at
// the head of a column. Lists that have pages are ordered by the server.
import { ORDER } from "./address.js";
import { offerCsv } from "./csv.js";

const NOTHING = new Set(["", "–", "—", "?"]);
const collator = new Intl.Collator(document.documentElement.lang || "en", { numeric: true, sensitivity: "base" });
const parameter = (table) => table.dataset.order + ORDER;

// What a cell is ordered by; `null`: it says nothing, and comes last either way. In a column of moments a word says
// that there was none ("never").
function valueOf(cell, isTime) {
  if (!cell) return null;
  if (cell.dataset.value !== undefined) return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  const time = cell.querySelector("time[datetime]");
  if (isTime) return time ? Date.parse(time.dateTime) : null;
  const text = cell.textContent.trim();
  if (NOTHING.has(text)) return null;
  if (!cell.classList.contains("num")) return text;
  const number = Number.parseFloat(text.replace(/[,\s]/g, ""));
  return Number.isNaN(number) ? text : number;
}

function compared(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(String(one), String(other));
}

// Rows with what hangs on them: the reason of a fault stands in a row of its own.
function groupsOf(body) {
  const groups = [];
  for (const row of body.rows) {
    if (row.classList.contains("fault-row") && groups.length) groups.at(-1).push(row);
    else groups.push([row]);
  }
  return groups;
}

function order(table, column, descending) {
  const [body] = table.tBodies;
  const isTime = [...body.rows].some((row) => row.cells[column]?.querySelector("time[datetime]"));
  const groups = groupsOf(body).map((rows) => ({ rows, value: valueOf(rows[0].cells[column], isTime) }));
  const known = groups.filter(({ value }) => value !== null);
  known.sort((one, other) => (descending ? -1 : 1) * compared(one.value, other.value));
  body.append(...[...known, ...groups.filter(({ value }) => value === null)].flatMap(({ rows }) => rows));
  [...table.tHead.rows[0].cells].forEach((head, number) => {
    if (number === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

function chosen(table) {
  const told = new URLSearchParams(location.search).get(parameter(table));
  const number = Math.abs(Number.parseInt(told, 10));
  return number >= 1 && number <= table.tHead.rows[0].cells.length
    ? { column: number - 1, descending: told.startsWith("-") }
    : null;
}

function choose(table, column, descending) {
  const address = new URL(location.href);
  address.searchParams.set(parameter(table), `${descending ? "-" : ""}${column + 1}`);
  history.replaceState(history.state, "", address);
  order(table, column, descending);
}

function prepare(root) {
  for (const table of root.querySelectorAll("table[data-order]")) {
    if (!table.tHead || table.tBodies.length !== 1 || table.dataset.ordered) continue;
    table.dataset.ordered = "1";
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim() || head.querySelector(".hidden")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "order";
      // After a swap the focus goes back to what has the same name.
      button.name = `${table.dataset.order}-${column + 1}`;
      button.append(...head.childNodes);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        choose(table, column, now ? now === "ascending" : head.classList.contains("num"));
      });
      head.append(button);
    });
    const before = chosen(table);
    if (before) order(table, before.column, before.descending);
  }
  for (const table of root.querySelectorAll("table[data-order], table[data-csv]")) {
    if (table.dataset.csvOffered) continue;
    table.dataset.csvOffered = "1";
    offerCsv(table, table.dataset.csv ?? table.dataset.order);
  }
}

prepare(document);
document.addEventListener("hadash:parts", (event) => prepare(event.target));
document.addEventListener("htmx:afterSwap", (event) =>
  prepare(event.detail.target.isConnected ? event.detail.target : document),
);
