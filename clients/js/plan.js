/**
 * Decide searches from a plan of `ltr-duel live plan`, without a service; all machines show the same pages.
 *
 * The SHA-256 of salt, version, user and query is the state of SFC64, a random number generator. Its first number
 * chooses the rankers, the others interleave their lists. `ltr_duel.live` is the Python implementation, which shows the
 * same pages (`../vectors.json`). This module runs on a server: Node 18 or newer, or any runtime with `node:crypto`.
 *
 * @typedef {string | number} Id the id of a document, a string or an integer
 * @typedef {{page: Id[], rankers: string[], record: object | null, served: string, version: number}} Decision the page;
 *   its rankers; the row for a click log, or null if one ranker fills the page; "experiment", or why the search is not
 *   in it: "share", "holdback", "paused", "winner" or "ended"; the version of the plan
 */
import { createHash, createHmac } from "node:crypto";

const FORMAT = "ltr-duel plan 2", RULES = ["sampled", "marginal_sign", "marginal_bernoulli", "expectation"];
const METHODS = { // the first `forSets` outcome rules are for any number of rankers, the others for two
  team_draft: { parameter: "prefix_credit", usual: 0, most: 1, outcomes: ["credit"], forSets: 1, draw: drawDraft },
  probabilistic: { parameter: "tau", usual: 3, most: 100, outcomes: RULES, forSets: 2, draw: drawProbabilistic },
};
const refuse = (why) => { throw new Error(why); };
const own = (from, name) => (Object.hasOwn(from ?? {}, name) ? from[name] : undefined);
const isText = (value) => typeof value === "string" && !/\p{Surrogate}/u.test(value);
const texts = (page) => new Set(page.map(String)).size === page.length ? page.map(String)
  : refuse("a document id is on the page as a string and as a number");
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const ascii = (value) =>
  JSON.stringify(value).replace(/[\x7f-\uffff]/g, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));

/** SFC64 (Doty-Humphrey), as in numpy, from 32 bytes. */
class Stream {
  #words = new BigUint64Array(4); // its elements wrap around at 2 ** 64
  #drawn = new BigUint64Array(1);

  constructor(state) { for (let k = 0; k < 4; k++) this.#words[k] = state.readBigUInt64LE(8 * k); }

  /** Return a random number in [0, 1). */
  uniform() {
    const words = this.#words, drawn = this.#drawn;
    drawn[0] = words[0] + words[1] + words[3]++;
    words[0] = words[1] ^ (words[1] >> 11n);
    words[1] = words[2] + (words[2] << 3n);
    words[2] = ((words[2] << 24n) | (words[2] >> 40n)) + drawn[0];
    return Number(drawn[0] >> 11n) * 2 ** -53;
  }

  /** Return a random integer from 0..n-1. With n = 1, no number is drawn. */
  below(n) { return n === 1 ? 0 : Math.floor(this.uniform() * n); }
}

/** Sets of rankers with their probabilities, and the decision of searches. Created by `Plan.read`. */
export class Plan {
  #bounds = []; #propensities; #method;

  /**
   * Return the plan of a file, given its content and the content of the key file.
   *
   * @throws {Error} if the text is not a plan signed by one of the keys, or uses a method available only in Python
   */
  static read(text, keys) {
    let given; try { given = JSON.parse(text); } catch { /* refused below */ }
    const { key, plan, signature } = given ?? {};
    if (typeof key !== "string" || typeof signature !== "string" || typeof plan !== "object" || !plan)
      refuse("the plan: not a plan of 'ltr-duel live plan'");
    const lines = keys.split("\n").map((line) => line.split("#")[0].trim().split(/\s+/));
    const [, secret = ""] = lines.find(([id]) => id === key) ?? refuse(`the plan: signed by '${key}', an unknown key`);
    if (!/^([0-9a-f]{2}){16,}$/i.test(secret)) refuse(`the secret of key '${key}' is not 16 bytes in hexadecimal`);
    const sign = (said) => createHmac("sha256", Buffer.from(secret, "hex")).update(said).digest("hex");
    if (sign(sign(canonical(plan))) !== sign(signature)) // comparing HMACs of both takes a time that reveals nothing
      refuse(`the plan: changed since it was signed by key '${key}'`);
    if (plan.format !== FORMAT) refuse(`the plan: made by another version: '${plan.format}', not '${FORMAT}'`);
    return new Plan(plan);
  }

