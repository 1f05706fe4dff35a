// What is known of a person.
import type { Child } from "../../ui/dom";
import { facts } from "../../ui/table";
import type { Params } from "../../routes";
import { w } from "../../words";
import { personPage } from "./person";

export default function propertiesPage(params: Params): Child {
  return personPage(params, "properties", (person) => facts(w.properties, [w.property, w.value], () => Object.entries(person().properties).sort(([a], [b]) => (a < b ? -1 : 1))));
}
