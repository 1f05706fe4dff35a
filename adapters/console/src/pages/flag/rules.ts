// The form of a flag: kind, conditions, variants, payloads, and the effect of saving.
import { computed, each, h, untracked, when, type Signal } from "../../ui/dom";
import { icon } from "../../ui/icons";
import { effectBody, effectRegion } from "../../ui/effect";
import { button, field, select } from "../../ui/parts";
import { resource } from "../../api/cache";
import { bodyOf, canonicalJSON, changedMembers, hasVariants, newVariant, type Draft, type Kind, type VariantDraft } from "../../api/draft";
import type { Flag } from "../../api/flags";
import { projectPath } from "../../session";
import { words } from "../../words";
import { conditionList } from "./conditions";
import { serverCheck, faultsIn, otherFaults, type FaultsByPlace } from "./faults";
import { more } from "./more";
import { usedBy } from "./usedby";

export interface Form {
  draft: Signal<Draft>;
  /** Faults by member, which are shown after an attempt to save. */
  faults: Signal<Record<string, string>>;
  locked: () => boolean;
  /** Returns the flag that is edited, or undefined for a new one. */
  flag: () => Flag | undefined;
}

/** Returns why a payload is not valid JSON, or "" if it is valid or empty. */
export function jsonFault(text: string): string {
  if (!text.trim()) return "";
  try {
    JSON.parse(text);
    return "";
  } catch (e) {
    return words.noJSON((e as Error).message);
  }
}

/** The places of faults that do not concern the values of people. */
const texts = /^(key|name|tags)$/;

export const shareSum = (d: Draft) => Math.round(d.variants.reduce((sum, v) => sum + (Number(v.share) || 0), 0) * 1e6) / 1e6;

/** Returns the faults that can be found without the server. */
export function check(d: Draft): Record<string, string> {
  const out: Record<string, string> = {};
  if (!/^[\w-]+$/.test(d.key.trim())) out.key = words.keyWanted;
  if (hasVariants(d) && shareSum(d) !== 100) out.variants = words.sharesWrong(shareSum(d));
  const bad = hasVariants(d) ? d.variants.map((v) => jsonFault(v.payload)).find(Boolean) : jsonFault(d.payload);
  if (bad) out.payload = bad;
  return out;
}

export function rules(form: Form): HTMLElement {
  const { draft, faults, locked } = form;
  const { places, isCurrent } = serverCheck(savedBody(form));
  const isFaulty = computed(() => Object.keys(places()).some((p) => !texts.test(p)));
  const changed = changedBody(form);
  const faultOf = (name: string) => ({ fault: () => faults()[name] ?? (name !== "key" || draft().key.trim() ? faultsIn(places(), name)[0] : undefined) });
  const put = (change: Partial<Draft>) => draft.update((d) => ({ ...d, ...change }));
  const text = (name: "key" | "name" | "tags", props: Record<string, string | boolean> = {}) => {
    const el: HTMLInputElement = h("input", { type: "text", value: () => draft()[name], disabled: locked, autocomplete: "off", oninput: () => put({ [name]: el.value }), ...props });
    return el;
  };
  const groups = resource<{ group_type: string; group_type_index: number }[]>(() => ({ path: projectPath("groups_types/") }));
  const isNew = !form.flag();
  return h(
    "div",
    { class: "editor" },
    h(
      "div",
      { class: "form" },
      field(text("key", { spellcheck: "false", class: "code", ...(isNew ? { "data-first-focus": "" } : {}) }), { label: words.key, ...faultOf("key") }),
      field(text("name"), { label: words.description, ...faultOf("name") }),
      isNew ? h("label", { class: "check" }, h("input", { type: "checkbox", role: "switch", "aria-label": words.enabledPlain, checked: () => draft().active, onchange: (e: Event) => put({ active: (e.target as HTMLInputElement).checked }) }), words.enabledPlain) : null,
      kinds(draft, put, locked),
      field(select(() => draft().about, () => [["", words.people], ...(groups.data() ?? []).map((g) => [String(g.group_type_index), g.group_type] as const)], (v) => put({ about: v }), { disabled: locked }), { label: words.about }),
      when(() => hasVariants(draft()), () => variants(form, put, places)),
      conditionList(draft, put, locked, places),
      when(() => !hasVariants(draft()), () => payload(form, put, places)),
      field(text("tags"), { label: words.tags, hint: words.tagsHint, ...faultOf("tags") }),
      more(draft, put, locked, places),
      () => otherFaults(places()),
    ),
    h("aside", { class: "side", "aria-label": words.effect }, effectRegion(form.flag()?.id ?? 0, () => (isFaulty() ? null : changed()), { isReady: isCurrent, hint: () => (isFaulty() ? words.effectFaulty : words.effectWaits) }), () => (form.flag() ? untracked(() => usedBy(form.flag()!)) : null)),
  );
}

