// Opens the dialog Access, whose code is loaded only then.
import { announce } from "../../ui/announce";

export const openAccess = (name: string, path: string): Promise<void> =>
  import("./dialog").then((m) => m.accessDialog(name, path), (e: unknown) => announce(String(e)));
