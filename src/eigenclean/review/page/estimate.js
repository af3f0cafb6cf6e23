// What the decisions so far say about all flags, and about all labels.
//
// The detector gave every flag a probability of being right. Its odds may all be off by a common factor exp(t): the
// prior of t is Student's t with 3 degrees of freedom and the scale log 2 (the detector's odds are trusted to a
// factor of two or so, and given up when the decisions say otherwise). The decisions turn it into a posterior, on a
// grid, and the flags that are still open are what that posterior makes of them.

const STEP = 0.1, ENDS = 9.2; // of the log-odds that flags are counted in
const BINS = 2 * Math.round(ENDS / STEP) + 1;
const SHIFTS = Array.from({ length: 401 }, (_, at) => (at - 200) * 0.06);
const SCALE = Math.log(2), FREEDOM = 3;
const LEVEL = 0.9;

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const bin = (p) => {
  const odds = Math.log(Math.max(p, 1e-4) / Math.max(1 - p, 1e-4));
  return Math.round((Math.min(ENDS, Math.max(-ENDS, odds)) + ENDS) / STEP);
};
const centre = (b) => b * STEP - ENDS;

// wrong: probability of each flag that it is right, that is, that the label is wrong;
// judged: 1 where someone found the label wrong, 0 right, -1 not decided (or nobody can tell);
// rest: the labels that are not flagged, how many and which share of them the detector believes wrong.
export function estimate(wrong, judged, rest) {
  const counts = { right: new Float64Array(BINS), wrong: new Float64Array(BINS), open: new Float64Array(BINS) };
  let right = 0, found = 0;
  for (let i = 0; i < wrong.length; i++) {
    const verdict = judged[i];
    counts[verdict < 0 ? "open" : verdict ? "wrong" : "right"][bin(wrong[i])] += 1;
    if (verdict === 0) right += 1;
    if (verdict === 1) found += 1;
  }
  const parts = posterior(counts).map((weight, at) => ({ weight, ...expected(counts.open, SHIFTS[at]) }));
  const flags = { mean: 0, low: quantile(parts, (1 - LEVEL) / 2), high: quantile(parts, (1 + LEVEL) / 2) };
  for (const { weight, mean } of parts) flags.mean += weight * mean;
  const open = wrong.length - right - found;
  const inside = (x) => found + Math.min(open, Math.max(0, x));
  const total = wrong.length + rest.n;
  const share = (x, of) => (of > 0 ? x / of : 0);
  const aside = { mean: rest.n * rest.rate, low: rest.n * (rest.rate - rest.low), high: rest.n * (rest.high - rest.rate) };
  const below = Math.hypot(flags.mean - inside(flags.low) + found, aside.low);
  const above = Math.hypot(inside(flags.high) - found - flags.mean, aside.high);
  const middle = found + flags.mean + aside.mean;
  return {
    found, right, open,
    precision: [share(inside(flags.mean), wrong.length), share(inside(flags.low), wrong.length), share(inside(flags.high), wrong.length)],
    noise: [share(middle, total), share(Math.max(found, middle - below), total), share(Math.min(total - right, middle + above), total)],
  };
}

function posterior(counts) {
  const logs = SHIFTS.map((shift) => {
    let sum = -((FREEDOM + 1) / 2) * Math.log1p((shift / SCALE) ** 2 / FREEDOM);
    for (let b = 0; b < BINS; b++) {
      if (counts.wrong[b]) sum -= counts.wrong[b] * Math.log1p(Math.exp(-(centre(b) + shift)));
      if (counts.right[b]) sum -= counts.right[b] * Math.log1p(Math.exp(centre(b) + shift));
    }
    return sum;
  });
  const most = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - most));
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / total);
}

function expected(open, shift) {
  let mean = 0, variance = 0;
  for (let b = 0; b < BINS; b++) {
    if (!open[b]) continue;
    const p = sigmoid(centre(b) + shift);
    mean += open[b] * p;
    variance += open[b] * p * (1 - p);
  }
  return { mean, spread: Math.sqrt(variance) };
}

// Of a mixture of normal distributions, by halving.
function quantile(parts, level) {
  let low = Math.min(...parts.map(({ mean, spread }) => mean - 5 * spread));
  let high = Math.max(...parts.map(({ mean, spread }) => mean + 5 * spread));
  for (let round = 0; round < 50 && high - low > 1e-6; round++) {
    const middle = (low + high) / 2;
    let below = 0;
    for (const { weight, mean, spread } of parts) below += weight * (spread > 0 ? normal((middle - mean) / spread) : Number(middle >= mean));
    if (below < level) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

// Abramowitz and Stegun 26.2.17: seven digits.
function normal(z) {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const tail = Math.exp(-z * z / 2) * 0.3989422804014327
    * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return z > 0 ? 1 - tail : tail;
}
