// What is known of a person.
import { h, type Child, type Signal } from "../../ui/dom";
import type { Params } from "../../routes";
import { w } from "../../words";
import { personPage, type Person } from "./person";

export default function propertiesPage(params: Params): Child {
  return personPage(params, "properties", properties);
}

function properties(person: Signal<Person>): Child {
  const rows = () => Object.entries(person().properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = (v: unknown) => (typeof v === "string" ? v : JSON.stringify(v));
  return h(
    "div",
    { class: "scroller" },
    h("table", { "aria-label": w.properties }, h("thead", null, h("tr", null, [w.property, w.value].map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, () => rows().map(([k, v]) => h("tr", null, h("td", { class: "code" }, h("bdi", null, k)), h("td", { class: "long" }, h("bdi", null, text(v))))))),
  );
}
