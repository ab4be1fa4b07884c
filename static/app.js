// What every page needs: times, the theme, fragments that refresh themselves. No rules.
import "./print.js";
import { comparable, kept, pressed } from "./swapping.js";
import { clockTime, showElapsed, showOptionTimes, showTimes, showZone } from "./times.js";

showTimes();
showOptionTimes();
showZone();
showElapsed();
setInterval(() => showTimes(), 1000);
setInterval(() => showElapsed(), 100);

// On a narrow screen the navigation is a row that can be moved: where one is stands in sight.
document.querySelector(".side nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

document.addEventListener("click", (event) => {
  const toggle = event.target.closest("[data-theme-toggle]");
  if (toggle) {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("hadash-theme", root.dataset.theme);
    document.dispatchEvent(new CustomEvent("hadash:theme"));
  }
  const pick = event.target.closest("[data-pick]");
  if (pick) {
    const field = document.getElementById("id_instance");
    field.value = pick.dataset.pick;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    chooseInstance(field);
    // The same name as before means something else when the whole AppID was chosen in between.
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

// What the page has shown is of other choices now; until the new preview is there, nothing was shown of these. Who
// types a reason, a name to confirm or a time changes nothing of what would move: what was shown stays what was
// looked at.
const SAYS_NOTHING_OF_THE_PLAN = [
  "reason", "confirmed", "start", "start_at", "start_until", "pause_after_precheck", "note",
];
for (const kind of ["input", "change"]) {
  document.addEventListener(kind, (event) => {
    const scope = event.target.closest("#scope");
    if (!scope || SAYS_NOTHING_OF_THE_PLAN.includes(event.target.name)) return;
    for (const field of document.querySelectorAll('#preview [name="digest"], #preview [name="shown"]'))
      field.value = "";
    if (kind === "change") scope.dispatchEvent(new CustomEvent("choices-changed"));
  });
}

// The button says what it does.
document.addEventListener("change", (event) => {
  const { button } = event.target.dataset;
  const own = button && event.target.form?.querySelector(`[data-button-of="${event.target.name}"]`);
  if (own) own.textContent = button;
});

// Typing an InstanceID means that one.
function chooseInstance(field) {
  const radio = field.form?.querySelector('input[name="scope"][value="instance"]');
  if (radio && field.value) radio.checked = true;
}
// So does typing Topics, or a time.
function chooseRadio(field, name, value) {
  const radio = field.form?.querySelector(`input[name="${name}"][value="${value}"]`);
  if (radio && field.value) radio.checked = true;
}
document.addEventListener("input", (event) => {
  const { id } = event.target;
  if (id === "id_instance") chooseInstance(event.target);
  if (id === "id_topics") chooseRadio(event.target, "scope", "topics");
  if (id === "id_start_at" || id === "id_start_until") chooseRadio(event.target, "start", "window");
});
// Times are typed on the clock of the person who types them, as it stands at that time: it changes with the season.
function tellOffsets(form) {
  for (const hidden of form.querySelectorAll("[data-offset-of]")) {
    const field = document.getElementById(hidden.dataset.offsetOf);
    const text = field?.value ?? "";
    // (A day alone would be one of UTC.)
    const typed = new Date(text && field.type === "date" ? `${text}T${hidden.dataset.at}` : text);
    hidden.value = Number.isNaN(typed.getTime()) ? "" : typed.getTimezoneOffset();
  }
}
document.addEventListener("input", (event) => {
  if (event.target.form) tellOffsets(event.target.form);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});
// A form is sent once.
document.addEventListener("submit", (event) => {
  tellOffsets(event.target);
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) {
    event.preventDefault();
    return;
  }
  event.target.dataset.sent = "1";
  for (const button of event.target.querySelectorAll("button")) button.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", (event) => {
  if (event.persisted) for (const form of document.forms) delete form.dataset.sent;
});

// Fragments: nobody refreshes what nobody sees, nothing is swapped that has not changed, and what is being
// selected, focused or hovered for a click stays.
// By id: a fragment may replace itself.
const last = new Map();
document.addEventListener("htmx:beforeRequest", (event) => {
  const quiet = event.target.matches?.("[data-quiet]");
  if (!quiet) return;
  const selection = getSelection();
  const selecting = selection && !selection.isCollapsed && event.target.contains(selection.anchorNode);
  if (document.hidden || selecting) event.preventDefault();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.detail.target;
  if (!target.matches?.("[data-quiet]")) return;
  const text = event.detail.xhr.responseText;
  // Signed out meanwhile: the answer is a whole page.
  if (/^\s*<!doctype/i.test(text)) {
    event.detail.shouldSwap = false;
    location.reload();
    return;
  }
  const said = comparable(text);
  if (pressed() || last.get(target.id) === said) {
    event.detail.shouldSwap = false;
    return;
  }
  last.set(target.id, said);
  const restore = kept(target);
  document.addEventListener("htmx:afterSettle", () => restore(document.getElementById(target.id) ?? target), {
    once: true,
  });
});
document.addEventListener("htmx:afterSwap", (event) => {
  event.detail.target.classList.remove("stale");
  showTimes(event.detail.target);
  showOptionTimes(event.detail.target);
  showZone(event.detail.target);
  showElapsed(event.detail.target);
});
// What renews itself says so when it cannot: an old verdict must not pass for one of now. What is answered again is
// told again, also when it is the same as before.
const old = document.getElementById("old");
let renewedAt = new Date();
document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.successful || !event.target.matches?.("[data-quiet]")) return;
  renewedAt = new Date();
  event.target.classList.remove("stale");
  if (old) old.hidden = true;
});
for (const name of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(name, (event) => {
    const { target } = event.detail;
    target?.classList.add("stale");
    if (old && old.hidden && target?.matches("[data-quiet]")) {
      old.textContent = old.dataset.text.replace("{time}", clockTime(renewedAt));
      old.hidden = false;
    }
    // What was to be loaded once does not come by itself.
    const waiting = target?.querySelector("[data-failed]");
    if (waiting) waiting.textContent = waiting.dataset.failed;
  });
}

