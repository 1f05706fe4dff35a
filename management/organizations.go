package management

// Organizations are organizations (§5.9), their quotas and usage (§5.12), and roles (§5.1.3).
type Organizations struct{ *core }
