// The section Passkeys of the page Account.
import { h, signal, when, type Child } from "../ui/dom";
import { announce } from "../ui/announce";
import { confirm, dialog } from "../ui/dialog";
import { button, faultAlert, field, showResource } from "../ui/parts";
import { recordTable } from "../ui/table";
import { time } from "../ui/time";
import { resource, invalidate } from "../api/cache";
import { ApiError, send } from "../api/client";
import { havePasskeys, makePasskey } from "../passkeys";
import { words } from "../words";
import { passkeyWords } from "../words/passkeys";

interface Passkey {
  id: string;
  name: string;
  created_at: string;
  used_at: string | null;
}

export function ownPasskeys(): Child {
  const methods = resource<{ passkey: boolean; secure: boolean }>(() => ({ path: "session/methods/" }));
  return when(() => methods.data() !== undefined, () => (methods.data()!.passkey && havePasskeys() ? section() : localhostHint()));
}

/** Returns the hint that passkeys work at localhost, if the page is open at a loopback IP address. */
function localhostHint(): Child {
  if (!/^(127\.|\[::1\])/.test(location.hostname)) return null;
  const there = location.origin.replace(location.hostname, "localhost");
  return h("section", { class: "card", "aria-label": passkeyWords.passkeys }, h("h2", { class: "gap" }, passkeyWords.passkeys), h("p", { class: "meta" }, passkeyWords.wantName, " ", h("a", { href: there + location.pathname }, there)));
}

function section(): HTMLElement {
  const list = resource<{ results: Passkey[] }>(() => ({ path: "passkeys/" }));
  const fault = signal("");
  const again = () => (invalidate("passkeys"), list.reload());
  const showFault = (e: unknown) => fault.set(e instanceof ApiError ? e.detail : e instanceof DOMException ? passkeyWords.notMade : String(e));
  const add = async () => {
    fault.set("");
    const passkey = await makePasskey();
    const name = await askName();
    if (!name) return;
    await send("POST", "passkeys/", { name, passkey });
    again();
    announce(words.saved);
  };
  const remove = async (p: Passkey) => {
    if (!(await confirm(passkeyWords.removeAsk(p.name), passkeyWords.removeText, passkeyWords.remove))) return;
    await send("DELETE", `passkeys/${p.id}/`);
    again();
    announce(passkeyWords.removed(p.name));
  };
  return h(
    "section",
    { class: "card", "aria-label": passkeyWords.passkeys },
    h("div", { class: "between gap" }, h("h2", null, passkeyWords.passkeys), button(passkeyWords.add, { run: () => add().catch(showFault) })),
    faultAlert(fault),
    showResource(list, (data) => [
      when(() => data().results.length === 0, () => h("p", { class: "meta" }, passkeyWords.none)),
      when(() => data().results.length > 0, () =>
        recordTable<Passkey>(
          passkeyWords.passkeys,
          [
            { label: passkeyWords.name, cell: (p) => h("bdi", null, () => p().name) },
            { label: passkeyWords.made, cell: (p) => () => time(p().created_at), class: "meta" },
            { label: words.lastUsed, cell: (p) => () => time(p().used_at) ?? words.never, class: "meta" },
            { label: "", cell: (p) => button(passkeyWords.remove, { kind: "small", "aria-label": passkeyWords.removeOne(p.peek().name), run: () => remove(p.peek()).catch(showFault) }), class: "tight" },
          ],
          () => data().results,
          (p) => p.id,
        ),
      ),
    ]),
  );
}

/** Asks for the name of a new passkey. */
function askName(): Promise<string | undefined> {
  const name = h("input", { type: "text", maxlength: 60, "data-first": "" });
  const fault = signal<string | undefined>(undefined);
  return dialog<string>({ title: passkeyWords.nameIt }, (d) => ({
    content: field(name, { label: passkeyWords.name, hint: passkeyWords.nameHint, fault }),
    buttons: button(words.save, { kind: "primary", run: () => (name.value.trim() ? d.close(name.value.trim()) : fault.set(passkeyWords.nameWanted)) }),
  }));
}