  constructor(plan) {
    Object.assign(this, plan, { share: Number(plan.share), holdback: Number(plan.holdback) });
    const counts = {}, name = ({ rankers }) => JSON.stringify([...rankers].sort());
    let sum = 0;
    for (const set of this.sets) {
      this.#bounds.push((sum += set.draws));
      counts[name(set)] = (counts[name(set)] ?? 0) + set.draws;
    }
    this.#propensities = this.sets.map((set) => counts[name(set)] / sum);
    this.#method = configured(this.method, this.outcome, Math.max(...this.sets.map(({ rankers }) => rankers.length)));
  }

  /** Return the rankers whose lists a search needs; user and query are as in `decide`. */
  rankers(user, query) {
    const state = this.#hash(user, query), outside = this.#outside(user);
    return outside ? [outside[0]] : this.sets[this.#chosen(new Stream(state))].rankers;
  }

  /**
   * Return the page of a search, the same page on every machine at any time.
   *
   * @param {string} user a stable id of the user or session, not empty
   * @param {string} query
   * @param {Record<string, Id[]>} lists document ids, best first, of the rankers returned by `rankers`
   * @param {number} [now] the time of the record in seconds since 1970
   * @returns {Decision}
   * @throws {Error} if the user is empty, or the list of a ranker is missing or empty, or contains a document twice
   */
  decide(user, query, lists, now = Date.now() / 1000) {
    const state = this.#hash(user, query), outside = this.#outside(user), { version } = this;
    if (outside) return this.#alone([outside[0]], lists, outside[1]);
    const random = new Stream(state), chosen = this.#chosen(random), { rankers } = this.sets[chosen];
    if (rankers.length === 1) return this.#alone(rankers, lists, "experiment");
    const { documents, orders } = numbered(rankers, lists);
    if (documents.length * Math.max(50, rankers.length) > 500_000) refuse("the lists contain too many documents");
    complete(orders, documents.length);
    const { value, draw } = this.#method, { method, outcome, policy } = this;
    const kept = outcome === "marginal_bernoulli" ? [random.uniform()] : [];
    const { numbers, owners } = draw(orders, Math.min(this.top, documents.length), random, value);
    const page = numbers.map((number) => documents[number]), shown = texts(page);
    const stored = { version: 1, method, outcome, rankers, shown: page, owners, numbers, orders };
    const text = `${ascii(stored).slice(0, -1)},"kept":[${kept.map(floatText)}]}`; // as Python's `Page.to_json`
    const isDraft = draw === drawDraft, content = isDraft ? [...shown, owners.join(" ")].join("\n") : text;
    const record = {
      impression: `${version}-${sha256(state, content).toString("hex").slice(0, 16)}`, time: now, query, user, shown,
      rankers: [...rankers], method, outcome, policy, propensity: this.#propensities[chosen],
      ...(isDraft ? { owners } : { page: text }),
    };
    return { page, rankers: [...rankers], record, served: "experiment", version };
  }

  /** Return the ranker whose list fills the page and the reason, or null if the search is in the experiment. */
  #outside(user) {
    const { mode, share, holdback, incumbent } = this;
    if (mode === "experiment" && share === 1) return null;
    if (mode === "paused") return [incumbent, mode];
    const bucket = new Stream(sha256(`${this.salt}\0${user}`)).uniform();
    if (bucket >= 1 - holdback) return [incumbent, "holdback"];
    if (mode !== "experiment") return [this.winner || incumbent, mode];
    return bucket < share ? null : [incumbent, "share"];
  }

  #hash(user, query) {
    for (const [what, text] of Object.entries({ user, query }))
      if (!isText(text) || (text.length > 1e4 && [...text].length > 1e4))
        refuse(`the ${what} of a search is not a valid text of at most 10,000 characters`);
    if (!user || user.includes("\0")) refuse("the user of a search is empty, or contains the character 0");
    return sha256(`${this.salt}\0${this.version}\0${user}\0${query}`);
  }

  /** Sample a set: return the index of the first bound above a random number. */
  #chosen(random) {
    const drawn = Math.floor(random.uniform() * this.#bounds.at(-1));
    return this.#bounds.findIndex((bound) => drawn < bound);
  }

  #alone(rankers, lists, served) {
    const { documents } = numbered(rankers, lists), page = texts(documents) && documents.slice(0, this.top);
    return { page, rankers: [...rankers], record: null, served, version: this.version };
  }
}

