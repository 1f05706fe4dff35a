// The page Why?: explains the value of a flag for a person, simulated and last assigned.
import { computed, effect, h, onEnd, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { comboboxField } from "../../ui/combobox";
import { loadingBars, button, copyText, empty, field, heading, problem } from "../../ui/parts";
import { scroller } from "../../ui/table";
import { time } from "../../ui/time";
import { expandAll, tree } from "../../ui/tree";
import { explain, type Explanation, type FlagValue, type Question } from "../../api/explain";
import { param, setParams } from "../../router";
import { words } from "../../words";
import { differences, whyWords } from "../../words/why";
import { suggestFlags, suggestPeople } from "../suggest";
import { branches } from "./explanation";
import { whatIf } from "./whatif";

interface ExplanationState {
  data: Signal<Explanation | undefined>;
  fault: Signal<unknown>;
  busy: Signal<boolean>;
  again(): void;
}

export const sentence = (a: Explanation, person: string): string => whyWords.is(a.flag.key, text(a.value), a.person?.name ?? person);

const text = (v: FlagValue) => (v === null ? whyWords.undecided : String(v));

/** Parses text such as "company:acme, team:7" to groups by type. */
function groupsOf(text: string): Record<string, string> {
  const pairs = text.split(",").map((p) => [p.slice(0, p.indexOf(":")).trim(), p.slice(p.indexOf(":") + 1).trim()] as const);
  return Object.fromEntries(pairs.filter(([type, key]) => type && key));
}

/** Returns the question in the URL, or null while the person or the flag is missing. */
export function question(): { flag: string; q: Question } | null {
  const [person, flag] = [param("person"), param("flag")];
  return person && flag ? { flag, q: { distinct_id: person, groups: groupsOf(param("groups")) } } : null;
}

/** Loads the explanation of the question that request returns, and loads again when that changes. */
export function loadExplanation(request: () => { flag: string; q: Question } | null): ExplanationState {
  const reloads = signal(0);
  const out: ExplanationState = { data: signal<Explanation | undefined>(undefined), fault: signal<unknown>(undefined), busy: signal(false), again: () => reloads.update((n) => n + 1) };
  let cancel: AbortController | undefined;
  let before = "";
  const json = computed(() => JSON.stringify(request())); // different URLs can have the same question
  onEnd(() => cancel?.abort());
  effect(() => {
    const current = JSON.parse(json()) as ReturnType<typeof request>;
    reloads();
    untracked(() => {
      cancel?.abort();
      if (before !== json()) out.data.set(undefined); // the old explanation is for another question
      before = json();
      out.fault.set(undefined);
      out.busy.set(current !== null);
      if (!current) return out.data.set(undefined);
      const mine = (cancel = new AbortController());
      explain(current.flag, current.q, mine.signal).then(
        (a) => mine.signal.aborted || (out.data.set(a), out.busy.set(false)),
        (e: unknown) => mine.signal.aborted || (out.data.set(undefined), out.fault.set(e), out.busy.set(false)),
      );
    });
  });
  return out;
}

export default function why(): Child {
  const a = loadExplanation(question);
  return [
    heading(words.why),
    form(a.again),
    when(() => !question(), () => empty(whyWords.ask, `${whyWords.text} ${whyWords.example}`)),
    () => (a.fault() ? problem(words.failed, a.fault(), a.again) : null),
    when(() => a.busy() && !a.data(), () => loadingBars()),
    when(a.data, () => [answer(a), explanation(a), whatIf()]),
  ];
}

function form(again: () => void): HTMLElement {
  const [person, flag] = [signal(param("person")), signal(param("flag"))];
  const groups: HTMLInputElement = h("input", { type: "text", autocomplete: "off", value: param("groups") });
  const ask = () => {
    const before = JSON.stringify(question());
    setParams({ person: person.peek().trim(), flag: flag.peek().trim(), groups: groups.value.trim() });
    if (before === JSON.stringify(question())) again();
  };
  return h(
    "form",
    { class: "filters", "aria-label": words.why, onsubmit: (e: Event) => e.preventDefault() },
    comboboxField({ label: words.person, value: person, options: suggestPeople, change: person.set, free: true }),
    comboboxField({ label: words.flag, value: flag, options: suggestFlags, change: flag.set, free: true }),
    field(groups, { label: whyWords.groups, hint: whyWords.groupsHint }),
    button(words.why, { kind: "primary", run: ask }),
  );
}

function answer(a: ExplanationState): HTMLElement {
  const row = (source: string, cells: () => Child[]) => h("tr", null, h("th", { scope: "row" }, source), () => cells().map((c) => h("td", null, c)));
  const d = () => a.data()!;
  const last = () => d()?.assigned;
  return h(
    "section",
    { class: "card", "aria-label": whyWords.answer, "aria-busy": a.busy },
    h("h2", null, h("bdi", null, () => (d() ? sentence(d(), param("person")) : ""))),
    when(() => d() && !d().person, () => h("p", null, whyWords.unknownPerson)),
    when(() => d() && !d().flag.active, () => h("p", null, whyWords.off)),
    h("p", { class: "gap" }, h("bdi", null, () => d()?.decided)),
    scroller(
      whyWords.sources,
      h(
        "table",
        { "aria-label": whyWords.sources },
        h("thead", null, h("tr", null, [whyWords.source, words.value, words.when, words.versionHead].map((t) => h("th", { scope: "col" }, t)))),
        h("tbody", null, row(whyWords.simulated, () => (d() ? [text(d().value), words.now.toLowerCase(), d().flag.version] : [])), row(whyWords.assigned, () => (last() ? [text(last()!.value), time(last()!.at), last()!.version ?? words.dash] : [words.never, words.dash, words.dash]))),
      ),
    ),
    () => (d()?.differs ? h("p", { class: "gap-above" }, whyWords.differ(differences[d().differs!] ?? d().differs!)) : null),
  );
}

function explanation(a: ExplanationState): HTMLElement {
  const made = () => (a.data() ? branches(a.data()!) : []);
  let root: HTMLElement | undefined;
  const copy = async () => (await copyText(a.data.peek()!.text), announce(words.copied));
  return h(
    "section",
    { class: "card" },
    h("div", { class: "between gap" }, h("h2", null, whyWords.explanation), h("div", { class: "actions" }, button(words.expandAll, { run: () => root && expandAll(root) }), button(whyWords.copyText, { run: copy }))),
    () => (made().length ? (root = tree(whyWords.explanation, made())) : h("p", { class: "meta" }, whyWords.noRules)),
  );
}
