// What the server tells as it happens (server-sent events), while the page is seen.
import { onEnd, signal } from "../ui/dom";
import { url, type Query } from "./client";

export type Watching = "connecting" | "connected" | "paused";

/** Seconds to wait after a refusal, the last of them from then on. */
const waits = [1, 2, 5, 10, 15];

export interface Watch {
  state: () => Watching;
  /** Watches something else, or nothing. */
  to(path: string | null, query?: Query): void;
}

/** Watches until its owner ends. heard gets each event; away runs when there was no place. */
export function watch(names: string[], heard: (name: string, data: unknown) => void, away: () => void): Watch {
  const state = signal<Watching>("paused");
  let address = "";
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let refused = 0;
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const open = () => {
    close();
    state.set(address ? "connecting" : "paused");
    if (!address || document.hidden) return;
    const s = new EventSource(address);
    source = s;
    s.onopen = () => {
      refused = 0;
      state.set("connected");
    };
    s.onerror = () => {
      state.set("connecting");
      if (s.readyState !== EventSource.CLOSED) return; // it comes back by itself
      const wait = waits[Math.min(refused++, waits.length - 1)]!;
      timer = setTimeout(open, wait * 1000 * (0.75 + Math.random() / 2));
      away();
    };
    for (const name of names) s.addEventListener(name, (e) => heard(name, JSON.parse((e as MessageEvent<string>).data)));
  };
  document.addEventListener("visibilitychange", open);
  onEnd(() => {
    document.removeEventListener("visibilitychange", open);
    close();
  });
  return {
    state,
    to(path, query) {
      address = path === null ? "" : url(path, query);
      open();
    },
  };
}
