// Changes by other people (console.md N14). The browser opens one stream: the visible tab that holds
// the lock reads it and sends the changes to the other tabs.
import { effect, onEnd } from "./ui/dom";
import { invalidate } from "./api/cache";
import { lastWrite, url } from "./api/client";
import { loadedAt, projectPath, hasScope, project, session } from "./session";

export interface RemoteChange {
  scope: string;
  item_id: string;
  activity: string;
  version: number | null;
  user: string | null;
  at: string;
  /** The position in the log of changes. */
  position: number;
}

/** The path of each kind of object in the API. */
const paths: Record<string, string> = { FeatureFlag: "feature_flags", Cohort: "cohorts", Experiment: "experiments", Insight: "insights", Dashboard: "dashboards", Survey: "surveys" };
const ownChangeWindow = 3_000; // milliseconds after a write of this tab in which its own change arrives

const listeners = new Set<(c: RemoteChange) => void>();

/** Calls listener for each change until the owner ends, except for changes by this tab. */
export function onChange(scope: string, listener: (c: RemoteChange) => void): void {
  const filtered = (c: RemoteChange) => c.scope === scope && !isOwnChange(c) && listener(c);
  listeners.add(filtered);
  onEnd(() => listeners.delete(filtered));
}

const missedListeners = new Set<() => void>();

/** Calls listener when changes may have been missed, until the owner ends. */
export function onMissedChanges(listener: () => void): void {
  missedListeners.add(listener);
  onEnd(() => missedListeners.delete(listener));
}

function reportMissed(): void {
  Object.values(paths).forEach(invalidate);
  missedListeners.forEach((l) => l());
}

const isOwnChange = (c: RemoteChange) => c.user === session.peek()?.user.email && Date.now() - lastWrite() < ownChangeWindow;

const invalidateInterval = 1_000; // milliseconds
const stale = new Set<string>();
let invalidating = false;

/** Invalidates at once, but further changes in the next second together: a change of many flags would load a page again and again. */
function invalidateSoon(part: string): void {
  stale.add(part);
  if (invalidating) return;
  stale.forEach(invalidate);
  stale.clear();
  invalidating = true;
  setTimeout(() => {
    invalidating = false;
    stale.forEach(invalidateSoon);
  }, invalidateInterval);
}

function dispatch(c: RemoteChange): void {
  const part = paths[c.scope];
  if (part) invalidateSoon(part);
  listeners.forEach((l) => l(c));
}

/** The project whose changes are read, and the position of the last change that its pages contain; null if it is not known. */
const seen: { project: number; position: number | null } = { project: 0, position: null };

/** Starts to read the changes of the current project. */
export function startChanges(): void {
  let stop: (() => void) | undefined;
  effect(() => {
    const id = session() && hasScope("activity_log:read") ? project() : 0;
    stop?.();
    if (id && id !== seen.project) Object.assign(seen, { project: id, position: loadedAt?.project === id ? loadedAt.position : null });
    stop = id ? followStream(projectPath("changes/stream/")) : undefined;
  });
}

function followStream(path: string): () => void {
  const address = url(path);
  let opens = 0;
  const channel = new BroadcastChannel(`bunting ${address}`);
  const receive = (c: RemoteChange) => {
    seen.position = c.position;
    dispatch(c);
  };
  channel.onmessage = (e) => receive(e.data as RemoteChange);
  let ended = false;
  let release: (() => void) | undefined;
  let waiting: AbortController | undefined;
  /** Reads the stream until release is called. The lock is held for that time. */
  const read = () =>
    new Promise<void>((done) => {
      if (ended || document.hidden) return done();
      const source = new EventSource(url(path, { after: seen.position }));
      release = () => {
        source.close();
        release = undefined;
        done();
      };
      // The server first sends the changes since the position. Without it, or with many changes between
      // two readers of the stream, some may have been missed.
      source.onopen = () => (opens++ || seen.position === null) && reportMissed();
      source.addEventListener("change", (e) => {
        const { data, lastEventId } = e as MessageEvent<string>;
        const c = { ...(JSON.parse(data) as RemoteChange), position: Number(lastEventId) };
        channel.postMessage(c);
        receive(c);
      });
      // If the server refuses the stream, try again later. Pages load by themselves in the meantime.
      source.onerror = () => source.readyState === EventSource.CLOSED && setTimeout(() => release?.(), 15_000);
    });
  const becomeReader = () => {
    if (waiting || ended || document.hidden) return;
    const mine = (waiting = new AbortController());
    navigator.locks
      .request(`bunting ${address}`, { signal: mine.signal }, read)
      .catch(() => undefined) // aborted because it is no longer needed
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
