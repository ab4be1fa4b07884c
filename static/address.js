// The address says what has been zoomed into (charts.js) and how whole tables are ordered (ordering.js), and both are
// written into it while somebody looks. The links and forms of the page were made before: here they take it along.

// "zoom-<chart>": what of a chart is looked at; "<table>-order": by which column a whole table is ordered.
export const ZOOM = "zoom-";
export const ORDER = "-order";
const isZoom = (name) => name.startsWith(ZOOM);
const isOrder = (name) => name.endsWith(ORDER);

// The zooms of this page, as [[parameter, ends], …].
export const zooms = () => [...new URLSearchParams(location.search)].filter(([name]) => isZoom(name));

// What is looked at is another thing in another time, and for another pair.
const OTHERS = ["window", "pair"];

// Takes along in `to`, the query of another address of this page, what this address says.
function carry(to) {
  const now = new URLSearchParams(location.search);
  const isOther = OTHERS.some((name) => (to.get(name) ?? "") !== (now.get(name) ?? ""));
  for (const [name, value] of now) {
    if (isZoom(name) && isOther) to.delete(name);
    else if ((isZoom(name) || isOrder(name)) && !to.has(name)) to.set(name, value);
  }
  return to;
}

// (A click of any button: the link may be opened in a window of its own.)
for (const kind of ["click", "auxclick"]) {
  document.addEventListener(
    kind,
    (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || link.hasAttribute("download") || link.getAttribute("href").startsWith("#")) return;
      if (link.origin !== location.origin || link.pathname !== location.pathname) return;
      const to = new URL(link.href);
      carry(to.searchParams);
      if (to.href !== link.href) link.href = to.href;
    },
    true,
  );
}

document.addEventListener("submit", ({ target: form }) => {
  // Another language shows the same page, as it is looked at now.
  if ("stays" in form.dataset && form.next) form.next.value = location.pathname + location.search + location.hash;
  // (Not `form.action`: a field may have that name.)
  const target = new URL(form.getAttribute("action") ?? "", location);
  if (form.method !== "get" || target.pathname !== location.pathname) return;
  const told = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === "string"));
  for (const [name, value] of carry(new URLSearchParams(told))) {
    if (told.has(name)) continue;
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
});
