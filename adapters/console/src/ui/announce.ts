// Announcements: messages that are shown for six seconds and read by screen readers.
import { each, h, signal } from "./dom";

interface Note {
  id: number;
  text: string;
  action?: { label: string; run: () => void };
}

const notes = signal<Note[]>([]);
let last = 0;

export function announce(text: string, action?: { label: string; run: () => void }): void {
  const id = ++last;
  notes.update((list) => [...list.slice(-2), action ? { id, text, action } : { id, text }]);
  setTimeout(() => notes.update((list) => list.filter((n) => n.id !== id)), action ? 10_000 : 6_000);
}

export function announcements(): HTMLElement {
  return h(
    "div",
    { role: "status", class: "notes" },
    each(notes, (n) => n.id, (n) =>
      h("p", { class: "note" }, h("span", null, n().text), n().action ? h("button", { type: "button", class: "link", onclick: () => n.peek().action!.run() }, n().action!.label) : null),
    ),
  );
}
