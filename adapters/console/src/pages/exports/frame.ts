// The frame of an export's tabs, with the buttons to pause it and to start a backfill.
import { h, onEnd, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { button, field, problem } from "../../ui/parts";
import { loadRecord, recordPage, tabLinks } from "../../ui/record";
import { parseLocalTime } from "../../ui/zone";
import { get, send } from "../../api/client";
import { exportsPath, type Export } from "../../api/exports";
import type { Params } from "../../routes";
import { project } from "../../session";
import { words } from "../../words";
import { exportWords } from "../../words/exports";
import { showRefusal } from "../flags/actions";

export const scope = "batch_export:write";

const tabs: [string, string][] = [
  ["", exportWords.runs],
  ["backfills", exportWords.backfills],
  ["settings", exportWords.settingsTab],
];

/** Loads an export and shows a tab below its frame. show receives the path in the API, and a counter that reloads. */
export function exportPage(params: Params, tab: string, show: (e: Signal<Export>, path: string, again: Signal<number>) => Child): Child {
  const path = `${exportsPath()}${params.id}/`;
  const reloads = signal(0);
  const record = loadRecord(() => get<Export>(path));
  const pause = async (e: Export) => {
    await send("POST", path + (e.paused ? "unpause/" : "pause/"), e.paused ? { backfill: true } : {});
    await record.reload();
    announce((e.paused ? exportWords.resumed : exportWords.pausedOne)(e.name));
  };
  const fill = (e: Export) => backfill(e, path).then((done) => done && reloads.update((n) => n + 1));
  const at = `p/${project.peek()}/exports/${params.id}`;
  return recordPage<Export>({
    record,
    title: (e) => e.name,
    list: { label: words.exports, path: "exports" },
    actions: (e) => [() => button(e().paused ? exportWords.resume : exportWords.pause, { scope, run: () => pause(e.peek()).catch(showRefusal) }), button(exportWords.newBackfill, { scope, run: () => fill(e.peek()) })],
    facts: (e) => h("p", { class: "meta gap" }, () => [exportWords.models[e().model], exportWords.intervals[e().interval], exportWords.types[e().destination.type], e().paused ? exportWords.paused : exportWords.running].filter(Boolean).join(" · ")),
    tabs: tabLinks(exportWords.export, tabs, at, tab),
    show: (e) => show(e, path, reloads),
  });
}

/** Reloads every few seconds while the page is visible. */
export function reloadWhileVisible(again: Signal<number>): void {
  const timer = setInterval(() => document.visibilityState === "visible" && again.update((n) => n + 1), 3_000);
  onEnd(() => clearInterval(timer));
}

/** Opens the dialog New backfill. Exports by day or week take dates; those with shorter intervals take times. */
async function backfill(e: Export, path: string): Promise<boolean> {
  const byDay = e.interval === "day" || e.interval === "week";
  const zone = e.timezone;
  const faults = signal<Record<string, string | undefined>>({});
  const other = signal<unknown>(undefined);
  const [from, to] = [h("input", { type: "text", "data-first": "" }), h("input", { type: "text" })];
  const read = (input: HTMLInputElement): string | null | undefined => {
    const text = input.value.trim();
    if (!text) return null;
    const at = parseLocalTime(text, zone);
    return byDay ? (at && /^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined) : at;
  };
  const done = await dialog<true>({ title: exportWords.newBackfill }, (d) => ({
    content: [() => (other() ? problem(words.notDone, other()) : null), field(from, { label: exportWords.from, hint: byDay ? exportWords.day(zone) : exportWords.time(zone), fault: () => faults().from }), field(to, { label: exportWords.to, fault: () => faults().to })],
    buttons: button(exportWords.start, {
      kind: "primary",
      run: async () => {
        const body = { start_at: read(from), end_at: read(to) };
        const wrong = byDay ? exportWords.noDay : exportWords.noTime;
        faults.set({ from: body.start_at === undefined ? wrong : undefined, to: body.end_at === undefined ? wrong : undefined });
        if (faults.peek().from || faults.peek().to) return (faults.peek().from ? from : to).focus();
        await send("POST", path + "backfills/", body).then(() => d.close(true), (fault: unknown) => other.set(fault));
      },
    }),
  }));
  if (done) announce(exportWords.started);
  return done === true;
}
