// Behaviour that all forms share.
import { effect, onEnd } from "./dom";
import { confirm } from "./dialog";
import { once } from "./once";
import { guard } from "../router";
import { words } from "../words";

/** Asks for confirmation before a page with unsaved changes is left. */
export function confirmBeforeLeave(dirty: () => boolean): void {
  effect(() => {
    guard.leave = dirty() ? () => confirm(words.leaveAsk, words.leaveText, words.leave, "danger", true) : null;
  });
  onEnd(() => (guard.leave = null));
}

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
