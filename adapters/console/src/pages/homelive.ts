// The live number of flag calls by minute, on Home.
import { h, onEnd, signal, type Child } from "../ui/dom";
import { chart } from "../ui/chart";
import { clockTime } from "../ui/time";
import type { ChartData } from "../api/chartdata";
import { exposureEvents } from "../api/events";
import { runQuery } from "../api/query";
import { hasScope } from "../session";
import { homeWords } from "../words/home";

interface Trend {
  data: number[];
  /** The starts of the buckets. */
  action: { days: string[] };
  label: string;
}

const refreshInterval = 60_000;

export function live(): Child {
  if (!hasScope("query:read")) return null;
  const got = signal<Trend[]>([]);
  const cancel = new AbortController();
  const ask = () =>
    runQuery({ kind: "TrendsQuery", interval: "minute", dateRange: { date_from: "-1h" }, series: exposureEvents.map((event) => ({ kind: "EventsNode", event, math: "total" })) }, cancel.signal).then(
      (a) => got.set((a.results as Trend[]).map((t, i) => ({ ...t, label: [homeWords.calls, homeWords.exposures][i]! })).filter((t) => t.data.some((n) => n > 0))),
      () => undefined, // the page works without it
    );
  void ask();
  const timer = setInterval(() => document.hidden || void ask(), refreshInterval);
  onEnd(() => (clearInterval(timer), cancel.abort()));
  return () => (got().length ? h("section", { class: "card" }, h("h2", null, homeWords.live), chart(homeWords.callsByMinute, picture(got()), 160)) : null);
}

function picture(trends: Trend[]): ChartData {
  const labels = trends[0]!.action.days.map(clockTime);
  const lines = trends.map((t) => ({ label: t.label, data: t.data }));
  return { shape: "lines", head: homeWords.minute, labels, lines, open: true, table: { columns: [], rows: [] } };
}