// What an address points at may be in a part that comes after its page: it is shown when it comes, unless somebody has
// gone elsewhere meanwhile.
const sought = decodeURIComponent(location.hash.slice(1));
document.addEventListener("htmx:afterSettle", (event) => {
  const found = sought && event.target.querySelector(`#${CSS.escape(sought)}`);
  if (found && scrollY === 0) found.scrollIntoView();
});

// What is wider than its place can be moved with the arrow keys: it is reached with Tab, and only while it is wider.
const tooNarrow = new WeakMap();
const reach = (box) => {
  const isWider = box.scrollWidth > box.clientWidth;
  if (isWider) tooNarrow.set(box, box.clientWidth);
  // (What did not fit into a width does not fit into it without its scroll bar either: it would come and go for ever.)
  box.classList.toggle("fits", !isWider && tooNarrow.get(box) !== box.clientWidth);
  if (isWider) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
};
// The same for what is higher than its place.
const reachDown = (box) => {
  if (box.scrollHeight > box.clientHeight) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
};
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) (target.matches(".scroll") ? reach : reachDown)(target);
});
const watchScrolling = (root) => {
  for (const box of root.querySelectorAll(".scroll, .radius dd, .batch-log")) sizes.observe(box);
};
watchScrolling(document);
document.addEventListener("htmx:afterSettle", (event) => watchScrolling(event.target));

// Sections that fold: what somebody has folded stays so on all pages of that kind, in this browser.
const FOLDED = "hadash-folded";
const remembered = () => {
  try {
    return new Set(JSON.parse(localStorage.getItem(FOLDED) ?? "[]"));
  } catch {
    return new Set();
  }
};
const fold = (root) => {
  const folded = remembered();
  for (const box of root.querySelectorAll("details[data-fold]")) if (folded.has(box.dataset.fold)) box.open = false;
};
fold(document);
// A part that is replaced comes unfolded.
document.addEventListener("htmx:afterSwap", (event) => fold(event.detail.target));
// (A click, and not that a section was folded: the line above does that as well.)
document.addEventListener("click", (event) => {
  const box = event.target.closest("details[data-fold] > summary")?.parentElement;
  if (!box || event.target.closest("a, button")) return;
  const folded = remembered();
  folded[box.open ? "add" : "delete"](box.dataset.fold);
  // (A browser may keep nothing: then it folds for this page only.)
  try {
    localStorage.setItem(FOLDED, JSON.stringify([...folded]));
  } catch {
    /* nothing is kept */
  }
});

// "/" leads to the search, as long as nobody is typing.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const seek = document.querySelector("[data-seek]");
  if (!seek) return;
  event.preventDefault();
  seek.focus();
  seek.select();
});

// "?" shows what can be done with keys. (A dialog closes itself at Escape.)
const keys = document.getElementById("keys");
document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || !keys || keys.open) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  keys.showModal();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) keys?.showModal();
});

// Copies a text. Where the browser does not allow that (no TLS) it is selected, and the keyboard copies it.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(text.value);
    button.textContent = button.dataset.done;
  } catch {
    text.focus();
    text.select();
    button.textContent = button.dataset.byHand;
  }
});
