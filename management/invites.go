package management

// Invites are invitations and their acceptance (§4.5, decision 22).
type Invites struct{ *core }
