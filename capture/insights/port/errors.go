package port

// Error describes why a query has no result (§1.7). All errors except timeouts are caused by the
// query itself.
type Error struct {
	// Code is one of the codes of §1.7, such as "invalid_input".
	Code string
	// Attr is the place in the query, in which double underscores separate the names, such as
	// "query__series__0__math". It is empty if no particular place is at fault.
	Attr string
	// Detail is a description for people.
	Detail string
	// Line and Column are the place within a HogQL expression, from 1; they are 0 for other errors.
	// Start and End are the same place as offsets in characters.
	Line, Column, Start, End int
}

// Error returns the place, if there is one, and the detail.
func (e *Error) Error() string {
	if e.Attr == "" {
		return "insights: " + e.Detail
	}
	return "insights: " + e.Attr + ": " + e.Detail
}
