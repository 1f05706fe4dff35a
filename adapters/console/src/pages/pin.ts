// The dialog Pin a value.
import { h, signal, type Child, type Signal } from "../ui/dom";
import { announce } from "../ui/announce";
import { comboboxField } from "../ui/combobox";
import { dialog } from "../ui/dialog";
import { button, faultAlert, field, select } from "../ui/parts";
import { projectZone } from "../ui/time";
import { parseLocalTime } from "../ui/zone";
import { invalidate } from "../api/cache";
import { ApiError, get, send } from "../api/client";
import type { Flag, User } from "../api/flags";
import { projectPath } from "../session";
import { pinWords } from "../words/pins";
import { personChoice, suggestFlags } from "./suggest";

/** The person of a pin: a distinct id, and the name that is shown. */
export interface PinSubject {
  id: string;
  name: string;
}

export interface Pin {
  id: number;
  person: { uuid?: string; name: string } | null;
  group: { type: string; key: string } | null;
  value: unknown;
  note: string;
  expires_at: string | null;
  created_by: User | null;
}

/** Returns the name of the person or group of a pin, as the server knows it. */
export const subjectName = (p: Pin): string => p.person?.name ?? (p.group ? pinWords.groupOf(p.group.type, p.group.key) : pinWords.erased);

/** Returns the values that a flag can have. */
const valuesOf = (f: Flag | undefined) => (f?.filters.multivariate?.variants.length ? ["false", ...f.filters.multivariate.variants.map((v) => v.key)] : ["true", "false"]);

/** Opens the dialog, which asks for what is not given, and pins the value. It returns whether it was pinned. */
export async function pinValue(known: { flag?: Flag; key?: string; person?: PinSubject }): Promise<boolean> {
  const zone = projectZone();
  const flag = signal<Flag | undefined>(known.flag);
  const value = signal(known.flag ? valuesOf(known.flag)[0]! : "true");
  const who = signal(known.person?.id ?? "");
  const key = signal(known.flag?.key ?? "");
  const faults = { who: signal(""), until: signal(""), other: signal("") };
  const choose = async (text: string) => {
    key.set(text.trim());
    const found = (await get<{ results: Flag[] }>(projectPath("feature_flags/"), { key: text.trim(), limit: 20 })).results.find((f) => f.key === text.trim()); // key ignores case
    flag.set(found && (await get<Flag>(projectPath(`feature_flags/${found.id}/`))));
    value.set(valuesOf(flag.peek())[0]!);
  };
  if (known.key) await choose(known.key);
  const until: HTMLInputElement = h("input", { type: "text", autocomplete: "off", placeholder: "2026-12-01 09:00" });
  const note: HTMLInputElement = h("input", { type: "text", autocomplete: "off", maxlength: 200 });
  const pinned = await dialog<Pin>({ title: pinWords.pin }, (d) => {
    const run = async () => {
      const at = until.value.trim() && parseLocalTime(until.value, zone);
      const id = who.peek().trim();
      faults.until.set(at === undefined ? pinWords.untilWrong : "");
      faults.who.set(!id ? pinWords.whoWanted : !flag.peek() ? pinWords.flagWanted : "");
      if (at === undefined || faults.who.peek()) return;
      const text = value.peek();
      try {
        const pin = await send<Pin>("POST", projectPath(`feature_flags/${flag.peek()!.id}/pins/`), { distinct_id: id, value: { true: true, false: false }[text] ?? text, note: note.value.trim(), expires_at: at || null });
        d.close(pin);
      } catch (e) {
        faults.other.set(e instanceof ApiError ? e.detail : String(e));
      }
    };
    return {
      content: [
        faultAlert(() => faults.other() || faults.who()),
        subject(known, who, key, choose),
        field(select(value, () => valuesOf(flag()).map((v) => [v, v] as const), value.set), { label: pinWords.value }),
        field(until, { label: pinWords.until, hint: pinWords.untilHint(zone), fault: () => faults.until() || undefined }),
        field(note, { label: pinWords.note }),
      ],
      buttons: button(pinWords.pinButton, { kind: "primary", run }),
    };
  });
  if (!pinned) return false;
  invalidate("feature_flags");
  invalidate("persons");
  announce(pinWords.pinned(value.peek(), subjectName(pinned)));
  return true;
}

/** Returns the field for the person or the flag, whichever is not given. */
function subject(known: { flag?: Flag; person?: PinSubject }, who: Signal<string>, key: Signal<string>, choose: (text: string) => Promise<void>): Child {
  if (known.person) return comboboxField({ label: pinWords.flag, value: key, options: suggestFlags, change: (text) => void choose(text), free: true, first: true });
  const people = personChoice();
  return comboboxField({ label: pinWords.person, value: () => people.name(who()), options: people.options, change: (text) => who.set(people.id(text)), free: true, first: true });
}
