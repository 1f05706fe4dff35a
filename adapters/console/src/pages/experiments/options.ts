// The fields of an experiment for statistics, exposure and holdout.
import { h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField } from "../../ui/combobox";
import { faultAlert, field, select } from "../../ui/parts";
import { resource } from "../../api/cache";
import { eventNames } from "../../api/events";
import type { Holdout } from "../../api/experiments";
import { href } from "../../router";
import { project, projectPath } from "../../session";
import { setupWords } from "../../words/experimentsetup";
import { metricWords } from "../../words/metrics";
import type { ExperimentDraft, Faults } from "./draft";

type Put = (change: Partial<ExperimentDraft>) => void;
type Choice = "method" | "level" | "difference" | "correction" | "handling";
type Check = "sequential" | "cuped" | "matured" | "testAccounts";

/** Returns the known options, and the current value if it is not one of them. */
const choices = (known: Record<string, string>, now: string, absent?: string) => [...(absent ? [["", absent] as const] : []), ...Object.entries(known), ...(now === "" || now in known ? [] : [[now, now] as const])];

const choose = (draft: Signal<ExperimentDraft>, put: Put, locked: () => boolean) => (label: string, member: Choice, known: Record<string, string>, absent?: string) =>
  field(select(() => draft()[member], () => choices(known, draft()[member], absent), (v) => put({ [member]: v }), { disabled: locked }), { label });

const tick = (draft: Signal<ExperimentDraft>, put: Put, locked: () => boolean) => (label: string, member: Check) => {
  const box: HTMLInputElement = h("input", { type: "checkbox", checked: () => draft()[member], disabled: locked, onchange: () => put({ [member]: box.checked }) });
  return h("label", { class: "check" }, box, label);
};

export function statisticsFields(draft: Signal<ExperimentDraft>, put: Put, locked: () => boolean): Child {
  const [choice, check] = [choose(draft, put, locked), tick(draft, put, locked)];
  const frequentist = () => draft().method === "frequentist";
  return [
    h("div", { class: "fields" }, choice(setupWords.method, "method", setupWords.methods, setupWords.methodDefault), choice(setupWords.level, "level", setupWords.levels, setupWords.levelDefault), choice(setupWords.difference, "difference", setupWords.differences), when(frequentist, () => choice(setupWords.several, "correction", setupWords.corrections))),
    when(frequentist, () => check(setupWords.sequential, "sequential")),
    check(setupWords.cuped, "cuped"),
    check(setupWords.matured, "matured"),
  ];
}

export function exposureFields(draft: Signal<ExperimentDraft>, faults: () => Faults, put: Put, locked: () => boolean): Child {
  const [choice, check] = [choose(draft, put, locked), tick(draft, put, locked)];
  const own = () => draft().exposureEvent !== null;
  return [
    h(
      "div",
      { class: "fields" },
      field(select(() => (own() ? "event" : "flag"), () => Object.entries(setupWords.exposedBy), (v) => put({ exposureEvent: v === "event" ? "" : null }), { disabled: locked }), { label: setupWords.exposed }),
      when(own, () => comboboxField({ label: setupWords.exposureEvent, value: () => draft().exposureEvent ?? "", options: eventNames, change: (exposureEvent) => put({ exposureEvent }), free: true, disabled: locked })),
      choice(setupWords.severalVariants, "handling", setupWords.handlings),
    ),
    when(own, () => h("p", { class: "hint" }, () => setupWords.exposureEventHint(draft().flag.trim()))),
    faultAlert(() => faults().exposureEvent, "fault"),
    check(setupWords.testAccounts, "testAccounts"),
  ];
}

export function holdoutField(draft: Signal<ExperimentDraft>, put: Put, locked: () => boolean, fixed: () => boolean): Child {
  const list = resource<{ results: Holdout[] }>(() => ({ path: projectPath("experiment_holdouts/"), query: { limit: 100 } }));
  const known = () => (list.data()?.results ?? []).map((x) => [String(x.id), setupWords.holdoutShare(x.name, x.filters[0]?.rollout_percentage ?? 0)] as const);
  const options = () => [["", setupWords.noHoldout] as const, ...known(), ...(draft().holdout && !known().some(([id]) => id === draft().holdout) ? [[draft().holdout, `#${draft().holdout}`] as const] : [])];
  return [
    h("div", { class: "fields" }, field(select(() => draft().holdout, options, (holdout) => put({ holdout }), { disabled: () => locked() || fixed() }), { label: setupWords.holdout }), h("a", { href: () => href(`p/${project()}/experiments/holdouts`) }, metricWords.holdouts)),
    when(fixed, () => h("p", { class: "hint" }, setupWords.holdoutFixed)),
  ];
}
