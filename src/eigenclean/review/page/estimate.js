// Live estimate, from the decisions so far, of the precision of the flags and of the noise rate of all labels.
//
// The detector gives every flag a probability of being right. Its odds may be off by a common factor exp(t). The prior
// of t is Student's t with 3 degrees of freedom and scale log 2: the odds are trusted to a factor of about two, and
// the heavy tails let clear decisions overrule them. The posterior of t given the decisions is computed on a grid and
// predicts the flags that are still open.

const STEP = 0.1, ENDS = 9.2; // the log-odds of flags are counted in bins of this width, up to this limit
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

// wrong: P(wrong) of each flagged label;
// judged: 1 where a person found the label wrong, 0 right, -1 undecided;
// rest: number of labels that are not flagged, and the noise rate that the detector estimates for them.
export function estimate(wrong, judged, rest) {
  const counts = { right: new Float64Array(BINS), wrong: new Float64Array(BINS), open: new Float64Array(BINS) };
  let right = 0, found = 0;
  for (let i = 0; i < wrong.length; i++) {
    const verdict = judged[i];
    counts[verdict < 0 ? "open" : verdict ? "wrong" : "right"][bin(wrong[i])] += 1;
    if (verdict === 0) right += 1;
    if (verdict === 1) found += 1;
  }
  const mixture = posterior(counts).map((weight, at) => ({ weight, ...expected(counts.open, SHIFTS[at]) }));
  const flags = { mean: 0, low: quantile(mixture, (1 - LEVEL) / 2), high: quantile(mixture, (1 + LEVEL) / 2) };
  for (const { weight, mean } of mixture) flags.mean += weight * mean;
  const open = wrong.length - right - found;
  const inside = (x) => found + Math.min(open, Math.max(0, x));
  const total = wrong.length + rest.n;
  const share = (x, of) => (of > 0 ? x / of : 0);
  const unflagged = { mean: rest.n * rest.rate, low: rest.n * (rest.rate - rest.low), high: rest.n * (rest.high - rest.rate) };
  const below = Math.hypot(flags.mean - inside(flags.low) + found, unflagged.low);
  const above = Math.hypot(inside(flags.high) - found - flags.mean, unflagged.high);
  const middle = found + flags.mean + unflagged.mean;
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

// Quantile of a mixture of normal distributions, by bisection.
function quantile(mixture, level) {
  let low = Math.min(...mixture.map(({ mean, spread }) => mean - 5 * spread));
  let high = Math.max(...mixture.map(({ mean, spread }) => mean + 5 * spread));
  for (let round = 0; round < 50 && high - low > 1e-6; round++) {
    const middle = (low + high) / 2;
    let below = 0;
    for (const { weight, mean, spread } of mixture) below += weight * (spread > 0 ? normal((middle - mean) / spread) : Number(middle >= mean));
    if (below < level) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

// Normal distribution function: Abramowitz and Stegun 26.2.17, seven digits.
function normal(z) {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const tail = Math.exp(-z * z / 2) * 0.3989422804014327
    * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return z > 0 ? 1 - tail : tail;
}
