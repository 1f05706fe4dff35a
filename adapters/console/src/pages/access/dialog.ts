// The dialog with the access rules about one object, and the people with access to it.
import { h } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { resource } from "../../api/cache";
import { words } from "../../words";
import { accessWords } from "../../words/access";
import { peopleOf, rulesOf, subjects, type Users } from "./rules";

/** Opens the dialog. path is the object's path in the API, and ends with a slash. */
export function accessDialog(name: string, path: string): Promise<void> {
  return dialog<void>({ title: accessWords.accessTo(name), wide: true, cancel: words.close }, () => {
    const all = subjects();
    const users: Users = resource(() => ({ path: `${path}users_with_access/` }));
    return {
      content: h("div", { class: "stack" }, [
        rulesOf({ path: `${path}access_controls/`, none: accessWords.noObjectRules, subjects: all, changed: users.reload }),
        h("h3", null, accessWords.people),
        peopleOf(users, all),
      ]),
      buttons: null,
    };
  });
}
