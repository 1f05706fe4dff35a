// The section Profile of the page Account: name and email address.
import { h, signal, when } from "../ui/dom";
import { announce } from "../ui/announce";
import { button, field, select, showResource } from "../ui/parts";
import { setTimes, times, type Times } from "../ui/time";
import { resource, invalidate } from "../api/cache";
import { ApiError, send } from "../api/client";
import { session } from "../session";
import { words } from "../words";
import { accountWords } from "../words/account";

interface Me {
  first_name: string;
  email: string;
  pending_email: string | null;
}

export function ownProfile(): HTMLElement {
  const me = resource<Me>(() => ({ path: "users/@me/" }));
  return h("section", { class: "card", "aria-label": accountWords.profile }, h("h2", null, accountWords.profile), showResource(me, (data) => form(data, me.reload)));
}

function form(me: () => Me, reload: () => void): HTMLElement {
  const name: HTMLInputElement = h("input", { type: "text", autocomplete: "given-name", maxlength: 150, value: me().first_name });
  const email: HTMLInputElement = h("input", { type: "email", autocomplete: "email", maxlength: 254, value: me().email });
  const faults = { first_name: signal<string | undefined>(undefined), email: signal<string | undefined>(undefined) };
  const save = async () => {
    const changed = { ...(name.value.trim() !== me().first_name ? { first_name: name.value.trim() } : {}), ...(email.value.trim() !== me().email ? { email: email.value.trim() } : {}) };
    Object.values(faults).forEach((f) => f.set(undefined));
    try {
      const now = await send<Me>("PATCH", "users/@me/", changed);
      invalidate("users");
      session.update((s) => s && { ...s, user: { ...s.user, first_name: now.first_name, email: now.email } });
      announce(words.saved);
      reload();
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      faults[e.attr === "first_name" ? "first_name" : "email"].set(e.detail);
    }
  };
  return h(
    "form",
    { class: "stack", onsubmit: (e: Event) => e.preventDefault() },
    field(name, { label: accountWords.firstName, fault: faults.first_name }),
    field(email, { label: accountWords.email, fault: faults.email }),
    when(() => me().pending_email, () => h("p", { class: "meta" }, () => accountWords.confirm(me().pending_email!))),
    h("p", null, button(words.save, { submit: true, run: save })),
  );
}

/** Returns the select of the language of the pages, which the account keeps. Another language loads the page again. */
export function languageField(): HTMLElement {
  const fault = signal<string | undefined>(undefined);
  const chosen = () => session()?.language ?? "";
  const choose = async (to: string) => {
    fault.set(undefined);
    try {
      await send("PATCH", "users/@me/", { language: to || null });
      session.update((s) => s && { ...s, language: to || null });
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  return field(select(chosen, () => Object.entries(accountWords.languages), (to) => void choose(to)), { label: accountWords.language, fault });
}

/** Returns the select of the time zone in which times are shown. */
export function timesField(): HTMLElement {
  return field(select(times, () => Object.entries(accountWords.times), (t) => setTimes(t as Times)), { label: accountWords.timesIn });
}
