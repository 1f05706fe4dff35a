// Start: who is signed in, then the frame.
import { startChanges } from "./changes";
import { frame } from "./frame";
import { startReports } from "./report";
import { startRouter } from "./router";
import { loadSession } from "./session";
import { startTheme } from "./theme";
import { startSignIn } from "./signin";

startReports();
startTheme();
startRouter();
startSignIn();
frame();
startChanges();
void loadSession();
