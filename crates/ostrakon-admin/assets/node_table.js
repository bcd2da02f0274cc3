// Nodes: their state, their load, and what the failure detector thinks of them.

import { condition } from "./cluster.js";
import { count, latency, phi, rate, span } from "./figures.js";
import { find, follow, make, say } from "./page.js";

/** From here on a silence is remarkable. */
const SUSPICIOUS_PHI = 5;

export class NodeTable {
  #cluster;
  #drain;
  #body = find("#nodes tbody");

  constructor(cluster, drain) {
    this.#cluster = cluster;
    this.#drain = drain;
  }

  render() {
    follow(this.#body, this.#cluster.everybody(), {
      key: (node) => `${node.name} ${node.incarnation}`,
      create: (node) => this.#newRow(node),
      update: (row, node) => this.#fill(row, node),
    });
  }

  #newRow(node) {
    const swatch = make("span", { class: `swatch ${this.#cluster.look(node.name)}`, "aria-hidden": "true" });
    const title = `run ${node.incarnation}${node.address ? ` at ${node.address}` : ""}`;
    const name = make("th", { scope: "row", title }, swatch, make("span", { class: "name" }, node.name));
    const row = make("tr", { "data-node": node.name }, name);
    row.append(make("td", {}, make("span", { class: "badge state" })), make("td"));
    for (let figure = 0; figure < 9; figure += 1) row.append(make("td", { class: "right" }));
    const button = make("button", { type: "button", class: "small", "aria-label": `Drain ${node.name}` }, "Drain");
    button.addEventListener("click", () => this.#drain(node.name));
    row.append(make("td", {}, button));
    return row;
  }

  #fill(row, node) {
    const [word, tone] = condition(node);
    const load = (!node.gone && this.#cluster.load?.get(node.name)) || {};
    const state = find(".state", row);
    say(state, word);
    state.dataset.state = tone;
    state.title = node.reason ?? "";
    row.dataset.state = tone;
    this.#tag(find("th", row), node.name);
    const shards = node.giving_up ? `${count(node.shards)} (${count(node.giving_up)} going)` : count(node.shards);
    const figures = [
      node.version,
      shards,
      rate(load.messages_per_second),
      latency(load.p50_us),
      latency(load.p99_us),
      count(load.entities),
      count(load.queued),
      load.heard_ms_ago === undefined || load.heard_ms_ago === null ? "–" : `${span(load.heard_ms_ago)} ago`,
      phi(load.phi),
      span(load.lease_left_ms),
    ];
    figures.forEach((figure, at) => say(row.cells[at + 2], figure));
    row.cells[10].classList.toggle("remarkable", load.phi > SUSPICIOUS_PHI);
    find("button", row).hidden = tone !== "active" && tone !== "silent";
  }

  /** What part a node has among peers that look after the cluster themselves. */
  #tag(heading, name) {
    const peers = this.#cluster.status?.peers;
    const part = !peers ? "" : peers.leader === name ? "leads" : peers.voters.includes(name) ? "votes" : "";
    let tag = find("small", heading);
    if (!tag && part) heading.append((tag = make("small")));
    if (tag) say(tag, part);
  }
}
