// The part More of the form of a flag: settings that most flags leave as they are.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { resource } from "../../api/cache";
import { isPlain, type Draft } from "../../api/draft";
import { projectPath } from "../../session";
import { words } from "../../words";
import { faultsIn, type FaultsByPlace } from "./faults";

export function more(draft: Signal<Draft>, put: (change: Partial<Draft>) => void, locked: () => boolean, places: () => FaultsByPlace): Child {
  const open = signal(!isPlain(draft.peek()));
  return h(
    "div",
    { class: "more" },
    h("button", { type: "button", class: "disclosure", "aria-expanded": open, onclick: () => open.update((x) => !x) }, () => icon(open() ? "down" : "right"), words.more),
    when(open, () => settings(draft, put, locked, places)),
  );
}

function settings(draft: Signal<Draft>, put: (change: Partial<Draft>) => void, locked: () => boolean, places: () => FaultsByPlace): HTMLElement {
  const about = resource<{ bucketing_hash: string }>(() => ({ path: projectPath("") }));
  const ofProject = () => about.data()?.bucketing_hash ?? "";
  const fault = (name: string) => ({ fault: () => faultsIn(places(), name)[0] });
  const choose = (member: "runtime" | "hash" | "bucket", options: () => readonly (readonly [string, string])[]) => select(() => draft()[member], options, (v) => put({ [member]: v }), { disabled: locked });
  const hashes = () => [["", ofProject() ? words.hashProject(words.hashes[ofProject()] ?? ofProject()) : words.hashes[""]!], ["sha1", words.hashes.sha1!], ["murmur3", words.hashes.murmur3!]] as const;
  const contexts: HTMLInputElement = h("input", { type: "text", autocomplete: "off", value: () => draft().contexts, disabled: locked, oninput: () => put({ contexts: contexts.value }) });
  const mode = () => select(() => (draft().allContexts ? "all" : "any"), () => [["any", words.anyContext], ["all", words.allContexts]], (v) => put({ allContexts: v === "all" }), { disabled: locked });
  const warning = (is: () => boolean, text: string) => when(is, () => h("p", { class: "warning" }, text));
  return h(
    "div",
    { class: "stack" },
    h("div", null, h("label", { class: "check" }, h("input", { type: "checkbox", checked: () => draft().keep, disabled: locked, onchange: (e: Event) => put({ keep: (e.target as HTMLInputElement).checked }) }), words.keepValue), h("p", { class: "hint" }, words.keepValueHint)),
    field(choose("runtime", () => [["all", words.everywhere], ["server", words.server], ["client", words.client]]), { label: words.runsIn, hint: words.runsInHint, ...fault("evaluation_runtime") }),
    h("div", null, field(choose("hash", hashes), { label: words.hash, hint: words.hashHint, ...fault("bucketing_hash") }), warning(() => (draft().hash || ofProject()) === "murmur3", words.hashWarning)),
    h("div", null, field(choose("bucket", () => [["", words.distinctID], ["device_id", words.deviceID]]), { label: words.bucketBy, hint: words.bucketHint, ...fault("bucketing_identifier") }), warning(() => draft().bucket === "device_id", words.bucketWarning)),
    h("div", null, field(contexts, { label: words.contexts, hint: words.contextsHint, ...fault("evaluation_contexts") }), warning(() => draft().contexts.trim() !== "", words.contextsWarning)),
    when(() => draft().contexts.includes(","), () => field(mode(), { label: words.contextsMode })),
  );
}
