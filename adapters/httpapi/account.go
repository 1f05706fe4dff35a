package httpapi

// accountEndpoints are those of what a user sees of itself: /api/users/@me.
var accountEndpoints = []endpoint{}
