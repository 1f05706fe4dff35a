// Start: who is signed in, then the frame.
import { frame } from "./frame";
import { startRouter } from "./router";
import { loadSession } from "./session";
import { startTheme } from "./theme";
import { startSignIn } from "./signin";

startTheme();
startRouter();
startSignIn();
frame();
void loadSession();
