// What the server says is wrong with a flag that is not saved yet (N9).
import { effect, h, onEnd, signal, type Child, type Signal } from "../../ui/dom";
import { send } from "../../api/client";
import { projectPath } from "../../session";

/** A fault by its place, such as filters.groups.0.rollout_percentage; "" for the whole. */
export type FaultsByPlace = Record<string, string>;

const checkDelay = 400; // ms after the last key

/** The faults of a body; null asks nothing, and nothing is wrong then. */
export function serverFaults(body: () => object | null): Signal<FaultsByPlace> {
  const places = signal<FaultsByPlace>({});
  let timer = 0;
  let cancel: AbortController | undefined;
  onEnd(() => (clearTimeout(timer), cancel?.abort()));
  effect(() => {
    const b = body();
    clearTimeout(timer);
    cancel?.abort();
    if (!b) return places.set({});
    timer = setTimeout(() => {
      const mine = (cancel = new AbortController());
      send<{ faults: { attr: string | null; detail: string }[] }>("POST", projectPath("feature_flags/check/"), b, mine.signal).then(
        (a) => mine.signal.aborted || places.set(Object.fromEntries(a.faults.map((f) => [f.attr ?? "", f.detail]))),
        () => mine.signal.aborted || places.set({}), // saving will say it
      );
    }, checkDelay);
  });
  return places;
}

/** The faults at a place and inside it. */
export function faultsIn(places: FaultsByPlace, place: string): string[] {
  return Object.keys(places).filter((p) => p === place || p.startsWith(`${place}.`)).map((p) => places[p]!);
}

const shownElsewhere = /^(key|name|tags)$|^filters\.(groups\.\d|multivariate|payloads)/;

/** The faults that have no place in the form. */
export function otherFaults(places: FaultsByPlace): Child {
  return Object.keys(places).filter((p) => !shownElsewhere.test(p)).map((p) => h("p", { class: "fault" }, places[p]));
}
