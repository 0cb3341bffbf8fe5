// One plot as SVG, for the part of the run that is shown. Names only ever become text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 64, RIGHT = 12, TOP = 16, BOTTOM = 22;
const COLOURS = 12;
const FEW_POINTS = 80;
const QUIET = new Set(["checkpoint", "note", "pause"]);  // marks that no line is drawn for: there may be many

function svgElement(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function lineColour(number) { return `var(--c${number % COLOURS})`; }

function partColour(name) { return `var(--${name})`; }

// What is needed to draw: the size, the part of the run, and where a moment or a value lies.
function frameOf(plot, width, range) {
  const height = plot.kind === "areas" ? 230 : 180;
  const inner = { left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM };
  const x = (moment) => inner.left + (moment - range.from) / (range.to - range.from) * (inner.right - inner.left);
  const moment = (place) => range.from + (place - inner.left) / (inner.right - inner.left) * (range.to - range.from);
  const extent = plot.kind === "areas" ? [0, 100] : extentOf(plot, range);
  return { width, height, inner, x, moment, extent, y: yScale(inner, extent, plot.is_log) };
}

function yScale(inner, [low, high], isLog) {
  const turn = isLog ? Math.log10 : (value) => value;
  const span = turn(high) - turn(low) || 1;
  return (value) => inner.bottom - (turn(value) - turn(low)) / span * (inner.bottom - inner.top);
}

function extentOf(plot, range) {
  let low = Infinity, high = -Infinity;
  for (const line of plot.lines) {
    const first = Math.max(0, placeBefore(line.t, range.from));
    for (let place = first; place < line.t.length; place += 1) {
      low = Math.min(low, (line.low || line.mean)[place]);
      high = Math.max(high, (line.high || line.mean)[place]);
      if (line.t[place] > range.to) break;
    }
  }
  if (low > high) [low, high] = [0, 1];
  for (const limit of plot.limits) if (isNear(limit, high)) high = Math.max(high, limit.value);
  return roomAround(plot, low, high);
}

// A limit far above all values would press them flat: then it stands in the legend alone.
function isNear(limit, high) { return limit.value <= high * 6; }

function roomAround(plot, low, high) {
  if (plot.is_log) return [low / 1.2, high * 1.2];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [plot.from_zero ? 0 : low - room, high + room];
}

function drawPlot(plot, stage, timeline, range) {
  const frame = frameOf(plot, Math.max(320, stage.clientWidth || 1000), range);
  const svg = svgElement("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, "aria-hidden": "true", focusable: "false" });
  drawAxes(svg, plot, frame, range);
  const clip = clipTo(svg, frame, plot.name);
  const inside = svgElement("g", { "clip-path": `url(#${clip})` }, svg);
  drawStalls(inside, timeline, frame);
  if (plot.kind === "areas") drawAreas(inside, plot, frame, range); else drawLines(inside, plot, frame, range);
  drawMarks(svg, timeline, frame, range);
  stage.querySelector("svg")?.remove();
  stage.prepend(svg);
  return frame;
}

function clipTo(svg, { inner }, name) {
  const clip = svgElement("clipPath", { id: `clip-${name}` }, svg);
  svgElement("rect", { x: inner.left, y: inner.top - 1, width: inner.right - inner.left, height: inner.bottom - inner.top + 2 }, clip);
  return `clip-${name}`;
}

function drawAxes(svg, plot, { inner, x, y, extent, height }, range) {
  const ticks = plot.kind === "areas" ? [0, 25, 50, 75, 100]
    : plot.is_log ? decadeTicks(...extent) : valueTicks(...extent, 5, plot.unit);
  for (const tick of ticks) {
    svgElement("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(tick), y2: y(tick) }, svg);
    svgElement("text", { x: inner.left - 7, y: y(tick) + 4, "text-anchor": "end" }, svg).textContent = asWords(tick, plot.unit);
  }
  for (const tick of clockTicks(range.from, range.to, Math.max(3, (inner.right - inner.left) / 90))) {
    svgElement("line", { class: "grid", x1: x(tick), x2: x(tick), y1: inner.bottom, y2: inner.bottom + 4 }, svg);
    svgElement("text", { x: x(tick), y: height - 6, "text-anchor": "middle" }, svg).textContent = asClock(tick, range.to - range.from);
  }
}

function drawAreas(group, plot, { x, y }, range) {
  const count = plot.areas.length ? plot.areas[0].shares.length : 0;
  const first = Math.max(0, Math.floor(range.from / plot.bin_s));
  const last = Math.min(count, Math.ceil(range.to / plot.bin_s));
  const below = new Array(count).fill(0);
  for (const area of plot.areas) {
    const top = [], bottom = [];
    for (let place = first; place < last; place += 1) {
      const from = x(place * plot.bin_s).toFixed(1), to = x((place + 1) * plot.bin_s).toFixed(1);
      const high = below[place] + area.shares[place];
      top.push(`${from},${y(high).toFixed(1)}`, `${to},${y(high).toFixed(1)}`);
      bottom.push(`${from},${y(below[place]).toFixed(1)}`, `${to},${y(below[place]).toFixed(1)}`);
      below[place] = high;
    }
    svgElement("polygon", { points: [...top, ...bottom.reverse()].join(" "), class: "area", fill: partColour(area.name) }, group);
  }
}

function drawLines(group, plot, { inner, x, y }, range) {
  for (const limit of plot.limits) {
    svgElement("line", { class: "limit-line", x1: inner.left, x2: inner.right, y1: y(limit.value), y2: y(limit.value) }, group);
  }
  plot.lines.forEach((line, number) => {
    const first = Math.max(0, placeBefore(line.t, range.from));
    const last = Math.min(line.t.length, placeBefore(line.t, range.to) + 2);
    const at = (values) => line.t.slice(first, last).map((moment, place) => `${x(moment).toFixed(1)},${y(values[first + place]).toFixed(1)}`);
    if (line.low) {
      const band = [...at(line.high), ...at(line.low).reverse()].join(" ");
      svgElement("polygon", { class: "band", points: band, fill: lineColour(number) }, group);
    }
    const points = at(line.mean);
    svgElement("polyline", { class: "line", points: points.join(" "), stroke: lineColour(number) }, group);
    if (points.length <= FEW_POINTS) for (const point of points) drawDot(group, point, number);
  });
}

function drawDot(group, point, number) {
  const [cx, cy] = point.split(",");
  svgElement("circle", { cx, cy, r: 2, fill: lineColour(number) }, group);
}

function drawStalls(group, timeline, { inner, x }) {
  for (const mark of timeline.marks.shown) {
    if (mark.until === undefined) continue;
    svgElement("rect", { class: `${mark.kind}-span`, x: x(mark.at), y: inner.top, width: Math.max(1, x(mark.until) - x(mark.at)),
      height: inner.bottom - inner.top }, group);
  }
}

function drawMarks(svg, timeline, { inner, x }, range) {
  timeline.marks.shown.forEach((mark, number) => {
    if (mark.at < range.from || mark.at > range.to) return;
    const place = x(mark.at), isQuiet = QUIET.has(mark.kind);
    if (!isQuiet) svgElement("line", { class: `mark-line mark-${mark.kind}`, x1: place, x2: place, y1: inner.top, y2: inner.bottom }, svg);
    const link = svgElement("a", { href: evidenceOf(mark, number), tabindex: "-1" }, svg);
    svgElement("title", {}, link).textContent = `${asClock(mark.at)} ${mark.title}`;
    svgElement("path", { class: `mark-${mark.kind}`, d: isQuiet ? `M${place - 3} 7 h6 l-3 6 z` : `M${place - 5} 3 h10 l-5 10 z` }, link);
  });
}

// A fault that is still believed has its verdict on the page; all else has its line in the list of what happened.
function evidenceOf(mark, number) {
  const verdict = mark.cause && document.getElementById(`verdict-${mark.cause}`);
  return verdict ? `#verdict-${mark.cause}` : `#mark-${number}`;
}

function drawLegend(plot, legend) {
  const entry = (name, colour, kind) => {
    const made = document.createElement("span");
    made.textContent = name;
    made.style.setProperty("--colour", colour);
    if (kind) made.className = kind;
    legend.append(made);
  };
  if (plot.kind === "areas") for (const area of plot.areas) entry(area.name, partColour(area.name));
  else plot.lines.forEach((line, number) => entry(line.name, lineColour(number)));
  for (const limit of plot.limits || []) entry(`${limit.name} ${asWords(limit.value, plot.unit)}`, "", "limit");
}
