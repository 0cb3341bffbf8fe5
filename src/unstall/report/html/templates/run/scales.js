// Numbers to places and words. Nothing here knows of a page.

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];

function asSize(bytes) {
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < SIZES.length - 1) { bytes /= 1024; unit += 1; }
  return `${plainNumber(bytes)} ${SIZES[unit]}`;
}

function asSeconds(seconds) {
  if (seconds === 0) return "0 s";
  if (Math.abs(seconds) < 1) return `${plainNumber(seconds * 1000)} ms`;
  return `${plainNumber(seconds)} s`;
}

function plainNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(size >= 1000 ? 6 : 4)));
}

function asWords(value, unit) {
  if (unit === "B") return asSize(value);
  if (unit === "s") return asSeconds(value);
  return unit === "%" ? `${plainNumber(value)} %` : plainNumber(value);
}

// Time from the begin of the run: 0:07, 12:30, 3:02:11; with tenths where the plot shows less than 20 s.
function asClock(seconds, span) {
  const tenths = span !== undefined && span < 20;
  const whole = tenths ? Math.floor(seconds * 10 + 1e-6) / 10 : Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = (whole % 60).toFixed(tenths ? 1 : 0).padStart(tenths ? 4 : 2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

const CLOCK_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

function clockTicks(from, to, most) {
  const step = CLOCK_STEPS.find((each) => (to - from) / each <= most) || 86400 * Math.ceil((to - from) / most / 86400);
  return countUp(Math.ceil(from / step - 1e-9), to / step + 1e-9, step);
}

function valueTicks(from, to, most, unit) {
  const base = unit === "B" ? 1024 ** Math.floor(Math.log2(Math.max(to, 1)) / 10) : 1;
  const rough = (to - from) / base / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = base * power * ([1, 2, 5, 10].find((each) => power * each >= rough) || 10);
  return countUp(Math.ceil(from / step - 1e-9), to / step + 1e-9, step);
}

function decadeTicks(from, to) {
  const first = Math.ceil(Math.log10(from) - 1e-9);
  const last = Math.floor(Math.log10(to) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / 6));
  const found = [];
  for (let power = first; power <= last; power += every) found.push(10 ** power);
  return found.length > 1 ? found : [from, to];
}

function countUp(first, last, step) {
  const found = [];
  for (let count = first; count <= last && found.length < 50; count += 1) found.push(Number((count * step).toPrecision(12)));
  return found;
}

// The last place whose moment is not after the given one; -1 before the first.
function placeBefore(moments, moment) {
  let low = 0;
  let high = moments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle] <= moment) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function nearestPlace(moments, moment) {
  const before = placeBefore(moments, moment);
  if (before < 0) return 0;
  if (before + 1 >= moments.length) return before;
  return moment - moments[before] <= moments[before + 1] - moment ? before : before + 1;
}
