// Where an entity or a shard is, since when, and why there.

import { get, part, wordsFor } from "./api.js";
import { clock } from "./figures.js";
import { find, follow, make, problem } from "./page.js";

export class Explain {
  #cluster;
  #form = find("#explain");
  #answer = find("#explanation");
  #found;

  /** `found` is told which shard was explained. */
  constructor(cluster, found) {
    this.#cluster = cluster;
    this.#found = found;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { group, id } = this.#form.elements;
      this.#ask(`v1/explain?group=${part(group.value || "default")}&id=${part(id.value)}`);
    });
  }

  render() {
    const groups = (this.#cluster.status?.groups ?? []).map((group) => group.name);
    find("#explain-group").hidden = groups.length < 2;
    follow(this.#form.elements.group, groups, {
      key: (group) => group,
      create: (group) => make("option", { value: group }, group),
      update: () => {},
    });
  }

  shard(key) {
    const [group, number] = key.split("/");
    return this.#ask(`v1/explain/${part(group)}/${part(number)}`);
  }

  entity(id) {
    this.#form.elements.id.value = id;
    this.#form.requestSubmit();
  }

  async #ask(path) {
    try {
      const answer = await get(path);
      this.#found(`${answer.group}/${answer.shard}`);
      this.#answer.replaceChildren(told(answer));
    } catch (error) {
      this.#answer.replaceChildren(problem(wordsFor(error)));
    }
  }
}

function told(answer) {
  const list = make("dl");
  const add = (term, text) => text && list.append(make("dt", {}, term), make("dd", {}, text));
  add("Entity", answer.entity);
  add("Shard", `${answer.group}/${answer.shard}`);
  add("Owner", answer.owner ? `${answer.owner}, run ${answer.incarnation}, epoch ${answer.epoch}` : "nobody");
  add("Since", answer.since_ms === null ? "longer than is remembered" : `${clock(answer.since_ms)}, event ${answer.since_event}`);
  add("Why", answer.why);
  add("Next", answer.next);
  return list;
}
