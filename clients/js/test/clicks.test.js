import assert from "node:assert/strict";
import { test } from "node:test";

import { ClickReporter } from "ltr-duel/clicks";

/** A window with the parts that the module uses; documents of the same tab share a storage. */
class View extends EventTarget {
  document = new EventTarget();
  sent = [];
  full = false;
  navigator = { sendBeacon: (address, blob) => !this.full && this.sent.push({ address, blob }) > 0 };

  constructor(storage = new Map()) {
    super();
    this.sessionStorage = {
      getItem: (name) => storage.get(name) ?? null,
      setItem: (name, text) => storage.set(name, text),
    };
  }

  leave() { this.dispatchEvent(new Event("pagehide")); }
  comeBack(persisted = true) { this.dispatchEvent(Object.assign(new Event("pageshow"), { persisted })); }
  hide(state) { this.document.visibilityState = state; this.document.dispatchEvent(new Event("visibilitychange")); }
  async reports() { return Promise.all(this.sent.map(async ({ blob }) => JSON.parse(await blob.text()))); }
}

function started(view, token = "one", ids = ["a", "b", 3], options = {}) {
  const reporter = new ClickReporter("/clicks", { view, ...options });
  reporter.show(token);
  const links = ids.map((id) => { const link = new EventTarget(); reporter.watch(link, id); return link; });
  return { reporter, links };
}

const click = (link) => link.dispatchEvent(new Event("click"));
const press = (link, button) => link.dispatchEvent(Object.assign(new Event("auxclick"), { button }));

test("leaving the page sends a report that is not final and keeps the types of the ids", async () => {
  const view = new View(), { links } = started(view);
  click(links[2]);
  press(links[0], 1);
  assert.deepEqual(view.sent, []);
  view.leave();
  assert.deepEqual(await view.reports(), [{ token: "one", clicks: [3, "a"], final: false }]);
  assert.deepEqual([view.sent[0].address, view.sent[0].blob.type], ["/clicks", "application/json"]);
});

test("a second click on a document and the menu of a link are not counted", async () => {
  const view = new View(), { links } = started(view);
  click(links[0]);
  click(links[0]);
  press(links[0], 1);
  press(links[1], 2);
  view.leave();
  assert.deepEqual((await view.reports())[0].clicks, ["a"]);
});

test("leaving without a new click sends nothing, even if the tab was hidden before", async () => {
  const view = new View(), { links } = started(view);
  view.leave();
  click(links[0]);
  view.hide("hidden");
  assert.equal(view.sent.length, 1);
  view.leave();
  view.hide("visible");
  assert.equal(view.sent.length, 1);
});

test("a user who returns from the back/forward cache adds to the earlier clicks", async () => {
  const view = new View(), { links } = started(view, "one", ["a", "b"], { stale: () => assert.fail("it is open") });
  click(links[0]);
  view.leave();
  view.comeBack();
  click(links[1]);
  view.leave();
  assert.deepEqual((await view.reports()).map((one) => one.clicks), [["a"], ["a", "b"]]);
});

test("the next search ends the page with all its clicks, even if there are none", async () => {
  const view = new View(), { reporter, links } = started(view);
  click(links[1]);
  reporter.show("two");
  reporter.show("");
  reporter.show("three");
  assert.deepEqual(await view.reports(), [
    { token: "one", clicks: ["b"], final: true },
    { token: "two", clicks: [], final: true },
  ]);
});

test("a click on a link of an ended page is not counted for the next page", async () => {
  const view = new View(), { reporter, links } = started(view);
  reporter.show("two");
  click(links[0]);
  view.leave();
  assert.deepEqual((await view.reports()).map((one) => one.clicks), [[]]);
});

test("a page without a token reports nothing", async () => {
  const view = new View(), { reporter, links } = started(view, "");
  click(links[0]);
  view.leave();
  reporter.show("");
  assert.deepEqual(view.sent, []);
  assert.equal(reporter.isOpen(""), false);
});

test("another document of the tab continues the page with its clicks", async () => {
  const storage = new Map(), first = new View(storage), second = new View(storage);
  click(started(first).links[0]);
  first.leave();
  const { reporter, links } = started(second);
  assert.equal(reporter.isOpen("one"), true);
  click(links[1]);
  reporter.show("two");
  assert.deepEqual(await second.reports(), [{ token: "one", clicks: ["a", "b"], final: true }]);
});

test("a page that another document has ended is stale for a returning user, and its clicks are not counted", async () => {
  const storage = new Map(), first = new View(storage), second = new View(storage);
  let stale = 0;
  const { reporter, links } = started(first, "one", ["a"], { stale: () => { stale += 1; } });
  first.leave();
  started(second, "two");
  first.comeBack(false);
  assert.equal(stale, 0);
  first.comeBack();
  click(links[0]);
  first.leave();
  assert.deepEqual([stale, reporter.isOpen("one"), first.sent], [1, false, []]);
  assert.deepEqual(await second.reports(), [{ token: "one", clicks: [], final: true }]);
});

test("a report that the browser does not accept is sent later", async () => {
  const view = new View(), { reporter, links } = started(view);
  click(links[0]);
  view.full = true;
  view.leave();
  reporter.show("two");
  view.full = false;
  view.leave();
  assert.deepEqual(await view.reports(), [{ token: "one", clicks: ["a"], final: true }]);
});

test("without a storage of the tab, a document counts its own clicks", async () => {
  const view = new View();
  Object.defineProperty(view, "sessionStorage", { get() { throw new Error("not allowed"); } });
  const { reporter, links } = started(view);
  click(links[0]);
  view.leave();
  reporter.show("two");
  assert.deepEqual((await view.reports()).map((one) => [one.clicks, one.final]), [[["a"], false], [["a"], true]]);
});
