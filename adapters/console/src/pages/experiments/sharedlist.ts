// The list of the metrics that experiments share.
import { h, type Child } from "../../ui/dom";
import { button, heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import type { SharedMetric } from "../../api/experiments";
import { metricDraft, titleOfMetric } from "../../api/metrics";
import { go, href } from "../../router";
import { project, projectPath } from "../../session";
import { words } from "../../words";
import { metricWords } from "../../words/metrics";

export default function sharedListPage(): Child {
  const at = `p/${project.peek()}/experiments/metrics`;
  const list = pages<SharedMetric>(() => ({ path: projectPath("experiment_saved_metrics/"), query: { limit: 50 } }));
  const kind = (m: SharedMetric) => metricWords.kinds[metricDraft(m.query).kind] ?? metricWords.otherKind;
  return [
    heading(metricWords.shared, button(metricWords.newShared, { kind: "primary", scope: "experiment_saved_metric:write", run: () => go(`${at}/new`) })),
    h("p", { class: "meta gap" }, metricWords.sharedText),
    listOf(list, () => noneOf([], metricWords.noShared, metricWords.noShared, metricWords.sharedText), (rows) =>
      recordTable<SharedMetric>(
        metricWords.shared,
        [
          { label: metricWords.sharedName, cell: (m) => h("bdi", null, h("a", { href: () => href(`${at}/${m().id}`) }, () => m().name)) },
          { label: metricWords.sharedKind, cell: (m) => () => kind(m()) },
          { label: metricWords.event, cell: (m) => h("bdi", null, () => titleOfMetric({ ...m().query, name: "" }) || words.dash), class: "code clip-cell" },
          { label: metricWords.description, cell: (m) => () => m().description || words.dash, class: "long" },
        ],
        rows,
        (m) => m.id,
      ),
    ),
  ];
}
