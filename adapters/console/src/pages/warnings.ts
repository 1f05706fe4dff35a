// The page Warnings: events that were dropped and properties that were ignored, newest first.
import { h, when, type Child } from "../ui/dom";
import { button, empty, field, heading, select } from "../ui/parts";
import { listOf } from "../ui/list";
import { pages } from "../ui/pages";
import { recordTable } from "../ui/table";
import { time } from "../ui/time";
import { href, param, setParams } from "../router";
import { projectPath, project } from "../session";
import { number, words } from "../words";
import { warningWords } from "../words/warnings";

interface Warning {
  type: string;
  distinct_id: string;
  event_uuid: string | null;
  detail: string;
  count: number;
  last_seen: string;
}

/** The maximum length in bytes of the distinct id in a warning. An id of this length may be truncated. */
const keptID = 64;

export default function warningsPage(): Child {
  const list = pages<Warning>(() => ({ path: projectPath("ingestion_warnings/"), query: { limit: 100 } }));
  return [heading(words.warnings), listOf(list, () => empty(warningWords.nothing, warningWords.nothingText), (rows) => warnings(rows))];
}

function warnings(all: () => Warning[]): Child {
  const types = () => [...new Set([...all().map((x) => x.type), param("type")])].filter(Boolean).sort();
  const rows = () => all().filter((x) => !param("type") || x.type === param("type"));
  return [
    h("div", { class: "filters low" }, field(select(() => param("type"), () => [["", warningWords.anyType], ...types().map((t) => [t, t] as const)], (type) => setParams({ type })), { label: warningWords.type })),
    when(() => rows().length === 0, () => empty(warningWords.noneOfType, warningWords.noneOfTypeText, button(words.clearFilters, { run: () => setParams({ type: "" }) }))),
    when(() => rows().length > 0, () =>
      recordTable<Warning>(
        words.warnings,
        [
          { label: warningWords.type, cell: (x) => () => x().type, class: "code" },
          { label: warningWords.happened, cell: (x) => () => happened(x()), class: "long" },
          { label: warningWords.count, cell: (x) => () => number(x().count), class: "number" },
          { label: warningWords.last, cell: (x) => () => time(x().last_seen), class: "meta" },
        ],
        rows,
        (x) => `${x.type} ${x.distinct_id}`,
      ),
    ),
  ];
}

/** Describes a warning: what happened to the event, the message of the SDK, and the person. */
function happened(x: Warning): Child {
  const id = x.distinct_id;
  const isComplete = new TextEncoder().encode(id).length < keptID;
  const who = () => h("bdi", null, isComplete ? h("a", { href: href(`p/${project.peek()}/events`, { person: id }) }, id) : `${id}…`);
  return [
    warningWords.what[x.type] ?? "",
    x.detail ? [" ", h("bdi", { lang: "en" }, x.detail)] : null,
    id ? h("p", { class: "hint" }, warningWords.by, " ", who()) : null,
  ];
}
