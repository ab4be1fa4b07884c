// Saves a drawing as PNG. A picture by itself has none of the page's rules: each mark takes along how it looks now.
const LOOKS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "visibility", "display",
];
// So many pixels for one of the screen: it is also printed.
const SCALE = 2;
// Pixels around it.
const MARGIN = 16;

export async function saveAsPng(drawing, name) {
  const { width, height } = drawing.getBoundingClientRect();
  const copy = drawing.cloneNode(true);
  const marks = [...drawing.querySelectorAll("*")];
  for (const [place, mark] of [...copy.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(marks[place]);
    for (const look of LOOKS) mark.setAttribute(look, style.getPropertyValue(look));
    mark.removeAttribute("class");
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  // (What stands at its edges is half outside.)
  copy.style.overflow = "visible";
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await picture.decode();
  const canvas = Object.assign(document.createElement("canvas"), {
    width: (width + 2 * MARGIN) * SCALE,
    height: (height + 2 * MARGIN) * SCALE,
  });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, MARGIN * SCALE, MARGIN * SCALE, width * SCALE, height * SCALE);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `${name}.png` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
