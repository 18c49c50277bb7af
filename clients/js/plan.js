/**
 * Decide searches from a plan of `ltr-duel live plan`, without a service; all machines show the same pages.
 *
 * The SHA-256 of salt, unit (a user or a session) and query is the state of PCG64, numpy's random number generator. The
 * first number chooses the rankers, the others interleave their lists. `ltr_duel.plan` is the Python implementation;
 * `../vectors.json` contains pages for comparison. This module runs in Node 18 or newer, in edge workers and in
 * browsers, but the key and the lists of all rankers belong on a server.
 *
 * @typedef {string | number} Id the id of a document, a string or an integer
 * @typedef {{shown: Id[], rankers: string[], record: object | null, total: number, served: string}} Decision the
 *   requested part of the page; the rankers whose lists are on it; the row for a click log, or null if one ranker fills
 *   the page; the number of documents of the whole page; "plan", or "expired" if the plan has expired, so the page is
 *   the incumbent's list
 */

const HALF = /\p{Surrogate}/u, HALVED = "half of a surrogate pair, which is not valid Unicode";
const FORMAT = "ltr-duel plan 1", RULES = ["marginal_sign", "sampled", "marginal_bernoulli", "expectation"];
const METHODS = {
  team_draft: { parameter: "prefix_credit", usual: 0, most: 1, outcomes: ["credit"], draw: drawDraft },
  probabilistic: { parameter: "tau", usual: 3, most: 100, outcomes: RULES, draw: drawProbabilistic },
};
const own = (from, name) => (Object.hasOwn(from ?? {}, name) ? from[name] : undefined);
const refuse = (why) => { throw new Error(why); };
const shortly = (value) =>
  typeof value === "string" ? `'${value}'` : typeof value === "number" ? `${value}` : typeof value;

/** Sets of rankers with their probabilities, and the decision of searches. Created by `Plan.read`. */
export class Plan {
  #bounds = []; #propensities; #method;

  /**
   * Read the file of a plan.
   *
   * @param {string} text the content of the file
   * @param {string | Record<string, string>} keys the content of the key file, or its secrets by their ids
   * @returns {Plan}
   * @throws {Error} if the text is not a plan, is not signed by one of the keys, or uses a method available only in Python
   */
  static read(text, keys) {
    let given = null;
    try { given = JSON.parse(text); } catch { /* refused below */ }
    const secrets = typeof keys === "string" ? secretsOf(keys) : keys;
    const { key, plan, signature } = given ?? {}, secret = own(secrets, key);
    if (typeof key !== "string" || typeof signature !== "string" || typeof plan !== "object" || !plan)
      refuse("the plan: not a plan of 'ltr-duel live plan'");
    if (secret === undefined)
      refuse(`the plan: signed by key '${key.slice(0, 32)}', which is none of ${Object.keys(secrets ?? {}).join(", ")}`);
    if (!/^([0-9a-f]{2}){16,}$/i.test(secret)) refuse(`the secret of key '${key}' is not 32 hexadecimal digits or more`);
    const sign = (said) => hmac(Uint8Array.from(secret.match(/../g), (two) => parseInt(two, 16)), said);
    if (sign(sign(canonical(plan))) !== sign(signature)) // comparing HMACs of both takes a time that reveals nothing
      refuse(`the plan: changed since it was signed by key '${key}'`);
    if (plan.format !== FORMAT) refuse(`the plan: a plan of another version: ${shortly(plan.format)}, not '${FORMAT}'`);
    return new Plan(plan);
  }

  constructor(plan) {
    Object.assign(this, plan); // version, at, until, policy, method, outcome, recommended, incumbent, ...
    const counts = new Map(), name = ({ rankers }) => JSON.stringify([...rankers].sort());
    let sum = 0, most = 0;
    for (const set of this.sets) {
      this.#bounds.push((sum += set.draws));
      counts.set(name(set), (counts.get(name(set)) ?? 0) + set.draws);
      most = Math.max(most, Object.freeze(set.rankers).length);
    }
    this.#propensities = this.sets.map((set) => counts.get(name(set)) / sum);
    this.#method = configured(this.method, this.outcome, most);
  }

