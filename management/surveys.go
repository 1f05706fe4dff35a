package management

// Surveys are surveys (§5.6).
type Surveys struct{ *core }
