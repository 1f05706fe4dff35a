package flags

// verdict is what a comparison says.
type verdict uint8

const (
	no verdict = iota
	yes
	unknown // a fact is not known (partial subjects)
	invalid // cannot be compared: no match, also when negated
)

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

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

// minVerdict is the and of verdicts: no before unknown before yes.
func minVerdict(a, b verdict) verdict {
	if a == no || b == no {
		return no
	}
	if a == unknown || b == unknown {
		return unknown
	}
	return yes
}
