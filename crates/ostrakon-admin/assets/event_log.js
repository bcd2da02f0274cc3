// Events as sentences, the latest first.
//
// Shards come and go by the hundred: what happens to shards for the same reason at about the same time is one line. What is read aloud is
// a summary, from time to time.

import { clock, several } from "./figures.js";
import { find, make, say } from "./page.js";

const LONGEST = 200;
const MOST_NAMED = 4;
const MOST_TARGETS = 3;
/** So long a line takes more shards in. */
const TOGETHER_MS = 2000;
const ANNOUNCE_EVERY_MS = 4000;

export class EventLog {
  #list = find("#events");
  #announcer = find("#announcer");
  /** Lines that take more shards in, by what they are about. Whatever is not about shards closes them: it may be the reason of the next. */
  #open = new Map();
  #unsaid = [];
  #saying = null;

  /** Forgets what is shown, because another server may remember other things. */
  clear() {
    this.#list.replaceChildren();
    this.#open.clear();
  }

  /** Shows an event that has happened before anybody looked. */
  recall(event) {
    if (event.shard) this.#takeShard(event);
    else this.#write(sentence(event), event.at_ms);
  }

  /** Shows an event that happens now. */
  add(event) {
    this.recall(event);
    if (!event.shard) this.#announce(sentence(event).text);
    else if (event.event === "granted") this.#announce(null);
  }

  missed(number) {
    this.#write({ badge: "missed", tone: "warn", text: `${several(number, "event")} came too fast and were not seen`, why: "" }, Date.now());
  }

  #takeShard(event) {
    const about = [event.event, event.from, event.reason].join(" ");
    let line = this.#open.get(about);
    if (!line || event.at_ms - line.at_ms > TOGETHER_MS) {
      const shown = { badge: BADGES[event.event] ?? event.event, tone: event.event === "move_began" ? "move" : "quiet", text: "", why: event.reason ?? "" };
      line = { shards: [], targets: new Set(), from: event.from, text: this.#show(shown, event.at_ms) };
      this.#open.set(about, line);
    }
    line.at_ms = event.at_ms;
    line.shards.push(`${event.shard.group}/${event.shard.shard}`);
    if (event.to) line.targets.add(event.to);
    say(line.text, ofShards(line));
  }

  #write(line, at_ms) {
    this.#open.clear();
    this.#show(line, at_ms);
  }

  #show(line, at_ms) {
    const text = make("span", { class: "text" }, line.text);
    const item = make("li", { "data-tone": line.tone }, make("time", {}, clock(at_ms)), make("span", { class: "badge" }, line.badge), text);
    if (line.why) item.append(make("span", { class: "why" }, line.why));
    this.#list.prepend(item);
    while (this.#list.children.length > LONGEST) this.#list.lastElementChild.remove();
    return text;
  }

  /** `null` stands for a shard that got an owner. */
  #announce(text) {
    this.#unsaid.push(text);
    this.#saying ??= setTimeout(() => {
      const grants = this.#unsaid.filter((said) => said === null).length;
      const words = this.#unsaid.filter((said) => said !== null).slice(-5);
      if (grants) words.push(`${several(grants, "shard")} got an owner`);
      this.#announcer.textContent = words.join(". ");
      this.#unsaid = [];
      this.#saying = null;
    }, ANNOUNCE_EVERY_MS);
  }
}

const BADGES = { move_began: "moving", freed: "freed", granted: "granted" };

/** `3 shards from node-1 to node-2 (default/1, default/2, default/3)` */
function ofShards({ shards, from, targets }) {
  const names = shards.slice(0, MOST_NAMED).join(", ") + (shards.length > MOST_NAMED ? ", …" : "");
  const what = shards.length === 1 ? names : several(shards.length, "shard");
  const to = targets.size > MOST_TARGETS ? several(targets.size, "node") : [...targets].join(", ");
  const way = [from && ` from ${from}`, to && ` to ${to}`].filter(Boolean).join("");
  return shards.length === 1 ? what + way : `${what}${way} (${names})`;
}

/** What an event that is not about a shard says: a badge, a text, and why. */
function sentence(event) {
  const { event: kind, node, reason, remedy } = event;
  const known = {
    leads: () => ["leads", "good", `${event.manager} leads, in term ${event.term}`],
    joined: () => ["joined", "good", `${node} joined, version ${event.version}, at ${event.address}`],
    leaving: () => ["leaving", "warn", `${node} wants to go: its shards move away`],
    ended: () => ["ended", reason === "it left" ? "plain" : "bad", `${node} is gone`, reason],
    silent: () => ["silent", "bad", `${node} is silent: its shards wait`, remedy],
    heard_again: () => ["heard", "good", `${node} is heard again`],
    ahead: () => ["ahead", "bad", `${node} knows entry ${event.knows}, but the log ends with ${event.ends}`, remedy],
    policy_set: () => ["rules", "plain", `failover by ${event.failover}, rebalancing ${event.rebalancing}`],
    group_created: () => ["group", "plain", `group ${event.group} begins`],
  }[kind];
  const [badge, tone, text, why = ""] = known ? known() : [kind, "plain", ""];
  return { badge, tone, text, why };
}
