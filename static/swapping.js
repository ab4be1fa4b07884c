// Parts of a page that are replaced while somebody works with it: a click in its midst, the focus and what has been
// typed stay.

const TOKEN = "csrfmiddlewaretoken";
// Between letting go and the click's own work; and a press whose end this page never hears of (a menu of the browser).
const AFTER_PRESS_MS = 200;
const LONGEST_PRESS_MS = 5000;

let held = false;
let letGo = null;
const waiting = new Set();

function release() {
  held = false;
  for (const action of waiting) action();
}
function releaseIn(milliseconds) {
  clearTimeout(letGo);
  letGo = setTimeout(release, milliseconds);
}
document.addEventListener(
  "pointerdown",
  (event) => {
    if (event.button !== 0) return;
    held = true;
    releaseIn(LONGEST_PRESS_MS);
  },
  true,
);
for (const name of ["pointerup", "pointercancel"]) {
  document.addEventListener(
    name,
    () => {
      if (held) releaseIn(AFTER_PRESS_MS);
    },
    true,
  );
}

// Whether something is pressed now. A click whose element is replaced in its midst would be lost.
export const pressed = () => held;
// Calls `action` each time that nothing is pressed any more.
export const afterPress = (action) => {
  waiting.add(action);
};

// Two answers that say the same: the token of a form is masked again in each of them.
export const comparable = (html) => html.replace(/<input[^>]*name="csrfmiddlewaretoken"[^>]*>/g, "");

// What an element is for. Its values may change ("2 of 3 approvals" is a hidden field): then without them.
function purpose(element, withValues) {
  const form = element.closest("form");
  const values =
    form && withValues
      ? [...form.querySelectorAll("input[type=hidden]")]
          .filter((field) => field.name !== TOKEN)
          .map((field) => [field.name, field.value])
      : [];
  const said = element.tagName === "SUMMARY" ? element.textContent : "";
  const names = ["id", "href", "name"].map((name) => element.getAttribute(name));
  return JSON.stringify([element.tagName, ...names, form?.getAttribute("action"), values, said]);
}
function same(container, tag, withValues, wanted) {
  return [...container.querySelectorAll(tag)].find((element) => purpose(element, withValues) === wanted);
}

// Call before the content of `container` is replaced, and what it returns afterwards: the focus is where it was,
// fields hold what was typed into them, and what was opened is open.
export function kept(container) {
  const active = document.activeElement;
  const focused =
    active && active !== container && container.contains(active)
      ? { tag: active.tagName, exactly: purpose(active, true), roughly: purpose(active, false) }
      : null;
  const typed = [...container.querySelectorAll("input[id], textarea[id]")]
    .filter(
      (field) =>
        field.type !== "hidden" && (field.value !== field.defaultValue || field.checked !== field.defaultChecked),
    )
    .map((field) => [field.id, field.value, field.checked]);
  const opened = [...container.querySelectorAll("details[open] > summary")].map((summary) => purpose(summary, false));
  return (now = container) => {
    for (const [id, value, checked] of typed) {
      const field = now.querySelector(`#${CSS.escape(id)}`);
      if (field) Object.assign(field, { value, checked });
    }
    for (const wanted of opened) {
      const summary = same(now, "summary", false, wanted);
      if (summary) summary.parentElement.open = true;
    }
    // Somebody has gone on to something else meanwhile.
    if (!focused || (document.activeElement && document.activeElement !== document.body)) return;
    const found = same(now, focused.tag, true, focused.exactly) ?? same(now, focused.tag, false, focused.roughly);
    found?.focus({ preventScroll: true });
  };
}
