// A mistake of a page goes into this server's log, once each, and nowhere else (N21).
import { ApiError, url } from "./api/client";
import { session } from "./session";

const reported = new Set<string>();
const most = 20; // in the life of a tab

/** Tells the server of a mistake; what the API has refused is none. */
export function report(e: unknown): void {
  if (e instanceof ApiError || (e instanceof DOMException && e.name === "AbortError") || !session.peek()) return;
  const [message, stack] = e instanceof Error ? [e.message, e.stack ?? ""] : [String(e), ""];
  if (reported.has(message) || reported.size === most) return;
  reported.add(message);
  const body = JSON.stringify({ message: message.slice(0, 500), stack: stack.slice(0, 1500), page: location.pathname.slice(0, 300), build: session.peek()!.version });
  void fetch(url("console/report/"), { method: "POST", headers: { "Content-Type": "application/json" }, credentials: "same-origin", body }).catch(() => undefined);
}

export function startReports(): void {
  addEventListener("error", (e) => report(e.error ?? e.message));
  addEventListener("unhandledrejection", (e) => report(e.reason));
}
