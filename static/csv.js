// A table that stands on a page as a whole, as CSV. Lists that have pages get theirs from the server; a table that
// shows only the first of its rows says so with data-csv="".

// What a cell says: a moment in full, a number without marks for thousands, and no words for readers of screens only.
function textOf(cell) {
  const time = cell.querySelector("time[datetime]");
  if (time) return time.dateTime;
  const copy = cell.cloneNode(true);
  for (const hidden of copy.querySelectorAll(".hidden, svg")) hidden.remove();
  for (const short of copy.querySelectorAll("[data-all]")) short.textContent = short.dataset.all;
  const text = copy.textContent.replace(/\s+/g, " ").trim();
  return cell.classList.contains("num") ? text.replace(/(\d),(?=\d{3})/g, "$1") : text;
}

// A program for tables takes a text that begins so for a formula.
const safe = (text) => (/^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csvOf(table) {
  const heads = [...table.tHead.rows[0].cells];
  // Columns without a head hold buttons.
  const columns = heads.map((head, place) => [textOf(head).replace(/ [↑↓]$/, ""), place]).filter(([word]) => word);
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => row.cells.length === heads.length);
  const lines = [
    columns.map(([word]) => word),
    ...rows.map((row) => columns.map(([, place]) => safe(textOf(row.cells[place])))),
  ];
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n");
}

export function offerCsv(table, name) {
  if (!name || !table.tHead || !table.tBodies[0]?.rows.length) return;
  const card = table.closest(".card");
  const header = card?.querySelector(":scope > header, :scope > summary");
  const isOnlyOne = card?.querySelectorAll("table").length === 1;
  if (isOnlyOne && header?.querySelector("a[download]")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small quiet-button csv";
  button.name = `csv-${name}`;
  button.append("CSV");
  const title = header?.querySelector("h2, h3")?.textContent.trim();
  if (title) {
    const words = Object.assign(document.createElement("span"), { className: "hidden", textContent: `: ${title}` });
    button.append(words);
  }
  button.addEventListener("click", () => {
    const file = new Blob([`${csvOf(table)}\r\n`], { type: "text/csv" });
    const link = Object.assign(document.createElement("a"), {
      href: URL.createObjectURL(file),
      download: `hadash-${name}.csv`,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  });
  if (isOnlyOne && header?.matches("header")) (header.querySelector(":scope > .chart-tools") ?? header).append(button);
  else {
    const line = Object.assign(document.createElement("p"), { className: "under csv-line" });
    line.append(button);
    (table.closest(".scroll") ?? table).after(line);
  }
}
