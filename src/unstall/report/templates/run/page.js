// The page: its data, its plots, light and dark.

const page = { timeline: JSON.parse(document.getElementById("timeline").textContent), views: [], range: null, looked: null, moment: null };

function drawAll() {
  for (const view of page.views) view.frame = drawPlot(view.plot, view.stage, page.timeline, page.range);
  const { from, to } = page.range;
  const isWhole = to - from >= page.timeline.seconds - 1e-6;
  document.getElementById("whole").disabled = isWhole;
  if (page.moment !== null) lookAt(page.looked, page.moment);
  document.getElementById("range").textContent = isWhole ? `${asClock(to)} in all` : `${asClock(from, to - from)} – ${asClock(to, to - from)}`;
}

function setUpPlots() {
  page.views = [...document.querySelectorAll(".stage")].map((stage) => ({ stage, plot: page.timeline.plots[Number(stage.dataset.plot)] }));
  if (!page.views.length) return;
  for (const view of page.views) {
    drawLegend(view.plot, view.stage.closest("figure").querySelector(".legend"));
    listenToPointer(view);
    listenToKeys(view);
  }
  document.getElementById("whole").addEventListener("click", showWhole);
  showWhole();
  let waiting = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(drawAll); });
  listenToMoments();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
}

// What a link leads to may lie in details that are closed.
window.addEventListener("hashchange", () => {
  const folded = document.getElementById(location.hash.slice(1))?.closest("details");
  if (folded) { folded.open = true; document.getElementById(location.hash.slice(1)).scrollIntoView(); }
});

// Details are opened for print: paper cannot be clicked.
window.addEventListener("beforeprint", () => { for (const each of document.querySelectorAll(".thread details")) each.open = true; });

setUpTheme();
setUpPlots();
