// The slider over runs: while it is moved it says when each run was, and when it is let go that run is shown.
for (const slider of document.querySelectorAll("[data-slider]")) {
  const range = slider.querySelector("input"), said = slider.querySelector("output");
  const runs = [...slider.querySelectorAll("ol a")];
  range.addEventListener("input", () => {
    const text = runs[range.valueAsNumber].textContent;
    said.textContent = text;
    range.setAttribute("aria-valuetext", text);
  });
  range.addEventListener("change", () => location.assign(runs[range.valueAsNumber].href));
}
