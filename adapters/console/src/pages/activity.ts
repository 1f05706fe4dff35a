// The page Activity: the changes in a project and their authors.
import { h, when, type Child } from "../ui/dom";
import { button, empty, field, heading, select, showResource } from "../ui/parts";
import { more } from "../ui/list";
import { changesInCell } from "../ui/diff";
import { diffRecord, type FieldChange } from "../ui/diffvalues";
import { pages } from "../ui/pages";
import { recordTable } from "../ui/table";
import { time } from "../ui/time";
import { allMembers, cutOption } from "../api/wholelist";
import { param, setParams } from "../router";
import { projectPath } from "../session";
import { words } from "../words";
import { activityWords } from "../words/activity";
import { organizationWords } from "../words/organization";
import { addressOf, nameOf, namesInChanges } from "./activitynames";

interface Line {
  id: string;
  user: { first_name: string; email: string | null; is_system?: boolean } | null;
  activity: string;
  scope: string;
  item_id: string | null;
  detail: {
    name: string | null;
    type: string | null;
    change_note?: string;
    approved_by?: string[];
    trigger: { payload?: { reason?: string } } | null;
    changes: FieldChange[] | null;
  } | null;
  created_at: string;
}

const hour = 3_600_000;
const back: Record<string, number> = { day: 24 * hour, week: 7 * 24 * hour, month: 30 * 24 * hour };

export default function activityPage(): Child {
  const list = pages<Line>(() => ({ path: projectPath("activity_log/"), query: { scope: param("scope"), user: param("who"), limit: 50 } }));
  const members = allMembers();
  const named = namesInChanges(members);
  const who = () => [["", organizationWords.anybody] as const, ...members.rows().map((m) => [String(m.user.id), m.user.email] as const), ...cutOption(members)];
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
            { label: organizationWords.who, cell: (l) => h("bdi", null, () => authorOf(l())) },
            { label: organizationWords.what, cell: (l) => () => thing(l()) },
            { label: organizationWords.changes, cell: (l) => () => describeChanges(l(), named), class: "long" },
          ],
          () => inPeriod(data),
          (l) => l.id,
        ),
      ),
      when(() => inPeriod(data).length === data().length, () => more(list)),
    ]),
  ];
}

function thing(l: Line): Child {
  const [name, address] = [nameOf(l), addressOf(l)];
  return [`${activityWords.did[l.activity] ?? l.activity.replaceAll("_", " ")} `, h("bdi", null, address ? h("a", { href: address }, name) : name), h("span", { class: "meta" }, ` ${activityWords.kinds[l.scope] ?? l.scope}`)];
}

const authorOf = (l: Line): string => (l.user?.is_system && !l.user.email ? activityWords.theServer : (l.user?.email ?? organizationWords.somebodyElse));

function describeChanges(l: Line, named: (c: FieldChange) => FieldChange): Child {
  const d = l.detail;
  const note = (text: string | null | undefined) => (text ? h("p", { class: "meta" }, h("bdi", null, text)) : null);
  return [
    changesInCell(l.activity === "created" ? [] : diffRecord(l.scope, (d?.changes ?? []).map(named))),
    note(d?.change_note || d?.trigger?.payload?.reason),
    note(d?.approved_by?.length ? activityWords.approvedBy(d.approved_by.join(", ")) : d?.type === "without approval" ? activityWords.withoutApproval : null),
  ];
}
