// The busiest shards and entities, as far as nodes tell.

import { rate } from "./figures.js";
import { find, follow, make, say } from "./page.js";

const MOST = 6;

export class Hot {
  #cluster;
  #explainShard;
  #explainEntity;

  constructor(cluster, explainShard, explainEntity) {
    this.#cluster = cluster;
    this.#explainShard = explainShard;
    this.#explainEntity = explainEntity;
  }

  render() {
    const shard = ({ group, shard: number }) => `${group}/${number}`;
    this.#list("#hot-shards", this.#busiest("hot_shards", shard), shard, (item) => this.#explainShard(shard(item)));
    const entity = ({ kind, id }) => `${kind} ${id}`;
    this.#list("#hot-entities", this.#busiest("hot_entities", entity), entity, (item) => this.#explainEntity(item.id));
  }

  #busiest(name, nameOf) {
    const all = [...(this.#cluster.load?.values() ?? [])].flatMap((node) => node[name] ?? []);
    // What has just moved is known to two nodes.
    const one = new Map(all.map((item) => [nameOf(item), item]));
    return [...one.values()].sort((a, b) => b.messages_per_second - a.messages_per_second).slice(0, MOST);
  }

  #list(selector, items, nameOf, explain) {
    const list = find(selector);
    list.dataset.empty = this.#cluster.load ? "none is busy" : "no load known";
    const top = items[0]?.messages_per_second || 1;
    follow(list, items, {
      key: nameOf,
      create: (item) => {
        const button = make("button", { type: "button", class: "link" }, nameOf(item));
        button.addEventListener("click", () => explain(item));
        return make("li", {}, make("span", { class: "bar", "aria-hidden": "true" }), button, make("span", { class: "figure" }));
      },
      update: (row, item) => {
        find(".bar", row).style.width = `${(100 * item.messages_per_second) / top}%`;
        say(find(".figure", row), `${rate(item.messages_per_second)}/s`);
      },
    });
  }
}
