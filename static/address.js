// The address says what has been zoomed into (charts.js) and how whole tables are ordered (ordering.js), and both are
// written into it while somebody looks. The links and forms of the page were made before: here they take it along.

// "zoom-<chart>": what of a chart is looked at; "<table>-order": by which column a whole table is ordered.
export const ZOOM = "zoom-";
export const ORDER = "-order";
const isZoom = (name) => name.startsWith(ZOOM);
const isOrder = (name) => name.endsWith(ORDER);

// The zooms of this page, as [[parameter, ends], …].
export const zooms = () => [...new URLSearchParams(location.search)].filter(([name]) => isZoom(name));

// What `to`, another address of this page, lacks of this one's. Another order or another page of a list shows the same
// time in the charts; another filter or time does not.
function lacking(to, withZooms) {
  return [...new URLSearchParams(location.search)].filter(
    ([name]) => (isOrder(name) || (withZooms && isZoom(name))) && !to.has(name),
  );
}

// (A click of any button: the link may be opened in a window of its own.)
for (const kind of ["click", "auxclick"]) {
  document.addEventListener(
    kind,
    (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || link.hasAttribute("download") || link.pathname !== location.pathname) return;
      if (link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
      const to = new URL(link.href);
      for (const [name, value] of lacking(to.searchParams, Boolean(link.closest("thead, .pages"))))
        to.searchParams.set(name, value);
      if (to.href !== link.href) link.href = to.href;
    },
    true,
  );
}

document.addEventListener("submit", ({ target: form }) => {
  if (form.method !== "get" || new URL(form.action).pathname !== location.pathname) return;
  for (const [name, value] of lacking(new FormData(form), false)) {
    const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
    form.append(field);
  }
});
