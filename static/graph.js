// The slider over runs: while it is moved it says when each run was, and when it is let go that run is shown, at the
// same place of the map.
import { zooms } from "./address.js";

for (const slider of document.querySelectorAll("[data-slider]")) {
  const range = slider.querySelector("input"),
    said = slider.querySelector("output");
  const runs = [...slider.querySelectorAll("ol a")];
  range.addEventListener("input", () => {
    const text = runs[range.valueAsNumber].textContent;
    said.textContent = text;
    range.setAttribute("aria-valuetext", text);
  });
  range.addEventListener("change", () => {
    const to = new URL(runs[range.valueAsNumber].href);
    for (const [name, ends] of zooms()) to.searchParams.set(name, ends);
    location.assign(to);
  });
}
// So does a choice of another run to compare with.
document.querySelector("form.runs")?.addEventListener("submit", (event) => {
  // (The islands of another pair lie elsewhere.)
  const { pair } = event.target.elements;
  if (pair && pair.querySelector("[selected]")?.value !== pair.value) return;
  for (const [name, value] of zooms()) {
    const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
    event.target.append(field);
  }
});
