// Package organizations keeps who manages what: organizations and their quotas,
// projects and their settings, members, roles, invitations, personal and secret
// keys, domains, and the outbox of mails (spec/management.md §1.10, §4.4 to §4.6, §5.8 to
// §5.12, decisions 19 to 22).
package organizations
