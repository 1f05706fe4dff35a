// Errors of the console's code are sent to this server's log, each once (console.md N21).
import { ApiError, url } from "./api/client";
import { session } from "./session";

const reported = new Set<string>();
const maxReports = 20; // reports of one tab

/** Reports an error to the server. Error responses of the API are not reported. */
export function report(e: unknown): void {
  if (e instanceof ApiError || (e instanceof DOMException && e.name === "AbortError") || !session.peek()) return;
  const [message, stack] = e instanceof Error ? [e.message, e.stack ?? ""] : [String(e), ""];
  if (reported.has(message) || reported.size === maxReports) return;
  reported.add(message);
  const body = JSON.stringify({ message: message.slice(0, 500), stack: stack.slice(0, 1500), page: location.pathname.slice(0, 300), build: session.peek()!.version });
  void fetch(url("console/report/"), { method: "POST", headers: { "Content-Type": "application/json" }, credentials: "same-origin", body }).catch(() => undefined);
}

export function startReports(): void {
  addEventListener("error", (e) => report(e.error ?? e.message));
  addEventListener("unhandledrejection", (e) => report(e.reason));
}