/** Return the parameter and the function of a method; throw an error if it is not implemented here. */
function configured(text, outcome, size) {
  const [name, ...rest] = text.split(":"), method = own(METHODS, name);
  if (!method) refuse(`method '${text}' is available only in Python`);
  const [key, number] = rest.join(":").split("="), value = rest.length ? Number(number) : method.usual;
  const legal = !rest.length || (key === method.parameter && value >= 0 && value <= method.most);
  if (!legal || !method.outcomes.slice(0, size > 2 ? method.forSets : undefined).includes(outcome))
    refuse(`method '${text}' with outcome rule '${outcome}' for ${size} rankers is not available`);
  return { value, draw: method.draw };
}

/** Number all documents in order of appearance; return the documents, and the lists as numbers. */
function numbered(rankers, lists) {
  const number = new Map(), orders = [];
  for (const name of rankers) {
    const list = own(lists, name);
    if (!Array.isArray(list) || !list.length) refuse(`the list of ranker '${name}' is missing or empty`);
    orders.push(list.map((id) => {
      if (!Number.isSafeInteger(id) && (!isText(id) || id.includes("\n"))) // line feeds separate the ids of a page
        refuse(`document id ${String(id)} of ranker '${name}' is neither a valid text of one line nor a whole number`);
      if (!number.has(id)) number.set(id, number.size);
      return number.get(id);
    }));
    if (new Set(orders.at(-1)).size < list.length) refuse(`a document appears twice on the list of ranker '${name}'`);
  }
  return { documents: [...number.keys()], orders };
}

/** Append to each list the documents that it lacks, by their best rank on another list, then by the order of rankers. */
function complete(orders, documents) {
  const merged = new Set();
  for (let rank = 0; merged.size < documents; rank++)
    for (const order of orders) if (rank < order.length) merged.add(order[rank]);
  for (const order of orders) {
    const held = new Set(order);
    for (const document of merged) if (!held.has(document)) order.push(document);
  }
}

/** Team draft: rankers take turns, in a new random order each round. */
function drawDraft(orders, length, random, prefixCredit) {
  const size = orders.length, turns = [...orders.keys()], reached = turns.map(() => 0), used = new Set(), owners = [];
  if (!prefixCredit) // the common prefix of all lists gives no credit
    while (used.size < length && orders.every((order) => order[used.size] === orders[0][used.size])) {
      used.add(orders[0][used.size]);
      owners.push(-1);
    }
  for (let turn = 0; used.size < length; turn = (turn + 1) % size) {
    const other = turn + random.below(size - turn), place = turns[other];
    [turns[turn], turns[other]] = [place, turns[turn]];
    while (used.has(orders[place][reached[place]])) reached[place]++;
    used.add(orders[place][reached[place]]);
    owners.push(place);
  }
  return { numbers: [...used], owners };
}

/** Probabilistic: a random ranker samples each position from its softmax over ranks, until a document is new. */
function drawProbabilistic(orders, length, random, tau) {
  const size = orders.length, documents = orders[0].length, room = 2 ** (32 - Math.clz32(documents - 1));
  const tail = new Float64Array(room + 2), free = new Array(size).fill(1), used = new Set(), owners = [];
  for (let rank = room; rank; rank--) tail[rank] = tail[rank + 1] + rank ** -tau; // Python adds in this order
  const end = tail[documents + 1];
  while (used.size < length) {
    const drawn = size * random.uniform(), place = Math.floor(drawn), order = orders[place];
    let u = drawn - place, rank; // one random number chooses the ranker and the document
    while (used.has(order[free[place] - 1])) free[place]++;
    const first = free[place], span = tail[first] - end;
    for (;; u = random.uniform()) {
      for (rank = first; rank < documents && tail[rank + 1] >= tail[first] - u * span; ) rank++;
      if (!used.has(order[rank - 1])) break;
    }
    used.add(order[rank - 1]);
    owners.push(place);
  }
  return { numbers: [...used], owners };
}

/** Format a number in [0, 1) like Python. */
function floatText(value) {
  const [digits, exponent] = value.toExponential().split("e-");
  return !value ? "0.0" : value >= 1e-4 ? String(value) : `${digits}e-${exponent.padStart(2, "0")}`;
}

/** Format strings and integers as JSON like Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))`. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return ascii(value);
  return `{${Object.keys(value).sort().map((key) => `${ascii(key)}:${canonical(value[key])}`)}}`;
}
