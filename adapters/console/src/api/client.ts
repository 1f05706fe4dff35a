// The HTTP client. All requests to the server go through it, except streams.
import { signal } from "../ui/dom";
import { words } from "../words";

/** An error response of the API, with the code and the text that it contains. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly attr: string | null,
    readonly request: string,
  ) {
    super(detail);
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

const base = new URL("../", document.baseURI);
const timeout = 15_000;

/** Functions that the frame provides for requests that need an action of the person. */
export const prompts = {
  /** Asks the person to sign in again. It returns false if the person cancelled. */
  signIn: async (): Promise<boolean> => false,
  /** Asks for a new proof of identity. It returns false if the person cancelled. */
  proof: async (): Promise<boolean> => false,
  /** Shows in how many seconds the next attempt is; null hides it. If busy, the server limits the rate of requests. */
  offline: (_seconds: number | null, _busy = false): void => {},
};

/** A counter that increases whenever the server is reachable again after an outage. */
export const reconnected = signal(0);

/** Reports whether an error means that the server could not be reached. */
export const isUnreachable = (e: unknown): boolean => e instanceof ApiError && unreachableStatuses.includes(e.status);
const unreachableStatuses = [0, 502, 503, 504];
const retryDelay = 5; // seconds between two attempts to reach the server
let isWaiting = false;

let onlineListener = new AbortController();
const online = () => new Promise((done) => addEventListener("online", done, { once: true, signal: (onlineListener = new AbortController()).signal }));
const isServerUp = (): Promise<boolean> => fetch(url("session/methods/"), { signal: AbortSignal.timeout(timeout) }).then((a) => a.ok, () => false);

/** Reports whether the server responds. If not, it shows the outage and starts to wait for the server. */
export async function checkServer(): Promise<boolean> {
  const is = await isServerUp();
  if (!is) void waitForServer();
  return is;
}

/** Shows that the server is unreachable, and tries to reach it until it responds. */
async function waitForServer(): Promise<void> {
  prompts.offline(retryDelay);
  if (isWaiting) return;
  isWaiting = true;
  do await Promise.race([sleep(retryDelay), online()]).finally(() => onlineListener.abort());
  while (!(await isServerUp()));
  isWaiting = false;
  prompts.offline(null);
  reconnected.update((n) => n + 1);
}

/** Returns the URL of a path below /api/. Empty values of the query are left out. */
export function url(path: string, query: Query = {}): string {
  const u = new URL("api/" + path, base);
  for (const [k, v] of Object.entries(query)) {
    if (v !== undefined && v !== null && v !== "") u.searchParams.set(k, String(v));
  }
  return u.href;
}

/** Returns the public URL of this server, without a slash at the end. */
export function site(): string {
  return base.href.replace(/\/$/, "");
}

export function get<T>(path: string, query?: Query, cancel?: AbortSignal): Promise<T> {
  return ask<T>("GET", url(path, query), undefined, cancel);
}

/** Matches the paths that are read with POST. */
const readsByPost = /\/(who|check|query|explain|preview|match|look|report)\/$/;
let written = 0;

/** Returns when this tab last sent a write, in milliseconds since 1970. */
export const lastWrite = (): number => written;

export function send<T>(method: "POST" | "PATCH" | "PUT" | "DELETE", path: string, body?: unknown, cancel?: AbortSignal): Promise<T> {
  if (!readsByPost.test(path)) written = Date.now();
  return ask<T>(method, url(path), body, cancel);
}

async function ask<T>(method: string, address: string, body: unknown, cancel?: AbortSignal, again = true): Promise<T> {
  const request = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  let answer: Response;
  let text: string;
  try {
    answer = await once(method, address, body, request, cancel);
    text = await answer.text();
  } catch (e) {
    if (cancel?.aborted) throw e;
    if (method === "GET" && again) {
      await sleep(1);
      return ask<T>(method, address, body, cancel, false);
    }
    void waitForServer();
    throw new ApiError(0, "no_connection", words.noConnectionText, null, request);
  }
  if (answer.ok) return (text ? JSON.parse(text) : undefined) as T;
  const fault = faultOf(answer, text, request);
  if (again && (await recover(answer, fault, address, method === "GET" || readsByPost.test(new URL(address).pathname)))) return ask<T>(method, address, body, cancel, false);
  throw fault;
}

async function once(method: string, address: string, body: unknown, request: string, cancel?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", "X-Request-Id": request, Prefer: "return=representation" };
  const form = body instanceof FormData; // the browser sets its type, which contains the boundary
  if (body !== undefined && !form) headers["Content-Type"] = "application/json";
  const late = AbortSignal.timeout(timeout);
  return fetch(address, {
    method,
    headers,
    credentials: "same-origin",
    body: form ? body : body === undefined ? null : JSON.stringify(body),
    signal: cancel ? AbortSignal.any([cancel, late]) : late,
  });
}

const maxServerTexts = 100;
const serverTexts = new Set<string>(); // the last error texts of the server, which are in English

/** Remembers an error text of the server, and returns it. */
export function serverText(text: string): string {
  serverTexts.delete(text);
  serverTexts.add(text);
  if (serverTexts.size > maxServerTexts) serverTexts.delete(serverTexts.values().next().value!);
  return text;
}

/** Reports whether a text is one of the last error texts of the server. */
export const isServerText = (text: string): boolean => serverTexts.has(text);

function faultOf(answer: Response, text: string, request: string): ApiError {
  const fault = parseFault(answer, text, request);
  serverText(fault.detail);
  return fault;
}

function parseFault(answer: Response, text: string, request: string): ApiError {
  try {
    const e = JSON.parse(text) as { code?: string; detail?: string; error?: string; attr?: string | null; query_status?: { error_message: string | null } };
    return new ApiError(answer.status, e.code ?? "error", e.detail ?? e.error ?? e.query_status?.error_message ?? answer.statusText, e.attr ?? null, request);
  } catch {
    return new ApiError(answer.status, "error", `The server answered ${answer.status}.`, null, request);
  }
}

const quietTime = 30_000; // milliseconds after Cancel during which reads do not ask the person to sign in again
let declined = -quietTime;

/** Reports whether the request should be repeated, after a new sign-in or a wait. reads means that it changes nothing. */
async function recover(answer: Response, fault: ApiError, address: string, reads: boolean): Promise<boolean> {
  if (fault.status === 401 && !address.includes("/api/session/")) {
    if (reads && performance.now() - declined < quietTime) return false;
    const is = await prompts.signIn();
    if (!is) declined = performance.now();
    return is;
  }
  if (fault.status === 403 && fault.code === "proof_required") return prompts.proof();
  if (fault.status === 429) {
    const wait = Math.min(Number(answer.headers.get("Retry-After")) || 1, 60);
    prompts.offline(wait, true);
    await sleep(wait);
    if (!isWaiting) prompts.offline(null);
    return true;
  }
  if (unreachableStatuses.includes(fault.status)) {
    void waitForServer();
    if (!reads) return false; // the write may have succeeded, so the person decides
    await sleep(Math.min(Number(answer.headers.get("Retry-After")) || 1, 60));
    return true;
  }
  return false;
}

function sleep(seconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, seconds * 1000));
}
