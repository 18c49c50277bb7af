/**
 * Report the clicks on result pages from a browser; no click is lost or counted twice.
 *
 * A tab has one open page. Its clicks are reported when the user leaves it (`pagehide`, or the tab is hidden). These
 * reports are not final, because a user who returns, also from the back/forward cache, may click again. Each report
 * contains all clicks of its page, so the order of arrival does not matter. When the tab shows the next page, a final
 * report ends the previous page. Reports go to the site's own server, which has the API key and forwards them to
 * `/clicks` of the service.
 */

const PLACE = "ltr_duel"; // key in the storage of the tab; other documents of the tab use it to continue or end the page

export class ClickReporter {
  #address; #view; #storage;
  #token = ""; // token of the page that this document shows
  #ended = []; // final reports that the browser has not accepted yet

  /**
   * @param {string} address the address for reports
   * @param {object} [options]
   * @param {() => void} [options.stale] called if the user returns to a page that another document of the tab
   *   has ended: its clicks would be rejected, so request a new page
   * @param {Window} [options.view] the window; tests pass a substitute
   */
  constructor(address, { stale = () => {}, view = globalThis } = {}) {
    this.#address = address;
    this.#view = view;
    this.#storage = storageOf(view);
    view.addEventListener("pagehide", () => this.#send());
    view.document.addEventListener("visibilitychange", () => {
      if (view.document.visibilityState === "hidden") this.#send();
    });
    view.addEventListener("pageshow", (event) => {
      if (event.persisted && this.#token && !this.isOpen(this.#token)) stale();
    });
  }

  /**
   * Return whether a page is the open page of the tab; an open page may be shown again, and further clicks count.
   *
   * @param {string} token
   */
  isOpen(token) {
    return Boolean(token) && this.#open.token === token;
  }

  /**
   * Start a page, or continue the open page; this ends any other page of the tab.
   *
   * @param {string} token the token of the page; empty for a page that does not come from the service
   */
  show(token) {
    const { unsent, ...before } = this.#open;
    this.#token = token;
    if (before.token !== token) {
      if (before.token) this.#ended.push({ ...before, final: true });
      this.#open = { token, clicks: [] };
    }
    this.#send();
  }

  /**
   * Count clicks on a link of the current page: the main button, the keyboard, or the middle button.
   *
   * @param {EventTarget} link
   * @param {string | number} id the id of its document
   */
  watch(link, id) {
    const token = this.#token;
    const count = () => {
      const { clicks } = this.#open;
      if (this.isOpen(token) && !clicks.includes(id)) this.#open = { token, clicks: [...clicks, id], unsent: true };
    };
    link.addEventListener("click", count);
    link.addEventListener("auxclick", (event) => event.button === 1 && count()); // the right button opens a menu
  }

  #send() {
    this.#ended = this.#ended.filter((report) => !this.#beacon(report));
    const { unsent, ...open } = this.#open;
    if (unsent && this.#beacon({ ...open, final: false })) this.#open = open;
  }

  #beacon(report) {
    return this.#view.navigator.sendBeacon(
      this.#address, new Blob([JSON.stringify(report)], { type: "application/json" }));
  }

  get #open() {
    return JSON.parse(this.#storage.getItem(PLACE)) ?? { token: "", clicks: [] };
  }

  set #open(page) {
    this.#storage.setItem(PLACE, JSON.stringify(page));
  }
}

/** Return the storage of the tab, or a substitute for this document if the browser provides none. */
function storageOf(view) {
  try {
    view.sessionStorage.setItem(`${PLACE}?`, "");
    return view.sessionStorage;
  } catch {
    const kept = new Map();
    return { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
  }
}
