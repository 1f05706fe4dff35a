// The page Activity: the changes in a project and their authors.
import { h, when, type Child } from "../ui/dom";
import { button, empty, field, heading, select, showResource } from "../ui/parts";
import { pages } from "../ui/pages";
import { recordTable } from "../ui/table";
import { time } from "../ui/time";
import { resource } from "../api/cache";
import { href, param, setParams } from "../router";
import { projectPath, project } from "../session";
import { words } from "../words";
import { organizationWords } from "../words/organization";

interface Line {
  id: string;
  user: { first_name: string; email: string } | null;
  activity: string;
  scope: string;
  item_id: string | null;
  detail: { name: string | null; change_note?: string; changes: { field: string | null; action: string; before: unknown; after: unknown }[] | null } | null;
  created_at: string;
}

interface Member {
  user: { id: number; email: string };
}

const hour = 3_600_000;
const back: Record<string, number> = { day: 24 * hour, week: 7 * 24 * hour, month: 30 * 24 * hour };
const maxChanges = 3; // changes that a row shows

/** The path of the pages of each kind of object. */
const paths: Record<string, string> = { FeatureFlag: "flags", Cohort: "cohorts", Experiment: "experiments", Insight: "insights", Dashboard: "dashboards" };

export default function activityPage(): Child {
  const list = pages<Line>(() => ({ path: projectPath("activity_log/"), query: { scope: param("scope"), user: param("who"), limit: 50 } }));
  const members = resource<{ results: Member[] }>(() => ({ path: "organizations/@current/members/", query: { limit: 200 } }));
  const who = () => [["", organizationWords.anybody], ...(members.data()?.results ?? []).map((m) => [String(m.user.id), m.user.email] as const)] as const;
  const after = () => (param("period") in back ? Date.now() - back[param("period")]! : 0);
  const inPeriod = (data: () => Line[]) => data().filter((l) => Date.parse(l.created_at) >= after());
  const filtered = () => param("scope") || param("who") || param("period");
  return [
    heading(organizationWords.activity),
    h(
      "div",
      { class: "filters low", role: "search", "aria-label": organizationWords.activity },
      field(select(() => param("scope"), () => [["", organizationWords.anything], ...Object.entries(organizationWords.scopes)], (v) => setParams({ scope: v })), { label: organizationWords.what }),
      field(select(() => param("who"), who, (v) => setParams({ who: v })), { label: organizationWords.who }),
      field(select(() => param("period"), () => Object.entries(organizationWords.periods), (v) => setParams({ period: v })), { label: organizationWords.period }),
    ),
    showResource(list, (data) => [
      when(() => inPeriod(data).length === 0, () => (filtered() ? empty(organizationWords.noActivityMatch, words.noFlagsMatchText, button(words.clearFilters, { run: () => setParams({ scope: "", who: "", period: "" }) })) : empty(organizationWords.noActivity, organizationWords.noActivityText))),
      when(() => inPeriod(data).length > 0, () =>
        recordTable<Line>(
          organizationWords.activity,
          [
            { label: organizationWords.when, cell: (l) => () => time(l().created_at), class: "meta" },
            { label: organizationWords.who, cell: (l) => h("bdi", null, () => l().user?.email ?? organizationWords.somebodyElse) },
            { label: organizationWords.what, cell: (l) => () => thing(l()) },
            { label: organizationWords.changes, cell: (l) => () => describeChanges(l()), class: "long" },
          ],
          () => inPeriod(data),
          (l) => l.id,
        ),
      ),
      when(() => list.next() && inPeriod(data).length === data().length, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: list.more }))),
    ]),
  ];
}

function thing(l: Line): Child {
  const name = l.detail?.name || l.item_id || "";
  const at = paths[l.scope];
  return [`${l.activity} `, h("bdi", null, at && l.item_id ? h("a", { href: href(`p/${project()}/${at}/${l.item_id}`) }, name) : name), h("span", { class: "meta" }, ` ${organizationWords.scopes[l.scope] ?? l.scope}`)];
}

const brief = (v: unknown): string => {
  const text = v === null || v === undefined ? words.dash : typeof v === "string" ? v : JSON.stringify(v);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

function describeChanges(l: Line): Child {
  const changes = l.activity === "created" ? [] : (l.detail?.changes ?? []);
  return [
    changes.slice(0, maxChanges).map((c) => h("p", null, h("bdi", null, organizationWords.fieldChange(c.field ?? "", brief(c.before), brief(c.after))))),
    changes.length > maxChanges ? h("p", { class: "meta" }, organizationWords.moreChanges(changes.length - maxChanges)) : null,
    l.detail?.change_note ? h("p", { class: "meta" }, h("bdi", null, l.detail.change_note)) : null,
  ];
}
