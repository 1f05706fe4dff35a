// Texts of the page Health.
export const healthWords = {
  health: "Health",
  checks: "Checks",
  check: "Check",
  state: "State",
  since: "Since",
  detail: "Detail",
  states: { ok: "OK", warn: "Warning", bad: "Bad" } as Record<string, string>,
  overall: { ok: "All checks have passed.", warn: "Some checks have warnings.", bad: "Some checks have failed." } as Record<string, string>,
  build: (version: string) => `Version ${version}`,
  rates: "The last hour, by minute",
  minute: "Minute",
  flags: "Requests for flags",
  events: "Events",
  errors: "Errors",
  forAdministrators: "It takes the level Administrator, which an owner of the organization can give.",
  ratesWait: "Data appears after the first minute.",
};
