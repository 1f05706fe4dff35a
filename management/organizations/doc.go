// Package organizations manages the users of the server and their access: organizations with
// quotas, projects with settings, members, roles, invitations, personal and secret keys, domains,
// sign-in with a browser, and the outbox of mails (spec/management.md §1.10, §4.4 to §4.6, §5.8 to
// §5.12, decisions 19 to 22).
//
// New returns a Service. Its methods manage the organizations themselves, and its fields are the
// services of the other resources. Methods with a Scope check only the permissions beyond access to
// the organization or project, which management.Service has checked when it returned the Scope.
package organizations
