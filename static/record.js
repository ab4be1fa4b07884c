// The record of a switch: its drawings, which the server has made, as PNG.
import { saveAsPng } from "./png.js";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-drawing-png]");
  if (!button) return;
  const name = button.dataset.drawingPng;
  saveAsPng(document.getElementById(name).querySelector("svg"), `hadash-${name}`);
});
