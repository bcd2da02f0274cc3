// Fetches what is, follows what happens, and shows both.
//
// When the server is away everything is begun anew until it answers: a snapshot, the latest events, and the stream from there on. So
// nothing depends on what happened meanwhile.

import { get } from "./api.js";
import { Cluster } from "./cluster.js";
import { EventLog } from "./event_log.js";
import { Explain } from "./explain.js";
import { Glance } from "./glance.js";
import { Hot } from "./hot.js";
import { NodeTable } from "./node_table.js";
import { Operate } from "./operate.js";
import { find, say } from "./page.js";
import { ShardMap } from "./shard_map.js";
import { offerThemes } from "./theme.js";

const EVERY_MS = 1000;
const SOON_MS = 100;
const RETRY_MS = [500, 1000, 2000, 4000];
const RECALLED = 300;
/** Beyond all events: asking from here on says which is the next. */
const NEVER = Number.MAX_SAFE_INTEGER;

offerThemes();
const cluster = new Cluster();
const log = new EventLog();
const glance = new Glance(cluster);
const explain = new Explain(cluster, (key) => map.point(key));
const map = new ShardMap(cluster, (key) => explain.shard(key));
const operate = new Operate(cluster);
const nodes = new NodeTable(cluster, (name) => operate.confirmDrain(name));
const hot = new Hot(cluster, (key) => explain.shard(key), (id) => explain.entity(id));

let stream = null;
let failures = 0;
let knowsLoad = true;
let fetching = null;
let drawing = false;

async function begin() {
  try {
    knowsLoad = true;
    const { next, oldest } = await get(`v1/events?since=${NEVER}`);
    const page = await get(`v1/events?since=${Math.max(oldest, next - RECALLED)}&limit=${RECALLED}`);
    cluster.setShards(await get("v1/shards"));
    await fetchOften();
    log.clear();
    for (const event of page.events) {
      cluster.apply(event);
      log.recall(event);
    }
    listen(page.next);
  } catch {
    lost();
  }
}

function listen(since) {
  stream = new EventSource(`v1/events/stream?since=${since}`);
  stream.onopen = () => {
    failures = 0;
    connection("live", "live");
    redraw();
  };
  stream.onerror = lost;
  stream.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    cluster.apply(event);
    log.add(event);
    if (event.event === "group_created") resync();
    soon();
    redraw();
  };
  stream.addEventListener("missed", ({ data }) => {
    log.missed(JSON.parse(data).missed);
    resync();
  });
}

/** Fetches all shards again: what events say is not enough. */
async function resync() {
  try {
    cluster.setShards(await get("v1/shards"));
    redraw();
  } catch {
    lost();
  }
}

function lost() {
  if (stream) stream.close();
  stream = null;
  connection("lost", "connection lost, trying again");
  clearTimeout(lost.retry);
  lost.retry = setTimeout(begin, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
  failures += 1;
}

function connection(state, words) {
  const pill = find("#connection");
  pill.dataset.state = state;
  say(pill, words);
}

/** What is in no event. */
async function fetchOften() {
  const [status, all, load] = await Promise.all([get("v1/status"), get("v1/nodes"), fetchLoad()]);
  if (cluster.setStatus(status)) resync();
  cluster.setNodes(all);
  cluster.setLoad(load);
  redraw();
}

/** A server that knows of no load is not asked again and again. */
async function fetchLoad() {
  if (!knowsLoad) return null;
  try {
    return await get("v1/load");
  } catch (error) {
    if (error.status !== 404) throw error;
    knowsLoad = false;
    return null;
  }
}

/** After a burst of events rather than during it. */
function soon() {
  fetching ??= setTimeout(fetchNow, SOON_MS);
}

function fetchNow() {
  fetching = null;
  if (stream) fetchOften().catch(lost);
}

setInterval(() => {
  if (stream) fetchOften().then(() => glance.sample(), lost);
}, EVERY_MS);

/** Draws once for all that has changed since the last time. */
function redraw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    for (const view of [glance, map, nodes, hot, explain]) view.render();
  });
}

begin();
