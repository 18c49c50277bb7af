import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, beforeEach, test } from "node:test";

import { Client } from "ltr-duel/client";

const LISTS = { bm25: ["a", "b", "c", "d"], dense: ["d", 7, "b"] };
const PAGE = { page: ["d", 7], token: "t", expires: 1, rankers: ["bm25", "dense"], served: "experiment" };
const fallback = (page, why, total = page.length) =>
  ({ page, token: "", rankers: ["bm25"], served: "fallback", why, total });

let server, url, asked, ways; // asked: the received requests; ways: how the next requests are answered

beforeEach(async () => {
  [asked, ways] = [[], []];
  server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    asked.push({ path: request.url, headers: request.headers, said: JSON.parse(body) });
    const way = ways.shift() ?? 200;
    if (way === "close") return request.socket.destroy();
    if (way === "silent") return;
    if (way === "slow") return response.write("{"), undefined; // sends a head, and a body that never ends
    const text = { strange: "no JSON", other: "[1]", bad: "<html>" }[way] ?? JSON.stringify(
      way === 200 ? { ...PAGE, recorded: true } : { error: "one sentence" });
    response.writeHead(typeof way === "number" ? way : way === "bad" ? 502 : 200).end(text);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${server.address().port}`;
});

afterEach(() => { server.closeAllConnections(); server.close(); });

test("a page and its clicks", async () => {
  const client = new Client(url, "bm25", { key: "0123456789abcdef", deadline: 30_000 });
  assert.deepEqual(await client.decide("q", LISTS, { user: "u" }), { ...PAGE, recorded: true, why: "" });
  assert.equal(await client.clicks("t", [7], { deadline: 30_000 }), true);
  assert.deepEqual(asked.map((one) => [one.path, one.said]), [
    ["/decide", { query: "q", rankings: LISTS, user: "u" }],
    ["/clicks", { token: "t", clicks: [7], final: true }],
  ]);
  assert.equal(asked[0].headers.authorization, "Bearer 0123456789abcdef");
  assert.equal(asked[0].headers["content-type"], "application/json");
});

for (const [way, why] of [
  ["silent", "deadline"], ["slow", "deadline"], ["strange", "answer"], ["other", "answer"], ["bad", "status 502"],
  [503, "status 503: one sentence"], [401, "status 401: one sentence"],
])
  test(`after '${way}' the incumbent's list is shown in time, because of '${why}'`, async () => {
    ways = [way];
    const began = performance.now(), deadline = why === "deadline" ? 200 : 30_000;
    const page = await new Client(url, "bm25", { deadline, top: 2 }).decide("q", LISTS);
    assert.deepEqual(page, fallback(["a", "b"], why));
    assert.ok(performance.now() - began < 20_000); // otherwise the client would wait forever
  });

test("without a service, the reason is 'network'", async () => {
  const client = new Client("http://127.0.0.1:1", "bm25", { deadline: 30_000 });
  assert.equal((await client.decide("q", LISTS)).why, "network");
});

test("for a moment after a failed search, no searches are sent, but reports are", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000, pause: 60_000 });
  ways = [500];
  assert.match((await client.decide("q", LISTS)).why, /^status 500/);
  assert.equal((await client.decide("q", LISTS)).why, "pause");
  assert.equal(await client.clicks("t", [], { deadline: 30_000 }), true);
  assert.equal(await client.events("t", [{ kind: "cart" }], { deadline: 30_000 }), true);
  assert.deepEqual(asked.map((one) => one.path), ["/decide", "/clicks", "/events"]);
});

test("for a moment after a failed report, no reports of its kind are sent, but searches are", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000, pause: 60_000 });
  ways = [503];
  for (const _ of [1, 2]) assert.equal(await client.clicks("t", [], { deadline: 30_000 }), false);
  assert.equal((await client.decide("q", LISTS)).served, "experiment");
  assert.deepEqual(asked.map((one) => one.path), ["/clicks", "/decide"]);
});

test("a report is recorded if it was counted and its answer was lost", async () => {
  const client = new Client(url, "bm25"), deadline = 30_000;
  ways = ["close", 409];
  assert.equal(await client.clicks("t", ["d"], { deadline }), true);
  assert.equal(asked[0].headers["idempotency-key"], asked[1].headers["idempotency-key"]);
});

test("outcomes are reported with the token of their page", async () => {
  const client = new Client(url, "bm25"), events = [{ document: 7, kind: "purchase", value: 39.9, id: "order 7" }];
  ways = [200, 410];
  for (const recorded of [true, false])
    assert.equal(await client.events("t", events, { deadline: 30_000 }), recorded);
  assert.equal(await client.events("", events), false);
  assert.deepEqual(asked.map((one) => [one.path, one.said]), Array(2).fill(["/events", { token: "t", events }]));
});

