// The page: its data, its plots.

const page = { timeline: JSON.parse(document.getElementById("timeline").textContent), views: [], range: null, looked: null, moment: null };

function drawAll() {
  if (!page.views.length) return;
  for (const view of page.views) view.frame = drawPlot(view.plot, view.stage, page.timeline, page.range);
  const { from, to } = page.range;
  const isWhole = showsWhole();
  document.getElementById("whole").disabled = isWhole;
  if (page.moment !== null) lookAt(page.looked, page.moment);
  document.getElementById("range").textContent = isWhole ? `${asClock(to)} in all` : `${asClock(from, to - from)} – ${asClock(to, to - from)}`;
}

function showsWhole() { return page.range.to - page.range.from >= page.timeline.seconds - 1e-6; }

// A view for each plot that is in the page; those that there were stay, with what is looked at in them.
function findViews() {
  page.views = [...document.querySelectorAll(".stage")].map((stage) => {
    const view = page.views.find((known) => known.stage === stage) || newView(stage);
    view.plot = page.timeline.plots[Number(stage.dataset.plot)];
    view.stage.closest("figure").querySelector(".legend").replaceChildren();
    drawLegend(view.plot, view.stage.closest("figure").querySelector(".legend"));
    return view;
  });
}

function newView(stage) {
  const view = { stage };
  listenToPointer(view);
  listenToKeys(view);
  return view;
}

function setUpPlots() {
  document.addEventListener("click", (event) => { if (event.target.id === "whole") showWhole(); });
  listenToMoments();
  let waiting = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(drawAll); });
  findViews();
  if (page.views.length) showWhole();
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
