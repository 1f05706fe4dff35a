// Errors, last seen first.
import { h, type Child } from "../../ui/dom";
import { button, empty, field, heading, linkButton, select } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import { issueName, owners, type Issue } from "../../api/errors";
import { href, param, setParams } from "../../router";
import { inProject, project } from "../../session";
import { number, w } from "../../words";
import { wr } from "../../words/errors";

const snippet = '{"event": "$exception", "distinct_id": "ana", "properties": {"$exception_list": [{"type": "TypeError", "value": "x is not a function"}]}}';

export default function errorsPage(): Child {
  const list = pages<Issue>(() => ({ path: inProject("error_tracking/issues/"), query: { status: param("status"), limit: 50 } }));
  const whose = owners();
  const none = () => (param("status") ? empty(wr.noErrorsMatch, w.noFlagsMatchText, button(w.clearFilters, { run: () => setParams({ status: "" }) })) : empty(wr.noErrors, wr.noErrorsText, h("pre", { class: "snippet", tabindex: 0 }, h("code", null, snippet))));
  return [
    heading(w.errors, linkButton(wr.rules, href(`p/${project.peek()}/errors/rules`))),
    h("div", { class: "filters low" }, field(select(() => param("status"), () => [["", wr.anyStatus], ...Object.entries(wr.status)], (status) => setParams({ status })), { label: w.status })),
    listOf(list, none, (rows) =>
      records<Issue>(
        w.errors,
        [
          { label: wr.error, cell: (i) => [h("bdi", null, h("a", { href: () => href(`p/${project()}/errors/${i().id}`) }, () => issueName(i()))), h("p", { class: "hint" }, h("bdi", null, () => i().description))], class: "long" },
          { label: w.status, cell: (i) => () => wr.status[i().status] ?? i().status },
          { label: wr.assigned, cell: (i) => h("bdi", null, () => whose.name(i().assignee)), class: "clip-cell" },
          { label: wr.count, cell: (i) => () => number(i().count), class: "number" },
          { label: w.lastSeen, cell: (i) => () => time(i().last_seen), class: "meta" },
        ],
        rows,
        (i) => i.id,
      ),
    ),
  ];
}
