// Texts of the page Why?
export const whyWords = {
  text: "Choose a person and a flag. The page shows the value that the rules give now, the condition that decided it, and the value that the person was last assigned.",
  example: "For example: person ana@example.com, flag new-checkout.",
  ask: "Explain a value",
  answer: "Answer",
  groups: "Groups",
  groupsHint: "As type:key, separated by commas, for example company:acme",
  is: (flag: string, value: string, person: string) => `${flag} is ${value} for ${person}`,
  undecided: "undecided",
  unknownPerson: "No stored person has this id.",
  off: "The flag is off, so everyone gets false. The explanation shows what the conditions would give if it were on.",
  sources: "Simulated and assigned",
  source: "Source",
  simulated: "Simulated now",
  assigned: "Last assigned",
  differ: (why: string) => `These differ: ${why}`,
  explanation: "Explanation",
  copyText: "Copy as text",
  earlyAccess: "Early access",
  holdout: "Holdout",
  conditionIs: (n: number, outcome: string) => `Condition ${n}: ${outcome}`,
  flagIs: (key: string, value: string) => `Flag ${key}: ${value}`,
  notReached: "not reached",
  noRules: "It has no conditions.",
  rollout: "Rollout",
  variant: "Variant",
  cohort: (id: number) => `Cohort ${id}`,
  saw: (value: string, source: string) => `saw ${value} (${source})`,
  missing: "it is missing",
  /** Where the value of a property came from. */
  valueSources: { request: "from the request", located: "from the address", stored: "stored", identity: "the id", initial: "initial value" } as Record<string, string>,
  /** The results of filters and buckets. */
  verdicts: { yes: "yes", no: "no", unknown: "unknown", invalid: "not comparable", "not reached": "not reached" } as Record<string, string>,
  noHash: "no hash needed",
  bucketOf: (bucket: number, hash: string, input: string) => `bucket ${bucket} of ${hash}("${input}")`,
  allOf: "All of",
  anyOf: "Any of",
  negated: "negated",
  whatIf: "What if",
  whatIfText: "These properties replace the stored ones in this evaluation. Nothing is stored.",
  nth: (n: number) => `Property ${n}`,
  addProperty: "Add property",
  try: "Try",
  withThis: (sentence: string) => `With this: ${sentence}`,
};

/** The outcomes of a condition, by their code. */
export const outcomes: Record<string, string> = {
  condition_match: "matched",
  no_condition_match: "did not match",
  out_of_rollout_bound: "outside the rollout",
  no_group_type: "no such group",
};

/** Why the value that was last assigned differs from the simulated one (console.md N5). */
export const differences: Record<string, string> = {
  pinned: "the value is pinned.",
  flag_changed: "the flag changed.",
  other_id: "it was assigned under another distinct id.",
  person_changed: "the person changed.",
  supplied: "the request contained properties.",
  unknown: "the reason is unknown.",
};
