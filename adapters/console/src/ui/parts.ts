// Parts that every page has: heading, states, buttons, fields.
import { effect, h, newID, onEnd, signal, untracked, type Child, type Props } from "./dom";
import { icon, type Icon } from "./icons";
import { once } from "./once";
import { ApiError, reconnected, isUnreachable } from "../api/client";
import { hasScope, project, session } from "../session";
import { words } from "../words";

/** The h1 of a page and its buttons; names the document too. */
export function heading(title: string | (() => string), ...actions: Child[]): HTMLElement {
  const text = typeof title === "function" ? title : () => title;
  effect(() => {
    const name = session()?.projects.find((p) => p.id === project())?.name ?? "";
    document.title = words.title(text(), name);
  });
  return h("div", { class: "heading" }, h("h1", { tabindex: -1 }, h("bdi", null, text)), actions.length ? h("div", { class: "actions" }, actions) : null);
}

/** A button of a write: without its scope, or barred, it is there, disabled, and says why. */
export function button(label: string, o: { run?: () => unknown; kind?: string; icon?: Icon; scope?: string; barred?: () => string | null; disabled?: () => boolean; submit?: boolean } & Props = {}): HTMLElement {
  const { run, kind, icon: i, scope, barred: other, disabled, submit, ...rest } = o;
  const barred = () => (scope !== undefined && !hasScope(scope) ? words.needs(scope) : (other?.() ?? null));
  const why = newID();
  const busy = signal(false);
  const press = async () => {
    busy.set(true);
    try {
      await once(run!);
    } finally {
      busy.set(false);
    }
  };
  const el = h(
    "button",
    {
      type: submit ? "submit" : "button",
      class: `button ${kind ?? ""}`,
      disabled: () => barred() !== null || (disabled?.() ?? false),
      "aria-disabled": () => (busy() ? true : null), // it keeps the focus
      "aria-describedby": () => (barred() ? why : null),
      title: barred,
      onclick: (e: Event) => {
        if (!run) return;
        e.preventDefault();
        return busy.peek() ? undefined : press(); // a double click does it once
      },
      ...(rest as Props),
    },
    i ? icon(i) : null,
    label,
    () => (barred() ? h("span", { id: why, hidden: true }, barred()) : null), // hidden: no part of the name
  );
  return el;
}

/** A link that looks like a button. */
export function linkButton(label: string, href: string, kind = ""): HTMLElement {
  return h("a", { class: `button ${kind}`, href }, label);
}

export interface FieldOptions {
  label: string;
  hint?: Child;
  fault?: () => string | undefined;
}

/** A label, a control, its hint and its fault. */
export function field<E extends HTMLElement>(control: E, o: FieldOptions): HTMLElement {
  const [id, hint, fault] = [newID(), newID(), newID()];
  control.id = id;
  const faultText = o.fault ?? (() => undefined);
  effect(() => {
    const bad = faultText();
    control.toggleAttribute("aria-invalid", false);
    if (bad) control.setAttribute("aria-invalid", "true");
    const by = [bad ? fault : "", o.hint ? hint : ""].filter(Boolean).join(" ");
    if (by) control.setAttribute("aria-describedby", by);
    else control.removeAttribute("aria-describedby");
  });
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, o.label),
    control,
    o.hint ? h("p", { class: "hint", id: hint }, o.hint) : null,
    () => (faultText() ? h("p", { class: "fault", id: fault }, faultText()) : null),
  );
}

/** A native select: [value, words] each. */
export function select(value: () => string, options: () => readonly (readonly [string, string])[], change: (v: string) => void, props: Props = {}): HTMLSelectElement {
  const el: HTMLSelectElement = h("select", { onchange: () => change(el.value), ...props }, () => options().map(([v, text]) => h("option", { value: v }, text)));
  effect(() => {
    options();
    el.value = value();
  });
  return el;
}

/** Nothing is here: what would be, and the button that makes the first. */
export function empty(title: string, text: string, ...actions: Child[]): HTMLElement {
  return h("section", { class: "empty" }, h("h2", null, title), h("p", null, text), actions.length ? h("div", { class: "actions" }, actions) : null);
}

/** What could not be done, in the server's words, and a button that tries again. */
export function problem(what: string, fault: unknown, again?: () => void): HTMLElement {
  const e = fault instanceof ApiError ? fault : null;
  if (again && isUnreachable(e)) {
    const from = reconnected.peek();
    effect(() => void (reconnected() !== from && untracked(again)));
  }
  const text = e ? e.detail : String((fault as Error)?.message ?? fault);
  if (e?.status === 403 && what === words.failed) return forbidden(text); // of a write it says what was refused
  return h(
    "div",
    { role: "alert", class: "problem" },
    h("p", null, h("strong", null, what), " ", text),
    h("p", { class: "meta" }, e?.request ? words.requestID(e.request) : null),
    again ? h("button", { type: "button", class: "button", onclick: again }, words.tryAgain) : null,
  );
}

export function forbidden(text: string): HTMLElement {
  return h("section", { class: "empty" }, h("h2", null, words.mayNot), h("p", null, text));
}

/** How many parts of the page wait for their first answer. */
export const pendingResources = signal(0);

/** Grey bars while the first answer is awaited, not before 200 ms. */
export function loadingBars(n = 6): Child {
  const showResource = signal(false);
  const timer = setTimeout(() => showResource.set(true), 200);
  pendingResources.update((all) => all + 1);
  onEnd(() => (clearTimeout(timer), pendingResources.update((all) => all - 1)));
  return () => (showResource() ? h("div", { class: "bars", "aria-hidden": "true" }, Array.from({ length: n }, () => h("div", null))) : null);
}

/** The states of an answer: bars, a problem, or what it shows. What was there stays. */
export function showResource<T>(a: { data: () => T | undefined; error: () => unknown; reload(): void }, show: (data: () => T) => Child, what = words.failed): Child {
  const has = signal(false);
  effect(() => has.set(a.data() !== undefined));
  return [
    () => (a.error() ? problem(what, a.error(), () => a.reload()) : null),
    () => (has() ? show(() => a.data() as T) : a.error() ? null : loadingBars()),
  ];
}

/** Text in the typeface of code, with a button that copies it. */
export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}
