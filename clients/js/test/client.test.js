import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, beforeEach, test } from "node:test";

import { Client } from "ltr-duel/client";

const LISTS = { bm25: ["a", "b", "c", "d"], dense: ["d", 7, "b"] };
const PAGE = { page: ["d", 7], token: "t", rankers: ["bm25", "dense"], served: "experiment", version: 3 };
const SLOW = { key: "0123456789abcdef", deadline: 30 };

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
      way === 200 ? PAGE : { error: "one sentence" });
    response.writeHead(typeof way === "number" ? way : way === "bad" ? 502 : 200).end(text);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${server.address().port}`;
});

afterEach(() => { server.closeAllConnections(); server.close(); });

test("a page is requested with the key, and its events are reported with its token", async () => {
  const client = new Client(`${url}/shoes/`, "bm25", SLOW), events = [{ kind: "click", document: 7 }];
  assert.deepEqual(await client.decide("u", "q", LISTS, { device: "phone" }), { ...PAGE, why: "" });
  assert.equal(await client.report("t", events, 30), true);
  assert.deepEqual(asked.map((one) => [one.path, one.said]), [
    ["/shoes/decide", { user: "u", query: "q", rankings: LISTS, context: { device: "phone" } }],
    ["/shoes/events", { token: "t", events }],
  ]);
  assert.equal(asked[0].headers.authorization, "Bearer 0123456789abcdef");
});

for (const [way, why] of [
  ["silent", "deadline"], ["slow", "deadline"], ["strange", "answer"], ["other", "answer"], ["bad", "status 502"],
  ["close", "network"], [503, "status 503: one sentence"], [401, "status 401: one sentence"],
])
  test(`after '${way}' the incumbent's list is shown in time, because of '${why}'`, async () => {
    ways = [way];
    const began = performance.now(), deadline = why === "deadline" ? 0.2 : 30;
    const page = await new Client(url, "bm25", { ...SLOW, deadline, top: 2 }).decide("u", "q", LISTS);
    assert.deepEqual(page, { page: ["a", "b"], token: "", rankers: ["bm25"], served: "fallback", why });
    assert.ok(performance.now() - began < 20_000); // otherwise the client would wait forever
    assert.equal(asked.length, 1);
  });

test("a report that the service does not store, or of a page that does not count, is not stored", async () => {
  ways = [410];
  const client = new Client(url, "bm25", SLOW);
  assert.equal(await client.report("t", [{ kind: "view" }], 30), false);
  assert.equal(await client.report("", [{ kind: "view" }]), false);
  assert.equal(asked.length, 1);
});

test("without the incumbent's list there is nothing to fall back to", async () => {
  await assert.rejects(new Client(url, "bm25", SLOW).decide("u", "q", {}), /incumbent 'bm25' is missing/);
});
