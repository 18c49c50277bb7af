/**
 * Asks a service of `ltr-duel serve` for pages: the experiment never stands between people and results.
 *
 * Each call has a deadline. A search that is not answered in time, or not at all, gets the incumbent's list and the
 * cause. For a moment after a failure the service is not asked. It runs on a server (Node 18 or newer): the API key
 * and the lists of all rankers belong there and not in a browser, for which `clicks.js` is.
 *
 * @typedef {string | number} Id of a document; a number is whole
 *
 * @typedef {object} Page
 * @property {Id[]} page document ids, from the top
 * @property {string} token for the clicks; empty if the service has not made the page
 * @property {string[]} rankers whose lists are on it
 * @property {string} served "experiment"; why the search takes no part; or "fallback", if the service gave no page
 * @property {string} why the list is a fallback, else empty: "deadline", "network", "pause" (the service failed a
 *   moment ago and was not asked), "request" (JSON cannot hold the lists), "answer" (not that of the service), "token"
 *   (a later part of a page that was a fallback), or "status 401: the API key is missing or wrong"
 */

const FALLBACK = "fallback";

/** Asks one service. Searches may share a client. */
export class Client {
  #url; #incumbent; #headers; #deadline; #top; #pause; #fetch;
  #asleep = 0;

  /**
   * @param {string} url `http://127.0.0.1:8080`; of one experiment among several `http://127.0.0.1:8080/shoes`
   * @param {string} incumbent the ranker whose list is shown where the service gives no page
   * @param {object} [options]
   * @param {string} [options.key] the API key, with the role `ask`
   * @param {number} [options.deadline] milliseconds that `decide` may take
   * @param {number} [options.top] documents of the incumbent's list that are shown; the `top` of the experiment
   * @param {number} [options.pause] milliseconds after a failure in which `decide` does not ask the service
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
   * @param {string} [options.token] of a page to continue, where the service can
   * @param {number} [options.offset] documents above the part that is wanted
   * @param {number} [options.limit] documents of the part; all that follow if not given
   * @param {Record<string, string>} [options.context] what else is known of the search
   * @param {string} [options.idempotencyKey] one for each search; a caller that asks again gives that of before
   * @returns {Promise<Page>} with whatever else the service says of the page
   */
  async decide(query, rankings, { idempotencyKey = newKey(), ...more } = {}) {
    const list = rankings?.[this.#incumbent], { offset = 0, limit = Infinity, token } = more;
    if (!Array.isArray(list)) throw new TypeError(`the list of the incumbent '${this.#incumbent}' is missing`);
    const given = { query, rankings, ...more }; // only what is there, as services refuse what they do not know
    const { said, why } = offset && !token ? { why: "token" }
      : performance.now() < this.#asleep ? { why: "pause" }
      : await this.#ask("/decide", given, this.#deadline, idempotencyKey);
    if (Array.isArray(said?.page) && typeof said.token === "string") return { ...said, why: "" };
    const page = list.slice(0, this.#top).slice(offset, offset + limit);
    return { page, token: "", rankers: [this.#incumbent], served: FALLBACK, why: why ?? "answer" };
  }

  /**
   * Report the clicks of a page; return whether the service counts them. It is asked also in a pause.
   *
   * @param {string} token of the page
   * @param {Id[]} clicks ids of the documents that were clicked; empty if none was
   * @param {object} [options]
   * @param {boolean} [options.final] whether that is all; else the page stays open and more clicks may follow
   * @param {number} [options.deadline] milliseconds that the call may take
   * @returns {Promise<boolean>} false too if the page was closed before
   */
  async clicks(token, clicks, { final = true, deadline = 2000 } = {}) {
    if (!token) return false;
    const { said } = await this.#ask("/clicks", { token, clicks, final }, deadline, newKey());
    return said?.recorded === true;
  }

  /** Return what the service said, or why there is nothing. */
  async #ask(path, given, deadline, idempotencyKey) {
    let body;
    try {
      body = JSON.stringify(given);
    } catch {
      return { why: "request" };
    }
    const headers = { ...this.#headers, "idempotency-key": idempotencyKey };
    const signal = AbortSignal.timeout(deadline), send = this.#fetch;
    for (let again = true; ; again = false) {
      let text, status;
      try {
        const answer = await send(this.#url + path, { method: "POST", headers, body, signal });
        ({ status } = answer);
        text = await answer.text();
      } catch {
        if (again && !signal.aborted) continue; // the service had closed the connection; its key makes it one page
        return this.#failed(signal.aborted ? "deadline" : "network");
      }
      const said = parsed(text);
      if (status === 200) return said ? { said } : this.#failed("answer");
      const why = `status ${status}` + (typeof said?.error === "string" ? `: ${said.error}` : "");
      return status < 500 ? { why } : this.#failed(why);
    }
  }

  #failed(why) {
    this.#asleep = performance.now() + this.#pause;
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

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
