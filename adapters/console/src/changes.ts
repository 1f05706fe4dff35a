// What others change (N14): one stream for the whole browser. The tab that holds the lock
// reads it, while it is seen, and tells the others.
import { effect, onEnd } from "./ui/dom";
import { invalidate } from "./api/cache";
import { lastWrite, url } from "./api/client";
import { projectPath, hasScope, project, session } from "./session";

export interface RemoteChange {
  scope: string;
  item_id: string;
  activity: string;
  version: number | null;
  user: string | null;
  at: string;
}

/** What the paths of a kind of thing begin with. */
const paths: Record<string, string> = { FeatureFlag: "feature_flags", Cohort: "cohorts", Experiment: "experiments", Insight: "insights", Dashboard: "dashboards", Survey: "surveys" };
const ownChangeWindow = 3_000; // ms after a write of this tab in which its own change comes back

const listeners = new Set<(c: RemoteChange) => void>();

/** Hears of changes until its owner ends; those that this tab has made itself are left out. */
export function onChange(scope: string, listener: (c: RemoteChange) => void): void {
  const filtered = (c: RemoteChange) => c.scope === scope && !isOwnChange(c) && listener(c);
  listeners.add(filtered);
  onEnd(() => listeners.delete(filtered));
}

const isOwnChange = (c: RemoteChange) => c.user === session.peek()?.user.email && Date.now() - lastWrite() < ownChangeWindow;

function dispatch(c: RemoteChange): void {
  const part = paths[c.scope];
  if (part) invalidate(part);
  listeners.forEach((l) => l(c));
}

/** Follows the project of the page. */
export function startChanges(): void {
  let stop: (() => void) | undefined;
  effect(() => {
    const address = session() && project() && hasScope("activity_log:read") ? url(projectPath("changes/stream/")) : "";
    stop?.();
    stop = address ? followStream(address) : undefined;
  });
}

function followStream(address: string): () => void {
  let opens = 0;
  const channel = new BroadcastChannel(`bunting ${address}`);
  channel.onmessage = (e) => dispatch(e.data as RemoteChange);
  let ended = false;
  let release: (() => void) | undefined;
  let waiting: AbortController | undefined;
  /** Reads the stream until release is called; the lock is held as long. */
  const read = () =>
    new Promise<void>((done) => {
      if (ended || document.hidden) return done();
      const source = new EventSource(address);
      release = () => {
        source.close();
        release = undefined;
        done();
      };
      // Between two readers of the stream something may have been told to nobody.
      source.onopen = () => opens++ && Object.values(paths).forEach(invalidate);
      source.addEventListener("change", (e) => {
        const c = JSON.parse((e as MessageEvent<string>).data) as RemoteChange;
        channel.postMessage(c);
        dispatch(c);
      });
      // Where there is no place for it, it is tried again; pages ask as ever meanwhile.
      source.onerror = () => source.readyState === EventSource.CLOSED && setTimeout(() => release?.(), 15_000);
    });
  const becomeReader = () => {
    if (waiting || ended || document.hidden) return;
    const mine = (waiting = new AbortController());
    navigator.locks
      .request(`bunting ${address}`, { signal: mine.signal }, read)
      .catch(() => undefined) // it was not needed any more
      .then(() => {
        if (waiting === mine) waiting = undefined;
        becomeReader();
      });
  };
  const onVisibilityChange = () => {
    if (!document.hidden) return becomeReader();
    if (release) release();
    else waiting?.abort();
  };
  document.addEventListener("visibilitychange", onVisibilityChange);
  becomeReader();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", onVisibilityChange);
    waiting?.abort();
    release?.();
    channel.close();
  };
}
