/**
 * Asks a service of `ltr-duel serve` for pages: the experiment never stands between people and results.
 *
 * Each call has a deadline. A search that is not answered in time, or not at all, gets the incumbent's list and the
 * cause. For a moment after a failure no search is sent, nor, after a failed report, another report of its kind. It
 * runs on a server (Node 18 or newer): the API key and the lists of all rankers belong there and not in a browser, for
 * which `clicks.js` is.
 *
 * @typedef {string | number} Id of a document; a number is whole
 *
 * @typedef {object} Page
 * @property {Id[]} page document ids, from the top
 * @property {string} token for the clicks; empty if the service has not made the page
 * @property {string[]} rankers whose lists are on it
 * @property {string} served "experiment"; why the search takes no part; or "fallback", if the service gave no page
 * @property {number} total documents of the whole page, of which these may be a part
 * @property {string} why the list is a fallback, else empty: "deadline", "network", "pause" (a search failed a
 *   moment ago, and this one was not sent), "request" (it cannot be made, as of lists that JSON cannot hold), "answer"
 *   (not that of the service), "token" (a later part of a page that was a fallback), or "status 401: the API key is
 *   missing or wrong"
 */

import { randomBytes } from "node:crypto"; // Node 18 has no global `crypto`

const FALLBACK = "fallback";

/** Asks one service. Searches may share a client. */
export class Client {
  #url; #incumbent; #headers; #deadline; #top; #pause; #fetch;
  #asleep = new Map(); // address -> until when it is not asked

  /**
   * @param {string} url `http://127.0.0.1:8080`; of one experiment among several `http://127.0.0.1:8080/shoes`
   * @param {string} incumbent the ranker whose list is shown where the service gives no page
   * @param {object} [options]
   * @param {string} [options.key] the API key, with the role `ask`
   * @param {number} [options.deadline] milliseconds that `decide` may take
   * @param {number} [options.top] documents of the incumbent's list that are shown; the `top` of the experiment
   * @param {number} [options.pause] milliseconds after a failure in which no other call of that kind is sent
   * @param {typeof fetch} [options.fetch] what sends requests
   */
  constructor(url, incumbent, { key = "", deadline = 100, top = 10, pause = 1000, fetch = globalThis.fetch } = {}) {
    if (!/^https?:\/\/[^/?#]+(\/[^?#]*)?$/.test(url))
      throw new TypeError(`the address of a service is of the form http://127.0.0.1:8080, not '${url}'`);
    this.#url = url.replace(/\/+$/, "");
    this.#incumbent = incumbent;
    this.#headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
    this.#deadline = deadline;
    this.#top = top;
    this.#pause = pause;
    this.#fetch = fetch;
  }

  /**
   * Return the page to show, within the deadline.
   *
   * @param {string} query
   * @param {Record<string, Id[]>} rankings document ids of each ranker, best first; the incumbent's must be there
   * @param {object} [options]
   * @param {string} [options.user] who asked, if it is known
   * @param {string} [options.token] of the page that is shown again, or continued. A later part with an empty one
   *   continues a fallback, and is one; without one it continues the user's page, where the experiment is `sticky`
   * @param {number} [options.offset] documents above the part that is wanted
   * @param {number} [options.limit] documents of the part; all that follow if not given
   * @param {Record<string, string>} [options.context] what else is known of the search
   * @param {string} [options.idempotencyKey] one for each search; a caller that asks again gives that of before
   * @returns {Promise<Page>} with whatever else the service says of the page
   */
  async decide(query, rankings, { idempotencyKey, ...more } = {}) {
    const list = rankings?.[this.#incumbent], { offset = 0, limit = Infinity, token, user } = more;
    if (!Array.isArray(list)) throw new TypeError(`the list of the incumbent '${this.#incumbent}' is missing`);
    const given = { query, rankings, ...more }; // only what is there, as services refuse what they do not know
    const { said, why } = offset && !(token ?? user) ? { why: "token" }
      : await this.#ask("/decide", given, this.#deadline, idempotencyKey);
    if (Array.isArray(said?.page) && typeof said.token === "string") return { ...said, why: "" };
    const whole = list.slice(0, this.#top), page = whole.slice(offset, offset + limit);
    return { page, token: "", rankers: [this.#incumbent], served: FALLBACK, why: why ?? "answer", total: whole.length };
  }

  /**
   * Report the clicks of a page; return whether the service counts them.
   *
   * @param {string} token of the page
   * @param {Id[]} clicks ids of the documents that were clicked; empty if none was
   * @param {object} [options]
   * @param {boolean} [options.final] whether that is all; else the page stays open and more clicks may follow
   * @param {number} [options.deadline] milliseconds that the call may take
   * @returns {Promise<boolean>} false too if the page was closed before
   */
  async clicks(token, clicks, { final = true, deadline = 2000 } = {}) {
    return this.#report("/clicks", { token, clicks, final }, deadline);
  }

  /**
   * Report outcomes of a page, also after it was closed; return whether the service keeps them.
   *
   * @param {string} token of the page
   * @param {{kind: string, document?: Id, value?: number, id?: string}[]} events one that is repeated counts once
   * @param {object} [options]
   * @param {number} [options.deadline] milliseconds that the call may take
   * @returns {Promise<boolean>}
   */
  async events(token, events, { deadline = 2000 } = {}) {
    return this.#report("/events", { token, events }, deadline);
  }

  async #report(path, given, deadline) {
    return given.token ? (await this.#ask(path, given, deadline)).said?.recorded === true : false;
  }

  /** Return what the service said, or why there is nothing. */
  async #ask(path, given, deadline, idempotencyKey) {
    if (performance.now() < this.#asleep.get(path)) return { why: "pause" };
    let body, headers, signal;
    try {
      body = JSON.stringify(given);
      headers = { ...this.#headers, "idempotency-key": idempotencyKey ?? randomBytes(16).toString("hex") };
      signal = AbortSignal.timeout(deadline);
    } catch {
      return { why: "request" };
    }
    const send = this.#fetch;
    for (let again = true; ; again = false) {
      let text, status;
      try {
        const answer = await send(this.#url + path, { method: "POST", headers, body, signal });
        ({ status } = answer);
        text = await answer.text();
      } catch {
        if (again && !signal.aborted) continue; // the service had closed the connection; its key makes it one page
        return this.#failed(path, signal.aborted ? "deadline" : "network");
      }
      const said = parsed(text);
      if (status === 200) return said ? { said } : this.#failed(path, "answer");
      if (status === 409 && !again) return { said: { recorded: true } }; // by the same report, whose answer was lost
      const why = `status ${status}` + (typeof said?.error === "string" ? `: ${said.error}` : "");
      return status < 500 ? { why } : this.#failed(path, why);
    }
  }

  #failed(path, why) {
    this.#asleep.set(path, performance.now() + this.#pause);
    return { why };
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
