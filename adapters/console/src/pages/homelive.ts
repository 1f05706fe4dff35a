// How often flags are asked for, minute by minute, on Home.
import { h, onEnd, signal, type Child } from "../ui/dom";
import { chart } from "../ui/chart";
import type { Picture } from "../api/picture";
import { exposureEvents } from "../api/events";
import { run } from "../api/query";
import { may } from "../session";
import { homeWords } from "../words/home";

interface Trend {
  data: number[];
  days: string[];
  label: string;
}

const again = 60_000;

export function live(): Child {
  if (!may("query:read")) return null;
  const got = signal<Trend[]>([]);
  const cancel = new AbortController();
  const ask = () =>
    run({ kind: "TrendsQuery", interval: "minute", dateRange: { date_from: "-1h" }, series: exposureEvents.map((event) => ({ kind: "EventsNode", event, math: "total" })) }, cancel.signal).then(
      (a) => got.set((a.results as Trend[]).map((t, i) => ({ ...t, label: [homeWords.calls, homeWords.exposures][i]! })).filter((t) => t.data.some((n) => n > 0))),
      () => undefined, // the page stands without it
    );
  void ask();
  const timer = setInterval(() => document.hidden || void ask(), again);
  onEnd(() => (clearInterval(timer), cancel.abort()));
  return () => (got().length ? h("section", { class: "card" }, h("h2", null, homeWords.live), chart(homeWords.callsByMinute, picture(got()), 160)) : null);
}

function picture(trends: Trend[]): Picture {
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const labels = trends[0]!.days.map((d) => clock.format(new Date(d)));
  const lines = trends.map((t) => ({ label: t.label, data: t.data }));
  return { shape: "lines", head: homeWords.minute, labels, lines, open: true, table: { columns: [], rows: [] } };
}
