// The entry point: loads the session, then shows the frame.
import { startChanges } from "./changes";
import { startLanguage } from "./chosenlanguage";
import { frame } from "./frame";
import { words } from "./words";
import { startFocus } from "./ui/focus";
import { problem } from "./ui/parts";
import { startReports } from "./report";
import { startRouter } from "./router";
import { loadSession } from "./session";
import { startTheme } from "./theme";
import { startSignIn } from "./signin";

startReports();
startTheme();
startLanguage();
startRouter();
startSignIn();
const main = frame();
startFocus();
startChanges();
loadSession().catch((e: unknown) => main.append(problem(words.failed, e, () => location.reload())));
