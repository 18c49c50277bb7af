/**
 * Client of `ltr-duel serve`: users get results even if the service fails or is slow.
 *
 * Each call has a deadline. A search without an answer in time gets the incumbent's list and the reason. For a moment
 * after a failed search, no search is sent; after a failed report, no report of the same kind is sent. The client
 * runs on a server (Node 18 or newer), because the API key and the lists of all rankers must not reach a browser; in
 * the browser, use `clicks.js`.
 *
 * @typedef {string | number} Id the id of a document, a string or an integer
 *
 * @typedef {object} Page
 * @property {Id[]} page document ids, from the top
 * @property {string} token the token for reports; empty if the page does not come from the service
 * @property {string[]} rankers the rankers whose lists are on the page
 * @property {string} served "experiment"; the reason why the search is outside the experiment; or "fallback" without a page
 *   from the service
 * @property {number} total number of documents of the whole page, of which `page` may be a part
 * @property {string} why the reason for a fallback, else empty: "deadline", "network", "pause" (a search failed a
 *   moment ago, and this search was not sent), "request" (the request cannot be built, for example because JSON cannot
 *   represent the lists), "answer" (not an answer of this service), "token" (a later part of a fallback page), or "status 401:
 *   the API key is missing or wrong"
 */

import { randomBytes } from "node:crypto"; // Node 18 has no global `crypto`

const FALLBACK = "fallback";

/** Client of one service. Searches may share a client. */
export class Client {
  #url; #incumbent; #headers; #deadline; #top; #pause; #fetch;
  #asleep = new Map(); // address -> time until which no request is sent

  /**
   * @param {string} url `http://127.0.0.1:8080`; behind a proxy, with the path of the service
   * @param {string} incumbent the ranker whose list is shown if the service returns no page
   * @param {object} [options]
   * @param {string} [options.key] the API key
   * @param {number} [options.deadline] time limit of `decide` in milliseconds
   * @param {number} [options.top] number of documents shown from the incumbent's list; pass the `top` of the experiment
   * @param {number} [options.pause] milliseconds after a failure in which no call of the same kind is sent
   * @param {typeof fetch} [options.fetch] the function that sends requests
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
   * @param {Record<string, Id[]>} rankings document ids of each ranker, best first; the incumbent's list is required
   * @param {object} [options]
   * @param {string} [options.user] the user, if known
   * @param {string} [options.token] the token of the page to show again or to continue. A later part with an empty
   *   token belongs to a fallback page, so it is a fallback too; without this option, it continues the user's page if
   *   the experiment is `sticky`
   * @param {number} [options.offset] number of documents above the requested part
   * @param {number} [options.limit] number of documents of the part; by default all remaining documents
   * @param {Record<string, string>} [options.context] further attributes of the search
   * @param {string} [options.idempotencyKey] a key for each search; a caller that repeats a request passes the same key
   * @returns {Promise<Page>} the page, with all further fields of the service's answer
   */
  async decide(query, rankings, { idempotencyKey, ...more } = {}) {
    const list = rankings?.[this.#incumbent], { offset = 0, limit = Infinity, token, user } = more;
    if (!Array.isArray(list)) throw new TypeError(`the list of the incumbent '${this.#incumbent}' is missing`);
    const given = { query, rankings, ...more }; // only the given options, because a service rejects unknown keys
    const { said, why } = offset && !(token ?? user) ? { why: "token" }
      : await this.#ask("/decide", given, this.#deadline, idempotencyKey);
    if (Array.isArray(said?.page) && typeof said.token === "string") return { ...said, why: "" };
    const whole = list.slice(0, this.#top), page = whole.slice(offset, offset + limit);
    return { page, token: "", rankers: [this.#incumbent], served: FALLBACK, why: why ?? "answer", total: whole.length };
  }

  /**
   * Report the clicks of a page; return whether the service counts them.
   *
   * @param {string} token the token of the page
   * @param {Id[]} clicks ids of the clicked documents; empty without clicks
   * @param {object} [options]
   * @param {boolean} [options.final] whether the report is final; otherwise the page stays open and more clicks may follow
   * @param {number} [options.deadline] time limit of the call in milliseconds
   * @returns {Promise<boolean>} also false if the page was already closed
   */
  async clicks(token, clicks, { final = true, deadline = 2000 } = {}) {
    return this.#report("/clicks", { token, clicks, final }, deadline);
  }

  /**
   * Report outcomes of a page, also after it was closed; return whether the service stores them.
   *
   * @param {string} token the token of the page
   * @param {{kind: string, document?: Id, value?: number, id?: string}[]} events the outcomes; repeated outcomes count once
   * @param {object} [options]
   * @param {number} [options.deadline] time limit of the call in milliseconds
   * @returns {Promise<boolean>}
   */
  async events(token, events, { deadline = 2000 } = {}) {
    return this.#report("/events", { token, events }, deadline);
  }

  async #report(path, given, deadline) {
    return given.token ? (await this.#ask(path, given, deadline)).said?.recorded === true : false;
  }

  /** Return the answer of the service, or the reason why there is none. */
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
        if (again && !signal.aborted) continue; // the service closed the connection; the idempotency key prevents a second page
        return this.#failed(path, signal.aborted ? "deadline" : "network");
      }
      const said = parsed(text);
      if (status === 200) return said ? { said } : this.#failed(path, "answer");
      if (status === 409 && !again) return { said: { recorded: true } }; // the same report was accepted, but its answer was lost
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
