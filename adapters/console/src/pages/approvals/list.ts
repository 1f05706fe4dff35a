// The list of change requests.
import { h, type Child } from "../../ui/dom";
import { empty, field, heading, select } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { approvedBy, type ChangeRequest } from "../../api/approvals";
import { href, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";

const queries: Record<string, string> = { closed: "rejected,withdrawn" };

export default function approvalsPage(): Child {
  const state = () => param("state") || "open";
  const list = pages<ChangeRequest>(() => ({ path: projectPath("change_requests/"), query: { state: queries[state()] ?? state(), limit: 50 } }));
  const title = (r: ChangeRequest) => r.title || approvalWords.untitled(r.id);
  return [
    heading(words.approvals),
    h("div", { class: "filters low", role: "search", "aria-label": words.approvals }, field(select(state, () => Object.entries(approvalWords.filters), (v) => setParams({ state: v === "open" ? "" : v })), { label: approvalWords.state })),
    listOf(list, () => empty(approvalWords.nothing, approvalWords.nothingText), (rows) =>
      recordTable<ChangeRequest>(
        approvalWords.changeRequests,
        [
          { label: approvalWords.flag, cell: (r) => h("bdi", null, () => r().flag_key || words.dash), class: "code clip-cell" },
          { label: approvalWords.title, cell: (r) => h("bdi", null, h("a", { href: () => href(`p/${project()}/approvals/${r().id}`), "aria-label": () => approvalWords.named(r().flag_key, title(r())) }, () => title(r()))) },
          { label: approvalWords.by, cell: (r) => h("bdi", null, () => r().author ?? approvalWords.somebody), class: "meta" },
          { label: words.approvals, cell: (r) => () => approvalWords.ofNeeded(approvedBy(r()), r().needed) },
          { label: approvalWords.state, cell: (r) => () => approvalWords.states[r().state] ?? r().state },
        ],
        rows,
        (r) => r.id,
      ),
    ),
  ];
}
