import assert from "node:assert/strict";
import { test } from "node:test";

import { EventReporter } from "ltr-duel/clicks";

/** A window with the parts that the module uses. */
class View extends EventTarget {
  document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  sent = [];
  full = false;
  navigator = { sendBeacon: (address, blob) => !this.full && this.sent.push({ address, blob }) > 0 };

  turn(state) { this.document.visibilityState = state; this.document.dispatchEvent(new Event("visibilitychange")); }
  async reports() { return Promise.all(this.sent.map(async ({ blob }) => JSON.parse(await blob.text()))); }
}

const click = (link) => link.dispatchEvent(new Event("click"));
const press = (link, button) => link.dispatchEvent(Object.assign(new Event("auxclick"), { button }));
const seen = (token) => ({ token, events: [{ kind: "view" }] });
const clicked = (token, document) => ({ token, events: [{ kind: "click", document }] });

test("a view is reported at once, and clicks with the types of their ids", async () => {
  const view = new View(), reporter = new EventReporter("/events", view), links = [new EventTarget(), new EventTarget()];
  reporter.show("one");
  reporter.watch(links[0], 3);
  reporter.watch(links[1], "b");
  click(links[0]);
  press(links[1], 1);
  press(links[1], 2); // the menu of a link
  assert.deepEqual(await view.reports(), [seen("one"), clicked("one", 3), clicked("one", "b")]);
  assert.deepEqual([view.sent[0].address, view.sent[0].blob.type], ["/events", "application/json"]);
});

test("a page in a hidden tab is viewed when the tab is shown", async () => {
  const view = new View();
  view.document.visibilityState = "hidden";
  new EventReporter("/events", view).show("one");
  assert.deepEqual(view.sent, []);
  for (const state of ["visible", "hidden", "visible"]) view.turn(state);
  assert.deepEqual(await view.reports(), [seen("one")]);
});

test("links of an earlier page of the same document belong to that page", async () => {
  const view = new View(), reporter = new EventReporter("/events", view), link = new EventTarget();
  reporter.show("one");
  reporter.watch(link, "a");
  reporter.show("two");
  click(link);
  assert.deepEqual(await view.reports(), [seen("one"), seen("two"), clicked("one", "a")]);
});

test("a page that does not come from the service reports nothing", () => {
  const view = new View(), reporter = new EventReporter("/events", view), link = new EventTarget();
  reporter.show("");
  reporter.watch(link, "a");
  click(link);
  assert.deepEqual(view.sent, []);
});

test("reports that the browser does not accept are sent when the user leaves", async () => {
  const view = new View(), reporter = new EventReporter("/events", view);
  view.full = true;
  reporter.show("one");
  view.full = false;
  for (let k = 0; k < 2; k++) view.dispatchEvent(new Event("pagehide"));
  assert.deepEqual(await view.reports(), [seen("one")]);
});
