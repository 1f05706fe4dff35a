// Behaviour that all forms share.
import { effect, h, onEnd, type Child } from "./dom";
import { dialog } from "./dialog";
import { once } from "./once";
import { guard } from "../router";
import { hasScope } from "../session";
import { words } from "../words";

/** Asks for confirmation before a page with unsaved changes is left. text says what happens to the changes. */
export function confirmBeforeLeave(dirty: () => boolean, text = words.leaveText): void {
  effect(() => {
    guard.leave = dirty() ? () => askToLeave(text) : null;
  });
  onEnd(() => (guard.leave = null));
}

const askToLeave = (text: string) =>
  dialog<boolean>({ title: words.leaveAsk, alert: true, cancel: words.stay }, (d) => ({
    content: h("p", null, text),
    buttons: h("button", { type: "button", class: "button danger", onclick: () => d.close(true) }, words.leave),
  })).then((leaves) => leaves === true);

/** Returns the note above a form that the person cannot change, or nothing while reason returns null. */
export function readOnlyNote(reason: () => string | null): Child {
  return () => (reason() === null ? null : h("p", { role: "note", "aria-label": words.readOnly, class: "read-only" }, h("strong", null, words.readOnly), " ", reason()));
}

/** Returns why the person may not use a scope, or null if they may. */
export const lackOf = (scope: string): string | null => (hasScope(scope) ? null : words.needs(scope));

/** Calls run on Ctrl S or Command S. */
export function onSaveKey(run: () => unknown): void {
  const key = (e: KeyboardEvent) => {
    if (e.key !== "s" || !(e.ctrlKey || e.metaKey) || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    void once(run);
  };
  addEventListener("keydown", key);
  onEnd(() => removeEventListener("keydown", key));
}
