package management

// Members are members of organizations (§4.6).
type Members struct{ *core }
