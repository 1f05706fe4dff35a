// The list of experiments.
import { h, type Child } from "../../ui/dom";
import { button, field, heading, linkButton, select } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { searchBox } from "../../ui/searchbox";
import type { Experiment } from "../../api/experiments";
import { go, href, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { metricWords } from "../../words/metrics";

const states = ["draft", "running", "paused", "exposure_frozen", "stopped"];

export default function experimentsPage(): Child {
  const query = () => (param("status") === "archived" ? { archived: true } : { status: param("status") });
  const list = pages<Experiment>(() => ({ path: projectPath("experiments/"), query: { search: param("search"), ...query(), limit: 50 } }));
  return [
    heading(words.experiments, linkButton(metricWords.shared, href(`p/${project.peek()}/experiments/metrics`)), linkButton(metricWords.holdouts, href(`p/${project.peek()}/experiments/holdouts`)), button(experimentWords.newExperiment, { kind: "primary", scope: "experiment:write", run: () => go(`p/${project.peek()}/experiments/new`) })),
    h(
      "div",
      { class: "filters low", role: "search", "aria-label": words.experiments },
      searchBox(experimentWords.searchExperiments),
      field(select(() => param("status"), () => [["", words.anyStatus], ...states.map((s) => [s, experimentWords.status[s]!] as const), ["archived", experimentWords.archivedOnes]], (v) => setParams({ status: v })), { label: words.status }),
    ),
    listOf(list, () => noneOf(["search", "status"], experimentWords.noExperimentsMatch, experimentWords.noExperiments, experimentWords.noExperimentsText), (rows) =>
      recordTable<Experiment>(
        words.experiments,
        [
          { label: experimentWords.name, cell: (e) => h("bdi", null, h("a", { href: () => href(`p/${project()}/experiments/${e().id}`) }, () => e().name)) },
          { label: words.status, cell: (e) => () => experimentWords.status[e().status] ?? e().status },
          { label: words.flag, cell: (e) => h("bdi", null, () => e().feature_flag_key), class: "code clip-cell" },
          { label: experimentWords.since, cell: (e) => () => time(e().start_date) ?? words.dash, class: "meta" },
        ],
        rows,
        (e) => e.id,
      ),
    ),
  ];
}
