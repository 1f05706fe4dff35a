// The page Access: the access rules of the project and of kinds of objects, and who has which access.
import { h, type Child } from "../../ui/dom";
import { field, heading, select } from "../../ui/parts";
import { resource } from "../../api/cache";
import { param, setParams } from "../../router";
import { projectPath } from "../../session";
import { words } from "../../words";
import { accessWords } from "../../words/access";
import { peopleOf, rulesOf, subjects, type Users } from "./rules";

export default function accessPage(): Child {
  const all = subjects();
  const kind = () => (param("kind") in accessWords.kind ? param("kind") : "");
  const users: Users = resource(() => ({ path: projectPath("users_with_access/"), query: { resource: kind() } }));
  const region = (name: string, text: string, ...content: Child[]) => h("section", { class: "card", "aria-label": name }, h("h2", null, name), h("p", { class: "meta gap" }, text), content);
  return [
    heading(words.access),
    region(accessWords.project, accessWords.projectText, rulesOf({ path: projectPath("access_controls/"), subjects: all, changed: users.reload })),
    region(accessWords.kinds, accessWords.kindsText, rulesOf({ path: projectPath("resource_access_controls/"), kinds: true, subjects: all, changed: users.reload })),
    h("section", { class: "card", "aria-label": accessWords.people }, [
      h("h2", { class: "gap" }, accessWords.people),
      h("div", { class: "filters low" }, field(select(kind, () => [["", accessWords.theProject], ...Object.entries(accessWords.kind)], (v) => setParams({ kind: v })), { label: accessWords.accessOf })),
      peopleOf(users, all),
    ]),
  ];
}
