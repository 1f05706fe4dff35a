// A draft that outlives its page: kept in this tab, for this person, until it is saved,
// discarded or signed out of.
import { effect, onEnd, untracked } from "./dom";
import { project, session } from "../session";

const name = (record: string) => `draft:${session.peek()?.user.uuid}:${project.peek()}:${record}`;

export function loadDraft<T>(record: string): T | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(name(record)) ?? "") as T;
  } catch {
    return undefined;
  }
}

export function deleteDraft(record: string): void {
  sessionStorage.removeItem(name(record));
}

/** Writes the draft half a second after the last key, and when the page goes. */
export function saveDraft(record: string, draft: () => unknown, dirty: () => boolean): void {
  const key = name(record); // whoever signs in over the page
  let timer = 0;
  const write = () => {
    timer = 0;
    try {
      sessionStorage.setItem(key, JSON.stringify(draft()));
    } catch {
      // the tab's store is full: the page itself still has it
    }
  };
  const onHide = () => timer && untracked(write);
  addEventListener("pagehide", onHide);
  effect(() => {
    draft();
    const is = dirty();
    untracked(() => {
      clearTimeout(timer);
      timer = is ? setTimeout(write, 500) : 0;
      if (!is) sessionStorage.removeItem(key);
    });
  });
  onEnd(() => (clearTimeout(timer), removeEventListener("pagehide", onHide)));
}
