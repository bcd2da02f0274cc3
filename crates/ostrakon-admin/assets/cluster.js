// What this page knows of the cluster: a snapshot, kept up to date by events.
//
// Shards change by events alone. A snapshot says up to which entry of the log it was made; events of earlier entries are in it
// already. Nodes and load are fetched, because much of them is in no event.

import { naturally } from "./figures.js";

/** Beyond these, nodes share a look: their names tell them apart. */
const COLOURS = 7;
const PATTERNS = 4;
const REMEMBERED_DEPARTED = 12;
const REMEMBERED_FOR_MS = 10 * 60 * 1000;

export class Cluster {
  status = null;
  nodes = [];
  /** `group/number` → { key, group, shard, state, owner, to } */
  shards = new Map();
  /** Node name → its load; null where the server knows of no load. */
  load = null;
  /** Node name → how it ended. */
  departed = new Map();
  /** The last entry of the log that is in the snapshot, and the last that is in it or in an event. */
  #upTo = 0;
  #seen = 0;
  #places = new Map();

  setShards({ log_index, shards }) {
    this.#upTo = log_index;
    this.#seen = log_index;
    this.shards = new Map(shards.map((shard) => [keyOf(shard), { ...shard, key: keyOf(shard) }]));
  }

  /** Takes the status; says whether the log has gone on since the last one without a word of it in any event. */
  setStatus(status) {
    const missed = this.status?.log_index > this.#seen;
    this.status = status;
    return missed;
  }

  setNodes({ nodes }) {
    // The answer may be older than the event that ended a node.
    this.nodes = nodes.filter((node) => this.departed.get(node.name)?.incarnation !== node.incarnation);
    const names = this.nodes.map((node) => node.name).sort(naturally);
    names.forEach((name) => this.look(name));
    names.forEach((name) => this.departed.delete(name));
  }

  setLoad(answer) {
    this.load = answer && new Map(answer.nodes.map((node) => [node.name, node]));
  }

  /** Takes an event in. */
  apply(event) {
    if (event.event === "ended") this.#depart(event);
    if (event.event === "joined") this.departed.delete(event.node);
    this.#seen = Math.max(this.#seen, event.index ?? 0);
    const shard = event.shard && this.shards.get(keyOf(event.shard));
    if (!shard || event.index <= this.#upTo) return;
    if (event.event === "move_began") Object.assign(shard, { state: "moving", to: event.to });
    if (event.event === "freed") Object.assign(shard, { state: "unowned", owner: null });
    if (event.event === "granted") Object.assign(shard, { state: "owned", owner: event.to, to: null });
  }

  /** Which colour and pattern a node has: for as long as the page is open, the same. */
  look(name) {
    if (!this.#places.has(name)) this.#places.set(name, this.#places.size);
    const place = this.#places.get(name);
    return `colour-${place % COLOURS} pattern-${Math.floor(place / COLOURS) % PATTERNS}`;
  }

  /** All nodes there are, and those that were there a moment ago. */
  everybody() {
    const latest = Date.now() - REMEMBERED_FOR_MS;
    const gone = [...this.departed.values()].filter((node) => node.at_ms > latest);
    const all = [...this.nodes, ...gone];
    return all.sort((a, b) => naturally(a.name, b.name) || a.incarnation - b.incarnation);
  }

  #depart({ node, incarnation, reason, at_ms }) {
    const before = this.nodes.find((known) => known.incarnation === incarnation);
    const left = reason === "it left";
    const version = before?.version ?? "";
    this.nodes = this.nodes.filter((known) => known.incarnation !== incarnation);
    this.departed.delete(node);
    this.departed.set(node, { name: node, incarnation, version, shards: 0, giving_up: 0, reason, left, at_ms, gone: true });
    while (this.departed.size > REMEMBERED_DEPARTED) this.departed.delete(this.departed.keys().next().value);
  }
}

/** How a node is: a word for it, and how it looks. */
export function condition(node) {
  if (node.gone) return node.left ? ["left", "gone"] : ["dead", "dead"];
  if (node.silent) return ["silent", "silent"];
  return node.state === "leaving" ? ["draining", "draining"] : ["active", "active"];
}

const keyOf = ({ group, shard }) => `${group}/${shard}`;
