// The form of a metric that experiments share, new or stored.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { deleteDraft, loadDraft, saveDraft } from "../../ui/drafts";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { button, faultAlert, field, heading, problem, showResource } from "../../ui/parts";
import { invalidate, resource } from "../../api/cache";
import { send } from "../../api/client";
import { canonicalJSON } from "../../api/draft";
import type { SharedMetric } from "../../api/experiments";
import { metricDraft, metricOf, newMetric, type MetricDraft } from "../../api/metrics";
import { go, guard } from "../../router";
import type { Params } from "../../routes";
import { hasScope, project, projectPath } from "../../session";
import { words } from "../../words";
import { metricWords } from "../../words/metrics";
import { showRefusal } from "../flags/actions";
import { metricFault, metricForm } from "./metricform";

const scope = "experiment_saved_metric:write";

interface Draft {
  name: string;
  description: string;
  metric: MetricDraft;
}

const draftOf = (m: SharedMetric | null): Draft => ({ name: m?.name ?? "", description: m?.description ?? "", metric: m ? metricDraft(m.query) : newMetric() });

export default function sharedPage(params: Params): Child {
  if (!params.id) return form(null);
  const got = resource<SharedMetric>(() => ({ path: projectPath(`experiment_saved_metrics/${params.id}/`) }));
  return [when(() => !got.data(), () => heading("…")), showResource(got, () => form(got.data.peek()!))];
}

function form(was: SharedMetric | null): Child {
  const record = `metric:${was?.id ?? "new"}`;
  const at = `p/${project.peek()}/experiments/metrics`;
  const first = draftOf(was);
  const restored = loadDraft<Draft>(record);
  const draft: Signal<Draft> = signal(restored ?? first);
  const faults = signal<{ name?: string; metric?: string }>({});
  const other = signal<unknown>(undefined);
  const dirty = () => canonicalJSON(draft()) !== canonicalJSON(first);
  const locked = () => !hasScope(scope);
  saveDraft(record, draft, dirty);
  confirmBeforeLeave(dirty);
  if (restored) announce(words.draftRestored);
  const put = (change: Partial<Draft>) => draft.update((d) => ({ ...d, ...change }));
  const save = async () => {
    const d = draft.peek();
    const metric = metricFault(d.metric);
    other.set(undefined);
    faults.set({ ...(d.name.trim() ? {} : { name: metricWords.sharedNameWanted }), ...(metric ? { metric } : {}) });
    if (Object.keys(faults.peek()).length) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const body = { name: d.name.trim(), description: d.description, query: { ...metricOf(d.metric), name: d.name.trim() } };
      await (was ? send("PATCH", projectPath(`experiment_saved_metrics/${was.id}/`), body) : send("POST", projectPath("experiment_saved_metrics/"), body));
      ["experiment_saved_metrics", "experiments"].forEach(invalidate);
      deleteDraft(record);
      guard.leave = null;
      await go(at);
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  const remove = async () => {
    if (!(await confirm(words.deleteAsk(was!.name), metricWords.deleteSharedText, words.delete))) return;
    await send("DELETE", projectPath(`experiment_saved_metrics/${was!.id}/`));
    ["experiment_saved_metrics", "experiments"].forEach(invalidate);
    deleteDraft(record);
    guard.leave = null;
    await go(at);
    announce(words.deleted(was!.name));
  };
  onSaveKey(save);
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: () => draft().name, disabled: locked, "data-first-focus": was ? null : "", oninput: () => put({ name: name.value }) });
  const description: HTMLInputElement = h("input", { type: "text", maxlength: 3000, value: () => draft().description, disabled: locked, oninput: () => put({ description: description.value }) });
  return [
    heading(was ? was.name : metricWords.newShared, was ? button(words.delete, { kind: "danger", scope, run: () => remove().catch(showRefusal) }) : null),
    () => (other() ? problem(words.notDone, other()) : null),
    h(
      "div",
      { class: "stack form-narrow" },
      field(name, { label: metricWords.sharedName, fault: () => faults().name }),
      field(description, { label: metricWords.description }),
      metricForm({ metric: () => draft().metric, change: (c) => put({ metric: { ...draft.peek().metric, ...c } }), locked, unnamed: true }),
      faultAlert(() => faults().metric, "fault"),
    ),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope, run: save })),
  ];
}
