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

export function deleteDraft(record: string): void {
  sessionStorage.removeItem(name(record));
}

/** Stores the draft half a second after each change and when the page is left, while dirty returns true. */
export function saveDraft(record: string, draft: () => unknown, dirty: () => boolean): void {
  const key = name(record); // fixed, since another person may sign in on the page
  let timer = 0;
  const write = () => {
    timer = 0;
    try {
      sessionStorage.setItem(key, JSON.stringify(draft()));
    } catch {
      // the storage is full; the page still has the draft
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
