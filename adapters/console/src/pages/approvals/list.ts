// Changes of flags that wait for others, and what became of them.
import { h, when, type Child } from "../../ui/dom";
import { button, empty, field, heading, select, shown } from "../../ui/parts";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { approvedBy, type ChangeRequest } from "../../api/approvals";
import { href, param, setParams } from "../../router";
import { inProject, project } from "../../session";
import { w } from "../../words";
import { wa } from "../../words/approvals";

const queries: Record<string, string> = { closed: "rejected,withdrawn" };

export default function approvalsPage(): Child {
  const state = () => param("state") || "open";
  const list = pages<ChangeRequest>(() => ({ path: inProject("change_requests/"), query: { state: queries[state()] ?? state(), limit: 50 } }));
  const title = (r: ChangeRequest) => r.title || wa.untitled(r.id);
  return [
    heading(w.approvals),
    h("div", { class: "filters low", role: "search", "aria-label": w.approvals }, field(select(state, () => Object.entries(wa.filters), (v) => setParams({ state: v === "open" ? "" : v })), { label: wa.state })),
    shown(list, (data) => [
      when(() => data().length === 0, () => empty(wa.nothing, wa.nothingText)),
      when(() => data().length > 0, () =>
        records<ChangeRequest>(
          wa.changeRequests,
          [
            { label: wa.flag, cell: (r) => h("bdi", null, () => r().flag_key || w.dash), class: "code clip-cell" },
            { label: wa.title, cell: (r) => h("bdi", null, h("a", { href: () => href(`p/${project()}/approvals/${r().id}`), "aria-label": () => wa.named(r().flag_key, title(r())) }, () => title(r()))) },
            { label: wa.by, cell: (r) => h("bdi", null, () => r().author ?? wa.somebody), class: "meta" },
            { label: w.approvals, cell: (r) => () => wa.ofNeeded(approvedBy(r()), r().needed) },
            { label: wa.state, cell: (r) => () => wa.states[r().state] ?? r().state },
          ],
          data,
          (r) => r.id,
        ),
      ),
      when(list.next, () => h("p", { class: "gap-above" }, button(w.loadMore, { run: list.more }))),
    ]),
  ];
}
