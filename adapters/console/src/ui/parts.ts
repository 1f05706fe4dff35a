// Parts that all pages use: headings, states, buttons and fields.
import { effect, h, newID, onEnd, signal, untracked, type Child, type Props } from "./dom";
import { icon, type Icon } from "./icons";
import { once } from "./once";
import { ApiError, reconnected, isServerText, isUnreachable } from "../api/client";
import { hasScope, project, session } from "../session";
import { words } from "../words";

/** Returns the h1 of a page and its buttons. It also sets the title of the document. */
export function heading(title: string | (() => string), ...actions: Child[]): HTMLElement {
  const text = typeof title === "function" ? title : () => title;
  effect(() => {
    const name = session()?.projects.find((p) => p.id === project())?.name ?? "";
    document.title = words.title(text(), name);
  });
  return h("div", { class: "heading" }, h("h1", { tabindex: -1 }, h("bdi", null, text)), actions.length ? h("div", { class: "actions" }, actions) : null);
}

/** Returns a button. If the scope is missing or disabledReason returns a reason, it is disabled and described by the reason. */
export function button(label: string, o: { run?: () => unknown; kind?: string; icon?: Icon; scope?: string; disabledReason?: () => string | null; disabled?: () => boolean; submit?: boolean } & Props = {}): HTMLElement {
  const { run, kind, icon: i, scope, disabledReason: reasonOf, disabled, submit, ...rest } = o;
  const disabledReason = () => (scope !== undefined && !hasScope(scope) ? words.needs(scope) : (reasonOf?.() ?? null));
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
      disabled: () => disabledReason() !== null || (disabled?.() ?? false),
      "aria-disabled": () => (busy() ? true : null), // not disabled, so that it keeps the focus
      "aria-describedby": () => (disabledReason() ? why : null),
      title: disabledReason,
      onclick: (e: Event) => {
        if (!run) return;
        e.preventDefault();
        return busy.peek() ? undefined : press(); // ignore the second click of a double click
      },
      ...(rest as Props),
    },
    i ? icon(i) : null,
    label,
    () => (disabledReason() ? h("span", { id: why, hidden: true }, disabledReason()) : null), // hidden, so that it is not part of the name
  );
  return el;
}

/** Returns a link that looks like a button. */
export function linkButton(label: string, href: string, kind = ""): HTMLElement {
  return h("a", { class: `button ${kind}`, href }, label);
}

export interface FieldOptions {
  label: string;
  hint?: Child;
  fault?: () => string | undefined;
}

/** Returns a control with its label, hint and error. */
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
    () => (faultText() ? h("p", { class: "fault", id: fault }, inItsLanguage(faultText()!)) : null),
  );
}

/** Returns a text of the server, which is in English. */
export function english(text: string): Child {
  return text ? h("span", { lang: "en" }, text) : null;
}

/** Returns a text of the console or of the server, marked as English if it is the server's. */
export function inItsLanguage(text: string): Child {
  return isServerText(text) ? english(text) : text;
}

/** Returns a text of the console and marks the texts of the server in it, which are in this order. */
export function markEnglish(text: string, ofServer: readonly string[]): Child {
  const out: Child[] = [];
  for (const part of ofServer) {
    const at = text.indexOf(part);
    if (!part || at < 0) continue;
    out.push(text.slice(0, at), english(part));
    text = text.slice(at + part.length);
  }
  return [...out, text];
}

/** Returns an alert with a text of the console or of the server, while there is one. */
export function faultAlert(text: () => string | null | undefined, kind: "problem" | "fault" = "problem"): Child {
  return () => (text() ? h("p", { class: kind, role: "alert" }, inItsLanguage(text()!)) : null);
}

/** Returns a native select. Its options are pairs of value and text. */
export function select(value: () => string, options: () => readonly (readonly [string, string])[], change: (v: string) => void, props: Props = {}): HTMLSelectElement {
  const el: HTMLSelectElement = h("select", { onchange: () => change(el.value), ...props }, () => options().map(([v, text]) => h("option", { value: v }, text)));
  effect(() => {
    options();
    el.value = value();
  });
  return el;
}

/** Returns the empty state of a list: a title, a text and the button that creates the first object. */
export function empty(title: string, text: string, ...actions: Child[]): HTMLElement {
  return h("section", { class: "empty" }, h("h2", null, title), h("p", null, text), actions.length ? h("div", { class: "actions" }, actions) : null);
}

/** Returns an alert with what failed, the server's error text and a button to try again. */
export function problem(title: string, fault: unknown, again?: () => void): HTMLElement {
  const e = fault instanceof ApiError ? fault : null;
  if (again && isUnreachable(e)) {
    const from = reconnected.peek();
    effect(() => void (reconnected() !== from && untracked(again)));
  }
  const text = e ? e.detail : String((fault as Error)?.message ?? fault);
  if (e?.status === 403 && title === words.failed) return forbidden(text); // after a write, the alert shows what was refused
  return h(
    "div",
    { role: "alert", class: "problem" },
    h("p", null, h("strong", null, title), " ", inItsLanguage(text)),
    h("p", { class: "meta" }, e?.request ? words.requestID(e.request) : null),
    again ? h("button", { type: "button", class: "button", onclick: again }, words.tryAgain) : null,
  );
}

export function forbidden(text: string): HTMLElement {
  return h("section", { class: "empty" }, h("h2", null, words.mayNot), h("p", null, inItsLanguage(text)));
}

/** The number of parts of the page that wait for their first response. */
export const pendingResources = signal(0);

/** Returns grey bars, which appear after 200 milliseconds of waiting for the first response. */
export function loadingBars(n = 6): Child {
  const visible = signal(false);
  const timer = setTimeout(() => visible.set(true), 200);
  pendingResources.update((all) => all + 1);
  onEnd(() => (clearTimeout(timer), pendingResources.update((all) => all - 1)));
  return () => (visible() ? h("div", { class: "bars", "aria-hidden": "true" }, Array.from({ length: n }, () => h("div", null))) : null);
}

/** Shows a resource: bars while it loads, an alert if it failed, or its content. Content stays during a reload. */
export function showResource<T>(a: { data: () => T | undefined; error: () => unknown; reload(): void }, show: (data: () => T) => Child, what = words.failed): Child {
  const has = signal(false);
  effect(() => has.set(a.data() !== undefined));
  return [
    () => (a.error() ? problem(what, a.error(), () => a.reload()) : null),
    () => (has() ? show(() => a.data() as T) : a.error() ? null : loadingBars()),
  ];
}

/** Copies text to the clipboard. */
export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}
