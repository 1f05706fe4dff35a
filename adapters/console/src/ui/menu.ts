// A button that opens a menu. Arrow keys, Home, End and Esc work as usual.
import { effect, h, onEnd, signal, type Child } from "./dom";

export interface Item {
  label: string;
  run?: () => void;
  /** Makes the item a link to an address outside of the console. */
  href?: string;
  /** Makes the item a radio item, and reports whether it is chosen. */
  checked?: () => boolean;
  disabled?: string | null;
  danger?: boolean;
  line?: boolean;
  /** If false, the item is left out. */
  available?: boolean;
}

export function menu(name: string | (() => string), face: Child, items: () => Item[], cls = "button quiet"): HTMLElement {
  const open = signal(false);
  const button = h(
    "button",
    {
      type: "button",
      class: cls,
      "aria-label": name,
      title: name,
      "aria-haspopup": "menu",
      "aria-expanded": open,
      onclick: () => open.set(!open.peek()),
      onkeydown: (e: KeyboardEvent) => {
        if (e.key !== "ArrowDown" || open.peek()) return;
        e.preventDefault();
        open.set(true);
      },
    },
    face,
  );
  const box = h("div", { class: "menu-box" }, button, () => (open() ? list(typeof name === "function" ? name() : name, items(), () => (open.set(false), button.focus())) : null));
  const outside = (e: Event) => open.peek() && !box.contains(e.target as Node) && open.set(false);
  box.addEventListener("focusout", (e) => e.relatedTarget && outside({ target: e.relatedTarget } as unknown as Event));
  effect(() => {
    if (!open()) return;
    document.addEventListener("pointerdown", outside);
    const row = box.closest("tr");
    row?.classList.add("has-menu"); // so that the next row does not cover it
    onEnd(() => {
      document.removeEventListener("pointerdown", outside);
      row?.classList.remove("has-menu");
    });
    queueMicrotask(() => box.querySelector<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])")?.focus());
  });
  return box;
}

/** Returns the menu with the further actions on an object. */
export const moreMenu = (name: () => string, items: () => Item[]): HTMLElement => menu(name, null, items, "button quiet icon-only dots");

function list(name: string, items: Item[], close: () => void): HTMLElement {
  const el: HTMLElement = h(
    "div",
    { role: "menu", "aria-label": name, class: "menu", onkeydown: (e: KeyboardEvent) => keys(e, el, close) },
    items.filter((i) => i.available !== false).map((i) =>
      h(
        i.href ? "a" : "button",
        {
          type: i.href ? null : "button",
          href: i.href,
          role: i.checked ? "menuitemradio" : "menuitem",
          class: [i.danger ? "danger-text" : "", i.line ? "line" : ""].join(" "),
          tabindex: -1,
          "aria-checked": i.checked ? i.checked : null,
          "aria-disabled": i.disabled ? true : null,
          title: i.disabled ?? null,
          onclick: () => {
            if (i.disabled) return;
            close();
            i.run?.();
          },
        },
        i.label,
      ),
    ),
  );
  return el;
}

function keys(e: KeyboardEvent, el: HTMLElement, close: () => void): void {
  const all = [...el.querySelectorAll<HTMLElement>("[role^=menuitem]")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to: Record<string, number> = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 };
  if (e.key === "Escape") close();
  else if (e.key in to) all[to[e.key]!]!.focus();
  else return;
  e.preventDefault();
  e.stopPropagation();
}
