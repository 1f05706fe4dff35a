package management

// Projects are projects and their keys (§5.8, §1.11).
type Projects struct{ *core }
