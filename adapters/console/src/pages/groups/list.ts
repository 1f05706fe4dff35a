// The list of groups of a type, by key.
import { computed, h, when, type Child } from "../../ui/dom";
import { empty, field, heading, select, showResource } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { searchBox } from "../../ui/searchbox";
import { resource } from "../../api/cache";
import { propertiesSummary } from "../../api/events";
import { href, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { eventWords } from "../../words/events";

export interface GroupType {
  group_type: string;
  group_type_index: number;
  name_plural: string | null;
}

export interface Group {
  group_type_index: number;
  group_key: string;
  group_properties: Record<string, unknown>;
  created_at: string;
}

const snippet = '{"event": "$groupidentify", "distinct_id": "ana", "properties": {"$group_type": "company", "$group_key": "acme", "$group_set": {"plan": "pro"}}}';

/** Returns the path of a group's page. It ends with a slash, since a key such as acme.com would look like a file. */
export const groupPath = (g: Group) => href(`p/${project.peek()}/groups/${g.group_type_index}/${encodeURIComponent(g.group_key)}/`);

export default function groupsPage(): Child {
  const types = resource<GroupType[]>(() => ({ path: projectPath("groups_types/") }));
  return [heading(words.groups), showResource(types, (data) => [when(() => data().length === 0, () => empty(eventWords.noGroups, eventWords.noGroupsText, h("pre", { class: "snippet", tabindex: 0 }, h("code", null, snippet)))), when(() => data().length > 0, () => groups(data))])];
}

function groups(types: () => GroupType[]): Child {
  const type = computed(() => param("type") || String(types()[0]!.group_type_index));
  const list = pages<Group>(() => ({ path: projectPath("groups/"), query: { group_type_index: type(), search: param("search"), limit: 50 } }));
  return [
    h(
      "div",
      { class: "filters low", role: "search", "aria-label": words.groups },
      field(select(type, () => types().map((t) => [String(t.group_type_index), t.name_plural || t.group_type] as const), (v) => setParams({ type: v })), { label: eventWords.groupType }),
      searchBox(eventWords.searchGroups),
    ),
    listOf(list, () => noneOf(["search"], eventWords.noGroupsMatch, eventWords.noGroups, eventWords.noGroupsText), (rows) =>
      recordTable<Group>(
        words.groups,
        [
          { label: words.key, cell: (g) => h("bdi", null, h("a", { href: () => groupPath(g()) }, () => g().group_key)) },
          { label: words.properties, cell: (g) => h("bdi", null, () => propertiesSummary(g().group_properties)), class: "meta clip-cell" },
          { label: words.firstSeen, cell: (g) => () => time(g().created_at), class: "meta" },
        ],
        rows,
        (g) => g.group_key,
      ),
    ),
  ];
}
