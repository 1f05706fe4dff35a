package management

// Experiments are experiments: flags with a start, an end and exposure counts (§5.7).
type Experiments struct{ *core }
