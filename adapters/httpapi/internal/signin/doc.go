// Package signin has the endpoints with which users sign in: passwords and sessions, passkeys,
// OpenID Connect, invitations and verified addresses, and the sign-in of programs.
//
// [Endpoints] puts the tables together (endpoints.go). Sessions themselves are in package frame,
// which authenticates every request; sessions.go only begins and ends them. oidc.go and passkeys.go
// sign in with other means, programs.go gives keys to command lines, invites.go and invitepage.go
// accept invitations, and account.go changes the own account and confirms its address.
package signin
