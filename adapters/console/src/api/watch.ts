// What the server tells as it happens (server-sent events), while the page is seen.
import { onEnd, signal } from "../ui/dom";
import { url, type Query } from "./client";

export type WatchState = "connecting" | "connected" | "paused";

/** Seconds to wait after a refusal, the last of them from then on. */
const retryDelays = [1, 2, 5, 10, 15];

export interface Watch {
  state: () => WatchState;
  /** Watches something else, or nothing. */
  watchPath(path: string | null, query?: Query): void;
}

/** Watches until its owner ends. heard gets each event; away runs when there was no place. */
export function watch(names: string[], onEvent: (name: string, data: unknown) => void, onBusy: () => void): Watch {
  const state = signal<WatchState>("paused");
  let address = "";
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
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
      failures = 0;
      state.set("connected");
    };
    s.onerror = () => {
      state.set("connecting");
      if (s.readyState !== EventSource.CLOSED) return; // it comes back by itself
      const wait = retryDelays[Math.min(failures++, retryDelays.length - 1)]!;
      timer = setTimeout(open, wait * 1000 * (0.75 + Math.random() / 2));
      onBusy();
    };
    for (const name of names) s.addEventListener(name, (e) => onEvent(name, JSON.parse((e as MessageEvent<string>).data)));
  };
  document.addEventListener("visibilitychange", open);
  onEnd(() => {
    document.removeEventListener("visibilitychange", open);
    close();
  });
  return {
    state,
    watchPath(path, query) {
      address = path === null ? "" : url(path, query);
      open();
    },
  };
}
