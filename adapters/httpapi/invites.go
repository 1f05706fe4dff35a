package httpapi

// inviteEndpoints are those of invitations and their acceptance.
var inviteEndpoints = []endpoint{}
