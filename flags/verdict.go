package flags

// verdict is the result of a check.
type verdict uint8

const (
	no verdict = iota
	yes
	unknown // depends on an unknown fact (partial subjects)
	invalid // not comparable: does not match, even if negated
)

// verdictOf converts a boolean.
func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// not inverts yes and no. Unknown and invalid remain.
func (v verdict) not() verdict {
	switch v {
	case yes:
		return no
	case no:
		return yes
	}
	return v
}

var verdicts = [...]string{"no", "yes", "unknown", "invalid"}

func (v verdict) String() string { return verdicts[v] }

// minVerdict returns the conjunction of two verdicts: no before unknown before yes.
func minVerdict(a, b verdict) verdict {
	if a == no || b == no {
		return no
	}
	if a == unknown || b == unknown {
		return unknown
	}
	return yes
}
