// The dialog New guarded rollout: steps of equal length, guardrails and signals, and a webhook.
import { h, signal } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { button, faultAlert, field, select } from "../../ui/parts";
import { ApiError, send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { projectPath } from "../../session";
import { rolloutWords } from "../../words/rollouts";
import { noticeForm } from "./notices";
import { guardFault, guardForms, guardOf, newGuard, type GuardFault } from "./guards";

const settle = 300; // seconds, the server's default

/** Parses a list of percentages. It returns undefined if the text is not valid. */
function parsePercents(text: string): number[] | undefined {
  const list = text.split(/[\s,;]+/).filter(Boolean).map(Number);
  return list.length > 0 && list.every((p) => p > 0 && p <= 100) ? list : undefined;
}

/** Opens the dialog and creates a draft of a rollout. It returns whether one was created. */
export async function newRollout(flag: Flag): Promise<boolean> {
  const variants = (flag.filters.multivariate?.variants ?? []).map((v) => v.key);
  const control = signal(variants.includes("control") ? "control" : (variants[0] ?? ""));
  const treatment = signal(variants.find((v) => v !== control.peek()) ?? "");
  const dwell = signal("86400");
  const notices = noticeForm();
  const guards = signal([newGuard("$exception", "decrease")]);
  const faults = { steps: signal<string | undefined>(undefined), guards: signal<Record<number, GuardFault>>({}), other: signal("") };
  const steps: HTMLInputElement = h("input", { type: "text", autocomplete: "off", value: "5, 25, 50, 100" });
  const made = await dialog<boolean>({ title: rolloutWords.make }, (d) => {
    const run = async () => {
      const percents = parsePercents(steps.value);
      faults.steps.set(percents ? undefined : rolloutWords.stepsWanted);
      faults.guards.set(Object.fromEntries(guards.peek().flatMap((g) => (guardFault(g) ? [[g.id, guardFault(g)!]] : []))));
      if (!percents) return steps.focus();
      if (Object.keys(faults.guards.peek()).length) return document.querySelector<HTMLElement>("dialog[open] [aria-invalid=true]")?.focus();
      const seconds = Number(dwell.peek());
      const window = Math.min(3600, Math.floor(seconds / 2), seconds - settle);
      const those = (signals: boolean) => guards.peek().filter((g) => g.signal === signals).map((g) => guardOf(g, window));
      try {
        await send("POST", projectPath("guarded_rollouts/"), {
          feature_flag: flag.id,
          ...(variants.length ? { treatment_variant: treatment.peek(), control_variant: control.peek() } : {}),
          steps: percents.map((percent) => ({ percent, dwell_seconds: seconds })),
          guardrails: those(false),
          signals: those(true),
          ...(notices.webhook() ? { notify: { webhook: notices.webhook() } } : {}),
        });
        d.close(true);
      } catch (e) {
        if (!notices.place(e)) faults.other.set(e instanceof ApiError ? e.detail : String(e));
      }
    };
    const options = (list: readonly string[]) => () => list.map((v) => [v, v] as const);
    return {
      content: [
        faultAlert(faults.other),
        variants.length > 0
          ? h("div", { class: "pair" }, field(select(treatment, options(variants), (v) => treatment.set(v)), { label: rolloutWords.treatment }), field(select(control, options(variants), (v) => control.set(v)), { label: rolloutWords.control }))
          : null,
        field(steps, { label: rolloutWords.steps, hint: rolloutWords.stepsHint, fault: faults.steps }),
        field(select(dwell, () => Object.entries(rolloutWords.dwells), (v) => dwell.set(v)), { label: rolloutWords.dwell }),
        guardForms(guards, faults.guards),
        notices.fields,
      ],
      buttons: button(rolloutWords.make, { kind: "primary", run }),
    };
  });
  return made === true;
}
