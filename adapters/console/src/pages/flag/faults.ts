// The server's check of a flag that is not saved yet (console.md N9).
import { batch, effect, h, onEnd, signal, type Child, type Signal } from "../../ui/dom";
import { send, serverText } from "../../api/client";
import { projectPath } from "../../session";

/** Faults by place, such as filters.groups.0.rollout_percentage. The place "" is the whole flag. */
export type FaultsByPlace = Record<string, string>;

const checkDelay = 400; // milliseconds after the last change

/** The check of a body: its faults, and whether they are those of the body as it is now. */
export interface Check {
  places: Signal<FaultsByPlace>;
  isCurrent: Signal<boolean>;
}

/** Lets the server check a body. While body returns null, it has no faults. */
export function serverCheck(body: () => object | null): Check {
  const places = signal<FaultsByPlace>({});
  const isCurrent = signal(true);
  const put = (faults: FaultsByPlace) => batch(() => (places.set(faults), isCurrent.set(true)));
  let timer = 0;
  let cancel: AbortController | undefined;
  onEnd(() => (clearTimeout(timer), cancel?.abort()));
  effect(() => {
    const b = body();
    clearTimeout(timer);
    cancel?.abort();
    if (!b) return put({});
    isCurrent.set(false);
    timer = setTimeout(() => {
      const mine = (cancel = new AbortController());
      send<{ faults: { attr: string | null; detail: string }[] }>("POST", projectPath("feature_flags/check/"), b, mine.signal).then(
        (a) => mine.signal.aborted || put(Object.fromEntries(a.faults.map((f) => [f.attr ?? "", serverText(f.detail)]))),
        () => mine.signal.aborted || put({}), // saving shows the error
      );
    }, checkDelay);
  });
  return { places, isCurrent };
}

/** Returns the faults at a place and inside it. */
export function faultsIn(places: FaultsByPlace, place: string): string[] {
  return Object.keys(places).filter((p) => p === place || p.startsWith(`${place}.`)).map((p) => places[p]!);
}

const shownElsewhere = /^(key|name|tags|evaluation_runtime|bucketing_hash|bucketing_identifier|evaluation_contexts)$|^filters\.(groups\.\d|multivariate|payloads)/;

/** Returns the faults that belong to no field of the form. */
export function otherFaults(places: FaultsByPlace): Child {
  return Object.keys(places).filter((p) => !shownElsewhere.test(p)).map((p) => h("p", { class: "fault" }, places[p]));
}
