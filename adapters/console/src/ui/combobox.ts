// An input with suggestions. If free text is allowed, Enter and Tab accept the typed text.
import { effect, h, newID, signal, untracked } from "./dom";

export interface Option {
  value: string;
  text: string;
  note?: string;
}

export interface ComboboxOptions {
  label: string;
  value: () => string;
  /** Returns suggestions for the typed text. It is called when the list opens and after each key. */
  options: (typed: string) => Promise<Option[]> | Option[];
  change: (value: string) => void;
  free?: boolean;
  /** Whether the input is cleared after each choice, because the values are shown elsewhere. */
  many?: boolean;
  placeholder?: string;
  first?: boolean;
  disabled?: () => boolean;
}

export function combobox(o: ComboboxOptions): HTMLElement {
  const id = newID();
  const open = signal(false);
  const options = signal<Option[]>([]);
  const at = signal(-1);
  let timer = 0;
  let turn = 0;
  const input: HTMLInputElement = h("input", {
    type: "text",
    role: "combobox",
    autocomplete: "off",
    "aria-label": o.label,
    "aria-expanded": open,
    "aria-controls": id,
    "aria-autocomplete": "list",
    "aria-activedescendant": () => (open() && at() >= 0 ? `${id}-${at()}` : null),
    placeholder: o.placeholder ?? null,
    disabled: o.disabled ?? null,
    "data-first-focus": o.first ? "" : null,
    oninput: () => ask(120),
    onclick: () => open.peek() || ask(0, ""),
    onkeydown: keys,
    onblur: () => {
      open.set(false);
      if (o.free) take(input.value);
      else show();
    },
  });
  const show = () => {
    if (!o.many) input.value = o.value();
  };
  effect(() => {
    const v = o.value();
    untracked(() => {
      if (!o.many && document.activeElement !== input) input.value = v;
    });
  });
  const ask = (delay: number, typed = input.value) => {
    clearTimeout(timer);
    const mine = ++turn;
    timer = setTimeout(async () => {
      const found = await Promise.resolve(o.options(typed.trim())).catch(() => []);
      if (mine !== turn || document.activeElement !== input) return;
      options.set(found);
      at.set(-1);
      open.set(found.length > 0);
    }, delay);
  };
  function take(value: string): void {
    turn++;
    clearTimeout(timer);
    open.set(false);
    if (value.trim() === "" && o.many) return;
    if (o.many) input.value = "";
    else input.value = value;
    if (value !== o.value() || o.many) o.change(value);
  }
  function keys(e: KeyboardEvent): void {
    const n = options.peek().length;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      if (!open.peek()) ask(0, "");
      else at.update((i) => (i + (e.key === "ArrowDown" ? 1 : -1) + n) % n);
      document.getElementById(`${id}-${at.peek()}`)?.scrollIntoView({ block: "nearest" });
    } else if (e.key === "Enter") {
      const chosen = open.peek() && at.peek() >= 0 ? options.peek()[at.peek()] : undefined;
      const exact = options.peek().find((x) => x.text === input.value || x.value === input.value);
      if (chosen) take(chosen.value);
      else if (o.free) take(input.value);
      else if (exact) take(exact.value);
      else return;
    } else if (e.key === "Escape" && open.peek()) {
      open.set(false);
      e.stopPropagation();
    } else return;
    e.preventDefault();
  }
  return h(
    "span",
    { class: "combobox" },
    input,
    h("div", { role: "listbox", id, class: "options", "aria-label": o.label, hidden: () => !open() }, () =>
      options().map((x, i) =>
        h(
          "div",
          { role: "option", id: `${id}-${i}`, "aria-selected": () => at() === i, onpointerdown: (e: Event) => (e.preventDefault(), take(x.value)) },
          h("bdi", null, x.text),
          x.note ? h("span", { class: "meta" }, x.note) : null,
        ),
      ),
    ),
  );
}

/** Returns a combobox with a visible label. */
export function comboboxField(o: ComboboxOptions): HTMLElement {
  return h("div", { class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, o.label), combobox(o));
}