  /** Return the rankers whose lists a search needs; unit and query are as in `decide`. */
  rankers(unit, query) {
    return this.sets[this.#chosen(new Pcg64(this.#hash(unit, query)))].rankers;
  }

  /**
   * Return the page of a search, the same page on every machine at any time.
   *
   * @param {string} unit a user or a session, by a stable name
   * @param {string} query
   * @param {Record<string, Id[]>} rankings document ids, best first, of the rankers returned by `rankers`, and of the
   *   incumbent; other lists are ignored
   * @param {object} [options]
   * @param {number} [options.offset] number of documents above the requested part
   * @param {number} [options.limit] number of documents of the part; by default all remaining documents
   * @param {number} [options.now] seconds since 1970; by default the current time
   * @returns {Decision}
   * @throws {Error} if the list of a ranker is missing or empty, or contains a document twice
   */
  decide(unit, query, rankings, { offset = 0, limit, now = Date.now() / 1000 } = {}) {
    if (this.until && now >= this.until) return this.#alone([this.incumbent], rankings, offset, limit, "expired");
    const seed = this.#hash(unit, query), random = new Pcg64(seed);
    const chosen = this.#chosen(random), names = this.sets[chosen].rankers;
    if (names.length === 1) return this.#alone(names, rankings, offset, limit, "plan");
    const { documents, orders } = numbered(names, rankings);
    complete(orders, documents.length);
    const length = Math.min(this.top, documents.length), { rule, value, draw } = this.#method;
    const kept = rule === "marginal_bernoulli" ? [random.uniform()] : [];
    const { numbers, owners } = draw(orders, length, random, value);
    const page = numbers.map((number) => documents[number]), shown = page.map(String);
    if (new Set(shown).size < shown.length) refuse("a document id is on the page as a text and as a number");
    if (HALF.test(shown.join("\n"))) refuse(`a document id on the page holds ${HALVED}`);
    const record = {
      impression: `${this.version}-${hex(sha256(bytesOf(seed))).slice(0, 16)}`, time: now, query, user: unit, shown,
      rankers: [...names], method: this.method, outcome: this.outcome, policy: this.policy,
      propensity: this.#propensities[chosen],
    };
    if (this.method.split(":")[0] === "team_draft") record.owners = owners;
    else record.page = pageText(this.#method, names, page, owners, numbers, orders, kept);
    return { shown: part(page, offset, limit), rankers: names, record, total: page.length, served: "plan" };
  }

  #hash(unit, query) {
    for (const [what, text] of [["user", unit], ["query", query]]) {
      if (typeof text !== "string") refuse(`the ${what} of a search is a text, not ${shortly(text)}`);
      if (HALF.test(text)) refuse(`the ${what} of a search holds ${HALVED}`);
    }
    if (unit.includes("\0")) refuse("the user of a search holds the character 0");
    return sha256(encoder.encode(`${this.salt}\0${unit}\0${query}`));
  }

  /** Sample a set: return the index of the first bound above a random number. */
  #chosen(random) {
    const bounds = this.#bounds, drawn = Math.floor(random.uniform() * bounds[bounds.length - 1]);
    let low = 0, high = bounds.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      [low, high] = drawn < bounds[middle] ? [low, middle] : [middle + 1, high];
    }
    return low;
  }

  #alone(names, rankings, offset, limit, served) {
    const page = numbered(names, rankings).documents.slice(0, this.top);
    return { shown: part(page, offset, limit), rankers: [...names], record: null, total: page.length, served };
  }
}

function part(page, offset, limit) {
  for (const one of [offset, limit ?? Infinity])
    if (!(one >= 0 && one === Math.floor(one))) refuse(`offset and limit are whole numbers from 0, not ${shortly(one)}`);
  return page.slice(offset, offset + (limit ?? Infinity));
}

