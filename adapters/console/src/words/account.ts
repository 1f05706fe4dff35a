// Texts of the page Account.
export const accountWords = {
  profile: "Profile",
  firstName: "First name",
  email: "Email",
  confirm: (email: string) => `To confirm ${email}, open the link that was sent to it`,
  timesIn: "Times in",
  times: { project: "The project's zone", own: "My zone", utc: "UTC" } as Record<string, string>,
  language: "Language",
  /** Each language is named in itself. */
  languages: { "": "As in the browser", en: "English", de: "Deutsch" } as Record<string, string>,
  comfortable: "Comfortable rows",
  chosen: "Chosen scopes",
  scopes: "Scopes",
  none: "Nothing",
  read: "Read",
  write: "Read and write",
  scopesWanted: "Choose at least one scope.",
};
