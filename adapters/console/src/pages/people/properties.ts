// The tab Properties of a person.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, empty, field } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { send } from "../../api/client";
import { invalidate } from "../../api/cache";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { words } from "../../words";
import { personWords } from "../../words/personflags";
import { showRefusal } from "../flags/actions";
import { personPage, type Person } from "./person";

const text = (v: unknown) => (typeof v === "string" ? v : JSON.stringify(v));

/** Parses a typed value: as JSON if it is valid JSON, such as 5 or true, or else as text. */
function valueOf(typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}

/** Formats a value for the input. Text that would be parsed as JSON is quoted. */
const typedOf = (v: unknown) => (typeof v === "string" && valueOf(v) === v ? v : JSON.stringify(v));

export default function propertiesPage(params: Params): Child {
  return personPage(params, "properties", properties);
}

function properties(person: Signal<Person>): Child {
  const at = () => projectPath(`persons/${person.peek().uuid}/`);
  const put = (all: Record<string, unknown>, said: string) => {
    person.set({ ...person.peek(), properties: all });
    invalidate("persons");
    announce(said);
  };
  const edit = async (name?: string) => {
    const got = await ask(name, name === undefined ? undefined : person.peek().properties[name]);
    if (!got) return;
    await send("POST", `${at()}update_property/`, { key: got.name, value: got.value });
    put({ ...person.peek().properties, [got.name]: got.value }, words.saved);
  };
  const remove = async (name: string) => {
    if (!(await confirm(personWords.removeAsk(name), personWords.removeText, personWords.removeButton))) return;
    await send("POST", `${at()}delete_property/`, { $unset: name });
    put(Object.fromEntries(Object.entries(person.peek().properties).filter(([k]) => k !== name)), personWords.removed(name));
  };
  const list = () => Object.entries(person().properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const tools = (name: string) => [
    button(personWords.editButton, { kind: "small", "aria-label": personWords.edit(name), scope: "person:write", run: () => edit(name).catch(showRefusal) }),
    " ",
    button(personWords.removeButton, { kind: "small", "aria-label": personWords.remove(name), scope: "person:write", run: () => remove(name).catch(showRefusal) }),
  ];
  return [
    h("div", { class: "between gap" }, h("h2", null, words.properties), button(personWords.add, { scope: "person:write", run: () => edit().catch(showRefusal) })),
    when(() => list().length === 0, () => empty(personWords.noProperties, personWords.noPropertiesText)),
    when(() => list().length > 0, () =>
      recordTable<[string, unknown]>(
        words.properties,
        [
          { label: words.property, cell: (r) => h("bdi", { class: "code" }, () => r()[0]) },
          { label: words.value, cell: (r) => h("bdi", null, () => text(r()[1])), class: "long" },
          { label: "", cell: (r) => tools(r.peek()[0]), class: "tight" },
        ],
        list,
        (r) => r[0],
      ),
    ),
  ];
}

/** Asks for the value of a property, and for its name if name is undefined. */
async function ask(name: string | undefined, value: unknown): Promise<{ name: string; value: unknown } | undefined> {
  const key: HTMLInputElement = h("input", { type: "text", autocomplete: "off", maxlength: 400, value: name ?? "", readonly: name !== undefined });
  const typed: HTMLInputElement = h("input", { type: "text", autocomplete: "off", value: name === undefined ? "" : typedOf(value) });
  const fault = signal<string | undefined>(undefined);
  return dialog<{ name: string; value: unknown }>({ title: name === undefined ? personWords.add : personWords.edit(name) }, (d) => ({
    content: [field(key, { label: words.property, fault }), field(typed, { label: words.value, hint: personWords.valueHint })],
    buttons: button(words.save, { kind: "primary", run: () => (key.value.trim() ? d.close({ name: key.value.trim(), value: valueOf(typed.value.trim()) }) : fault.set(personWords.nameWanted)) }),
  }));
}
