// The list of insights, last changed first.
import { h, type Child } from "../../ui/dom";
import { button, heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { searchBox } from "../../ui/searchbox";
import { titleOf, type Insight } from "../../api/insights";
import { unwrapQuery } from "../../api/chartdata";
import { go, href, param } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";

const newButton = () => button(insightWords.newInsight, { kind: "primary", scope: "insight:write", run: () => go(`p/${project.peek()}/insights/new`) });

export default function insightsPage(): Child {
  const list = pages<Insight>(() => ({ path: projectPath("insights/"), query: { search: param("search"), hide_feature_flag_insights: param("search") ? "" : "true", order: "-last_modified_at", limit: 50, refresh: "force_cache" } }));
  const kind = (i: Insight) => insightWords.kinds[unwrapQuery(i.query)?.kind ?? ""] ?? insightWords.otherKind;
  return [
    heading(words.insights, newButton()),
    h("div", { class: "filters", role: "search", "aria-label": words.insights }, searchBox(insightWords.searchInsights)),
    listOf(list, () => noneOf(["search"], insightWords.noInsightsMatch, insightWords.noInsights, insightWords.noInsightsText), (rows) =>
      recordTable<Insight>(
        words.insights,
        [
          { label: insightWords.name, cell: (i) => h("bdi", null, h("a", { href: () => href(`p/${project()}/insights/${i().id}`) }, () => titleOf(i()))) },
          { label: insightWords.kind, cell: (i) => () => kind(i()) },
          { label: insightWords.changed, cell: (i) => () => time(i().last_modified_at), class: "meta" },
          { label: insightWords.by, cell: (i) => h("bdi", null, () => i().last_modified_by?.first_name || i().last_modified_by?.email || ""), class: "meta" },
        ],
        rows,
        (i) => i.id,
      ),
    ),
  ];
}
