// The list of dashboards.
import { h, signal, type Child } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { button, field, heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { searchBox } from "../../ui/searchbox";
import { send } from "../../api/client";
import { invalidate } from "../../api/cache";
import type { User } from "../../api/flags";
import { go, href, param } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";

export interface Dashboard {
  id: number;
  name: string | null;
  description: string;
  pinned: boolean;
  is_shared: boolean;
  created_at: string;
  created_by: User | null;
}

export const nameOf = (d: Pick<Dashboard, "id" | "name">) => d.name || `#${d.id}`;

/** Opens a dialog that asks for a name. It returns the result of save, or undefined after Cancel. */
export function askName<T>(title: string, was: string, action: string, save: (name: string) => Promise<T>): Promise<T | undefined> {
  const fault = signal<string | undefined>(undefined);
  const input = h("input", { type: "text", maxlength: 400, value: was, "data-first": "" });
  return dialog<T>({ title, onsubmit: () => input.closest("dialog")?.querySelector<HTMLButtonElement>(".primary")?.click() }, (d) => ({
    content: field(input, { label: insightWords.name, fault }),
    buttons: button(action, {
      kind: "primary",
      run: async () => {
        const name = input.value.trim();
        fault.set(name ? undefined : insightWords.dashboardNameWanted);
        if (!name) return input.focus();
        await save(name).then((got) => d.close(got), (e: unknown) => fault.set((e as Error).message));
      },
    }),
  }));
}

async function make(): Promise<void> {
  const made = await askName(insightWords.newDashboard, "", insightWords.create, (name) => send<Dashboard>("POST", projectPath("dashboards/"), { name }));
  if (!made) return;
  invalidate("dashboards");
  await go(`p/${project.peek()}/dashboards/${made.id}`);
}

export default function dashboardsPage(): Child {
  const list = pages<Dashboard>(() => ({ path: projectPath("dashboards/"), query: { search: param("search"), exclude_generated: param("search") ? "" : "true", limit: 50 } })); // without a search, the usage dashboards of flags are left out
  return [
    heading(words.dashboards, button(insightWords.newDashboard, { kind: "primary", scope: "dashboard:write", run: make })),
    h("div", { class: "filters", role: "search", "aria-label": words.dashboards }, searchBox(insightWords.searchDashboards)),
    listOf(list, () => noneOf(["search"], insightWords.noDashboardsMatch, insightWords.noDashboards, insightWords.noDashboardsText), (rows) =>
      recordTable<Dashboard>(
        words.dashboards,
        [
          { label: insightWords.name, cell: (d) => h("bdi", null, h("a", { href: () => href(`p/${project()}/dashboards/${d().id}`) }, () => nameOf(d()))) },
          { label: insightWords.shared, cell: (d) => () => (d().is_shared ? insightWords.publicLinkYes : words.dash) },
          { label: insightWords.made, cell: (d) => () => time(d().created_at), class: "meta" },
          { label: insightWords.by, cell: (d) => h("bdi", null, () => d().created_by?.first_name || d().created_by?.email || ""), class: "meta" },
        ],
        rows,
        (d) => d.id,
      ),
    ),
  ];
}
