/**
 * Reports the clicks of result pages from a browser: none is lost, none counts twice.
 *
 * A tab has one open page. Its clicks are reported when the user leaves it (`pagehide`, or the tab is hidden), but not
 * for good: who comes back, also from the back/forward cache, may click again. Each report holds all clicks of its
 * page, so it does not matter which arrives first. The next page that the tab shows ends the one before. Reports go to
 * the site's own server, which has the API key and passes them on to `/clicks` of the service.
 */

const PLACE = "ltr_duel"; // in the storage of the tab, as other documents of the tab may continue or end the page

export class ClickReporter {
  #address; #view; #storage;
  #token = ""; // of the page that this document shows
  #ended = []; // reports that the browser has not taken yet

  /**
   * @param {string} address where reports go
   * @param {object} [options]
   * @param {() => void} [options.stale] called where the user comes back to a page that another document of the tab
   *   has ended: its clicks would be refused, so ask for a page anew
   * @param {Window} [options.view] the window; tests give another one
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
   * Return whether a page is the open one of the tab: if so it may be shown again, and further clicks count.
   *
   * @param {string} token
   */
  isOpen(token) {
    return Boolean(token) && this.#open.token === token;
  }

  /**
   * Begin a page, or go on with the open one; any other page of the tab has ended.
   *
   * @param {string} token of the page; empty for a page that the service has not made
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
   * Count clicks on a link of the page that was begun last: the main button, the keyboard, or the middle button.
   *
   * @param {EventTarget} link
   * @param {string | number} id of its document
   */
  watch(link, id) {
    const token = this.#token;
    const count = () => {
      const { clicks } = this.#open;
      if (this.isOpen(token) && !clicks.includes(id)) this.#open = { token, clicks: [...clicks, id], unsent: true };
    };
    link.addEventListener("click", count);
    link.addEventListener("auxclick", (event) => event.button === 1 && count()); // another button opens a menu
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

/** Return the storage of the tab, or one for this document where the browser has none for it. */
function storageOf(view) {
  try {
    view.sessionStorage.setItem(`${PLACE}?`, "");
    return view.sessionStorage;
  } catch {
    const kept = new Map();
    return { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
  }
}
