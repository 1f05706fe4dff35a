// A draft that outlives its page: kept in this tab, for this person, until it is saved,
// discarded or signed out of.
import { effect, onEnd, untracked } from "./dom";
import { project, session } from "../session";

const name = (record: string) => `draft:${session.peek()?.user.uuid}:${project.peek()}:${record}`;

export function kept<T>(record: string): T | undefined {
  const text = sessionStorage.getItem(name(record));
  return text ? (JSON.parse(text) as T) : undefined;
}

export function drop(record: string): void {
  sessionStorage.removeItem(name(record));
}

/** Writes the draft half a second after the last key. */
export function keep(record: string, draft: () => unknown, dirty: () => boolean): void {
  let timer = 0;
  effect(() => {
    const d = draft();
    const is = dirty();
    untracked(() => {
      clearTimeout(timer);
      if (is) timer = setTimeout(() => sessionStorage.setItem(name(record), JSON.stringify(d)), 500);
      else drop(record);
    });
  });
  onEnd(() => clearTimeout(timer));
}
