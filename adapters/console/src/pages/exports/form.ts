// The form of an export: data, interval and destination, and the test of the destination.
import { each, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { button, field, inItsLanguage, markEnglish, select } from "../../ui/parts";
import { ApiError, get, send } from "../../api/client";
import { writesFiles, compressions, exportsPath, secrets, settingsOf, type ExportDraft } from "../../api/exports";
import { exportWords } from "../../words/exports";

export interface ExportForm {
  draft: Signal<ExportDraft>;
  fault: () => string | undefined;
  locked: () => boolean;
  isNew: boolean;
}

export function exportForm(f: ExportForm): Child {
  const { draft, locked } = f;
  const put = (change: Partial<ExportDraft>) => draft.update((d) => ({ ...d, ...change }));
  const choice = (label: string, member: "model" | "interval" | "type", options: Record<string, string>, hint?: string) =>
    field(select(() => draft()[member], () => Object.entries(options), (v) => put({ [member]: v }), { disabled: () => locked() || (member === "type" && !f.isNew) }), { label, ...(hint ? { hint } : {}) });
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 1000, disabled: locked, "data-first-focus": f.isNew ? "" : null, value: () => draft().name, oninput: () => put({ name: name.value }) });
  return [
    field(name, { label: exportWords.name, fault: f.fault }),
    h("div", { class: "fields" }, choice(exportWords.data, "model", exportWords.models), choice(exportWords.every, "interval", exportWords.intervals)),
    choice(exportWords.destination, "type", exportWords.types, f.isNew ? undefined : exportWords.destinationStays),
    each(() => settingsOf[draft().type] ?? [], (n) => n, (n) => setting(n.peek(), f)),
    when(() => writesFiles(draft().type), () => fileFields(f)),
  ];
}

function setting(name: string, f: ExportForm): HTMLElement {
  const secret = secrets.has(name);
  const set = () => f.draft.update((d) => ({ ...d, config: { ...d.config, [name]: input.value } }));
  const input: HTMLInputElement = h("input", { type: secret ? "password" : "text", autocomplete: "off", inputmode: name === "port" ? "numeric" : null, disabled: f.locked, value: () => f.draft().config[name] ?? "", oninput: set });
  const hint = secret && !f.isNew ? exportWords.secretStays : exportWords.hints[name];
  return field(input, { label: exportWords.settings[name]!, ...(hint ? { hint } : {}) });
}

function fileFields(f: ExportForm): HTMLElement {
  const value = (n: string) => f.draft().config[n] ?? "";
  const format = () => value("file_format") || "JSONLines";
  const put = (change: Record<string, string>) => f.draft.update((d) => ({ ...d, config: { ...d.config, ...change } }));
  return h(
    "div",
    { class: "fields" },
    field(select(format, () => Object.entries(exportWords.formats), (v) => put({ file_format: v, compression: "" }), { disabled: f.locked }), { label: exportWords.format }),
    field(select(() => value("compression"), () => [["", exportWords.noCompression], ...(compressions[format()] ?? []).map((c) => [c, c] as const)], (compression) => put({ compression }), { disabled: f.locked }), { label: exportWords.compression }),
  );
}

interface Step {
  name: string;
  result: { status: string; message: string | null } | null;
}

/** Returns the button that tests a destination. The steps run in order, up to the first that fails. */
export function destinationTest(type: () => string, body: () => Record<string, unknown>, path: () => string): Child {
  const steps = signal<(() => Child)[]>([]);
  const test = async () => {
    steps.set([]);
    const all = await get<{ steps: Step[] }>(exportsPath() + "test/", { destination: type() });
    for (let step = 0; step < all.steps.length; step++) {
      const name = all.steps[step]!.name;
      const { result } = await send<Step>("POST", path(), { ...body(), step }).catch((e: unknown) => ({ result: { status: "Failed", message: e instanceof ApiError ? e.detail : String(e) } }));
      const ok = result?.status === "Passed";
      const message = result?.message ?? "";
      const said = ok ? exportWords.passed(name) : exportWords.failed(name, message);
      steps.update((list) => [...list, () => markEnglish(said, [name, message])]);
      if (!ok) return;
    }
  };
  return [
    h("div", null, button(exportWords.test, { scope: "batch_export:write", run: () => test().catch((e: unknown) => steps.set([() => inItsLanguage((e as Error).message)])) })),
    when(() => steps().length > 0, () => h("ul", { "aria-label": exportWords.testSteps, class: "rows" }, () => steps().map((text) => h("li", null, h("span", null, text))))),
  ];
}
