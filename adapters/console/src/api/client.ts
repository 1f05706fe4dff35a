// The one way to the server.
import { signal } from "../ui/dom";
import { words } from "../words";

/** An answer that is no success: as the API words it. */
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

/** What the frame does where a request needs a person first. */
export const prompts = {
  /** Signs in again; false: the person has cancelled. */
  signIn: async (): Promise<boolean> => false,
  /** Proves again who is there. */
  proof: async (): Promise<boolean> => false,
  /** Told of the seconds until it is tried again, or null; busy: the server has told to wait. */
  offline: (_seconds: number | null, _busy = false): void => {},
};

/** Rises whenever the server is reached again after it was lost. */
export const reconnected = signal(0);

/** Whether a fault is that the server could not be reached. */
export const isUnreachable = (e: unknown): boolean => e instanceof ApiError && unreachableStatuses.includes(e.status);
const unreachableStatuses = [0, 502, 503, 504];
const retryDelay = 5; // s, between two looks for a server that is lost
let isWaiting = false;

let onlineListener = new AbortController();
const online = () => new Promise((done) => addEventListener("online", done, { once: true, signal: (onlineListener = new AbortController()).signal }));
const isServerUp = (): Promise<boolean> => fetch(url("session/methods/"), { signal: AbortSignal.timeout(timeout) }).then((a) => a.ok, () => false);

/** Whether the server answers; if not, that is said, and it is looked for. */
export async function checkServer(): Promise<boolean> {
  const is = await isServerUp();
  if (!is) void waitForServer();
  return is;
}

/** Says that the server is lost, and looks for it until it is there. */
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

/** A path with its query, below /api/. */
export function url(path: string, query: Query = {}): string {
  const u = new URL("api/" + path, base);
  for (const [k, v] of Object.entries(query)) {
    if (v !== undefined && v !== null && v !== "") u.searchParams.set(k, String(v));
  }
  return u.href;
}

/** What reaches this server from outside. */
export function site(): string {
  return base.href.replace(/\/$/, "");
}

export function get<T>(path: string, query?: Query, cancel?: AbortSignal): Promise<T> {
  return ask<T>("GET", url(path, query), undefined, cancel);
}

/** What is asked with POST. */
const readsByPost = /\/(who|check|query|explain|preview|match|look|report)\/$/;
let written = 0;

/** When this tab last wrote something, in milliseconds. */
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
  const form = body instanceof FormData; // its type has the boundary in it
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

function faultOf(answer: Response, text: string, request: string): ApiError {
  try {
    const e = JSON.parse(text) as { code?: string; detail?: string; attr?: string | null; query_status?: { error_message: string | null } };
    return new ApiError(answer.status, e.code ?? "error", e.detail ?? e.query_status?.error_message ?? answer.statusText, e.attr ?? null, request);
  } catch {
    return new ApiError(answer.status, "error", `The server answered ${answer.status}.`, null, request);
  }
}

const quietTime = 30_000; // ms, after Cancel, in which only what is written asks who it is
let declined = -quietTime;

/** Whether the request may succeed now. reads: it changes nothing. */
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
    if (!reads) return false; // it may have been done: the person says
    await sleep(Math.min(Number(answer.headers.get("Retry-After")) || 1, 60));
    return true;
  }
  return false;
}

function sleep(seconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, seconds * 1000));
}
