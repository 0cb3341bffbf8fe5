// The page of a run on the board: it asks for itself again, and takes over what has changed. Zoom and scroll stay.

const PARTS = ["header", "main", "#alarm"];

async function takePage(answer) {
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const script = (from) => [...from.scripts].find((each) => !each.type)?.textContent;
  if (script(fresh) !== script(document)) { location.reload(); return; }  // of a newer version
  const wasWhole = page.views.length ? showsWhole() : true;
  const range = page.range;
  keepingScroll(() => {
    for (const part of PARTS) morph(document.querySelector(part), fresh.querySelector(part));
    page.timeline = JSON.parse(fresh.getElementById("timeline").textContent);
    findViews();
    if (wasWhole || !range) { if (page.views.length) showWhole(); } else drawAll();
  });
  for (const name of ["state", "live"]) document.body.dataset[name] = fresh.body.dataset[name];
  document.title = fresh.title;
  const icon = document.querySelector("link[rel=icon]");
  if (icon.href !== fresh.querySelector("link[rel=icon]").href) icon.href = fresh.querySelector("link[rel=icon]").href;
  sayLive();
}

function sayLive() {
  const live = document.getElementById("live");
  const words = document.body.dataset.live === "yes" ? "● live" : "this run is over";
  if (live.textContent !== words) live.textContent = words;
}

sayLive();
askAgain(() => location.pathname, takePage);