/** Parse a method with its parameter as Python does; throw an error for methods that are not implemented here. */
function configured(text, outcome, size) {
  const label = text.replace(/\s+/g, ""), [name, ...rest] = label.split(":"), method = own(METHODS, name);
  if (!method) refuse(`method '${text}' is not available for plans in JavaScript (${Object.keys(METHODS).join(", ")})`);
  const [, key, number] = /^(\w+)=([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/.exec(rest.join(":")) ?? [];
  const value = rest.length ? Number(number) : method.usual, { most } = method;
  if (!outcome && method.outcomes.length > 1) refuse(`a plan for ${name} names its outcome rule (${method.outcomes})`);
  const rule = outcome || method.outcomes[0];
  if ((rest.length && key !== method.parameter) || !(value >= 0 && value <= most) || (most === 1 && value % 1))
    refuse(`method '${text}': give ${method.parameter} as a number from 0 to ${most}, or nothing`);
  if (!method.outcomes.includes(rule)) refuse(`no outcome rule of ${name} called '${rule}' (${method.outcomes})`);
  if (size > 2 && rule !== method.outcomes[0]) refuse(`outcome rule '${rule}' is for two rankers, not ${size}`);
  return { label, rule, value, draw: method.draw };
}

/** Number all documents in order of appearance; return the documents, and the lists as numbers. */
function numbered(names, rankings) {
  const number = new Map(), orders = [], holder = []; // for each document, the last list that contains it
  for (const name of names) {
    const list = own(rankings, name), order = [];
    if (list === undefined) refuse(`the list of ranker '${name}' is missing; this search needs it (see rankers)`);
    if (!Array.isArray(list)) refuse(`the list of ranker '${name}' is not a list but ${shortly(list)}`);
    if (!list.length) refuse(`the list of ranker '${name}' is empty`);
    for (const document of list) {
      if (typeof document !== "string" && !Number.isSafeInteger(document))
        refuse(`document id ${shortly(document)} is neither a text nor a whole number that JavaScript represents exactly`);
      let found = number.get(document);
      if (found === undefined) number.set(document, (found = number.size));
      if (holder[found] === order) refuse(`document ${shortly(document)} appears twice on the list of ranker '${name}'`);
      holder[found] = order;
      order.push(found);
    }
    orders.push(order);
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

const begun = (orders) => ({ numbers: [], owners: [], used: new Uint8Array(orders[0].length) });

function show({ numbers, owners, used }, number, owner) {
  used[number] = 1;
  numbers.push(number);
  owners.push(owner);
}

/** Team draft: rankers take turns, in a new random order each round. */
function drawDraft(orders, length, random, prefixCredit) {
  const size = orders.length, turns = [...orders.keys()], reached = new Array(size).fill(0), drawn = begun(orders);
  if (!prefixCredit) // the common prefix of all lists gives no credit
    for (let k = 0; k < length && orders.every((order) => order[k] === orders[0][k]); k++) show(drawn, orders[0][k], -1);
  for (let turn = 0; drawn.numbers.length < length; turn = (turn + 1) % size) {
    const other = turn + random.below(size - turn), place = turns[other], order = orders[place];
    [turns[turn], turns[other]] = [place, turns[turn]];
    while (drawn.used[order[reached[place]]]) reached[place]++;
    show(drawn, order[reached[place]], place);
  }
  return drawn;
}

const tails = new Map(); // tau and number of weights -> sums of the weights from each rank on
function tailOf(tau, documents) {
  const room = 2 ** (32 - Math.clz32(documents - 1)), key = `${tau} ${room}`; // at least `documents`, a power of 2
  if (!tails.has(key)) {
    const tail = new Float64Array(room + 2);
    for (let rank = room; rank; rank--) tail[rank] = tail[rank + 1] + rank ** -tau; // Python adds in this order
    tails.set(key, tail);
  }
  return tails.get(key);
}

/** Probabilistic: a random ranker samples each position from its softmax over ranks, until the document is not yet shown. */
function drawProbabilistic(orders, length, random, tau) {
  const size = orders.length, documents = orders[0].length, free = new Array(size).fill(1), page = begun(orders);
  const tail = tailOf(tau, documents), end = tail[documents + 1], { used } = page;
  while (page.numbers.length < length) {
    const drawn = size * random.uniform(), place = Math.floor(drawn), order = orders[place];
    let u = drawn - place, rank; // one random number chooses the ranker and the document
    while (used[order[free[place] - 1]]) free[place]++;
    const first = free[place], span = tail[first] - end;
    for (;; u = random.uniform()) {
      const level = tail[first] - u * span;
      for (rank = first; rank < documents && tail[rank + 1] >= level; ) rank++;
      if (!used[order[rank - 1]]) break;
    }
    show(page, order[rank - 1], place);
  }
  return page;
}

/** Return the same JSON as Python's `Page.to_json`, byte for byte. */
function pageText({ label, rule }, rankers, shown, owners, numbers, orders, kept) {
  const page = { version: 1, method: label, outcome: rule, rankers, shown, owners, numbers, orders };
  return `${ascii(page).slice(0, -1)},"kept":[${kept.map(floatText)}]}`;
}

/** Format a number in [0, 1) like Python. */
function floatText(value) {
  const [digits, exponent] = value.toExponential().split("e-");
  return !value ? "0.0" : value >= 1e-4 ? String(value) : `${digits}e-${exponent.padStart(2, "0")}`;
}

const ascii = (value) =>
  JSON.stringify(value).replace(/[\x7f-\uffff]/g, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));

/** Return the secrets of a key file by their ids: each line contains an id and a secret, and # starts a comment. */
function secretsOf(text) {
  const lines = text.split("\n").map((line) => line.split("#")[0].trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => line.split(/\s+/)));
}

/** Format strings and integers as JSON like Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))`. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return ascii(value);
  return `{${Object.keys(value).sort().map((key) => `${ascii(key)}:${canonical(value[key])}`)}}`;
}

// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), because the implementations of browsers and edge workers are asynchronous.
const encoder = new TextEncoder(), FIRST = new Int32Array(8), ADDED = new Int32Array(64), w = new Int32Array(64);
for (let prime = 2, n = 0; n < 64; prime++) { // the constants are the first 32 fractional bits of square and cube roots of primes
  let divisor = 2;
  while (prime % divisor) divisor++;
  if (divisor < prime) continue;
  if (n < 8) FIRST[n] = (Math.sqrt(prime) % 1) * 2 ** 32;
  ADDED[n++] = (Math.cbrt(prime) % 1) * 2 ** 32;
}

/** Return the digest as eight words. */
function sha256(bytes) {
  const size = bytes.length, words = new Int32Array(((size + 72) >> 6) << 4), state = FIRST.slice();
  for (let k = 0; k < size; k++) words[k >> 2] |= bytes[k] << (24 - 8 * (k & 3));
  words[size >> 2] |= 128 << (24 - 8 * (size & 3));
  words[words.length - 2] = size / 2 ** 29;
  words[words.length - 1] = size << 3;
  for (let block = 0; block < words.length; block += 16) {
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t++) {
      const x = w[t - 15], y = w[t - 2];
      w[t] = t < 16 ? words[block + t] : w[t - 16] + w[t - 7]
        + (turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)) + (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ADDED[t] + w[t]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    for (const [k, word] of [a, b, c, d, e, f, g, h].entries()) state[k] += word;
  }
  return state;
}

const turned = (word, by) => (word >>> by) | (word << (32 - by));
const hex = (words) => Array.from(words, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
const bytesOf = (words) => Uint8Array.from({ length: 4 * words.length }, (_, k) => words[k >> 2] >>> (24 - 8 * (k & 3)));

function hmac(secret, text) {
  const short = secret.length > 64 ? bytesOf(sha256(secret)) : secret;
  const after = (mask, more) => {
    const joined = new Uint8Array(64 + more.length).fill(mask, 0, 64).map((one, k) => one ^ short[k]);
    joined.set(more, 64);
    return sha256(joined);
  };
  return hex(after(0x5c, bytesOf(after(0x36, encoder.encode(text)))));
}

const MULTIPLIER = [0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360]; // 16 bits each, lowest first

/** PCG XSL-RR 128/64 (O'Neill 2014) as in numpy, from eight words: state and increment, highest first. */
class Pcg64 {
  constructor(words) {
    const limbs = (last) => Array.from({ length: 8 }, (_, k) => (words[last - (k >> 1)] >>> (16 * (k & 1))) & 0xffff);
    [this.state, this.increment] = [limbs(3), limbs(7)];
    this.increment[0] |= 1;
  }

  /** Return a random number in [0, 1): a step, then the output of the new state. */
  uniform() {
    const { state, increment } = this, before = state.slice();
    for (let k = 0, sum = 0; k < 8; k++) {
      sum = Math.floor(sum / 65536) + increment[k];
      for (let j = 0; j <= k; j++) sum += before[j] * MULTIPLIER[k - j]; // below 2^36
      state[k] = sum & 0xffff;
    }
    let high = ((state[7] << 16) | state[6]) ^ ((state[3] << 16) | state[2]);
    let low = ((state[5] << 16) | state[4]) ^ ((state[1] << 16) | state[0]);
    const by = (state[7] >> 10) & 31; // the lower 5 of the rotation's 6 bits; the next line rotates by 32
    if (state[7] >> 15) [high, low] = [low, high];
    const above = (high >>> by) | ((low << (31 - by)) << 1), below = (low >>> by) | ((high << (31 - by)) << 1);
    return ((above >>> 0) * 2 ** 21 + (below >>> 11)) * 2 ** -53;
  }

  /** Return a random integer from 0..n-1. With n = 1, no number is drawn. */
  below(n) {
    return n === 1 ? 0 : Math.floor(this.uniform() * n);
  }
}
