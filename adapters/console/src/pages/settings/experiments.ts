// The region of the project settings with the defaults of experiments.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, faultAlert, field, select } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { project } from "../../session";
import { words } from "../../words";
import { setupWords } from "../../words/experimentsetup";

export interface ExperimentsConfig {
  default_experiment_stats_method: string | null;
  default_experiment_confidence_level: number | null;
  default_only_count_matured_users: boolean | null;
  default_cuped_enabled: boolean | null;
  default_sequential_testing_enabled: boolean | null;
  default_minimum_detectable_effect: number | null;
}

export function experimentDefaults(c: ExperimentsConfig): Child {
  const fault = signal("");
  const method = signal(c.default_experiment_stats_method ?? "");
  const level = signal(c.default_experiment_confidence_level === null ? "" : String(c.default_experiment_confidence_level));
  const effect = h("input", { type: "number", min: 0, step: "any", class: "share", value: c.default_minimum_detectable_effect === null ? "" : String(c.default_minimum_detectable_effect) });
  const check = (label: string, on: boolean | null) => {
    const box = h("input", { type: "checkbox", checked: on === true });
    return { box, row: h("label", { class: "check" }, box, label) };
  };
  const sequential = check(setupWords.sequential, c.default_sequential_testing_enabled);
  const cuped = check(setupWords.cuped, c.default_cuped_enabled);
  const matured = check(setupWords.matured, c.default_only_count_matured_users);
  const save = async () => {
    const config: ExperimentsConfig = {
      default_experiment_stats_method: method.peek() || null,
      default_experiment_confidence_level: level.peek() === "" ? null : Number(level.peek()),
      default_only_count_matured_users: matured.box.checked,
      default_cuped_enabled: cuped.box.checked,
      default_sequential_testing_enabled: sequential.box.checked,
      default_minimum_detectable_effect: effect.value === "" ? null : Number(effect.value),
    };
    fault.set("");
    try {
      await send("PATCH", `projects/${project.peek()}/`, { experiments_config: config });
      invalidate(`projects/${project.peek()}/`);
      announce(words.saved);
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  return h(
    "section",
    { class: "card", "aria-label": words.experiments },
    h("h2", { class: "gap" }, words.experiments),
    h("p", { class: "meta gap" }, setupWords.defaultsText),
    h(
      "div",
      { class: "stack" },
      field(select(method, () => [["", setupWords.organizationDefault], ...Object.entries(setupWords.methods)], method.set), { label: setupWords.method }),
      field(select(level, () => [["", setupWords.noDefault], ...Object.entries(setupWords.levels)], level.set), { label: setupWords.level }),
      field(effect, { label: setupWords.effect }),
      sequential.row,
      cuped.row,
      matured.row,
    ),
    faultAlert(fault),
    h("div", { class: "choices gap-above" }, button(setupWords.saveDefaults, { kind: "primary", scope: "project:read", run: save })),
  );
}
