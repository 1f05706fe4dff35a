// A draft that outlives its page: kept in this tab, for this person, until it is saved,
// discarded or signed out of.
import { effect, onEnd, untracked } from "./dom";
import { project, session } from "../session";

const name = (record: string) => `draft:${session.peek()?.user.uuid}:${project.peek()}:${record}`;

export function kept<T>(record: string): T | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(name(record)) ?? "") as T;
  } catch {
    return undefined;
  }
}

export function drop(record: string): void {
  sessionStorage.removeItem(name(record));
}

/** Writes the draft half a second after the last key, and when the page goes. */
export function keep(record: string, draft: () => unknown, dirty: () => boolean): void {
  const mine = name(record); // whoever signs in over the page
  let timer = 0;
  const write = () => {
    timer = 0;
    try {
      sessionStorage.setItem(mine, JSON.stringify(draft()));
    } catch {
      // the tab's store is full: the page itself still has it
    }
  };
  const gone = () => timer && untracked(write);
  addEventListener("pagehide", gone);
  effect(() => {
    draft();
    const is = dirty();
    untracked(() => {
      clearTimeout(timer);
      timer = is ? setTimeout(write, 500) : 0;
      if (!is) sessionStorage.removeItem(mine);
    });
  });
  onEnd(() => (clearTimeout(timer), removeEventListener("pagehide", gone)));
}
