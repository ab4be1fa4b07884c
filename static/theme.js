// Runs before the first paint, so that no page flashes in the wrong theme.
(() => {
  const chosen = localStorage.getItem("hadash-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
