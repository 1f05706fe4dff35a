// The plan of an experiment: the smallest effect that matters, and how many people it needs.
import { computed, effect, h, onEnd, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { field, inItsLanguage } from "../../ui/parts";
import { ApiError, send } from "../../api/client";
import { planTypes } from "../../api/metrics";
import { projectPath } from "../../session";
import { setupWords } from "../../words/experimentsetup";
import type { ExperimentDraft, Faults } from "./draft";

interface RunningTime {
  recommended_sample_size: number | null;
  recommended_running_time_days: number | null;
}

const pause = 300; // milliseconds between the last key and the request

export function planFields(draft: Signal<ExperimentDraft>, faults: () => Faults, locked: () => boolean): Child {
  const put = (change: Partial<ExperimentDraft>) => draft.update((d) => ({ ...d, ...change }));
  const [baseline, variance, perDay] = [signal(""), signal(""), signal("")];
  const fault = signal<string | undefined>(undefined);
  const type = computed(() => planTypes[draft().primary[0]?.kind ?? "other"]);
  const needsVariance = () => type() === "ratio" || type() === "retention";
  const asked = computed(() => {
    const n = draft().variants.length;
    if (!type() || !(Number(draft().effect) > 0) || baseline() === "" || (needsVariance() && variance() === "")) return "";
    const body = {
      metric_type: type(), minimum_detectable_effect: Number(draft().effect), number_of_variants: n, exposure_rate_per_day: perDay() === "" ? null : Number(perDay()),
      baseline_value: type() === "funnel" ? Number(baseline()) / 100 : Number(baseline()), ...(needsVariance() ? { variance: Number(variance()) } : {}),
    };
    return JSON.stringify(body);
  });
  let timer = 0;
  let cancel = new AbortController();
  onEnd(() => (clearTimeout(timer), cancel.abort()));
  effect(() => {
    const body = asked();
    clearTimeout(timer);
    cancel.abort();
    if (!body) untracked(() => fault.set(undefined));
    if (body) timer = setTimeout(() => void calculate(body), pause);
  });
  const calculate = async (body: string) => {
    cancel = new AbortController();
    try {
      const r = await send<RunningTime>("POST", projectPath("experiments/calculate_running_time/"), JSON.parse(body) as object, cancel.signal);
      fault.set(r.recommended_sample_size === null ? setupWords.noSize : undefined);
      put({ size: r.recommended_sample_size, days: r.recommended_running_time_days });
    } catch (e) {
      if (!cancel.signal.aborted) fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  const figure = (label: string, value: Signal<string>) => {
    const input: HTMLInputElement = h("input", { type: "number", min: 0, step: "any", class: "share", value, disabled: locked, oninput: () => value.set(input.value) });
    return field(input, { label });
  };
  const mde: HTMLInputElement = h("input", { type: "number", min: 0, step: "any", class: "share", value: () => draft().effect, disabled: locked, oninput: () => put({ effect: mde.value, size: null, days: null }) });
  const isShare = () => type() === "funnel";
  const answer = () => {
    const { size, days } = draft();
    if (fault()) return inItsLanguage(fault()!);
    if (!type()) return setupWords.noMetric;
    if (size === null) return setupWords.needs;
    if (!asked()) return setupWords.stored(size, days);
    return days === null ? setupWords.size(size) : setupWords.sizeAndDays(size, days);
  };
  return [
    h(
      "div",
      { class: "fields" },
      field(mde, { label: setupWords.effect, fault: () => faults().effect }),
      when(isShare, () => figure(setupWords.baselineShare, baseline)),
      when(() => !isShare(), () => figure(setupWords.baseline, baseline)),
      when(needsVariance, () => figure(setupWords.variance, variance)),
      figure(setupWords.perDay, perDay),
    ),
    h("p", { role: "status", "aria-label": setupWords.plan, class: "meta" }, answer),
  ];
}
