// The dialog New guarded rollout: steps of equal length and one guardrail.
import { h, signal } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { button, field, select } from "../../ui/parts";
import { ApiError, send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { projectPath } from "../../session";
import { rolloutWords } from "../../words/rollouts";

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
  const goal = signal("decrease");
  const faults = { steps: signal<string | undefined>(undefined), event: signal<string | undefined>(undefined), other: signal("") };
  const steps: HTMLInputElement = h("input", { type: "text", autocomplete: "off", value: "5, 25, 50, 100" });
  const event: HTMLInputElement = h("input", { type: "text", autocomplete: "off", maxlength: 200, value: "$exception" });
  const made = await dialog<boolean>({ title: rolloutWords.make }, (d) => {
    const run = async () => {
      const percents = parsePercents(steps.value);
      faults.steps.set(percents ? undefined : rolloutWords.stepsWanted);
      faults.event.set(event.value.trim() ? undefined : rolloutWords.eventWanted);
      if (!percents) return steps.focus();
      if (faults.event.peek()) return event.focus();
      const seconds = Number(dwell.peek());
      try {
        await send("POST", projectPath("guarded_rollouts/"), {
          feature_flag: flag.id,
          ...(variants.length ? { treatment_variant: treatment.peek(), control_variant: control.peek() } : {}),
          steps: percents.map((percent) => ({ percent, dwell_seconds: seconds })),
          guardrails: [{
            name: event.value.trim(), goal: goal.peek(),
            metric: {
              kind: "ExperimentMetric", metric_type: "mean", source: { kind: "EventsNode", event: event.value.trim(), math: "total" },
              conversion_window: Math.min(3600, Math.floor(seconds / 2), seconds - settle), conversion_window_unit: "second",
            },
          }],
        });
        d.close(true);
      } catch (e) {
        faults.other.set(e instanceof ApiError ? e.detail : String(e));
      }
    };
    const options = (list: readonly string[]) => () => list.map((v) => [v, v] as const);
    return {
      content: [
        () => (faults.other() ? h("p", { class: "problem", role: "alert" }, faults.other()) : null),
        variants.length > 0
          ? h("div", { class: "pair" }, field(select(treatment, options(variants), (v) => treatment.set(v)), { label: rolloutWords.treatment }), field(select(control, options(variants), (v) => control.set(v)), { label: rolloutWords.control }))
          : null,
        field(steps, { label: rolloutWords.steps, hint: rolloutWords.stepsHint, fault: faults.steps }),
        field(select(dwell, () => Object.entries(rolloutWords.dwells), (v) => dwell.set(v)), { label: rolloutWords.dwell }),
        field(event, { label: rolloutWords.event, hint: rolloutWords.eventHint, fault: faults.event }),
        field(select(goal, () => Object.entries(rolloutWords.goals), (v) => goal.set(v)), { label: rolloutWords.goal }),
      ],
      buttons: button(rolloutWords.make, { kind: "primary", run }),
    };
  });
  return made === true;
}
