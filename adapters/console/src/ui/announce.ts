// Announcements: messages that are shown for six seconds and read by screen readers.
import { each, h, signal, type Child } from "./dom";
import { inItsLanguage } from "./parts";

interface Note {
  id: number;
  text: string | (() => Child);
  action?: { label: string; run: () => void };
}

const notes = signal<Note[]>([]);
let last = 0;

/** Announces a text of the console or of the server, or what a function returns. */
export function announce(text: string | (() => Child), action?: { label: string; run: () => void }): void {
  const id = ++last;
  notes.update((list) => [...list.slice(-2), action ? { id, text, action } : { id, text }]);
  setTimeout(() => notes.update((list) => list.filter((n) => n.id !== id)), action ? 10_000 : 6_000);
}

export function announcements(): HTMLElement {
  return h(
    "div",
    { role: "status", class: "notes" },
    each(notes, (n) => n.id, (n) =>
      h("p", { class: "note" }, h("span", null, typeof n().text === "string" ? inItsLanguage(n().text as string) : n().text), n().action ? h("button", { type: "button", class: "link", onclick: () => n.peek().action!.run() }, n().action!.label) : null),
    ),
  );
}
