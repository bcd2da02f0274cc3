// The shard map: a row for each node, a square for each shard it owns.
//
// Rows name the owner, so colour only helps the eye. A shard that is being given up is hatched and linked to where it goes; when its
// owner changes, its square travels. The whole map is one stop of the Tab key: arrow keys walk through the squares.

import { count, naturally, several } from "./figures.js";
import { draw, find, follow, make, say } from "./page.js";

const NOBODY = "no owner";
/** More lines than these would hide what they show. */
const MOST_LINKS = 24;
const TRAVEL_MS = 900;
const BEND = 24;

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class ShardMap {
  #cluster;
  #map = find("#map");
  #readout = find("#readout");
  #group = find("#map-group");
  #links = draw("svg", { class: "links", "aria-hidden": "true" });
  #rows = make("div", { class: "rows", role: "presentation" });
  #cells = new Map();
  /** Node name → what its row shows. */
  #drawn = new Map();
  #active = null;

  constructor(cluster, explain) {
    this.#cluster = cluster;
    this.#map.append(this.#rows, this.#links);
    this.#map.addEventListener("keydown", (event) => this.#onKey(event, explain));
    this.#map.addEventListener("focus", () => this.#activate(this.#active ?? this.#rows.querySelector(".cell")));
    this.#map.addEventListener("pointerover", ({ target }) => target.matches(".cell") && this.#tell(target.dataset.shard));
    this.#map.addEventListener("click", ({ target }) => {
      if (!target.matches(".cell")) return;
      this.#activate(target);
      explain(target.dataset.shard);
    });
    find("select", this.#group).addEventListener("change", () => this.render());
    new ResizeObserver(() => this.#link()).observe(this.#rows);
    find("#shard-table").addEventListener("toggle", () => this.#fillTable());
  }

  /** Shows what the cluster is now; whatever has another owner than before travels there. */
  render() {
    this.#offerGroups();
    const shown = this.#shown();
    const was = this.#wherePlaced(shown);
    this.#map.dataset.size = shown.length <= 96 ? "large" : shown.length <= 480 ? "medium" : "small";
    const rows = this.#owners(shown);
    this.#rows.dataset.columns = rows.length > 8 ? "many" : "one";
    follow(this.#rows, rows, {
      key: (row) => row.name,
      create: (row) => this.#newRow(row),
      update: (element, row) => this.#fillRow(element, row),
    });
    this.#travel(was);
    this.#link();
    this.#fillTable();
    const moving = shown.filter((shard) => shard.state === "moving").length;
    this.#map.setAttribute("aria-label", `${several(shown.length, "shard")}, ${count(moving)} moving`);
  }

  /** Points at a shard, as after it was explained. */
  point(key) {
    this.#rows.querySelector(".found")?.classList.remove("found");
    this.#cells.get(key)?.classList.add("found");
  }

  #shown() {
    const group = find("select", this.#group).value;
    const all = [...this.#cluster.shards.values()];
    return group ? all.filter((shard) => shard.group === group) : all;
  }

  #offerGroups() {
    const groups = [...new Set([...this.#cluster.shards.values()].map((shard) => shard.group))];
    this.#group.hidden = groups.length < 2;
    follow(find("select", this.#group), ["", ...groups], {
      key: (group) => group,
      create: (group) => make("option", { value: group }, group || "all"),
      update: () => {},
    });
  }

  #owners(shown) {
    const rows = new Map(this.#cluster.everybody().map((node) => [node.name, { name: node.name, node, shards: [], coming: [] }]));
    const row = (name) => {
      if (!rows.has(name)) rows.set(name, { name, node: null, shards: [], coming: [] });
      return rows.get(name);
    };
    for (const shard of shown) {
      row(shard.owner ?? NOBODY).shards.push(shard);
      if (shard.state === "moving" && shard.to) row(shard.to).coming.push(shard);
    }
    return [...rows.values()].sort((a, b) => (a.name === NOBODY) - (b.name === NOBODY) || naturally(a.name, b.name));
  }

  #newRow({ name }) {
    const swatch = make("span", { class: `swatch ${this.#look(name)}`, "aria-hidden": "true" });
    const label = make("span", { class: "label", title: name }, name);
    const heading = make("span", { class: "owner", role: "presentation" }, swatch, label, make("span", { class: "amount" }));
    return make("div", { class: "row", role: "group" }, heading, make("span", { class: "cells", role: "presentation" }));
  }

  #fillRow(element, { name, node, shards, coming }) {
    element.dataset.gone = Boolean(node?.gone);
    element.setAttribute("aria-label", `${name}, ${several(shards.length, "shard")}`);
    // What stays is left alone, so that nothing that moves begins anew.
    const drawn = JSON.stringify([shards, coming]);
    if (this.#drawn.get(name) === drawn && element.isConnected) return;
    this.#drawn.set(name, drawn);
    say(find(".amount", element), count(shards.length));
    const ghost = (shard) => make("span", { class: "ghost", "data-to-come": shard.key, "aria-hidden": "true" });
    const cells = shards.map((shard) => this.#cell(shard));
    find(".cells", element).replaceChildren(...cells, ...coming.map(ghost));
  }

  #cell(shard) {
    let cell = this.#cells.get(shard.key);
    if (!cell) {
      cell = make("span", { role: "option", id: `cell-${this.#cells.size}`, "data-shard": shard.key }, String(shard.shard));
      this.#cells.set(shard.key, cell);
    }
    const kept = ["found", "active"].filter((name) => cell.classList.contains(name));
    cell.className = ["cell", shard.state, shard.owner ? this.#look(shard.owner) : "", ...kept].join(" ");
    cell.setAttribute("aria-label", describe(shard));
    cell.setAttribute("aria-selected", cell === this.#active);
    return cell;
  }

  #look(name) {
    if (name === NOBODY) return "unowned";
    return this.#cluster.look(name);
  }

  /** Where the squares are that will be elsewhere in a moment. */
  #wherePlaced(shown) {
    const was = new Map();
    if (calm.matches || document.hidden) return was;
    for (const shard of shown) {
      const cell = this.#cells.get(shard.key);
      const owner = cell?.closest(".row")?.dataset.key;
      if (owner && owner !== (shard.owner ?? NOBODY)) was.set(cell, cell.getBoundingClientRect());
    }
    return was;
  }

  #travel(was) {
    for (const [cell, from] of was) {
      const to = cell.getBoundingClientRect();
      const start = `translate(${from.x - to.x}px, ${from.y - to.y}px) scale(1.5)`;
      cell.classList.add("travels");
      const way = cell.animate([{ transform: start }, { transform: "none" }], { duration: TRAVEL_MS, easing: "cubic-bezier(.3,0,.2,1)" });
      way.onfinish = () => cell.classList.remove("travels");
    }
  }

  /** Draws a line from each shard that is being given up to where it will be. */
  #link() {
    const ghosts = [...this.#rows.querySelectorAll(".ghost")].slice(0, MOST_LINKS);
    const origin = this.#map.getBoundingClientRect();
    const centre = (element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return [x - origin.x + width / 2, y - origin.y + height / 2];
    };
    const lines = ghosts.map((ghost) => {
      const [x1, y1] = centre(this.#cells.get(ghost.dataset.toCome));
      const [x2, y2] = centre(ghost);
      // Lines between neighbours bend, lest they hide what is between them.
      const middle = Math.abs(y1 - y2) < BEND ? y1 - BEND : (y1 + y2) / 2;
      return draw("path", { d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}` });
    });
    const ways = (paths) => [...paths].map((path) => path.getAttribute("d")).join();
    if (ways(lines) !== ways(this.#links.children)) this.#links.replaceChildren(...lines);
  }

  #onKey(event, explain) {
    const cells = [...this.#rows.querySelectorAll(".cell")];
    const at = cells.indexOf(this.#active);
    const next = {
      ArrowRight: () => cells[at + 1],
      ArrowLeft: () => cells[at - 1],
      ArrowDown: () => this.#neighbour("nextElementSibling"),
      ArrowUp: () => this.#neighbour("previousElementSibling"),
      Home: () => cells[0],
      End: () => cells.at(-1),
    }[event.key];
    if (next) this.#activate(next());
    else if ((event.key === "Enter" || event.key === " ") && this.#active) explain(this.#active.dataset.shard);
    else return;
    event.preventDefault();
  }

  /** The first shard of the next row that has any. */
  #neighbour(direction) {
    let row = this.#active?.closest(".row")?.[direction];
    while (row && !row.querySelector(".cell")) row = row[direction];
    return row?.querySelector(".cell");
  }

  #activate(cell) {
    if (!cell) return;
    this.#active?.classList.remove("active");
    this.#active?.setAttribute("aria-selected", "false");
    this.#active = cell;
    cell.classList.add("active");
    cell.setAttribute("aria-selected", "true");
    this.#map.setAttribute("aria-activedescendant", cell.id);
    this.#tell(cell.dataset.shard);
  }

  #tell(key) {
    const shard = this.#cluster.shards.get(key);
    if (shard) say(this.#readout, describe(shard));
  }

  /** The same for those who would rather read. It is made only while somebody looks at it. */
  #fillTable() {
    const table = find("#shard-table");
    if (!table.open) return;
    follow(find("tbody", table), this.#shown(), {
      key: (shard) => shard.key,
      create: (shard) => make("tr", {}, make("th", { scope: "row" }, shard.key), make("td"), make("td"), make("td")),
      update: ({ cells }, shard) => {
        say(cells[1], shard.owner ?? "nobody");
        say(cells[2], shard.state);
        say(cells[3], shard.to ?? "");
      },
    });
  }
}

function describe({ key, state, owner, to }) {
  if (state === "unowned") return `${key}: nobody owns it`;
  if (state === "moving") return `${key}: ${owner} gives it up${to ? `, it goes to ${to}` : ""}`;
  return `${key}: owned by ${owner}`;
}
