// Figures as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const UNKNOWN = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : UNKNOWN);

export const rate = (value) => (known(value) ? (value < 100 ? short : whole).format(value) : UNKNOWN);

export const phi = (value) => (known(value) ? value.toFixed(1) : UNKNOWN);

/** A latency, from microseconds. */
export function latency(us) {
  if (!known(us)) return UNKNOWN;
  if (us < 1000) return `${whole.format(us)} µs`;
  return us < 1e6 ? `${short.format(us / 1000)} ms` : `${short.format(us / 1e6)} s`;
}

/** A span of time, from milliseconds. */
export function span(ms) {
  if (!known(ms)) return UNKNOWN;
  return ms < 1000 ? `${whole.format(ms)} ms` : `${short.format(ms / 1000)} s`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

/** "1 shard", "2 shards". */
export const several = (number, thing) => `${whole.format(number)} ${thing}${number === 1 ? "" : "s"}`;

/** `node-2` before `node-10`. */
export const naturally = new Intl.Collator("en", { numeric: true }).compare;
