// The page of a dashboard: its tiles and their period.
import { computed, each, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { queryResult } from "../../ui/queryresult";
import { combobox } from "../../ui/combobox";
import { confirm, dialog } from "../../ui/dialog";
import { moreMenu } from "../../ui/menu";
import { button, empty, faultAlert, field, select } from "../../ui/parts";
import { loadRecord, recordPage } from "../../ui/record";
import { get, send } from "../../api/client";
import { invalidate } from "../../api/cache";
import { titleOf, type Insight } from "../../api/insights";
import { unwrapQuery, type Query } from "../../api/chartdata";
import { runTile } from "../../api/query";
import { go, href, param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath, hasScope, project } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";
import { openAccess } from "../access/open";
import { showRefusal } from "../flags/actions";
import { askName, nameOf, type Dashboard } from "./list";
import { share } from "./share";

interface Tile {
  id: number;
  insight: Insight | null;
  text: { body: string } | null;
  layouts: Record<string, unknown>;
}

interface Full extends Dashboard {
  tiles: Tile[];
}

const scope = "dashboard:write";

export default function dashboardPage(params: Params): Child {
  const path = projectPath(`dashboards/${params.id}/`);
  const record = loadRecord(() => get<Full>(path, { refresh: "force_cache" }));
  const write = async (body: object) => {
    const got = await send<Full>("PATCH", path + "?refresh=force_cache", body);
    invalidate("dashboards");
    record.data.set(got);
  };
  const period = () => (param("period") in insightWords.periods ? param("period") : "");
  return recordPage<Full>({
    record,
    title: nameOf,
    list: { label: words.dashboards, path: "dashboards" },
    actions: (board) => tools(board, write, record.reload),
    show: (board) => [
      when(() => board().description, () => h("p", { class: "meta gap" }, () => board().description)),
      h("div", { class: "filters" }, field(select(() => param("period"), () => [["", insightWords.asMade], ...Object.entries(insightWords.periods)], (v) => setParams({ period: v })), { label: insightWords.period })),
      when(() => !board().tiles.length, () => empty(insightWords.noTiles, insightWords.noTilesText)),
      h("div", { class: "tiles" }, each(() => board().tiles, (t) => t.id, (t) => tile(t, board, period, write))),
    ],
  });
}

type Write = (body: object) => Promise<void>;

function tools(board: Signal<Full>, write: Write, load: () => Promise<void>): Child {
  const disabledReason = () => (hasScope(scope) ? null : words.needs(scope));
  const rename = () => askName(insightWords.rename, board.peek().name ?? "", words.save, (name) => write({ name }).then(() => true)).then((done) => done && announce(words.saved));
  const remove = async () => {
    const d = board.peek();
    if (!(await confirm(words.deleteAsk(nameOf(d)), insightWords.deleteDashboardText, words.delete))) return;
    await send("PATCH", projectPath(`dashboards/${d.id}/`), { deleted: true });
    invalidate("dashboards");
    const at = `p/${project.peek()}/dashboards`;
    await go(at);
    announce(words.deleted(nameOf(d)), { label: words.undo, run: () => void send("PATCH", projectPath(`dashboards/${d.id}/`), { deleted: false }).then(() => go(`${at}/${d.id}`), showRefusal) });
  };
  return [
    button(insightWords.addTile, { scope, run: () => addTile(board.peek()).then((done) => (done ? load() : undefined), showRefusal) }),
    button(insightWords.share, { run: () => share(board.peek().id).then(() => invalidate("dashboards")) }),
    moreMenu(() => words.moreAbout(nameOf(board.peek())), () => [
      { label: insightWords.rename, disabled: disabledReason(), run: () => void rename().catch(showRefusal) },
      { label: words.access, run: () => void openAccess(nameOf(board.peek()), projectPath(`dashboards/${board.peek().id}/`)) },
      { label: words.delete, disabled: disabledReason(), danger: true, line: true, run: () => void remove().catch(showRefusal) },
    ]),
  ];
}

/** Opens the dialog Add tile, in which an insight is chosen by name. */
async function addTile(d: Full): Promise<boolean> {
  const present = new Set(d.tiles.map((t) => t.insight?.id));
  const known = new Map<string, Insight>();
  const name = signal("");
  const fault = signal<string | undefined>(undefined);
  const insightOptions = async (typed: string) => {
    const list = await get<{ results: Insight[] }>(projectPath("insights/"), { search: typed, limit: 20, refresh: "force_cache" });
    return list.results.filter((i) => !present.has(i.id)).map((i) => {
      const other = known.get(titleOf(i));
      const text = other && other.id !== i.id ? `${titleOf(i)} #${i.id}` : titleOf(i);
      known.set(text, i);
      return { value: text, text };
    });
  };
  const chosen = await dialog<Insight>({ title: insightWords.addTile }, (box) => ({
    content: h("div", { class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, insightWords.insight), combobox({ label: insightWords.insight, value: name, options: insightOptions, change: (v) => name.set(v), free: true }), faultAlert(fault, "fault")),
    buttons: button(insightWords.add, {
      kind: "primary",
      run: async () => {
        if (!known.has(name.peek())) await insightOptions(name.peek());
        const found = known.get(name.peek());
        fault.set(found ? undefined : insightWords.noSuchInsight);
        if (found) box.close(found);
      },
    }),
  }));
  if (!chosen) return false;
  await send("PATCH", projectPath(`insights/${chosen.id}/`), { dashboards: [...chosen.dashboards, d.id] });
  announce(insightWords.added(nameOf(d)));
  return true;
}

/** Lays out two tiles in each row, in the format of other clients of the API. */
const layOut = (tiles: Tile[]) => tiles.map((t, i) => ({ id: t.id, layouts: { ...t.layouts, sm: { ...(t.layouts.sm as object), x: (i % 2) * 6, y: Math.floor(i / 2) * 5, w: 6, h: 5 } } }));

function tile(t: Signal<Tile>, board: Signal<Full>, period: () => string, write: Write): HTMLElement {
  const { id, insight } = t.peek();
  const title = () => (t().insight ? titleOf(t().insight!) : insightWords.text);
  const disabledReason = () => (hasScope(scope) ? null : words.needs(scope));
  const at = () => board.peek().tiles.findIndex((x) => x.id === id);
  const move = async (by: number) => {
    const tiles = board.peek().tiles.filter((x) => x.id !== id);
    tiles.splice(at() + by, 0, t.peek());
    board.set({ ...board.peek(), tiles });
    await write({ tiles: layOut(tiles) }).catch(showRefusal);
  };
  const remove = async () => {
    await write({ tiles: [{ id, deleted: true }] });
    announce(insightWords.removedTile(title()), { label: words.undo, run: () => void write({ tiles: [{ id, deleted: false }] }).catch(showRefusal) });
  };
  const items = () => [
    { label: insightWords.openInsight, there: insight !== null, run: () => void go(`p/${project.peek()}/insights/${insight!.id}`) },
    { label: insightWords.moveEarlier, disabled: disabledReason(), there: at() > 0, run: () => void move(-1) },
    { label: insightWords.moveLater, disabled: disabledReason(), there: at() < board.peek().tiles.length - 1, run: () => void move(1) },
    { label: insightWords.removeTile, disabled: disabledReason(), danger: true, line: true, run: () => void remove().catch(showRefusal) },
  ];
  const content = () => {
    if (!insight) return h("p", { class: "tile-text" }, h("bdi", null, () => t().text?.body ?? ""));
    // The query runs again if it or the period changes, but not if the tile moves.
    const queryJSON = computed(() => JSON.stringify([unwrapQuery(t().insight?.query), period()]));
    return queryResult(title, () => (JSON.parse(queryJSON()) as [Query | null])[0], { tile: true, ask: (_, cancel, progress) => runTile(insight.id, board.peek().id, period(), cancel, progress) });
  };
  return h(
    "section",
    { class: "card tile", "aria-label": title },
    h("div", { class: "between" }, h("h2", null, h("bdi", null, insight ? h("a", { href: href(`p/${project.peek()}/insights/${insight.id}`) }, title) : title)), moreMenu(() => words.moreAbout(title()), items)),
    content(),
  );
}
