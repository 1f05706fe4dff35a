// Streams of server-sent events, which are open while the page is visible.
import { onEnd, signal } from "../ui/dom";
import { url, type Query } from "./client";

export type WatchState = "connecting" | "connected" | "paused";

/** Seconds to wait after each failed attempt. The last one repeats. */
const retryDelays = [1, 2, 5, 10, 15];

export interface Watch {
  state: () => WatchState;
  /** Opens the stream of another path; null closes the stream. */
  watchPath(path: string | null, query?: Query): void;
}

/** Reads a stream until the owner ends. onEvent receives each event; onBusy is called when the server refuses the stream. */
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
      if (s.readyState !== EventSource.CLOSED) return; // the browser reconnects
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
