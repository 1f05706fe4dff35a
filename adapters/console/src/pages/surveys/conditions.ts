// Where, when and to whom a survey is shown, in fields.
import { effect, h, signal, type Child } from "../../ui/dom";
import { faultAlert, field, select } from "../../ui/parts";
import { bodyOf, draftOf, type Draft } from "../../api/draft";
import type { Condition } from "../../api/flags";
import { withMembers, type Conditions, type SurveyEvents } from "../../api/surveys";
import { operators } from "../../words";
import { surveyWords } from "../../words/surveys";
import { conditionList } from "../flag/conditions";
import { pretty, type Control, type Record_ } from "../records/form";

const urlMatches = ["icontains", "not_icontains", "exact", "is_not", "regex", "not_regex"];
const devices = Object.keys(surveyWords.deviceTypes);

function parse<T>(text: string, otherwise: T): T {
  try {
    return (JSON.parse(text) as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Returns the fields of where and when. The control's text is the object that SDKs read. */
export function whereControl(c: Control): Child {
  const now = () => parse<Conditions>(c.value(), {});
  const change = (members: Partial<Conditions>) => {
    const next = withMembers(now(), members);
    c.put(Object.keys(next).length ? pretty(next) : "");
  };
  const fault = (member: string) => () => c.faults()[`conditions__${member}`] ?? Object.entries(c.faults()).find(([p]) => p.startsWith(`conditions__${member}__`))?.[1];
  const text = (member: "selector" | "linkedFlagVariant", label: string, hint: string) => {
    const el: HTMLInputElement = h("input", { type: "text", value: () => now()[member] ?? "", disabled: c.locked, oninput: () => change({ [member]: el.value }) });
    return field(el, { label, hint, fault: fault(member) });
  };
  const url: HTMLInputElement = h("input", { type: "text", value: () => now().url ?? "", disabled: c.locked, oninput: () => change({ url: url.value, urlMatchType: url.value ? (now().urlMatchType ?? "icontains") : null }) });
  const wait: HTMLInputElement = h("input", { type: "number", min: 0, step: 1, value: () => String(now().seenSurveyWaitPeriodInDays ?? ""), disabled: c.locked, oninput: () => change({ seenSurveyWaitPeriodInDays: wait.value === "" ? null : Number(wait.value) }) });
  const matches = () => {
    const match = now().urlMatchType ?? "icontains";
    return [...new Set([...urlMatches, match])].map((m) => [m, operators[m] ?? m] as const);
  };
  return h("section", { class: "field", "aria-label": surveyWords.where }, [
    h("h2", null, surveyWords.where),
    h("p", { class: "hint" }, surveyWords.whereText),
    h("div", { class: "stack" }, [
      h("div", { class: "pair" }, [
        field(url, { label: surveyWords.url, fault: fault("url") }),
        field(select(() => now().urlMatchType ?? "icontains", matches, (v) => change({ urlMatchType: v }), { disabled: () => c.locked() || !now().url }), { label: surveyWords.urlMatch }),
      ]),
      deviceChoice(now, change, c),
      text("selector", surveyWords.selector, surveyWords.selectorHint),
      field(wait, { label: surveyWords.wait, hint: surveyWords.waitHint, fault: fault("seenSurveyWaitPeriodInDays") }),
      text("linkedFlagVariant", surveyWords.variant, surveyWords.variantHint),
      events("events", surveyWords.showEvents, now, change, c),
      events("cancelEvents", surveyWords.hideEvents, now, change, c),
    ]),
  ]);
}

type Change = (members: Partial<Conditions>) => void;

function deviceChoice(now: () => Conditions, change: Change, c: Control): HTMLElement {
  const chosen = () => now().deviceTypes ?? [];
  const set = (device: string, on: boolean) => {
    const next = on ? [...chosen(), device] : chosen().filter((d) => d !== device);
    change({ deviceTypes: next, deviceTypesMatchType: next.length ? (now().deviceTypesMatchType ?? "exact") : null });
  };
  const one = (device: string) => {
    const el: HTMLInputElement = h("input", { type: "checkbox", checked: () => chosen().includes(device), disabled: c.locked, onchange: () => set(device, el.checked) });
    return h("label", { class: "check" }, el, surveyWords.deviceTypes[device] ?? device);
  };
  return h("div", { role: "group", "aria-label": surveyWords.devices, class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, surveyWords.devices), h("div", { class: "choices" }, [...new Set([...devices, ...chosen()])].map(one)));
}

/** Returns the field of the events that show or hide a survey. Filters of an event are kept with its name. */
function events(member: "events" | "cancelEvents", label: string, now: () => Conditions, change: Change, c: Control): Child {
  const current = (): SurveyEvents => now()[member] ?? {};
  const names = () => (current().values ?? []).map((e) => e.name);
  const set = (values: SurveyEvents["values"], repeat: boolean) => change({ [member]: values?.length ? withMembers({ ...current(), values }, { repeatedActivation: repeat }) : null });
  const area: HTMLTextAreaElement = h("textarea", {
    rows: 2,
    value: names().join("\n"),
    disabled: c.locked,
    oninput: () => set(area.value.split("\n").map((n) => n.trim()).filter(Boolean).map((name) => current().values?.find((e) => e.name === name) ?? { name }), Boolean(current().repeatedActivation)),
  });
  effect(() => {
    if (document.activeElement !== area) area.value = names().join("\n"); // while it has the focus, empty lines are kept
  });
  const again: HTMLInputElement = h("input", { type: "checkbox", checked: () => Boolean(current().repeatedActivation), disabled: () => c.locked() || !names().length, onchange: () => set(current().values, again.checked) });
  return [field(area, { label }), member === "events" ? h("label", { class: "check" }, again, surveyWords.repeat) : null];
}

const draftOfGroups = (groups: Condition[]): Draft => draftOf({ key: "", name: "", active: true, filters: { groups }, tags: [] });

/** Returns the conditions of the survey's targeting flag as a text. */
export function readTargeting(r: Record_): string {
  const groups = (r.targeting_flag as { filters?: { groups?: Condition[] } } | null)?.filters?.groups ?? [];
  return groups.length ? pretty(groups) : "";
}

/** Returns the members of a write that set the targeting flag or remove it. */
export function writeTargeting(text: string): Record<string, unknown> {
  const groups = parse<Condition[]>(text, []);
  return groups.length ? { targeting_flag_filters: { groups } } : { remove_targeting_flag: true };
}

/** Returns the conditions that select the people of a survey, as for flags. */
export function peopleControl(c: Control): Child {
  let written = c.value();
  const draft = signal(draftOfGroups(parse<Condition[]>(written, [])));
  effect(() => {
    const text = c.value();
    if (text === written) return;
    written = text;
    draft.set(draftOfGroups(parse<Condition[]>(text, [])));
  });
  const put = (change: Partial<Draft>) => {
    draft.update((d) => ({ ...d, ...change }));
    const { groups } = bodyOf(draft.peek()).filters;
    written = groups?.length ? pretty(groups) : "";
    c.put(written);
  };
  return [
    conditionList(draft, put, c.locked, () => ({}), surveyWords.people, surveyWords.peopleText),
    faultAlert(() => c.faults().targeting_flag_filters, "fault"),
  ];
}
