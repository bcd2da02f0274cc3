// A small plot of the last minutes. What it shows is kept in this page and nowhere else.

import { draw } from "./page.js";

/** One sample a second: three minutes at most, and the scale of one minute at first. */
const SAMPLES = 180;
const FEWEST = 60;
const [WIDTH, HEIGHT, MARGIN] = [300, 64, 3];

export class Plot {
  #svg;
  #series;

  /** A line for each of these names. */
  constructor(svg, names) {
    this.#svg = svg;
    const ground = draw("line", { x1: 0, x2: WIDTH, y1: HEIGHT - MARGIN, y2: HEIGHT - MARGIN, class: "ground" });
    this.#series = names.map((name) => ({ values: [], path: draw("path", { class: `line ${name}` }) }));
    svg.append(ground, ...this.#series.map(({ path }) => path));
  }

  /** Takes a sample of each; `null` leaves a gap. */
  push(...sample) {
    this.#series.forEach(({ values }, at) => {
      values.push(sample[at]);
      if (values.length > SAMPLES) values.shift();
    });
    const top = this.peak() || 1;
    for (const { values, path } of this.#series) path.setAttribute("d", line(values, top));
  }

  /** The highest value that is shown. */
  peak() {
    return Math.max(0, ...this.#series.flatMap(({ values }) => values.filter((value) => value !== null)));
  }

  describe(text) {
    this.#svg.setAttribute("aria-label", text);
  }
}

function line(values, top) {
  const slots = Math.max(FEWEST, values.length);
  const start = slots - values.length;
  let pen = "M";
  const points = values.map((value, at) => {
    if (value === null) {
      pen = "M";
      return "";
    }
    const x = ((start + at) / (slots - 1)) * WIDTH;
    const y = HEIGHT - MARGIN - (value / top) * (HEIGHT - 2 * MARGIN);
    const point = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
    return point;
  });
  return points.join("");
}
