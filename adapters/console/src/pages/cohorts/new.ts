// The page New cohort: by a rule, by a pasted list, or by a CSV file.
import { h, signal, when, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, faultAlert, field, heading, problem } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { send } from "../../api/client";
import { emptyRule, sameRule, treeOf, type Cohort, type RuleDraft } from "../../api/cohorts";
import { linesOf, matchLines } from "../../api/people";
import { go, guard } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { cohortWords } from "../../words/cohorts";
import { byFile, byLines, byRule, preview, type PreviewResult } from "./preview";
import { ruleForm } from "./rule";

type Kind = "rule" | "list" | "csv";

const kinds: [Kind, string][] = [
  ["rule", cohortWords.byRule],
  ["list", cohortWords.byList],
  ["csv", cohortWords.byCSV],
];

/** Returns the fault of a rule, which is a missing filter or a filter without a property, or undefined. */
export const ruleFault = (r: RuleDraft) => (r.groups.every((g) => g.filters.length && g.filters.every((f) => f.filter.key || f.filter.type === "cohort")) ? undefined : cohortWords.filterWanted);

interface Draft {
  kind: Kind;
  rule: RuleDraft;
  lines: string;
  name: string;
  about: string;
}

const record = "cohort:new";

export default function newCohort(): Child {
  const restored = loadDraft<Draft>(record);
  const kind = signal<Kind>(restored?.kind ?? "rule");
  const clean = emptyRule();
  const rule = signal(restored?.rule ?? clean);
  const lines = signal(restored?.lines ?? "");
  const texts = signal({ name: restored?.name ?? "", about: restored?.about ?? "" });
  const file = signal<File | undefined>(undefined);
  const faults = signal<Record<string, string | undefined>>({});
  const other = signal<unknown>(undefined);
  const input = (member: "name" | "about", maxLength: number, first: boolean) => {
    const el: HTMLInputElement = h("input", { type: "text", maxlength: maxLength, value: () => texts()[member], "data-first-focus": first ? "" : null, oninput: () => texts.update((t) => ({ ...t, [member]: el.value })) });
    return el;
  };
  const dirty = () => texts().name !== "" || texts().about !== "" || lines() !== "" || file() !== undefined || !sameRule(rule(), clean);
  saveDraft(record, () => ({ kind: kind(), rule: rule(), lines: lines(), ...texts() }), dirty);
  confirmBeforeLeave(dirty);
  if (restored) announce(words.draftRestored);

  const formFaults = (): Record<string, string | undefined> => {
    const n = linesOf(lines.peek()).length;
    const byKind: Record<Kind, () => [string, string | undefined]> = {
      rule: () => ["rule", ruleFault(rule.peek())],
      list: () => ["lines", n ? (n > 1000 ? cohortWords.tooManyLines(n) : undefined) : cohortWords.linesWanted],
      csv: () => ["file", file.peek() ? undefined : cohortWords.fileWanted],
    };
    const [at, fault] = byKind[kind.peek()]();
    return { [at]: fault };
  };
  const isValid = (more: Record<string, string | undefined> = {}) => {
    faults.set({ ...more, ...formFaults() });
    const bad = Object.values(faults.peek()).some(Boolean);
    if (bad) document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    return !bad;
  };
  const loadPreview = async (cancel: AbortSignal): Promise<PreviewResult | undefined> => {
    if (!isValid()) return undefined;
    if (kind.peek() === "rule") return byRule(treeOf(rule.peek()), cancel);
    return kind.peek() === "list" ? byLines(linesOf(lines.peek()), cancel) : byFile(await file.peek()!.text(), cancel);
  };
  const body = async (): Promise<unknown> => {
    const base = { name: texts.peek().name.trim(), description: texts.peek().about.trim() };
    if (kind.peek() === "rule") return { ...base, filters: { properties: treeOf(rule.peek()) } };
    if (kind.peek() === "list") return { ...base, is_static: true, _create_static_person_ids: (await matchLines(linesOf(lines.peek()))).persons };
    const form = new FormData();
    Object.entries({ ...base, is_static: "true" }).forEach(([k, v]) => form.set(k, v));
    form.set("csv", file.peek()!);
    return form;
  };
  const save = async () => {
    other.set(undefined);
    if (!isValid({ name: texts.peek().name.trim() ? undefined : cohortWords.nameWanted })) return;
    try {
      const made = await send<Cohort>("POST", projectPath("cohorts/"), await body());
      invalidate("cohorts");
      deleteDraft(record);
      guard.leave = null;
      await go(`p/${project.peek()}/cohorts/${made.id}`, {}, true);
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  const text: HTMLTextAreaElement = h("textarea", { rows: 8, class: "code", value: lines.peek(), oninput: () => lines.set(text.value) });
  const chosen: HTMLInputElement = h("input", { type: "file", accept: ".csv,text/csv,text/plain", onchange: () => file.set(chosen.files?.[0]) });
  const radio = ([k, label]: [Kind, string]) => h("label", { class: "check" }, h("input", { type: "radio", name: "kind", checked: () => kind() === k, onchange: () => kind.set(k) }), label);
  return [
    heading(cohortWords.newCohort),
    () => (other() ? problem(words.notDone, other()) : null),
    h(
      "div",
      { class: "stack form-narrow" },
      field(input("name", 400, true), { label: cohortWords.name, fault: () => faults().name }),
      field(input("about", 1000, false), { label: words.description }),
      h("div", null, h("span", { class: "label", "aria-hidden": "true" }, cohortWords.kind), h("div", { role: "radiogroup", "aria-label": cohortWords.kind, class: "choices" }, kinds.map(radio))),
      when(() => kind() === "rule", () => [ruleForm(rule, () => false), faultAlert(() => faults().rule, "fault")]),
      when(() => kind() === "list", () => field(text, { label: cohortWords.lines, hint: cohortWords.linesHint, fault: () => faults().lines })),
      when(() => kind() === "csv", () => field(chosen, { label: cohortWords.file, hint: cohortWords.fileHint, fault: () => faults().file })),
      () => (kind(), preview(loadPreview)),
    ),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope: "cohort:write", run: save })),
  ];
}
