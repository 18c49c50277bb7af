// `node test.mjs` checks all pages of ../vectors.json and the refusals, and times a search. Python writes that file.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Plan } from "ltr-duel/plan";

const file = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf-8"));
const { rankers, words, vectors, rare } = file, texts = file.plans.map((one) => JSON.stringify(one));
const keys = Object.entries(file.keys).map(([id, secret]) => `# keys\n${id} ${secret}  # comment\n`).join("\n");
const plans = texts.map((text) => Plan.read(text, keys));

function vector(n) {
  const plan = plans[n % plans.length], lists = {}, number = new Map();
  let x = n + 1, first;
  const draw = (m) => (x = (x * 48271) % 2147483647) % m, word = () => words[draw(words.length)];
  const user = word() + n, query = word() + word(), kind = draw(3), pool = 20 + 20 * draw(3);
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
  const { page, rankers: names, record, served } = plan.decide(user, query, lists, n), told = [names.join("\t")];
  assert.deepEqual(plan.rankers(user, query), names);
  if (record) {
    const { impression, time, user, shown, method, outcome, policy, propensity, page, owners } = record;
    const draws = plan.sets.reduce((sum, set) => sum + set.draws, 0);
    told.unshift(impression, time, record.query, user, shown.join("\t"));
    told.push(method, outcome, policy, Math.round(propensity * draws), page ?? owners.join(" "));
  } else told.push(served);
  const digest = createHash("sha256").update(told.join("\n")).digest("hex");
  return `${page.map((id) => number.get(id)).join(" ")}:${digest.slice(0, 8)}`;
}
for (const [n, page] of [...vectors.entries(), ...Object.entries(rare)]) assert.equal(vector(+n), page, `vector ${n}`);
const signed = file.plans[0], other = (more) => ({ ...signed.plan, ...more });
const decide = (list, user = "u") =>
  new Plan(other({})).decide(user, "q", Object.fromEntries(list ? rankers.map((name) => [name, list]) : []));
for (const [why, act] of [
  [/^the plan: not a plan of 'ltr-duel live plan'$/, () => Plan.read("{", keys)],
  [/^the plan: signed by 'vectors', an unknown key$/, () => Plan.read(texts[0], "no 00")],
  [/^the secret of key 'vectors' is not 16 bytes/, () => Plan.read(texts[0], "vectors CHANGE-ME")],
  [/^the plan: changed since it/, () => Plan.read(JSON.stringify({ ...signed, plan: other({ top: 9 }) }), keys)],
  [/^method 'sosm' is available only in Python/, () => new Plan(other({ method: "sosm" }))],
  [/ranker '.*' is missing or empty$/, () => decide()], [/ranker '.*' is missing or empty$/, () => decide([])],
  [/^a document appears twice on/, () => decide(["x", "y", "x"])], [/^document id 1.5 of/, () => decide([1.5])],
  [/as a string and as a number$/, () => decide([1, "1"])], [/^the user .* not a valid/, () => decide(["x"], "\ud800")],
  [/^the user of a search is empty/, () => decide(["x"], "")], [/^document id .* valid/, () => decide(["\udc00"])],
  [/^the user .* not a valid text of at most 10,000/, () => decide(["x"], "🙂".repeat(10_001))],
  [/too many documents$/, () => decide([...Array(10_001).keys()])],
  [/^document id a\nb of .* one line/, () => decide(["a\nb"])],
  [/as a string and as a number$/, () => new Plan(other({ mode: "paused" })).decide("u", "q", { dense: [1, "1"] })],
]) assert.throws(act, { message: why });
const ids = Array.from({ length: 15 }, (_, k) => `https://example.org/document/${k}`);
const lists = Object.fromEntries(rankers.map((name, k) => [name, k % 3 ? ids.slice(5) : ids.slice(0, 10)]));
const took = [0, 1].map((k) => {
  const times = Float64Array.from({ length: 60_000 }, (_, n) => {
    const began = performance.now();
    plans[k].decide(`u${n}`, "red shoes", lists, 0);
    return performance.now() - began;
  });
  return `${plans[k].method} ${(1000 * times.subarray(20_000).sort()[20_000]).toFixed(1)}`;
});
console.log(`${vectors.length} pages equal those of Python; a search takes (in µs): ${took.join(", ")}`);
