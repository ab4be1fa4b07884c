// What everything that draws needs: colours of hadash.css, and times as Plotly takes them.

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

export function colour(token) {
  probe.style.color = `var(--${token})`;
  return getComputedStyle(probe).color;
}

// Plotly writes a date as it is given: local time without a zone, the zone stands on the axis.
export function localTime(date) {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().replace("Z", "");
}

// The other way round: milliseconds since 1970 of a time that Plotly has, as it was given or as it writes it itself
// ("2026-11-27 14:05:00.5"; midnight as its date alone, which by itself would be taken for a time of UTC).
export const instantOf = (text) => new Date(/[ T]/.test(text) ? text.replace(" ", "T") : `${text}T00:00`).getTime();
