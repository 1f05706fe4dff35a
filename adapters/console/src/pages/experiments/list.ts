// Experiments.
import { h, when, type Child } from "../../ui/dom";
import { button, empty, field, heading, select, shown } from "../../ui/parts";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import type { Experiment } from "../../api/experiments";
import { go, href, param, setParams } from "../../router";
import { inProject, project } from "../../session";
import { w } from "../../words";
import { wx } from "../../words/experiments";
import { searchBox } from "../people/list";

const filterNames = ["search", "status"];
const states = ["draft", "running", "paused", "stopped"];

export default function experimentsPage(): Child {
  const query = () => (param("status") === "archived" ? { archived: true } : { status: param("status") });
  const list = pages<Experiment>(() => ({ path: inProject("experiments/"), query: { search: param("search"), ...query(), limit: 50 } }));
  const filtered = () => filterNames.some((n) => param(n));
  return [
    heading(w.experiments, button(wx.newExperiment, { kind: "primary", scope: "experiment:write", run: () => go(`p/${project.peek()}/experiments/new`) })),
    h(
      "div",
      { class: "filters low", role: "search", "aria-label": w.experiments },
      searchBox(wx.searchExperiments),
      field(select(() => param("status"), () => [["", w.anyStatus], ...states.map((s) => [s, wx.status[s]!] as const), ["archived", wx.archivedOnes]], (v) => setParams({ status: v })), { label: w.status }),
    ),
    shown(list, (data) => [
      when(() => data().length === 0 && filtered(), () => empty(wx.noExperimentsMatch, w.noFlagsMatchText, button(w.clearFilters, { run: () => setParams(Object.fromEntries(filterNames.map((n) => [n, ""]))) }))),
      when(() => data().length === 0 && !filtered(), () => empty(wx.noExperiments, wx.noExperimentsText)),
      when(() => data().length > 0, () =>
        records<Experiment>(
          w.experiments,
          [
            { label: wx.name, cell: (e) => h("bdi", null, h("a", { href: () => href(`p/${project()}/experiments/${e().id}`) }, () => e().name)) },
            { label: w.status, cell: (e) => () => wx.status[e().status] ?? e().status },
            { label: w.flag, cell: (e) => h("bdi", null, () => e().feature_flag_key), class: "code clip-cell" },
            { label: wx.since, cell: (e) => () => time(e().start_date) ?? w.dash, class: "meta" },
          ],
          data,
          (e) => e.id,
        ),
      ),
      when(list.next, () => h("p", { class: "gap-above" }, button(w.loadMore, { run: list.more }))),
    ]),
  ];
}
