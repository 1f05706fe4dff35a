package management

// Account is what a user sees of itself: /api/users/@me (§1.9) and personal keys (§1.10).
type Account struct{ *core }
