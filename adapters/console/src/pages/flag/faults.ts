// The server's check of a flag that is not saved yet (console.md N9).
import { effect, h, onEnd, signal, type Child, type Signal } from "../../ui/dom";
import { send } from "../../api/client";
import { projectPath } from "../../session";

/** Faults by place, such as filters.groups.0.rollout_percentage. The place "" is the whole flag. */
export type FaultsByPlace = Record<string, string>;

const checkDelay = 400; // milliseconds after the last change

/** Returns the faults of a body, as the server checks it. While body returns null, there are none. */
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
        () => mine.signal.aborted || places.set({}), // saving shows the error
      );
    }, checkDelay);
  });
  return places;
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
