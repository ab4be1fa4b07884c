// Times in the viewer's zone, relative ones and running ones. Shared by all pages.
const language = document.documentElement.lang || "en";
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const clock = new Intl.DateTimeFormat(language, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const two = (number) => String(number).padStart(2, "0");
// One order of year, month and day in every language.
const full = (date) =>
  `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
  `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

// The zone as it is at a time: UTC, GMT+8, CEST.
const shortZone = (date) =>
  new Intl.DateTimeFormat("en", { timeZoneName: "short" })
    .formatToParts(date)
    .find((part) => part.type === "timeZoneName")?.value ?? "";

// Server time minus browser time in milliseconds: set by what carries the server's clock.
let skew = 0;
export const setServerTime = (seconds) => {
  skew = seconds * 1000 - Date.now();
};
export const serverNow = () => Date.now() + skew;
export const clockTime = (date) => clock.format(date);

// As hadash/dashboard/templatetags/hadash.py writes them on the server.
const [HOURS, MINUTES] = language.startsWith("zh") ? ["小时", "分"] : ["h", "min"];

function ago(date) {
  const seconds = (date - serverNow()) / 1000;
  const size = Math.abs(seconds);
  if (size < 60) return relative.format(Math.round(seconds), "second");
  if (size < 3600) return relative.format(Math.round(seconds / 60), "minute");
  if (size < 86400) return relative.format(Math.round(seconds / 3600), "hour");
  return relative.format(Math.round(seconds / 86400), "day");
}

export function duration(seconds) {
  seconds = Math.max(0, seconds);
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (whole < 3600) return `${minutes} ${MINUTES} ${two(whole % 60)} s`;
  return `${hours} ${HOURS} ${two(minutes)} ${MINUTES}`;
}

export function showTimes(root = document) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const mode = element.dataset.mode;
    const text =
      mode === "clock" ? clock.format(date) : mode === "full" ? `${full(date)} ${shortZone(date)}` : ago(date);
    if (element.textContent !== text) element.textContent = text;
    element.title = `${full(date)} (${zone})`;
  }
}

// Options hold no elements: their words have a place for the time.
export function showOptionTimes(root = document) {
  for (const option of root.querySelectorAll("option[data-at]")) {
    const date = new Date(option.dataset.at);
    if (!Number.isNaN(date.getTime()))
      option.textContent = option.dataset.words.replace("{time}", `${full(date)} ${shortZone(date)}`);
  }
}

// Forms take times in the viewer's zone: they say which that is.
export function showZone(root = document) {
  for (const element of root.querySelectorAll("[data-zone]"))
    element.textContent = element.dataset.zone.replace("{zone}", zone);
}

export function showElapsed(root = document) {
  for (const element of root.querySelectorAll("[data-since]")) {
    const since = Number(element.dataset.since);
    if (since) element.textContent = duration((serverNow() - since) / 1000);
  }
}
