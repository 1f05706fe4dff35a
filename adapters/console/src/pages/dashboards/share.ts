// The dialog Share dashboard: the public link and its passwords.
import { each, h, signal, when, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { loadingBars, button, copyText, field, problem } from "../../ui/parts";
import { relativeTime } from "../../ui/time";
import { toggle } from "../../ui/toggle";
import { get, send, site } from "../../api/client";
import { projectPath, hasScope } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";

interface Password {
  id: string;
  created_at: string;
  created_by_email: string;
}

interface Sharing {
  enabled: boolean;
  access_token: string;
  password_required: boolean;
  share_passwords: Password[];
}

const scope = "sharing_configuration:write";

export async function share(dashboard: number): Promise<void> {
  const path = projectPath(`dashboards/${dashboard}/sharing/`);
  const sharing = signal<Sharing | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const load = () => get<Sharing>(path).then((s) => (sharing.set(s), fault.set(undefined)), (e: unknown) => fault.set(e));
  void load();
  const write = (method: "PATCH" | "POST" | "DELETE", below: string, body?: object) => send(method, path + below, body).then(load, (e: unknown) => fault.set(e));
  await dialog<void>({ title: insightWords.shareDashboard, cancel: words.close }, () => ({
    content: h(
      "div",
      { class: "stack" },
      () => (fault() ? problem(words.notDone, fault()) : null),
      when(() => !sharing() && !fault(), () => loadingBars(3)),
      when(sharing, () => controls(sharing as Signal<Sharing>, write)),
    ),
    buttons: null,
  }));
}

type Write = (method: "PATCH" | "POST" | "DELETE", below: string, body?: object) => Promise<void>;

function controls(sharing: Signal<Sharing>, write: Write): HTMLElement {
  const disabledReason = () => (hasScope(scope) ? null : words.needs(scope));
  const link = () => `${site()}/shared/${sharing().access_token}`;
  const on = () => sharing().enabled;
  const text = h("input", { type: "text", readonly: true, class: "code", value: link });
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "between" }, h("span", { "aria-hidden": "true" }, insightWords.publicLink), toggle(() => insightWords.publicLink, on, () => write("PATCH", "", { enabled: !on() }), disabledReason)),
    h("p", { class: "meta" }, insightWords.publicLinkText),
    when(on, () =>
      h(
        "div",
        { class: "stack" },
        field(text, { label: insightWords.link }),
        h("div", { class: "actions" }, button(insightWords.copyLink, { icon: "copy", run: () => copyText(link()).then(() => announce(words.copied)) }), button(insightWords.replaceLink, { scope, run: () => write("POST", "refresh/", {}).then(() => announce(insightWords.replacedLink)) })),
        passwords(sharing, write),
      ),
    ),
  );
}

function passwords(sharing: Signal<Sharing>, write: Write): HTMLElement {
  const fault = signal<string | undefined>(undefined);
  const input = h("input", { type: "text", autocomplete: "off", maxlength: 128 });
  const add = async () => {
    const raw = input.value;
    fault.set([...raw].length < 8 ? insightWords.passwordHint : undefined);
    if (fault.peek()) return input.focus();
    // Require a password first, then add it, so that the link is never open in between.
    if (!sharing.peek().password_required) await write("PATCH", "", { password_required: true });
    await write("POST", "passwords/", { raw_password: raw });
    input.value = "";
    announce(insightWords.addedPassword);
  };
  const list = () => sharing().share_passwords;
  const remove = async (p: Password) => {
    await write("DELETE", `passwords/${p.id}/`);
    if (!sharing.peek().share_passwords.length) await write("PATCH", "", { password_required: false });
  };
  const n = (p: Password) => list().findIndex((x) => x.id === p.id) + 1;
  return h(
    "div",
    { class: "stack" },
    field(input, { label: insightWords.password, hint: insightWords.passwordHint, fault }),
    h("div", null, button(insightWords.addPassword, { scope, run: add })),
    when(() => sharing().password_required && !list().length, () => h("p", { class: "warning" }, insightWords.noPasswordLeft)),
    when(() => list().length, () =>
      h("ul", { class: "rows", "aria-label": insightWords.passwords }, each(list, (p) => p.id, (p) => h("li", null, h("span", null, () => insightWords.passwordN(n(p()))), h("span", { class: "meta" }, () => insightWords.madeAt(relativeTime(p().created_at), p().created_by_email)), h("span", { class: "space" }), button(words.delete, { kind: "small", scope, "aria-label": insightWords.removePassword(n(p.peek())), run: () => remove(p.peek()) })))),
    ),
  );
}

