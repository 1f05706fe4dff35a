// The people whose value a change affects (console.md N6): a sentence, the transitions and the people.
import { effect, h, onEnd, signal, type Child } from "./dom";
import { ApiError, send } from "../api/client";
import type { Flag } from "../api/flags";
import { projectPath } from "../session";
import { inItsLanguage } from "./parts";
import { words } from "../words";

interface EffectResponse {
  transitions: { from: string; to: string; count: number }[];
  changed: number;
  of: number;
  exact: boolean;
  sample: number | null;
  results: { person: { uuid: string; name: string }; before: string; after: string; reason: string }[];
}

/** Returns the body of the request for the effect of a flag's new state. */
export const effectBody = (f: Pick<Flag, "filters" | "active"> & Partial<Flag>): object => ({
  filters: f.filters,
  active: f.active,
  ...(f.bucketing_hash === undefined ? {} : { bucketing_hash: f.bucketing_hash }),
  ...(f.bucketing_identifier === undefined ? {} : { bucketing_identifier: f.bucketing_identifier }),
});

export function effectSentence(a: Pick<EffectResponse, "changed" | "of" | "exact" | "sample">): string {
  if (!a.changed) return words.nobodyChanges;
  return a.exact || !a.sample ? words.changesOf(a.changed, a.of) : words.aboutChangesOf(a.changed, a.of, a.sample);
}

interface EffectOptions {
  /** Reports whether the body may be sent. Until then the last effect stays. */
  isReady?: () => boolean;
  /** Returns the text while there is no effect. */
  hint?: () => string;
}

/** Returns the region Effect for a change to a flag. While body returns null, nothing is requested. */
export function effectRegion(flag: number, body: () => object | null, { isReady = () => true, hint = () => words.effectWaits }: EffectOptions = {}): HTMLElement {
  const got = signal<EffectResponse | null>(null);
  const fault = signal("");
  const people = signal(false);
  const busy = signal(false);
  let cancel: AbortController | undefined;
  onEnd(() => cancel?.abort());
  effect(() => {
    const b = body();
    const ready = isReady();
    cancel?.abort();
    if (!b) return got.set(null), fault.set(""), busy.set(false);
    busy.set(true);
    if (!ready) return;
    const mine = (cancel = new AbortController());
    queueMicrotask(() => { // one request for several changes at once
      if (mine.signal.aborted) return;
      send<EffectResponse>("POST", projectPath(`feature_flags/${flag}/who/`), { ...b, changed: true, limit: 50 }, mine.signal).then(
        (a) => (got.set(a), fault.set(""), busy.set(false)),
        (e: unknown) => mine.signal.aborted || (got.set(null), busy.set(false), fault.set(e instanceof ApiError && e.status !== 404 ? e.detail : words.effectUnknown)),
      );
    });
  });
  return h(
    "section",
    { class: "effect", "aria-label": words.effect, "aria-busy": busy },
    h("h3", null, words.effect),
    () => (got() ? summary(got()!, people) : h("p", { class: "meta" }, () => (fault() ? inItsLanguage(fault()) : hint()))),
  );
}

function summary(a: EffectResponse, people: ReturnType<typeof signal<boolean>>): Child {
  return [
    h("p", null, effectSentence(a)),
    a.transitions.filter((t) => t.from !== t.to).map((t) => h("p", { class: "meta number" }, `${t.from} → ${t.to}  ${t.count}`)),
    a.changed ? h("button", { type: "button", class: "button small", "aria-expanded": people, onclick: () => people.update((x) => !x) }, words.showWho) : null,
    () => (people() && a.changed ? list(a) : null),
    h("p", { class: "meta" }, words.storedOnly),
  ];
}

function list(a: EffectResponse): HTMLElement {
  const cell = (text: string) => h("td", null, h("bdi", null, text));
  return h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": words.whoChanges },
    h(
      "table",
      { "aria-label": words.whoChanges },
      h("thead", null, h("tr", null, [words.person, words.now, words.after, words.reason].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", null, a.results.map((r) => h("tr", null, cell(r.person.name), cell(r.before), cell(r.after), cell(r.reason)))),
    ),
  );
}
