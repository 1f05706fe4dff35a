// Words of the page Health.
export const healthWords = {
  health: "Health",
  checks: "Checks",
  check: "Check",
  state: "State",
  since: "Since",
  detail: "Detail",
  states: { ok: "OK", warn: "Warning", bad: "Bad" } as Record<string, string>,
  overall: { ok: "Everything that is checked is as it should be.", warn: "Something wants a look.", bad: "Something is broken." } as Record<string, string>,
  build: (version: string) => `Version ${version}`,
  rates: "The last hour, by minute",
  minute: "Minute",
  flags: "Requests for flags",
  events: "Events",
  errors: "Errors",
  ratesWait: "The first minute is not over yet.",
};
