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