test("the client works without the global crypto, which Node 18 lacks", async () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  delete globalThis.crypto;
  try {
    assert.equal((await new Client(url, "bm25", { deadline: 30_000 }).decide("q", LISTS)).served, "experiment");
  } finally {
    if (own) Object.defineProperty(globalThis, "crypto", own);
  }
});

test("a search whose request cannot be built gets the incumbent's list", async () => {
  const page = await new Client(url, "bm25", { deadline: NaN }).decide("q", LISTS);
  assert.deepEqual(page, fallback(LISTS.bm25, "request"));
});

test("after the pause, searches are sent again", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000, pause: 100 });
  ways = [500];
  assert.match((await client.decide("q", LISTS)).why, /^status 500/);
  await new Promise((done) => setTimeout(done, 150));
  assert.equal((await client.decide("q", LISTS)).served, "experiment");
});

test("after a refused request, the next request is sent", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000 });
  ways = [400];
  assert.match((await client.decide("", LISTS)).why, /^status 400/);
  assert.equal((await client.decide("q", LISTS)).served, "experiment");
});

test("if the connection is closed, the request is sent once more, with the same key", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000, pause: 0 });
  ways = ["close"];
  assert.equal((await client.decide("q", LISTS)).served, "experiment");
  ways = ["close", "close"];
  assert.equal((await client.decide("q", LISTS)).why, "network");
  const keys = asked.map((one) => one.headers["idempotency-key"]);
  assert.equal(keys.length, 4);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.deepEqual([keys[0] === keys[1], keys[1] === keys[2], keys[2] === keys[3]], [true, false, true]);
});

test("a caller that repeats a request may pass the same key", async () => {
  await new Client(url, "bm25", { deadline: 30_000 }).decide("q", LISTS, { idempotencyKey: "mine" });
  assert.equal(asked[0].headers["idempotency-key"], "mine");
});

test("the given options of a part are sent, and also apply to a fallback", async () => {
  const client = new Client(`${url}/shoes/`, "bm25", { deadline: 30_000, pause: 0, top: 3 });
  ways = [503, 503, 503];
  const part = { token: "t", offset: 1, limit: 1, context: { device: "phone" } };
  assert.deepEqual((await client.decide("q", LISTS, part)).page, ["b"]);
  assert.deepEqual((await client.decide("q", LISTS, { token: "t", offset: 2 })).page, ["c"]);
  assert.deepEqual((await client.decide("q", LISTS)).page, ["a", "b", "c"]);
  const both = { query: "q", rankings: LISTS };
  assert.deepEqual(asked.map((one) => one.said), [{ ...both, ...part }, { ...both, token: "t", offset: 2 }, both]);
  assert.equal(asked[0].path, "/shoes/decide");
});

test("a later part of a fallback is a fallback, and no request is sent", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000 });
  for (const of of [{}, { token: "" }, { token: "", user: "ann" }])
    assert.deepEqual(await client.decide("q", LISTS, { ...of, offset: 2, limit: 9 }), fallback(["c", "d"], "token", 4));
  assert.equal(asked.length, 0);
});

test("a later part without a token is requested with its user", async () => {
  const part = { user: "ann", offset: 2 };
  assert.equal((await new Client(url, "bm25", { deadline: 30_000 }).decide("q", LISTS, part)).served, "experiment");
  assert.deepEqual(asked[0].said, { query: "q", rankings: LISTS, ...part });
});

test("clicks of a page that is already closed are not recorded", async () => {
  const client = new Client(url, "bm25"), deadline = 30_000;
  ways = [409, 410];
  assert.equal(await client.clicks("t", ["d"], { deadline }), false);
  assert.equal(await client.clicks("t", ["d"], { deadline, final: false }), false);
  assert.equal(await client.clicks("", ["d"]), false);
  assert.equal(asked.length, 2);
});

test("if JSON cannot represent the lists, the incumbent's list is shown, and the next search is sent", async () => {
  const client = new Client(url, "bm25", { deadline: 30_000 });
  assert.deepEqual(await client.decide("q", { ...LISTS, dense: [1n] }), fallback(LISTS.bm25, "request"));
  assert.equal((await client.decide("q", LISTS)).served, "experiment");
});

test("wrong arguments throw errors", async () => {
  for (const wrong of ["127.0.0.1:8080", "ftp://a", "http://", "http:///b", "http://a?b", "http://a/b#c"])
    assert.throws(() => new Client(wrong, "bm25"), /is of the form http/);
  await assert.rejects(new Client(url, "bm25").decide("q", { dense: [] }), /list of the incumbent 'bm25' is missing/);
});
