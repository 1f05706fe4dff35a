// What others change (N14): one stream for the whole browser. The tab that holds the lock
// reads it, while it is seen, and tells the others.
import { effect, onEnd } from "./ui/dom";
import { stale } from "./api/cache";
import { lastWrite, url } from "./api/client";
import { inProject, may, project, session } from "./session";

export interface Made {
  scope: string;
  item_id: string;
  activity: string;
  version: number | null;
  user: string | null;
  at: string;
}

/** What the paths of a kind of thing begin with. */
const paths: Record<string, string> = { FeatureFlag: "feature_flags", Cohort: "cohorts", Experiment: "experiments", Insight: "insights", Dashboard: "dashboards", Survey: "surveys" };
const own = 3_000; // ms after a write of this tab in which its own change comes back

const listeners = new Set<(c: Made) => void>();

/** Hears of changes until its owner ends; those that this tab has made itself are left out. */
export function onChange(scope: string, heard: (c: Made) => void): void {
  const one = (c: Made) => c.scope === scope && !mine(c) && heard(c);
  listeners.add(one);
  onEnd(() => listeners.delete(one));
}

const mine = (c: Made) => c.user === session.peek()?.user.email && Date.now() - lastWrite() < own;

function hear(c: Made): void {
  const part = paths[c.scope];
  if (part) stale(part);
  listeners.forEach((l) => l(c));
}

/** Follows the project of the page. */
export function startChanges(): void {
  let stop: (() => void) | undefined;
  effect(() => {
    const address = session() && project() && may("activity_log:read") ? url(inProject("changes/stream/")) : "";
    stop?.();
    stop = address ? follow(address) : undefined;
  });
}

function follow(address: string): () => void {
  let times = 0;
  const channel = new BroadcastChannel(`bunting ${address}`);
  channel.onmessage = (e) => hear(e.data as Made);
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
      source.onopen = () => times++ && Object.values(paths).forEach(stale);
      source.addEventListener("change", (e) => {
        const c = JSON.parse((e as MessageEvent<string>).data) as Made;
        channel.postMessage(c);
        hear(c);
      });
      // Where there is no place for it, it is tried again; pages ask as ever meanwhile.
      source.onerror = () => source.readyState === EventSource.CLOSED && setTimeout(() => release?.(), 15_000);
    });
  const lead = () => {
    if (waiting || ended || document.hidden) return;
    const mine = (waiting = new AbortController());
    navigator.locks
      .request(`bunting ${address}`, { signal: mine.signal }, read)
      .catch(() => undefined) // it was not needed any more
      .then(() => {
        if (waiting === mine) waiting = undefined;
        lead();
      });
  };
  const seen = () => {
    if (!document.hidden) return lead();
    if (release) release();
    else waiting?.abort();
  };
  document.addEventListener("visibilitychange", seen);
  lead();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", seen);
    waiting?.abort();
    release?.();
    channel.close();
  };
}
