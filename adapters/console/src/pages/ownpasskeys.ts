// The part Passkeys of Account.
import { h, signal, when, type Child } from "../ui/dom";
import { announce } from "../ui/announce";
import { confirm, dialog } from "../ui/dialog";
import { button, field, shown } from "../ui/parts";
import { records } from "../ui/table";
import { time } from "../ui/time";
import { answer, stale } from "../api/cache";
import { ApiError, send } from "../api/client";
import { havePasskeys, makePasskey } from "../passkeys";
import { w } from "../words";
import { wp } from "../words/passkeys";

interface Passkey {
  id: string;
  name: string;
  created_at: string;
  used_at: string | null;
}

export function ownPasskeys(): Child {
  const methods = answer<{ passkey: boolean; secure: boolean }>(() => ({ path: "session/methods/" }));
  return when(() => methods.data() !== undefined, () => (methods.data()!.passkey && havePasskeys() ? section() : elsewhere()));
}

/** Where there are none: on this machine the other name of the same server has them. */
function elsewhere(): Child {
  if (!/^(127\.|\[::1\])/.test(location.hostname)) return null;
  const there = location.origin.replace(location.hostname, "localhost");
  return h("section", { class: "card", "aria-label": wp.passkeys }, h("h2", { class: "gap" }, wp.passkeys), h("p", { class: "meta" }, wp.wantName, " ", h("a", { href: there + location.pathname }, there)));
}

function section(): HTMLElement {
  const list = answer<{ results: Passkey[] }>(() => ({ path: "passkeys/" }));
  const fault = signal("");
  const again = () => (stale("passkeys"), list.reload());
  const told = (e: unknown) => fault.set(e instanceof ApiError ? e.detail : e instanceof DOMException ? wp.notMade : String(e));
  const add = async () => {
    fault.set("");
    const passkey = await makePasskey();
    const name = await named();
    if (!name) return;
    await send("POST", "passkeys/", { name, passkey });
    again();
    announce(w.saved);
  };
  const remove = async (p: Passkey) => {
    if (!(await confirm(wp.removeAsk(p.name), wp.removeText, wp.remove))) return;
    await send("DELETE", `passkeys/${p.id}/`);
    again();
    announce(wp.removed(p.name));
  };
  return h(
    "section",
    { class: "card", "aria-label": wp.passkeys },
    h("div", { class: "between gap" }, h("h2", null, wp.passkeys), button(wp.add, { run: () => add().catch(told) })),
    () => (fault() ? h("p", { class: "problem", role: "alert" }, fault()) : null),
    shown(list, (data) => [
      when(() => data().results.length === 0, () => h("p", { class: "meta" }, wp.none)),
      when(() => data().results.length > 0, () =>
        records<Passkey>(
          wp.passkeys,
          [
            { label: wp.name, cell: (p) => h("bdi", null, () => p().name) },
            { label: wp.made, cell: (p) => () => time(p().created_at), class: "meta" },
            { label: w.lastUsed, cell: (p) => () => time(p().used_at) ?? w.never, class: "meta" },
            { label: "", cell: (p) => button(wp.remove, { kind: "small", "aria-label": wp.removeOne(p.peek().name), run: () => remove(p.peek()).catch(told) }), class: "tight" },
          ],
          () => data().results,
          (p) => p.id,
        ),
      ),
    ]),
  );
}

/** Asks what the new one is called. */
function named(): Promise<string | undefined> {
  const name = h("input", { type: "text", maxlength: 60, "data-first": "" });
  const fault = signal<string | undefined>(undefined);
  return dialog<string>({ title: wp.nameIt }, (d) => ({
    content: field(name, { label: wp.name, hint: wp.nameHint, fault }),
    buttons: button(w.save, { kind: "primary", run: () => (name.value.trim() ? d.close(name.value.trim()) : fault.set(wp.nameWanted)) }),
  }));
}
