// Printing: on white paper in the colours of the light, whatever the screen has, and with every chart, also those that
// nobody has scrolled to.

// What draws adds itself here: it is called before the page is printed, in the light, and may return a promise.
const draws = [];
export const beforePrint = (drawAll) => draws.push(drawAll);

const root = document.documentElement;
// The theme of the screen while the page is printed ("" for that of the system); null otherwise.
let onScreen = null;

function toPaper() {
  if (onScreen !== null) return [];
  onScreen = root.dataset.theme ?? "";
  root.dataset.theme = "light";
  // (One that cannot be drawn must not keep the rest from being printed.)
  return draws.map(async (drawAll) => drawAll());
}

addEventListener("beforeprint", toPaper);
addEventListener("afterprint", () => {
  if (onScreen) root.dataset.theme = onScreen;
  else delete root.dataset.theme;
  onScreen = null;
  document.dispatchEvent(new CustomEvent("hadash:theme"));
});

// A browser's own command prints at once what is there; the button waits until all is drawn.
document.addEventListener("click", async (event) => {
  if (!event.target.closest("[data-print]")) return;
  await Promise.allSettled(toPaper());
  window.print();
});
