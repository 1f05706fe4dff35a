// The list of errors, last seen first.
import { h, type Child } from "../../ui/dom";
import { field, heading, linkButton, select } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { issueName, owners, type Issue } from "../../api/errors";
import { href, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { number, words } from "../../words";
import { errorWords } from "../../words/errors";

const snippet = '{"event": "$exception", "distinct_id": "ana", "properties": {"$exception_list": [{"type": "TypeError", "value": "x is not a function"}]}}';

export default function errorsPage(): Child {
  const list = pages<Issue>(() => ({ path: projectPath("error_tracking/issues/"), query: { status: param("status"), limit: 50 } }));
  const allOwners = owners();
  const none = () => noneOf(["status"], errorWords.noErrorsMatch, errorWords.noErrors, errorWords.noErrorsText, h("pre", { class: "snippet", tabindex: 0 }, h("code", null, snippet)));
  return [
    heading(words.errors, linkButton(errorWords.rules, href(`p/${project.peek()}/errors/rules`))),
    h("div", { class: "filters low" }, field(select(() => param("status"), () => [["", errorWords.anyStatus], ...Object.entries(errorWords.status)], (status) => setParams({ status })), { label: words.status })),
    listOf(list, none, (rows) =>
      recordTable<Issue>(
        words.errors,
        [
          { label: errorWords.error, cell: (i) => [h("bdi", null, h("a", { href: () => href(`p/${project()}/errors/${i().id}`) }, () => issueName(i()))), h("p", { class: "hint" }, h("bdi", null, () => i().description))], class: "long" },
          { label: words.status, cell: (i) => () => errorWords.status[i().status] ?? i().status },
          { label: errorWords.assigned, cell: (i) => h("bdi", null, () => allOwners.name(i().assignee)), class: "clip-cell" },
          { label: errorWords.count, cell: (i) => () => number(i().count), class: "number" },
          { label: words.lastSeen, cell: (i) => () => time(i().last_seen), class: "meta" },
        ],
        rows,
        (i) => i.id,
      ),
    ),
  ];
}
