// Drafts of forms. They are stored in this tab for the signed-in person until the form is saved or
// discarded, or the person signs out.
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

/** Timers of drafts that are not stored yet, by their names. */
const timers = new Map<string, number>();

export function deleteDraft(record: string): void {
  forget(name(record));
}

function forget(key: string): void {
  clearTimeout(timers.get(key));
  timers.delete(key);
  sessionStorage.removeItem(key);
}

/** Stores the draft half a second after each change and when the page is left, while dirty returns true. */
export function saveDraft(record: string, draft: () => unknown, dirty: () => boolean): void {
  const key = name(record); // fixed, since another person may sign in on the page
  const person = session.peek()?.user.uuid;
  const write = () => {
    timers.delete(key);
    try {
      sessionStorage.setItem(key, JSON.stringify(draft()));
    } catch {
      // the storage is full; the page still has the draft
    }
  };
  const onHide = () => {
    clearTimeout(timers.get(key));
    if (timers.has(key)) untracked(write);
  };
  addEventListener("pagehide", onHide);
  effect(() => {
    draft();
    const is = dirty();
    untracked(() => {
      if (!is) return forget(key);
      clearTimeout(timers.get(key));
      timers.set(key, setTimeout(write, 500));
    });
  });
  onEnd(() => {
    removeEventListener("pagehide", onHide);
    if (session.peek()?.user.uuid === person) return onHide();
    clearTimeout(timers.get(key)); // signing out has deleted the drafts
    timers.delete(key);
  });
}
