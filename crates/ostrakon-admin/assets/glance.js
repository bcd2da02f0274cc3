// The figures at the top, and what is wrong.

import { condition } from "./cluster.js";
import { UNKNOWN, count, latency, rate, several } from "./figures.js";
import { find, follow, make, say } from "./page.js";
import { Plot } from "./plot.js";

export class Glance {
  #cluster;
  #rate = new Plot(find("#rate-plot"), ["first"]);
  #latency = new Plot(find("#latency-plot"), ["first", "second"]);

  constructor(cluster) {
    this.#cluster = cluster;
  }

  render() {
    const { status } = this.#cluster;
    if (!status) return;
    document.title = `${status.cluster} · Ostrakon`;
    say(find("#cluster"), status.cluster);
    say(find("#facts"), facts(status));
    this.#countNodes();
    this.#countShards();
    this.#warn(status);
  }

  /** Once a second. */
  sample() {
    const nodes = this.#cluster.load && [...this.#cluster.load.values()];
    const known = (name) => (nodes ?? []).map((node) => node[name]).filter((value) => typeof value === "number");
    const total = nodes?.length ? known("messages_per_second").reduce((sum, value) => sum + value, 0) : null;
    const worst = (name) => (known(name).length ? Math.max(...known(name)) : null);
    const [p50, p99] = [worst("p50_us"), worst("p99_us")];
    this.#rate.push(total);
    this.#latency.push(p99, p50);
    const peakRate = rate(this.#rate.peak());
    say(find("#rate-now"), rate(total));
    say(find("#rate-note"), total === null ? "no load known" : `at most ${peakRate}`);
    this.#rate.describe(`Messages per second in the last three minutes: now ${rate(total)}, at most ${peakRate}`);
    say(find("#latency-now"), p99 === null ? UNKNOWN : latency(p99));
    say(find("#latency-note"), p99 === null ? "no load known" : `p99; p50 ${latency(p50)}`);
    this.#latency.describe(`Latency in the last three minutes: p99 now ${latency(p99)}, p50 now ${latency(p50)}, at most ${latency(this.#latency.peak())}`);
  }

  #countNodes() {
    const words = this.#cluster.everybody().map((node) => condition(node)[0]);
    const others = [...new Set(words)].filter((word) => word !== "active");
    const notes = others.map((word) => `${count(words.filter((own) => own === word).length)} ${word}`);
    say(find("#node-count"), count(this.#cluster.nodes.length));
    say(find("#node-note"), notes.join(", ") || "all active");
  }

  #countShards() {
    const shards = [...this.#cluster.shards.values()];
    const number = (state) => shards.filter((shard) => shard.state === state).length;
    say(find("#shard-count"), count(shards.length));
    const [moving, unowned] = [number("moving"), number("unowned")];
    const notes = [moving && `${count(moving)} moving`, unowned && `${count(unowned)} without owner`].filter(Boolean);
    say(find("#shard-note"), notes.join(", ") || "all owned");
  }

  #warn(status) {
    const silent = (status.silent ?? []).map((node) => [`${node.node} is silent`, `${several(node.shards, "shard")} wait. ${node.remedy}`]);
    const ahead = status.ahead.map((node) => [`${node.node} is ahead of the log`, node.remedy]);
    const peers = status.peers?.warning ? [["Voters", status.peers.warning]] : [];
    const frozen = status.rebalancing === "frozen" ? [["Rebalancing is frozen", "shards are not moved for the sake of balance"]] : [];
    follow(find("#alerts"), [...silent, ...ahead, ...peers, ...frozen], {
      key: ([what]) => what,
      create: ([what]) => make("li", {}, make("strong", {}, what), make("span")),
      update: (item, [, text]) => say(find("span", item), text),
    });
  }
}

function facts({ manager, leader, peers, version, failover }) {
  const leads = peers?.leader ?? leader?.manager;
  const who = leads ? (leads === manager ? "it leads" : `${leads} leads`) : "nobody leads";
  return `served by ${manager}, ${who} · version ${version} · failover by ${failover}`;
}
