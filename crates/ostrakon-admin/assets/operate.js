// What operators may do: drain a node, and see what a round of balancing would do.
//
// The token is in the field it was typed into and nowhere else. Whether it is right, the server says.

import { part, post, wordsFor } from "./api.js";
import { several } from "./figures.js";
import { find, make, problem } from "./page.js";

export class Operate {
  #cluster;
  #token = find("#token");
  #outcome = find("#outcome");
  #dialog = find("#drain");
  #node = null;

  constructor(cluster) {
    this.#cluster = cluster;
    find("#operate").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#dryRun();
    });
    find("#drain-go").addEventListener("click", () => this.#drain());
  }

  /** Asks whether a node shall really go. */
  confirmDrain(name) {
    this.#node = name;
    const own = this.#cluster.nodes.find((node) => node.name === name)?.shards ?? 0;
    find("#drain-title").textContent = `Drain ${name}?`;
    find("#drain-text").textContent = `It gives its ${several(own, "shard")} up to the other nodes and goes. It does not come back unless it is started again.`;
    find("#drain-go").textContent = `Drain ${name}`;
    find("#drain-problem").replaceChildren();
    this.#dialog.showModal();
  }

  async #drain() {
    const go = find("#drain-go");
    go.disabled = true;
    try {
      const { taken_up } = await post(`v1/nodes/${part(this.#node)}/drain`, this.#token.value);
      this.#dialog.close();
      this.#outcome.replaceChildren(make("p", { class: "done" }, taken_up));
    } catch (error) {
      find("#drain-problem").replaceChildren(problem(wordsFor(error)));
    } finally {
      go.disabled = false;
    }
  }

  async #dryRun() {
    try {
      this.#outcome.replaceChildren(planned(await post("v1/rebalance?dry_run=true", this.#token.value)));
    } catch (error) {
      this.#outcome.replaceChildren(problem(wordsFor(error)));
    }
  }
}

function planned({ moves, rebalancing }) {
  const frozen = rebalancing === "frozen" ? " once it is unfrozen" : "";
  if (!moves.length) return make("p", { class: "done" }, `A round of balancing would move nothing${frozen}.`);
  const list = make("ul", { class: "moves" });
  for (const { group, shard, from, to, because } of moves) {
    list.append(make("li", {}, `${group}/${shard}: ${from ?? "nobody"} → ${to ?? "decided later"}`, make("span", { class: "why" }, because)));
  }
  const words = make("p", { class: "done" }, `A round of balancing would move ${several(moves.length, "shard")}${frozen}. Nothing has been done.`);
  return make("div", {}, words, list);
}
