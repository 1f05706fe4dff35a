// The form of a record with few main fields. Members without a field of their own are edited as JSON,
// which is checked while it is typed.
import { h, type Child, type Signal } from "../../ui/dom";
import { comboboxField, type Option } from "../../ui/combobox";
import { faultAlert, field, select } from "../../ui/parts";
import { get } from "../../api/client";
import { projectPath } from "../../session";
import { words } from "../../words";
import { recordWords } from "../../words/records";

export type Record_ = Record<string, unknown> & { id: string; name: string };
export type Draft = Record<string, string>;

export interface Field {
  /** The member of the record. For a flag, it is the member that takes its id in writes. */
  name: string;
  label: string;
  kind: "text" | "long" | "choice" | "json" | "rest" | "flag" | "custom";
  choices?: Record<string, string>;
  hint?: string;
  /** The initial value in a new record. */
  first?: string;
  maxLength?: number;
  /** The member that contains the flag in reads. */
  from?: string;
  /** Whether the field exists only for a new record. */
  onlyNew?: boolean;
  /** The members of the record that a field of kind rest edits. */
  members?: string[];
  /** For kind custom: the control, which edits a text. */
  control?: (c: Control) => Child;
  /** For kind custom: returns the text of a record. By default it is that of kind json. */
  read?: (r: Record_) => string;
  /** For kind custom: returns the members of a write for a text. By default it is that of kind json. */
  write?: (text: string) => Record<string, unknown>;
}

/** What a control of kind custom needs from its form. */
export interface Control {
  value: () => string;
  put: (text: string) => void;
  locked: () => boolean;
  /** Faults by member. A fault inside a member has its path as the name, such as questions__0__link. */
  faults: () => Faults;
}

export type Faults = Record<string, string | undefined>;

export const pretty = (v: unknown) => (v === undefined || v === null ? "" : JSON.stringify(v, null, 2));

export function draftOf(fields: Field[], r?: Record_): Draft {
  const fieldText = (f: Field) => {
    if (!r) return f.first ?? "";
    if (f.read) return f.read(r);
    if (f.kind === "json" || f.kind === "custom") return pretty(r[f.name]);
    if (f.kind === "flag") return (r[f.from!] as { key: string } | null)?.key ?? "";
    if (f.kind === "rest") return pretty(setOf(f, r)).replace(/^\{\}$/, "");
    return String(r[f.name] ?? "");
  };
  return Object.fromEntries(fields.map((f) => [f.name, fieldText(f)]));
}

const setOf = (f: Field, r: Record_) => Object.fromEntries(f.members!.filter((m) => r[m] !== null && r[m] !== undefined).map((m) => [m, r[m]]));

/** Returns the fault of a field that can be found without the server. */
function faultOf(f: Field, text: string): string | undefined {
  if (f.name === "name" && !text.trim()) return recordWords.nameWanted;
  if ((f.kind !== "json" && f.kind !== "rest") || !text.trim()) return undefined;
  try {
    const value = JSON.parse(text) as object;
    const other = f.kind === "rest" && Object.keys(value).find((m) => !f.members!.includes(m));
    return other ? recordWords.noSetting(other) : undefined;
  } catch (e) {
    return words.noJSON((e as Error).message);
  }
}

export function faultsOf(fields: Field[], d: Draft): Faults {
  return Object.fromEntries(fields.map((f) => [f.name, faultOf(f, d[f.name] ?? "")]).filter(([, fault]) => fault));
}

/** Returns the fields that differ from the previous draft, as the API expects them. Keys of flags become ids. */
export async function bodyOf(fields: Field[], d: Draft, was?: Draft): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = {};
  for (const f of fields) {
    const text = (d[f.name] ?? "").trim();
    if (was ? text === (was[f.name] ?? "").trim() : !text && f.kind !== "text") continue;
    if (f.kind === "rest") Object.assign(body, Object.fromEntries(f.members!.map((m) => [m, null])), text ? JSON.parse(text) : {});
    else if (f.write) Object.assign(body, f.write(text));
    else if (f.kind === "json" || f.kind === "custom") body[f.name] = text ? JSON.parse(text) : null;
    else if (f.kind === "flag") body[f.name] = text ? await flagID(f, text) : null;
    else body[f.name] = text;
  }
  return body;
}

/** A fault of a field that is found while the body is built. */
export class FieldFault extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

async function flagID(f: Field, key: string): Promise<number> {
  const found = await get<{ results: { id: number }[] }>(projectPath("feature_flags/"), { key, limit: 1 });
  if (!found.results[0]) throw new FieldFault(f.name, recordWords.noFlag(key));
  return found.results[0].id;
}

const flagKeys = (typed: string): Promise<Option[]> =>
  get<{ results: { key: string; name: string }[] }>(projectPath("feature_flags/"), { search: typed, limit: 20 }).then((l) => l.results.map((x) => ({ value: x.key, text: x.key, note: x.name })));

export function form(fields: Field[], draft: Signal<Draft>, faults: () => Faults, locked: () => boolean, isNew: boolean): Child {
  return fields.filter((f) => isNew || !f.onlyNew).map((f) => control(f, draft, faults, locked, isNew));
}

function control(f: Field, draft: Signal<Draft>, faults: () => Faults, locked: () => boolean, isNew: boolean): Child {
  const value = () => draft()[f.name] ?? "";
  const put = (text: string) => draft.update((d) => ({ ...d, [f.name]: text }));
  const fault = () => faults()[f.name] ?? (f.kind === "json" || f.kind === "rest" ? faultOf(f, value()) : undefined);
  if (f.control) return f.control({ value, put, locked, faults });
  const o = { label: f.label, fault, ...(f.hint ? { hint: f.hint } : {}) };
  if (f.kind === "choice") return field(select(value, () => Object.entries(f.choices!), put, { disabled: locked }), o);
  if (f.kind === "flag") {
    const box = comboboxField({ label: f.label, value, options: flagKeys, change: (v) => put(v.trim()), free: true, disabled: locked });
    box.append(h("p", { class: "hint" }, f.hint));
    return h("div", null, box, faultAlert(fault, "fault"));
  }
  if (f.kind === "text") {
    const input: HTMLInputElement = h("input", { type: "text", maxlength: f.maxLength ?? null, disabled: locked, "data-first-focus": isNew && f.name === "name" ? "" : null, value, oninput: () => put(input.value) });
    return field(input, o);
  }
  const code = f.kind !== "long";
  const area: HTMLTextAreaElement = h("textarea", { rows: code ? 6 : 3, class: code ? "code" : null, disabled: locked, value, oninput: () => put(area.value) });
  return field(area, o);
}
