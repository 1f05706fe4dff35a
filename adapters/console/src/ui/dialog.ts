// Dialogs, based on the element dialog. They set the first focus and restore the focus when they close.
import { append, detachedScope, h, newID, type Child } from "./dom";
import { words } from "../words";

export interface Dialog<T> {
  close(result?: T): void;
}

export interface Options {
  title: string;
  /** Whether it is an alertdialog, which confirms what cannot be undone. Its first focus is on Cancel. */
  alert?: boolean;
  wide?: boolean;
  /** The label of the button that closes the dialog without an action; null leaves it out. */
  cancel?: string | null;
  onsubmit?: () => unknown;
}

/** Opens a dialog. The promise resolves to the argument of close, or to undefined after Cancel. */
export function dialog<T>(o: Options, body: (d: Dialog<T>) => { content: Child; buttons: Child }): Promise<T | undefined> {
  const opener = document.activeElement as HTMLElement | null;
  return new Promise((done) => {
    const id = newID();
    let result: T | undefined;
    const el = h("dialog", { class: o.wide ? "dialog wide" : "dialog", "aria-labelledby": id, role: o.alert ? "alertdialog" : null });
    const d: Dialog<T> = {
      close(r) {
        result = r;
        el.close();
      },
    };
    const [, end] = detachedScope(() => {
      const { content, buttons } = body(d);
      const cancel = o.cancel === null ? null : h("button", { type: "button", class: "button", "data-cancel": "", onclick: () => d.close() }, o.cancel ?? words.cancel);
      const form = h("form", { method: "dialog", novalidate: true, onsubmit: (e: Event) => (e.preventDefault(), o.onsubmit?.()) });
      append(form, [h("h2", { id }, o.title), h("div", { class: "dialog-body" }, content), h("div", { class: "dialog-buttons" }, cancel, buttons)]);
      append(el, form);
    });
    el.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) el.querySelector<HTMLButtonElement>(".dialog-buttons .primary, .dialog-buttons .danger")?.click();
    });
    el.addEventListener("close", () => {
      end();
      el.remove();
      if (opener?.isConnected) opener.focus();
      else document.querySelector<HTMLElement>("h1")?.focus();
      done(result);
    });
    document.body.append(el);
    el.showModal();
    const first = o.alert ? el.querySelector<HTMLElement>("[data-cancel]") : el.querySelector<HTMLElement>("[data-first], input, select, textarea, .dialog-buttons .primary, .dialog-buttons .danger");
    first?.focus();
  });
}

/** Asks for confirmation. It returns true if the person confirms. */
export function confirm(title: string, text: Child, action: string, kind: "primary" | "danger" = "danger", alert = true): Promise<boolean> {
  return dialog<boolean>({ title, alert }, (d) => ({
    content: h("p", null, text),
    buttons: h("button", { type: "button", class: `button ${kind}`, onclick: () => d.close(true) }, action),
  })).then((r) => r === true);
}
