// The page Account: profile, appearance, personal keys, sessions and passkeys.
import { h, signal, when, type Child } from "../ui/dom";
import { announce } from "../ui/announce";
import { confirm, dialog } from "../ui/dialog";
import { button, copyText, faultAlert, field, heading, showResource } from "../ui/parts";
import { time } from "../ui/time";
import { resource, invalidate } from "../api/cache";
import { ApiError, send } from "../api/client";
import { comfortableRows, setComfortableRows, setTheme, theme, type Theme } from "../theme";
import { hasOwnSession } from "../session";
import { words } from "../words";
import { accountWords } from "../words/account";
import { ownPasskeys } from "./ownpasskeys";
import { languageField, ownProfile, timesField } from "./ownprofile";
import { scopeChooser, objects } from "./scopes";

interface Key {
  id: string;
  label: string;
  mask_value: string;
  scopes: string[];
  created_at: string;
  last_used_at: string | null;
}

interface Login {
  id: string;
  created_at: string;
  seen_at: string;
  method: string;
  address: string;
  agent: string;
  current: boolean;
}

const rights: [string, string, (chosen: string[]) => string[]][] = [
  ["all", words.everythingIMay, () => ["*"]],
  ["read", words.readRights, () => objects.map((o) => `${o}:read`)],
  ["chosen", accountWords.chosen, (chosen) => chosen],
];

export default function account(): Child {
  return [heading(words.account), ownProfile(), lookSection(), keys(), hasOwnSession() ? [sessions(), ownPasskeys()] : null];
}

function lookSection(): HTMLElement {
  const one = (t: Theme, label: string) => h("label", { class: "check" }, h("input", { type: "radio", name: "theme", checked: () => theme() === t, onchange: () => setTheme(t) }), label);
  const letters: HTMLInputElement = h("input", { type: "checkbox", checked: localStorage.getItem("bunting.keys") !== "off", onchange: () => localStorage.setItem("bunting.keys", letters.checked ? "on" : "off") });
  const rows: HTMLInputElement = h("input", { type: "checkbox", checked: comfortableRows, onchange: () => setComfortableRows(rows.checked) });
  return h(
    "section",
    { class: "card", "aria-label": words.look },
    h("h2", null, words.look),
    h("div", { role: "radiogroup", "aria-label": words.theme, class: "choices gap" }, one("light", words.light), one("dark", words.dark), one("system", words.system)),
    languageField(),
    timesField(),
    h("label", { class: "check" }, rows, accountWords.comfortable),
    h("label", { class: "check" }, letters, words.letterShortcuts),
  );
}

function table(name: string, heads: string[], rows: () => Child): HTMLElement {
  return h("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": name }, h("table", { "aria-label": name }, h("thead", null, h("tr", null, heads.map((t) => h("th", { scope: "col" }, t)), h("td", null))), h("tbody", null, rows)));
}

function keys(): HTMLElement {
  const list = resource<Key[]>(() => ({ path: "personal_api_keys/" }));
  const fault = signal("");
  const again = () => (invalidate("personal_api_keys"), list.reload());
  const showFault = (e: unknown) => fault.set(e instanceof ApiError ? e.detail : String(e));
  const revoke = async (k: Key) => {
    if (!(await confirm(words.revokeAsk(k.label), words.revokeText, words.revoke))) return;
    await send("DELETE", `personal_api_keys/${k.id}/`);
    again();
    announce(words.revoked(k.label));
  };
  const row = (k: Key) =>
    h("tr", null, h("td", null, h("bdi", null, k.label)), h("td", { class: "code" }, k.mask_value), h("td", { class: "meta" }, k.scopes.includes("*") ? words.everythingIMay : k.scopes.join(", ")), h("td", { class: "meta" }, time(k.last_used_at) ?? words.never), h("td", { class: "tight" }, button(words.revoke, { kind: "small", "aria-label": words.revokeOne(k.label), run: () => revoke(k).catch(showFault) })));
  return h(
    "section",
    { class: "card", "aria-label": words.personalKeys },
    h("div", { class: "between gap" }, h("h2", null, words.personalKeys), button(words.newKey, { run: () => make().then((made) => made && again(), showFault) })),
    faultAlert(fault),
    showResource(list, (data) => table(words.personalKeys, [words.label, words.key, words.rights, words.lastUsed], () => data().map(row))),
  );
}

/** Creates a key and shows it once. It returns whether a key was created. */
async function make(): Promise<boolean> {
  const label = h("input", { type: "text", maxlength: 40, "data-first": "" });
  const right = signal("all");
  const chosen = signal<string[]>([]);
  const fault = signal<string | undefined>(undefined);
  const one = ([id, text]: (typeof rights)[number]) => h("label", { class: "check" }, h("input", { type: "radio", name: "rights", checked: () => right() === id, onchange: () => right.set(id) }), text);
  const value = await dialog<string>({ title: words.newKey }, (d) => ({
    content: [field(label, { label: words.label, fault }), h("div", { role: "radiogroup", "aria-label": words.rights, class: "stack" }, rights.map(one)), when(() => right() === "chosen", () => scopeChooser(chosen))],
    buttons: button(words.makeKey, {
      kind: "primary",
      run: async () => {
        try {
          const scopes = rights.find(([id]) => id === right.peek())![2](chosen.peek());
          if (scopes.length === 0) return fault.set(accountWords.scopesWanted);
          d.close((await send<{ value: string }>("POST", "personal_api_keys/", { label: label.value.trim(), scopes, scoped_teams: [], scoped_organizations: [] })).value);
        } catch (e) {
          fault.set(e instanceof ApiError ? e.detail : String(e));
        }
      },
    }),
  }));
  if (!value) return false;
  const text = h("input", { type: "text", class: "code", readonly: true, value, "data-first": "" });
  await dialog<void>({ title: words.newKey, cancel: null }, (d) => ({
    content: [field(text, { label: words.key, hint: words.keyOnce })],
    buttons: [button(words.copyKey, { run: () => copyText(value).then(() => announce(words.copied)) }), button(words.doneButton, { kind: "primary", run: () => d.close() })],
  }));
  return true;
}

/** Returns the section Sessions, if the server has sessions. */
function sessions(): Child {
  const list = resource<{ results: Login[] }>(() => ({ path: "sessions/" }));
  const again = () => (invalidate("sessions"), list.reload());
  const end = async (path: string) => {
    await send("DELETE", path);
    again();
  };
  const row = (l: Login) =>
    h("tr", null, h("td", null, l.current ? words.thisSession : l.method), h("td", { class: "code" }, l.address), h("td", { class: "meta clip-cell", title: l.agent }, l.agent), h("td", { class: "meta" }, time(l.seen_at)), h("td", { class: "tight" }, l.current ? null : button(words.endSession, { kind: "small", run: () => end(`sessions/${l.id}/`) })));
  return when(list.data, () =>
    h(
      "section",
      { class: "card", "aria-label": words.sessions },
      h("div", { class: "between gap" }, h("h2", null, words.sessions), button(words.endOthers, { run: () => end("sessions/?others=true") })),
      table(words.sessions, [words.how, words.address, words.browser, words.lastSeen], () => (list.data()?.results ?? []).map(row)),
    ),
  );
}
