/**
 * Client of `ltr-duel serve`: users get results even if the service fails or is slow.
 *
 * A search without an answer in time gets the incumbent's list and the reason. Nothing is sent twice. It runs on a
 * server (Node 18 or newer), because the API key and all lists must not reach a browser; there, use `clicks.js`.
 *
 * @typedef {string | number} Id the id of a document, a string or an integer
 * @typedef {object} Page
 * @property {Id[]} page document ids, from the top
 * @property {string} token the token for events; empty if the page does not count
 * @property {string[]} rankers the rankers whose lists are on the page
 * @property {string} served "experiment"; the reason why the search is outside of it; or "fallback" without an answer
 * @property {string} why the reason for a fallback, else empty: "deadline", "network", "answer", or "status 401: ..."
 */

/** Client of one service. Searches may share a client. */
export class Client {
  #url; #incumbent; #headers; #deadline; #top; #fetch;

  /**
   * @param {string} url `http://127.0.0.1:8080`; behind a proxy, with the path of the service
   * @param {string} incumbent the ranker whose list is shown if the service returns no page
   * @param {object} options
   * @param {string} options.key the API key
   * @param {number} [options.deadline] time limit of `decide` in seconds
   * @param {number} [options.top] number of documents shown from the incumbent's list; pass the `top` of the experiment
   * @param {typeof fetch} [options.fetch] the function that sends requests
   */
  constructor(url, incumbent, { key, deadline = 0.1, top = 10, fetch = globalThis.fetch }) {
    this.#url = new URL(url).href.replace(/\/+$/, "");
    this.#headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    [this.#incumbent, this.#deadline, this.#top, this.#fetch] = [incumbent, deadline, top, fetch];
  }

  /**
   * Return the page to show, within the deadline.
   *
   * @param {string} user a stable id of the user or session
   * @param {string} query
   * @param {Record<string, Id[]>} rankings document ids of each ranker, best first; the incumbent's list is required
   * @param {Record<string, string>} [context] further attributes of the search
   * @returns {Promise<Page>} the page, with all further fields of the service's answer
   */
  async decide(user, query, rankings, context = {}) {
    const list = rankings?.[this.#incumbent];
    if (!Array.isArray(list)) throw new TypeError(`the list of the incumbent '${this.#incumbent}' is missing`);
    const { said, why } = await this.#ask("/decide", { user, query, rankings, context }, this.#deadline);
    if (Array.isArray(said?.page) && typeof said.token === "string") return { ...said, why: "" };
    const page = list.slice(0, this.#top);
    return { page, token: "", rankers: [this.#incumbent], served: "fallback", why: why ?? "answer" };
  }

  /**
   * Report events of a page; return whether the service has stored them. A repeated event counts once.
   *
   * @param {string} token the token of the page
   * @param {{kind: string, document?: Id, value?: number, id?: string}[]} events a "view" of the page, a "click", ...
   * @param {number} [deadline] time limit of the call in seconds
   */
  async report(token, events, deadline = 2) {
    return Boolean(token) && (await this.#ask("/events", { token, events }, deadline)).said !== undefined;
  }

  /** Return the answer of the service, or the reason why there is none. */
  async #ask(path, given, deadline) {
    const signal = AbortSignal.timeout(Math.ceil(1000 * deadline)), send = this.#fetch;
    try {
      const request = { method: "POST", headers: this.#headers, body: JSON.stringify(given), signal };
      const answer = await send(this.#url + path, request), text = await answer.text();
      if (answer.status === 200) return { said: JSON.parse(text) };
      const [, error = ""] = /"error":\s*"([^"]*)"/.exec(text) ?? [];
      return { why: `status ${answer.status}${error && `: ${error}`}` };
    } catch (error) {
      return { why: signal.aborted ? "deadline" : error instanceof SyntaxError ? "answer" : "network" };
    }
  }
}
