/**
 * Report views of and clicks on result pages from a browser.
 *
 * Each event is sent at once, by `sendBeacon`, which outlives the page. An event counts once, however often it is sent,
 * so reloads, the back button and several tabs need no care. Beacons go to the site's own server, which has the API key
 * and forwards them to `/events` of the service.
 */
export class EventReporter {
  #address; #view;
  #token = ""; // token of the current page
  #unsent = []; // reports that the browser has not accepted yet

  /**
   * @param {string} address the address for reports
   * @param {Window} [view] the window; tests pass a substitute
   */
  constructor(address, view = globalThis) {
    this.#address = address;
    this.#view = view;
    view.addEventListener("pagehide", () => this.#send());
  }

  /**
   * Start a page, and report its view as soon as the tab is visible.
   *
   * @param {string} token the token of the page; empty for a page that does not come from the service
   */
  show(token) {
    const { document } = this.#view, report = () => this.#report(token, { kind: "view" });
    this.#token = token;
    if (document.visibilityState === "hidden") document.addEventListener("visibilitychange", report, { once: true });
    else report();
  }

  /**
   * Report clicks on a link of the current page: the main button, the keyboard, or the middle button.
   *
   * @param {EventTarget} link
   * @param {string | number} id the id of its document
   */
  watch(link, id) {
    const token = this.#token, report = () => this.#report(token, { kind: "click", document: id });
    link.addEventListener("click", report);
    link.addEventListener("auxclick", (event) => event.button === 1 && report()); // the right button opens a menu
  }

  #report(token, event) {
    if (token) this.#unsent.push({ token, events: [event] });
    this.#send();
  }

  #send() {
    this.#unsent = this.#unsent.filter((report) => {
      const body = new Blob([JSON.stringify(report)], { type: "application/json" });
      return !this.#view.navigator.sendBeacon(this.#address, body);
    });
  }
}