/** Returns a function that returns the body to save, or null while nothing has changed. */
function savedBody(form: Form): () => object | null {
  const clean = JSON.stringify(bodyOf(form.draft.peek()));
  const text = computed(() => {
    const f = form.flag();
    const body = bodyOf(form.draft(), f?.filters);
    if (!f) return JSON.stringify(body) === clean ? "" : JSON.stringify(body);
    const patch = changedMembers(f, { ...body, active: f.active });
    return Object.keys(patch).length ? JSON.stringify({ id: f.id, ...patch }) : "";
  });
  return () => (text() ? (JSON.parse(text()) as object) : null);
}

/** Returns a function that returns the body of the request for the effect (N6), or null while no value can change. */
function changedBody(form: Form): () => object | null {
  const text = computed(() => {
    const f = form.flag();
    const b = bodyOf(form.draft(), f?.filters);
    const active = f ? f.active : b.active;
    const body = effectBody({ ...b, active: active ?? true });
    if (f && canonicalJSON(body) === canonicalJSON(effectBody(f))) return "";
    return JSON.stringify({ key: b.key, ...body });
  });
  return () => (text() ? (JSON.parse(text()) as object) : null);
}

function kinds(draft: Signal<Draft>, put: (c: Partial<Draft>) => void, locked: () => boolean): HTMLElement {
  const choose = (kind: Kind) => {
    const d = draft.peek();
    put({ kind, ...(kind === "variants" && !d.variants.length ? { variants: [newVariant("control", "50"), newVariant("test", "50")] } : {}) });
  };
  const one = (kind: Kind, label: string) => h("label", { class: "check" }, h("input", { type: "radio", name: "kind", checked: () => draft().kind === kind, disabled: locked, onchange: () => choose(kind) }), label);
  return h("div", { role: "radiogroup", "aria-label": words.kind, class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, words.kind), h("div", { class: "choices" }, one("boolean", words.onOrOff), one("variants", words.variants), one("config", words.remoteConfig)));
}

function variants(form: Form, put: (c: Partial<Draft>) => void, places: () => FaultsByPlace): HTMLElement {
  const { draft, locked } = form;
  const list = () => draft.peek().variants;
  const change = (id: number, c: Partial<VariantDraft>) => put({ variants: list().map((v) => (v.id === id ? { ...v, ...c } : v)) });
  const equal = () => {
    const n = list().length;
    const each100 = Math.floor(10_000 / n) / 100;
    put({ variants: list().map((v, i) => ({ ...v, share: String(i ? each100 : Math.round((100 - each100 * (n - 1)) * 100) / 100) })) });
  };
  const row = (v: Signal<VariantDraft>) => {
    const id = v.peek().id;
    const n = () => draft().variants.findIndex((x) => x.id === id);
    const fault = (member: string) => ({ fault: () => faultsIn(places(), `filters.multivariate.variants.${n()}.${member}`)[0] });
    const key: HTMLInputElement = h("input", { type: "text", class: "code", value: () => v().key, disabled: locked, oninput: () => change(id, { key: key.value }) });
    const share: HTMLInputElement = h("input", { type: "number", min: 0, max: 100, step: "any", class: "share", value: () => v().share, disabled: locked, oninput: () => change(id, { share: share.value }) });
    const text: HTMLInputElement = h("input", { type: "text", class: "code", value: () => v().payload, disabled: locked, oninput: () => change(id, { payload: text.value }) });
    return h(
      "div",
      { role: "group", class: "variant", "aria-label": () => words.variantN(n() + 1) },
      field(key, { label: words.variantKey, ...fault("key") }),
      field(share, { label: words.share, ...fault("rollout_percentage") }),
      field(text, { label: words.payload, fault: () => jsonFault(v().payload) || faultsIn(places(), `filters.payloads.${v().key.trim()}`)[0] }),
      h("button", { type: "button", class: "button quiet icon-only", "aria-label": words.removeVariant, title: words.removeVariant, disabled: locked, onclick: () => put({ variants: list().filter((x) => x.id !== id) }) }, icon("close")),
    );
  };
  return h(
    "section",
    { class: "field" },
    h("h2", null, words.variants),
    h("div", { class: "variants" }, each(() => draft().variants, (v) => v.id, row)),
    h("p", { class: () => (shareSum(draft()) === 100 ? "hint" : "fault") }, () => (shareSum(draft()) === 100 ? words.shares(100) : words.sharesWrong(shareSum(draft())))),
    h("div", { class: "choices" }, button(words.addVariant, { kind: "small", disabled: locked, run: () => put({ variants: [...list(), newVariant(`variant-${list().length + 1}`, "0")] }) }), button(words.shareEqually, { kind: "small", disabled: locked, run: equal })),
  );
}

function payload(form: Form, put: (c: Partial<Draft>) => void, places: () => FaultsByPlace): HTMLElement {
  const el: HTMLTextAreaElement = h("textarea", { rows: 3, class: "code", spellcheck: "false", value: () => form.draft().payload, disabled: form.locked, oninput: () => put({ payload: el.value }) });
  const fault = computed(() => jsonFault(form.draft().payload));
  return field(el, { label: words.payload, hint: () => (form.draft().payload.trim() && !fault() ? words.validJSON : ""), fault: () => fault() || faultsIn(places(), "filters.payloads")[0] });
}
