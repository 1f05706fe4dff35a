// How often flags are asked for, minute by minute, on Home.
import { h, onEnd, signal, type Child } from "../ui/dom";
import { chart } from "../ui/chart";
import type { Picture } from "../api/picture";
import { run } from "../api/query";
import { may } from "../session";
import { wn } from "../words/home";

interface Trend {
  data: number[];
  days: string[];
}

const again = 60_000;

export function live(): Child {
  if (!may("query:read")) return null;
  const got = signal<Trend | undefined>(undefined);
  const cancel = new AbortController();
  const ask = () =>
    run({ kind: "TrendsQuery", interval: "minute", dateRange: { date_from: "-1h" }, series: [{ kind: "EventsNode", event: "$feature_flag_called", math: "total" }] }, cancel.signal).then(
      (a) => got.set((a.results as Trend[])[0]),
      () => undefined, // the page stands without it
    );
  void ask();
  const timer = setInterval(() => document.hidden || void ask(), again);
  onEnd(() => (clearInterval(timer), cancel.abort()));
  return () => (got()?.data.some((n) => n > 0) ? h("section", { class: "card" }, h("h2", null, wn.live), chart(wn.callsByMinute, picture(got()!), 160)) : null);
}

function picture(t: Trend): Picture {
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const labels = t.days.map((d) => clock.format(new Date(d)));
  const lines = [{ label: wn.calls, data: t.data }];
  return { shape: "lines", head: wn.minute, labels, lines, open: true, table: { columns: [], rows: [] } };
}
