// `node test.mjs` checks all pages of ../vectors.json and the refusals, and times a search. Python writes that file.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Plan } from "ltr-duel/plan";

const file = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf-8"));
const { keys, rankers, words, vectors, rare } = file, texts = file.plans.map((one) => JSON.stringify(one));
const lines = Object.entries(keys).map(([id, secret]) => `${id} ${secret}  # comment\n`).join("\n"); // as in a file
const plans = texts.map((text, k) => Plan.read(text, k % 2 ? keys : lines));

function vector(n) {
  const plan = plans[n % plans.length], lists = {}, number = new Map();
  let x = n + 1, first;
  const draw = (m) => (x = (x * 48271) % 2147483647) % m, word = () => words[draw(words.length)];
  const unit = word() + n, query = word() + word(), kind = draw(3), pool = 20 + 20 * draw(3);
  const name = (d) => (kind === 1 ? `d${d}` : kind === 2 && d % 2 ? words[d % words.length] + d : d);
  for (const ranker of rankers) {
    const length = 1 + draw(20), deck = [...Array(pool).keys()];
    for (let k = 0; k < length; k++) {
      const other = k + draw(pool - k);
      [deck[k], deck[other]] = [deck[other], deck[k]];
    }
    first ??= deck.slice(0, length);
    lists[ranker] = (draw(3) ? deck : first).slice(0, length).map(name);
  }
  for (let d = 0; d < pool; d++) number.set(name(d), d);
  const { shown, rankers: names, record } = plan.decide(unit, query, lists, { now: n }), told = [names.join("\t")];
  assert.deepEqual(plan.rankers(unit, query), names);
  if (record) {
    const { impression, time, user, shown, method, outcome, policy, propensity, page, owners } = record;
    told.unshift(impression, time, record.query, user, shown.join("\t"));
    told.push(method, outcome, policy, Math.round(propensity * plan.draws), page ?? owners.join(" "));
  }
  const digest = createHash("sha256").update(told.join("\n")).digest("hex");
  return `${shown.map((id) => number.get(id)).join(" ")}:${digest.slice(0, 8)}`;
}
for (const [n, wanted] of [...vectors.entries(), ...Object.entries(rare)]) assert.equal(vector(+n), wanted, `vector ${n}`);
const signed = file.plans[0], other = (more) => ({ ...signed.plan, ...more });
const decide = (list, unit = "u", more = {}) =>
  plans[2].decide(unit, "q", Object.fromEntries(list ? rankers.map((name) => [name, list]) : []), more);
for (const [why, act] of [
  [/^the plan: not a plan of 'ltr-duel live plan'$/, () => Plan.read("{", keys)],
  [/^the plan: signed by key 'vectors', which is none of no$/, () => Plan.read(texts[0], { no: keys.vectors })],
  [/^the plan: changed since it/, () => Plan.read(JSON.stringify({ ...signed, plan: other({ top: 9 }) }), keys)],
  [/^method 'sosm' is not available for plans in JavaScript/, () => new Plan(other({ method: "sosm" }))],
  [/ranker '.*' is missing/, () => decide()], [/ranker '.*' is empty$/, () => decide([])],
  [/^document 'x' appears twice on the list/, () => decide(["x", "y", "x"])], [/^document id 1.5 is/, () => decide([1.5])],
  [/as a text and as a number$/, () => decide([1, "1"])], [/^the user of .* half of a/, () => decide(["x"], "\ud800")],
  [/from 0, not -1$/, () => decide(["x"], "u", { offset: -1 })],
]) assert.throws(act, { message: why });
const ids = Array.from({ length: 15 }, (_, k) => `https://example.org/document/${k}`);
const lists = Object.fromEntries(rankers.map((name, k) => [name, k % 3 ? ids.slice(5) : ids.slice(0, 10)]));
const took = [0, 1].map((k) => {
  const times = Float64Array.from({ length: 120_000 }, (_, n) => {
    const began = performance.now();
    plans[k].decide(`u${n}`, "red shoes", lists, { now: 0 });
    return performance.now() - began;
  });
  return `${plans[k].method} ${(1000 * times.subarray(20_000).sort()[50_000]).toFixed(1)}`;
});
console.log(`${vectors.length} pages equal those of Python; a search takes (in µs): ${took.join(", ")}`);
